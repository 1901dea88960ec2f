-- Sets the slot again as its holder, if the node has lost it, and gives up each other slot that the node has granted.
--
-- KEYS  the resource; its slots are "resource:1" and so on
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms;
--       how many permits there are, the slot that is held
-- +OK; or "taken": the slot is another's
--@macro WIRE_PERMIT_RESTORE_SCRIPT WIRE_PERMIT_RESTORE_SHA1
local token, ttl_ms, ticket_text, life_ms, skew_ms, count, held = unpack(ARGV)
local call, base, ticket = redis.call, KEYS[1] .. ':', ticket_text + 0
local key = base .. held
for slot = 1, count do
    if slot ~= held + 0 and redis.pcall('get', base .. slot) == token then call('del', base .. slot) end
end
--@include restore_one.lua
local left_ms = call('pttl', key)
if left_ms ~= -1 and left_ms < ttl_ms + 0 then call('set', key, token, 'px', ttl_ms) end
return { ok = 'OK' }
