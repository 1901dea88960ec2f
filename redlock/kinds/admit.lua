-- S21: admit(key, readers, until_ms) makes the token a reader until that time. The key lives as long as its longest reader.
-- Otherwise a reader would cut off others.
--
-- A write that an ACL may refuse comes after a call of the same command that changes nothing. So if the script is stopped halfway,
-- it leaves nothing without a TTL.
-- Uses call and token.
local function admit(key, readers, until_ms)
    local last_ms = math.max(until_ms, tonumber(call('zrevrange', readers, 0, 0, 'withscores')[2] or 0))
    call('pexpireat', readers, last_ms)
    call('zadd', readers, until_ms, token)
    call('pexpireat', readers, last_ms)
    call('set', key, '~shared')
    call('pexpireat', key, last_ms)
end
