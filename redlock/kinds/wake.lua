-- For shared locks, wake(key, is_free) takes places of a key out of the queue and tells their clients. Returns how many were
-- told.
--
-- With is_free it tells the first, reader or writer, since the key is free now, and readers as long as they are first. The script
-- names a writer that is next, or that was just told, as the waiting writer in "resource#writer", for 20 s or for one. If nobody
-- waits any longer, the flag goes as well. The script needs no right to any of these keys, since it ignores what an ACL refuses.
local function wake(key, is_free)
    local call, waiters, told = redis.pcall, key .. '#waiters', 0
    if is_free then call('del', key .. '#writer') end
    while true do
        local first = call('zpopmin', waiters)
        local entry = first[1]
        if not entry then
            if not first.err then call('del', waiters .. '#waiters') end
            return told
        end
        local is_reader = entry:sub(-1) == 's'
        local heard = (is_reader or is_free and told == 0) and
            call('publish', 'redlock:' .. entry:sub(1, 16), entry:sub(18))
        if not heard or type(heard) == 'table' then
            if type(call('pexpire', waiters, 60000)) ~= 'table' then
                call('zadd', waiters, first[2], entry)
                call('pexpire', waiters, 60000)
            end
            if told > 0 and not is_reader then call('set', key .. '#writer', first[2] .. ' ' .. entry, 'px', 20000) end
            return told
        end
        if heard > 0 then
            told = told + 1
            if not is_reader then
                call('set', key .. '#writer', first[2] .. ' ' .. entry, 'px', 1000)
                return told
            end
        end
    end
end
