-- Extends a permit.
--
-- KEYS  the resource; its slots are "resource:1" and so on
-- ARGV  token, TTL in ms, how many permits there are, the slot that is held
-- :1 extended, :0 not ours
--@macro WIRE_PERMIT_EXTEND_SCRIPT WIRE_PERMIT_EXTEND_SHA1
local token, ttl_ms, _, held = unpack(ARGV)
local call, key = redis.call, KEYS[1] .. ':' .. held
if call('get', key) ~= token then return 0 end
--@include lengthen.lua
return 1
