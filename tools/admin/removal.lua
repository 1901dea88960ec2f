-- Removes a dead holder's lock, and wakes the first waiter.
--
-- KEYS  the resource
-- ARGV  the value that is removed, whole; a ticket that the counter becomes if it is smaller ('0': none), the counter's life in ms
-- :1 removed, :0 no key there, :-1 another's, and then nothing was changed
--@macro REMOVAL_SCRIPT
local value, ticket, life_ms = unpack(ARGV)
local call, try, key = redis.call, redis.pcall, KEYS[1]
local found, waiters, counter = call('get', key), key .. '#waiters', key .. '#ticket'
local flag = waiters .. '#waiters'
if found and found ~= value then return -1 end
if ticket ~= '0' and tonumber(call('get', counter) or 0) < tonumber(ticket) then
    call('set', counter, ticket, 'px', math.max(life_ms, call('pttl', counter)))
end
if not found then return 0 end

-- If there was no flag, nobody waits.
local deleted = try('del', key, flag)
if type(deleted) == 'table' then call('del', key) end
if deleted == 1 then return 1 end
local first = try('zpopmin', waiters)
while first[1] do
    local heard = try('publish', 'redlock:' .. first[1]:sub(1, 16), first[1]:sub(18))
    if heard ~= 0 then
        if type(heard) == 'table' and type(try('pexpire', waiters, 60000)) ~= 'table' then
            try('zadd', waiters, first[2], first[1])
            try('pexpire', waiters, 60000)
        end
        try('set', flag, '', 'px', 60000)
        break
    end
    first = try('zpopmin', waiters)
end
return 1
