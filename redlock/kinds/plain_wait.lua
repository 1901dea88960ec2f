-- Puts an entry among the waiters of one or several resources.
--
-- KEYS  the resources
-- ARGV  entry, when it arrived, its life in ms
-- :ms   the PTTL of the key that is free last; -2: all are free, -1: one has no TTL
--@macro WIRE_WAIT_SCRIPT WIRE_WAIT_SHA1
local entry, arrived, life_ms = unpack(ARGV)
local call, longest_ms = redis.call, -2
for _, key in ipairs(KEYS) do
    local left_ms, waiters = call('pttl', key), key .. '#waiters'
    --@include line_up.lua
    longest_ms = longest_ms ~= -1 and (left_ms == -1 or left_ms > longest_ms) and left_ms or longest_ms
end
return longest_ms
