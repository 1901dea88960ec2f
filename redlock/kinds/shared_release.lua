-- Releases readers and writers, of either role, by one token or by two.
--
-- KEYS  the resources
-- ARGV  token; entry among the waiters that the caller gives back ('': none, '-' or nothing: and nobody is to be woken);
--       the digits of the token in the other role, if there may be one
-- :1 released, :2 and a waiter was woken, :0 no key there, :-1 another's
--
-- S21: the readers that are left decide how long the key lives.
--@macro WIRE_SHARED_RELEASE_SCRIPT WIRE_SHARED_RELEASE_SHA1
--@include wake.lua
local token, entry, digits = unpack(ARGV)
local call, pcall, result, woken, trouble = redis.call, redis.pcall, 1, 0
local other = digits and digits .. token:sub(41) or token
entry = entry ~= '-' and entry

for _, key in ipairs(KEYS) do
    local value, readers, writer, freed = pcall('get', key), key .. '#readers', key .. '#writer'
    if entry and entry ~= '' then
        pcall('zrem', key .. '#waiters', entry, entry .. 's')
        local hint = pcall('get', writer)
        if type(hint) == 'string' and hint:match(' (.*)') == entry then pcall('del', writer) end
    end
    if value == token or value == other then
        freed = pcall('del', key)
        if type(freed) == 'table' then trouble, freed = freed, nil end
    elseif value == '~shared' then
        if call('zrem', readers, token, other) > 0 then
            local clock = call('time')
            call('zremrangebyscore', readers, '-inf', clock[1] * 1000 + math.floor(clock[2] / 1000))
            local last_ms = call('zrevrange', readers, 0, 0, 'withscores')[2]
            if last_ms then
                call('pexpireat', key, last_ms)
                call('pexpireat', readers, last_ms)
            else
                freed = call('del', key, readers)
            end
        else
            result = -1
        end
        if entry and not freed then woken = woken + wake(key) end
    elseif type(value) == 'table' then
        trouble = value
    elseif value then
        result = -1
    elseif result > 0 then
        result = 0
    end
    if entry and freed then woken = woken + wake(key, freed) end
end
return trouble or result > 0 and woken > 0 and 2 or result
