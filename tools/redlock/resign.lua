-- Takes back who leads.
--
-- KEYS  the resource
-- ARGV  token
-- :1 taken back, :0 nothing said, or the lock is not there
--@macro RESIGN_SCRIPT
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1] .. '#leader')
