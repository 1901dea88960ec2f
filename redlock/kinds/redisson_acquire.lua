-- Acquires a lock of Redisson's kind (S26), which is a hash with one field, "uuid:number", whose count is 1.
--
-- KEYS  the resource
-- ARGV  field, TTL in ms
-- +OK; or "0 ms": how long until it is free
--
-- PEXPIRE comes before the field as well and changes nothing then. Otherwise, if an ACL refused it, the hash would stay for ever.
--@macro WIRE_REDISSON_ACQUIRE_SCRIPT WIRE_REDISSON_ACQUIRE_SHA1
local field, ttl_ms = unpack(ARGV)
local call, key = redis.call, KEYS[1]
local left_ms = call('pttl', key)
if left_ms ~= -2 then return '0 ' .. math.min(left_ms, 4294967295) end
call('pexpire', key, ttl_ms)
call('hset', key, field, 1)
call('pexpire', key, ttl_ms)
return { ok = 'OK' }
