-- Releases a lock of Redisson's kind, and wakes the Java threads that wait.
--
-- KEYS  the resource
-- ARGV  field
-- :1 released, :2 and somebody listened, :0 no key there, :-1 another's
--
-- S7: only our field goes. The first in a fair lock's queue listens to a channel of its own. Those before it whose times are over
-- have died, and the next Java thread will remove them. If an ACL refuses to tell anybody, the release goes on.
--@macro WIRE_REDISSON_RELEASE_SCRIPT WIRE_REDISSON_RELEASE_SHA1
local call, pcall, key, result = redis.call, redis.pcall, KEYS[1], 1
local kind = call('type', key).ok
if kind ~= 'hash' or call('hdel', key, ARGV[1]) == 0 then return kind == 'none' and 0 or -1 end

local name = key:find('{', 1, true) and key or '{' .. key .. '}'
local function tell(channel)
    local heard = pcall('publish', 'redisson_lock__channel:' .. channel, '0')
    if type(heard) == 'number' and heard > 0 then result = 2 end
end
tell(name)

local clock = pcall('time')
local now_ms = (clock[1] or 0) * 1000 + (clock[2] or 0) / 1000
for _, waiter in ipairs(pcall('lrange', 'redisson_lock_queue:' .. name, 0, 63)) do
    local until_ms = pcall('zscore', 'redisson_lock_timeout:' .. name, waiter)
    if type(until_ms) ~= 'string' or tonumber(until_ms) > now_ms then
        tell(name .. ':' .. waiter)
        break
    end
end
return result
