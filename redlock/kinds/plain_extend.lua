-- Extends one or several resources, all or none.
--
-- KEYS  the resources
-- ARGV  token, TTL in ms
-- :1 extended, :0 not all of the keys are ours
--
-- S7: it never shortens. Otherwise a short extension that reaches a minority would take from the holder what it was promised.
--@macro WIRE_EXTEND_SCRIPT WIRE_EXTEND_SHA1
local token, ttl_ms = unpack(ARGV)
local call = redis.call
for _, key in ipairs(KEYS) do
    if call('get', key) ~= token then return 0 end
end
for _, key in ipairs(KEYS) do
    --@include lengthen.lua
end
return 1
