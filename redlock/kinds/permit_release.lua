-- Releases a permit, and tells a waiter which slot is free.
--
-- KEYS  the resource; its slots are "resource:1" and so on
-- ARGV  token, entry among the waiters that the caller gives back ('': none), how many permits there are, the slot that was held
-- :1 released, :2 and a waiter was woken, :0 nothing there
--
-- S4: our token may be on any of the slots. Only the slot that was held wakes a waiter, since no quorum has a slot that was
-- granted beside it. A slot that is no string is another's.
--@macro WIRE_PERMIT_RELEASE_SCRIPT WIRE_PERMIT_RELEASE_SHA1
local token, entry, count, held = unpack(ARGV)
local call, base, result, woken, trouble = redis.pcall, KEYS[1] .. ':', 0, 0
local waiters = base .. '#waiters'
local flag = waiters .. '#waiters'
if entry ~= '' then call('zrem', waiters, entry) end

for slot = 1, count do
    local key, suffix = base .. slot, '@' .. slot
    local value = call('get', key)
    if value == token then
        local is_held = slot == held + 0
        local deleted = call('del', key, is_held and flag or key)
        if type(deleted) == 'table' then
            redis.call('del', key)
            deleted = is_held and 2
        end
        result = 1
        if deleted == 2 then
            --@include wake_first.lua
        end
    elseif type(value) == 'table' then
        trouble = value
    end
end
return result > 0 and result + woken or trouble or 0
