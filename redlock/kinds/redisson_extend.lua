-- Extends a lock of Redisson's kind. S7: Redisson's own script may shorten, this one does not.
--
-- KEYS  the resource
-- ARGV  field, TTL in ms
-- :1 extended, :0 not ours
--@macro WIRE_REDISSON_EXTEND_SCRIPT WIRE_REDISSON_EXTEND_SHA1
local field, ttl_ms = unpack(ARGV)
local call, key = redis.call, KEYS[1]
if call('type', key).ok ~= 'hash' or call('hexists', key, field) == 0 then return 0 end
--@include lengthen.lua
return 1
