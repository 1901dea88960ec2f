-- Puts an entry among the waiters for a permit, one entry for all slots.
--
-- KEYS  the resource; its slots are "resource:1" and so on
-- ARGV  entry, when it arrived, its life in ms, how many permits there are
-- :ms   the PTTL of the slot that is free first; -2: one is free, -1: none has a TTL
--@macro WIRE_PERMIT_WAIT_SCRIPT WIRE_PERMIT_WAIT_SHA1
local entry, arrived, life_ms, count = unpack(ARGV)
local call, base, free_in_ms = redis.call, KEYS[1] .. ':', -1
for slot = 1, count do
    local left_ms = call('pttl', base .. slot)
    free_in_ms = free_in_ms ~= -2 and (left_ms == -2 or left_ms >= 0 and (free_in_ms < 0 or left_ms < free_in_ms)) and left_ms
        or free_in_ms
end
local waiters = base .. '#waiters'
--@include line_up.lua
return free_in_ms
