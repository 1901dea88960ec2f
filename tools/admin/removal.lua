-- Removes a dead holder's lock, and wakes the first waiter.
--
-- KEYS  the resource
-- ARGV  the value that is removed, whole; a ticket that the counter becomes if it is smaller ('0': none), the counter's life in ms
-- :1 removed, :2 and a waiter was told, :0 no key there, :-1 another's, and then nothing was changed
--@macro REMOVAL_SCRIPT
local value, ticket, life_ms = unpack(ARGV)
local strict, call, key, suffix, woken = redis.call, redis.pcall, KEYS[1], '', 0
local found, waiters, counter = strict('get', key), key .. '#waiters', key .. '#ticket'
local flag = waiters .. '#waiters'
if found and found ~= value then return -1 end
if ticket ~= '0' and tonumber(strict('get', counter) or 0) < tonumber(ticket) then
    strict('set', counter, ticket, 'px', math.max(life_ms + 0, strict('pttl', counter)))
end
if not found then return 0 end

-- If there was no flag, nobody waits.
local deleted = call('del', key, flag)
if type(deleted) == 'table' then strict('del', key) end
if deleted == 1 then return 1 end
--@include ../../redlock/kinds/wake_first.lua
return 1 + woken
