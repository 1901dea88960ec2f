-- Extends one resource. Firmware needs only this extension.
--
-- KEYS  the resource
-- ARGV  token, TTL in ms
-- :1 extended, :0 not ours
--@macro WIRE_EXTEND_ONE_SCRIPT WIRE_EXTEND_ONE_SHA1
local token, ttl_ms = unpack(ARGV)
local call, key = redis.call, KEYS[1]
if call('get', key) ~= token then return 0 end
--@include lengthen.lua
return 1
