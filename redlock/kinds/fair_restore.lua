-- Sets the key of a fair lock again as its holder, if the node has lost it.
--
-- KEYS  the resource
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms
-- +OK; or "taken": the key is another's
--
-- S24: no poll that is still on its way gives away what this has set, or what an extension has counted. So the grant becomes one of
-- the last round that there may be.
--@macro WIRE_FAIR_RESTORE_SCRIPT WIRE_FAIR_RESTORE_SHA1
local token, ttl_ms, ticket_text, life_ms, skew_ms = unpack(ARGV)
local call, key, ticket = redis.call, KEYS[1], ticket_text + 0
--@include restore_one.lua
local left_ms = call('pttl', key)
call('set', key .. '#grant', '9007199254740991', 'px', math.max(left_ms, ttl_ms + 0))
if left_ms ~= -1 and left_ms < ttl_ms + 0 then call('set', key, token, 'px', ttl_ms) end
return { ok = 'OK' }
