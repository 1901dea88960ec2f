-- Names the leader, in "resource#leader".
--
-- KEYS  the resource
-- ARGV  token, epoch, name, TTL in ms
-- :1 named, :0 the lock is not there
--
-- A leader that was deposed cannot overwrite its successor: it writes only while its token is there.
--@macro PROCLAIM_SCRIPT
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('set', KEYS[1] .. '#leader', ARGV[2] .. ' ' .. ARGV[3], 'px', ARGV[4])
return 1
