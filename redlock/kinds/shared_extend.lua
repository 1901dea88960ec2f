-- Extends readers and writers. With the digits of another token it also changes the role of one resource (S22).
--
-- KEYS  the resources
-- ARGV  token, TTL in ms, modes: a letter for each resource, s shared, x not;
--       to change the role: the digits of the token in the other role, ticket (0: none), life of its counter in ms, how far it may
--       be ahead of the node's clock in ms
-- :1 extended, :0 not ours, :-1 others read, :-2 the ticket is too small
--
-- It never shortens (S7). A reader that is alone becomes a writer, a writer becomes a reader, and a lock that has the role already is
-- extended.
--@macro WIRE_SHARED_EXTEND_SCRIPT WIRE_SHARED_EXTEND_SHA1
--@include wake.lua
local token, ttl_ms, modes, digits, ticket_text, life_ms, skew_ms = unpack(ARGV)
local call, other, ticket = redis.call, digits and digits .. token:sub(41), tonumber(ticket_text or 0)
--@include clock_ms.lua
--@include admit.lua

for i, key in ipairs(KEYS) do
    local value, readers, is_reader = call('get', key), key .. '#readers', modes:sub(i, i) == 's'
    if is_reader and value == '~shared' then
        if tonumber(call('zscore', readers, token) or 0) <= now_ms then return 0 end
    elseif other and not is_reader and value == '~shared' then
        call('zremrangebyscore', readers, '-inf', now_ms)
        if not call('zscore', readers, other) then return 0 end
        if call('zcard', readers) > 1 then return -1 end
        local counter = ticket > 0 and call('get', key .. '#ticket')
        if counter and ticket <= tonumber(counter) then return -2 end
        --@include ahead.lua
    elseif value ~= (is_reader and (other or 0) or token) then   -- No value is a number; a stranger's may be empty.
        return 0
    end
end

for i, key in ipairs(KEYS) do
    local readers, is_reader, was_reader = key .. '#readers', modes:sub(i, i) == 's', call('get', key) == '~shared'
    local left_ms, until_ms = call('pttl', key), now_ms + ttl_ms
    if is_reader then
        if not was_reader then call('del', readers) end
        admit(key, readers, math.max(until_ms, tonumber(was_reader and call('zscore', readers, token) or now_ms + left_ms)))
        if not was_reader then wake(key) end
    elseif was_reader then
        until_ms = math.max(until_ms, tonumber(call('zscore', readers, other)))
        if ticket > 0 then call('set', key .. '#ticket', ticket_text, 'px', life_ms) end
        call('pexpireat', key, until_ms)
        call('set', key, token)
        call('pexpireat', key, until_ms)
        call('del', readers)
    elseif left_ms >= 0 and left_ms < ttl_ms + 0 then
        call('pexpire', key, ttl_ms)
    end
end
return 1
