-- Puts an entry among the waiters of one or several resources, as a reader or as a writer of each.
--
-- KEYS  the resources
-- ARGV  entry, when it arrived, its life in ms; modes: a letter for each resource, s shared, x not
-- :ms   how long the key that is free last is in the way; -2: none is, -1: one has no TTL
--
-- A reader learns how long an earlier writer is waited for, a writer when the readers have to be gone. The first writer
-- that waits is named in "resource#writer".
--@macro WIRE_WAIT_SCRIPT WIRE_WAIT_SHA1
local place, arrived, life_ms, modes = unpack(ARGV)
local call, pcall, longest_ms = redis.call, redis.pcall, -2
for i, key in ipairs(KEYS) do
    local is_reader, writer, waiters, left_ms = modes:sub(i, i) == 's', key .. '#writer', key .. '#waiters', call('pttl', key)
    local entry = place .. (is_reader and 's' or '')
    --@include line_up.lua
    local hint, is_shared = pcall('get', writer), pcall('get', key) == '~shared'
    local is_behind = type(hint) == 'string' and tonumber(hint:match('^%d+') or arrived) < tonumber(arrived)
    if is_reader and (left_ms == -2 or is_shared) then
        left_ms = is_behind and call('pttl', writer) or -2
    elseif is_shared and not is_reader and not is_behind then
        pcall('set', writer, arrived .. ' ' .. entry, 'px', 20000)
    end
    longest_ms = longest_ms ~= -1 and (left_ms == -1 or left_ms > longest_ms) and left_ms or longest_ms
end
return longest_ms
