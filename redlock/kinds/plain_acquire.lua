-- Acquires one or several resources, all or none, with a ticket or without.
--
-- KEYS  the resources
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms
-- +OK; or "counter ms": the largest ticket that was granted, and the longest PTTL
--
-- S15: a ticket is larger than every counter, not equal, because each ticket is given once. 4294967295: Lua writes a number of
-- that size without an exponent.
--@macro WIRE_ACQUIRE_SCRIPT WIRE_ACQUIRE_SHA1
local token, ttl_ms, ticket_text, life_ms, skew_ms = unpack(ARGV)
local call, ticket, largest, left_ms = redis.call, ticket_text + 0, '0', -2

for _, key in ipairs(KEYS) do
    local pttl = math.min(call('pttl', key), 4294967295)
    if left_ms ~= -1 and (pttl == -1 or pttl > left_ms) then left_ms = pttl end
    local counter = ticket > 0 and call('get', key .. '#ticket')
    if counter and tonumber(counter) > tonumber(largest) then largest = counter end
end
if left_ms ~= -2 or ticket > 0 and ticket <= tonumber(largest) then return largest .. ' ' .. left_ms end

local clock = call('time')
--@include ahead.lua
for _, key in ipairs(KEYS) do
    if ticket > 0 then call('set', key .. '#ticket', ticket_text, 'px', life_ms) end
    call('set', key, token, 'px', ttl_ms)
end
return { ok = 'OK' }
