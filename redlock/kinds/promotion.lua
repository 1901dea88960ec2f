-- The age of a master's reign: how long ago a client met it first in this epoch that a majority of its sentinels had sent (S31). Leaves
-- the time if nobody has left it for this epoch and for the present history of the server, which begins anew with each start and
-- each promotion.
--
-- KEYS  the key of the time, REDLOCK_PROMOTION_KEY
-- ARGV  the sentinels' config-epoch of the master
-- :ms since then, by the node's own clock; 0 if this is the first client
--
-- "history epoch ms". A client that knows of an earlier epoch only changes nothing. A clock that was set back makes it 0, which costs
-- the guard.
--@macro WIRE_PROMOTION_SCRIPT
local call, epoch = redis.call, ARGV[1]
--@include clock_ms.lua
local history = call('info', 'replication'):match('master_replid:(%x+)')
local id, its_epoch, since_ms = (call('get', KEYS[1]) or ''):match('^(%x+) (%d+) (%d+)$')
if id == history and its_epoch == epoch then return math.max(now_ms - since_ms, 0) end
if not id or its_epoch + 0 <= epoch + 0 then call('set', KEYS[1], history .. ' ' .. epoch .. ' ' .. now_ms) end
return 0
