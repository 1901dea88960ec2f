-- Releases one resource and wakes nobody. Firmware needs only this release.
--
-- KEYS  the resource
-- ARGV  token
-- :1 released, :0 no key there, :-1 another's (S7)
--@macro WIRE_RELEASE_ONE_SCRIPT WIRE_RELEASE_ONE_SHA1
local value = redis.call('get', KEYS[1])
if value == ARGV[1] then return redis.call('del', KEYS[1]) end
return value and -1 or 0
