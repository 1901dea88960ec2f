-- Releases one or several resources, and wakes the first waiter of each if the caller says so.
--
-- KEYS  the resources
-- ARGV  token; entry among the waiters that the caller gives back ('': none), or nothing if nobody is to be woken
-- :1 released, :2 and a waiter was woken, :0 no key there, :-1 another's
--
-- Only the keys that are ours go (S7), and only then is a waiter woken. The flag "resource#waiters#waiters" is there while clients
-- wait. If it does not go with the key, nobody waits, and the script looks no further. Most releases cost no more than that.
-- If an ACL refuses the commands about waiters, the release goes on. It reports what an ACL refuses about the key itself, and a
-- key of another type, after it has seen to all keys.
--@macro WIRE_RELEASE_SCRIPT WIRE_RELEASE_SHA1
local token, entry = unpack(ARGV)
local call, suffix, result, woken, trouble = redis.pcall, '', 1, 0

for _, key in ipairs(KEYS) do
    local value, waiters = call('get', key), key .. '#waiters'
    local flag = waiters .. '#waiters'
    if entry and entry ~= '' then call('zrem', waiters, entry) end
    if value == token then
        local deleted = call('del', key, entry and flag or key)
        if type(deleted) == 'table' then
            deleted = call('del', key)
            if type(deleted) == 'table' then trouble = deleted elseif entry then deleted = 2 end
        end
        if deleted == 2 then
            --@include wake_first.lua
        end
    elseif type(value) == 'table' then
        trouble = value
    elseif value then
        result = -1
    elseif result > 0 then
        result = 0
    end
end
return trouble or result > 0 and result + woken or result
