-- Looks at names, at one moment.
--
-- ARGV  the names, "size:name size:name..." without the blanks; how many bytes of a value are wanted, less one
-- For each name "-", nothing; "!", it must not be read; ">", its slot moves; or "type ttl number size:value". There are no blanks
-- between the names, and none after the type: s, string, m, mark of shared locks, r, Redisson, q, queue, o, other; a capital if
-- there is a counter of tickets beside what may be data. The number is how many readers there are, or how many are in the queue. Of a
-- queue "ttl" is what is left of the lease of its first, and the value is that member, and when its lease ends. The holder, which may
-- be in it still, is left out.
--@macro SCAN_LOOK_SCRIPT
local call, answers, names, at = redis.call, {}, ARGV[1], 1
--@include ../../redlock/kinds/clock_ms.lua
--@include scan_moving.lua

-- How many are in the queue beside the holder, and the first of them.
local function look_at_queue(key, value)
    local holder, lease, count, first, until_ms = type(value) == 'string' and value:sub(1, 40), key .. '#lease', 0
    for _, member in ipairs(call('zrange', key .. '#queue', 0, 63)) do
        local ends = tonumber(call('zscore', lease, member) or 0)
        if ends > now_ms and member:sub(1, 40) ~= holder then
            count = count + 1
            if not first then first, until_ms = member, ends end
        end
    end
    if count > 63 then count = call('zcount', lease, '(' .. now_ms, '+inf') end
    return count, first, until_ms
end

local function look(key)
    local kind = call('type', key).ok
    if kind == 'none' or key:sub(-8) == '#readers' and redis.pcall('get', key:sub(1, -9)) == '~shared' then return '-' end
    local left_ms, letter, number, value = call('pttl', key), 'o', 0, ''
    if kind == 'string' then
        letter, value = 's', call('getrange', key, 0, ARGV[2])
        local is_known, count = pcall(look_at_queue, key, value)
        number = is_known and count or 0
        if value == '~shared' then
            letter, number = 'm', call('zcount', key .. '#readers', '(' .. now_ms, '+inf')
        end
    elseif kind == 'zset' and key:sub(-6) == '#queue' then
        local count, first, until_ms = look_at_queue(key:sub(1, -7), redis.pcall('get', key:sub(1, -7)))
        if count > 0 then
            letter, number, value = left_ms < 0 and 'o' or 'q', count, first:sub(1, 80) .. ' ' .. string.format('%.0f', until_ms)
            left_ms = left_ms < 0 and left_ms or until_ms - now_ms
        elseif left_ms >= 0 then
            return '-'
        end
    elseif kind == 'hash' then
        local is_java = call('hexists', key, 'mode') == 1
        if not is_java and call('hlen', key) <= 64 then
            is_java = call('hkeys', key)[1]:match('^%x+%-%x+%-%x+%-%x+%-%x+:%d+$')
        end
        if is_java then letter = 'r' end
    end
    if (letter == 'o' or letter == 's' and left_ms == -1) and call('exists', key .. '#ticket') == 1 then letter = letter:upper() end
    return letter .. string.format('%.0f', left_ms) .. ' ' .. number .. ' ' .. #value .. ':' .. value
end

while at <= #names do
    local _, colon, size = names:find('^(%d+):', at)
    local is_known, answer = pcall(look, names:sub(colon + 1, colon + size))
    answers[#answers + 1] = is_known and answer or is_of_moving_slot(answer) and '>' or '!'
    at = colon + size + 1
end
return table.concat(answers)
