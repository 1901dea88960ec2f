-- Takes the first entry out of the waiters and tells its client; if that does not listen any longer, the next one. An entry is
-- "name-of-the-engine:number". The first 16 bytes name the channel, and the rest after the colon is the message.
--
-- Afterwards the flag stands again, for those that may be left. If an ACL refuses to publish, the entry goes back, unless the set
-- can have no life, in which case the entry would stay for ever.
-- Uses call (of redis.pcall), waiters, flag, suffix (the end of the message) and woken.
local first = call('zpopmin', waiters)
while first[1] do
    local heard = call('publish', 'redlock:' .. first[1]:sub(1, 16), first[1]:sub(18) .. suffix)
    if heard ~= 0 then
        if type(heard) ~= 'table' then
            woken = 1
        elseif type(call('pexpire', waiters, 60000)) ~= 'table' then
            call('zadd', waiters, first[2], first[1])
            call('pexpire', waiters, 60000)
        end
        call('set', flag, '', 'px', 60000)
        break
    end
    first = call('zpopmin', waiters)
end
