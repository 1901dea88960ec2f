-- One step of SCAN: the names that may be of locks.
--
-- ARGV  cursor, pattern, count
-- "cursor names hidden moving beside tickets orphans long size:name size:name..."; or "more": there are too many names, and the cursor is
-- not moved
--
-- Keys beside locks are only counted, but for those that should not be: without a TTL (which the library's own keys never have), or
-- readers whose lock is not marked as shared; and for queues.
--@macro SCAN_STEP_SCRIPT
local call, names, bytes, hidden, moving, beside, tickets, orphans, long = redis.call, {}, 0, 0, 0, 0, 0, 0, 0
local step = call('scan', ARGV[1], 'match', ARGV[2], 'count', ARGV[3])

--@include scan_moving.lua

local function is_odd(key, suffix)
    if suffix == '#ticket' then
        tickets = tickets + 1
        orphans = orphans + 1 - call('exists', key:sub(1, -8))
    end
    if suffix == '#queue' and call('type', key).ok == 'zset' then return true end
    return call('pttl', key) == -1 or suffix == '#readers' and redis.pcall('get', key:sub(1, -9)) ~= '~shared'
end

for _, name in ipairs(step[2]) do
    local ending, is_named = name:match('#%l+$'), true
    if ending and (' #ticket #waiters #leader #done #readers #writer #queue #lease #grant '):find(' ' .. ending .. ' ', 1, true) then
        beside = beside + 1
        local is_known, is_of_interest = pcall(is_odd, name, ending)
        if not is_known and is_of_moving_slot(is_of_interest) then moving = moving + 1
        elseif not is_known then hidden = hidden + 1 end
        is_named = is_known and is_of_interest
    end
    if name == 'redlock:canary#done#done' or name == 'redlock:promoted#done#done' then
        beside = beside + 1
        is_named = false
    end
    if is_named and #name > 1024 then
        long = long + 1
        is_named = false
    end
    if is_named then
        names[#names + 1] = #name .. ':' .. name
        bytes = bytes + #name + 6
    end
end
if bytes > 49152 then return 'more' end
return table.concat({ step[1], #step[2], hidden, moving, beside, tickets, orphans, long, table.concat(names) }, ' ')
