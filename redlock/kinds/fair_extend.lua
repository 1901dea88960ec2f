-- Extends a fair lock.
--
-- KEYS  the resource
-- ARGV  token, TTL in ms
-- :1 extended, :0 not ours
--
-- A node that is out of memory refuses a SET only to a script that has written nothing, so PEXPIRE comes before it. If there is no
-- grant, the key is a plain lock's, which knows none.
--@macro WIRE_FAIR_EXTEND_SCRIPT WIRE_FAIR_EXTEND_SHA1
local token, ttl_ms = unpack(ARGV)
local call, key = redis.call, KEYS[1]
local grant = key .. '#grant'
if call('get', key) ~= token then return 0 end
local left_ms = call('pttl', key)
if call('pexpire', grant, ttl_ms) == 0 then return 0 end
call('set', grant, '9007199254740991', 'px', math.max(left_ms, ttl_ms + 0))
if left_ms >= 0 and left_ms < ttl_ms + 0 then call('pexpire', key, ttl_ms) end
return 1
