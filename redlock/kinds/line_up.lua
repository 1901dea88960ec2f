-- Puts the entry among the waiters, and raises the flag that tells a release of them.
--
-- It must fail loudly if it cannot (ACL, memory), since a client that believes it is queued polls ever more rarely. PEXPIRE comes
-- before ZADD as well. Otherwise, if an ACL refused it, the entry would stay for ever.
-- Uses call, waiters, entry, arrived and life_ms.
call('set', waiters .. '#waiters', '', 'px', life_ms)
call('pexpire', waiters, life_ms)
call('zadd', waiters, arrived, entry)
call('pexpire', waiters, life_ms)
