-- Releases a fair lock, and its place in the queue.
--
-- KEYS  the resource
-- ARGV  token, entry of its place in the queue; 1 if a waiter is to be woken
-- :1 released, :2 and a waiter was woken, :0 no key there, :-1 another's
--
-- A place near the front goes with any entry, since a client that adopted the lock does not know the entry. If an ACL refuses
-- the commands about the queue, the release goes on. If nobody is in the queue, a waiter for a plain lock is woken.
--@macro WIRE_FAIR_RELEASE_SCRIPT WIRE_FAIR_RELEASE_SHA1
--@include tell.lua
--@include wake.lua
local token, entry, wakes = unpack(ARGV)
local pcall, key = redis.pcall, KEYS[1]
local queue, lease = key .. '#queue', key .. '#lease'
local ours, front = token:sub(1, 40) .. ':'
for i, member in ipairs(pcall('zrange', queue, 0, 15)) do
    if member:sub(1, 41) == ours then
        pcall('zrem', queue, member)
        pcall('zrem', lease, member)
        front = front or i
    end
end
pcall('zrem', queue, ours .. entry)
pcall('zrem', lease, ours .. entry)

local value, result, woken = pcall('get', key), 0, 0
if type(value) == 'table' then return value end
if value == token then
    redis.call('del', key, key .. '#grant')
    value, result = nil, 1
elseif value then
    result = -1
end
if wakes and not value and (result == 1 or front == 1) then
    woken = tell(queue)
    if not pcall('zrange', queue, 0, 0)[1] then woken = wake(key, true) end
end
return result > 0 and woken > 0 and 2 or result
