-- Sets the keys again as their holder, if the node has lost some of them.
--
-- KEYS  the resources
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms
-- +OK; or "taken": one of the keys is another's, and nothing was changed
--
-- A key that is ours is only lengthened (S7). A counter that becomes larger obeys the node's clock, as in an acquire.
--@macro WIRE_RESTORE_SCRIPT WIRE_RESTORE_SHA1
local token, ttl_ms, ticket_text, life_ms, skew_ms = unpack(ARGV)
local call, ticket, smaller = redis.call, ticket_text + 0, {}

for _, key in ipairs(KEYS) do
    local value, counter = call('get', key), key .. '#ticket'
    if value and value ~= token then return 'taken' end
    if ticket > 0 and ticket > tonumber(call('get', counter) or 0) then
        smaller[#smaller + 1] = counter
    end
end
if smaller[1] then
    local clock = call('time')
    --@include ahead.lua
end

for _, counter in ipairs(smaller) do call('set', counter, ticket_text, 'px', life_ms) end
for _, key in ipairs(KEYS) do
    local left_ms = call('pttl', key)
    if left_ms ~= -1 and left_ms < ttl_ms + 0 then call('set', key, token, 'px', ttl_ms) end
end
return { ok = 'OK' }
