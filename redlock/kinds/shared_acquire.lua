-- Acquires one or several resources, all or none, each as a reader or as a writer (S21).
--
-- KEYS  the resources
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms;
--       modes: a letter for each resource, s shared, x not; when it arrived (0: it does not wait)
-- +OK; or "counter ms", as plain_acquire.lua says
--
-- A reader is admitted beside others unless an earlier writer waits. If there is no key, nobody is a reader any longer. S15: a ticket
-- is larger than the counter of each resource that is written, and no smaller than the counter of each that is read.
--@macro WIRE_SHARED_ACQUIRE_SCRIPT WIRE_SHARED_ACQUIRE_SHA1
--@include wake.lua
local token, ttl_ms, ticket_text, life_ms, skew_ms, modes, arrived = unpack(ARGV)
local call, ticket, largest, left_ms, is_outdated = redis.call, ticket_text + 0, '0'
--@include clock_ms.lua
--@include admit.lua

for i, key in ipairs(KEYS) do
    local value, barrier, is_reader = call('get', key), key, modes:sub(i, i) == 's'
    if is_reader and (not value or value == '~shared') then
        local writer = arrived ~= '0' and call('get', key .. '#writer')
        barrier = writer and tonumber(writer:match('^%d+') or arrived) < tonumber(arrived) and key .. '#writer'
    elseif not value then
        barrier = nil
    end
    if barrier then
        local pttl = math.min(call('pttl', barrier), 4294967295)
        if left_ms ~= -1 and (pttl == -1 or not left_ms or pttl > left_ms) then left_ms = pttl end
    end
    local counter = ticket > 0 and call('get', key .. '#ticket')
    if counter and tonumber(counter) > tonumber(largest) then largest = counter end
    if counter and ticket < tonumber(counter) + (is_reader and 0 or 1) then is_outdated = true end
end
if left_ms or is_outdated then return largest .. ' ' .. (left_ms or -2) end

--@include ahead.lua
for i, key in ipairs(KEYS) do
    if ticket > 0 then call('set', key .. '#ticket', ticket_text, 'px', life_ms) end
    if modes:sub(i, i) == 's' then
        local readers = key .. '#readers'
        if call('get', key) then call('zremrangebyscore', readers, '-inf', now_ms) else call('del', readers) end
        admit(key, readers, math.max(now_ms + ttl_ms, tonumber(call('zscore', readers, token) or 0)))
        wake(key)
    else
        call('set', key, token, 'px', ttl_ms)
    end
end
return { ok = 'OK' }
