-- Removes the leader's name.
--
-- KEYS  the resource
-- ARGV  token
-- :1 removed, :0 there was none, or the lock is not there
--@macro RESIGN_SCRIPT
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1] .. '#leader')
