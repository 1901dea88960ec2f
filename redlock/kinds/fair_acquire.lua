-- The poll of a fair lock takes or renews a place in the queue, and the key if it is the first there.
--
-- KEYS  the resource
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms;
--       place: "turn round renew entry"
-- +OK; or "counter ms turn rank": the largest ticket; how long until it may be worth while to ask again; the largest turn in the
-- queue; how many are before it, -1: it is not queued, -2: an old poll
--
-- "resource#queue" and "resource#lease" beside the key have the members "token:entry", by turn and by the end of their leases.
-- "resource#grant" is the round in which the key was granted.
--@macro WIRE_FAIR_ACQUIRE_SCRIPT WIRE_FAIR_ACQUIRE_SHA1
--@include tell.lua
local token, ttl_ms, ticket_text, life_ms, skew_ms, place = unpack(ARGV)
local call, key = redis.call, KEYS[1]
local queue, lease, grant = key .. '#queue', key .. '#lease', key .. '#grant'
local turn, round, renews, entry = place:match('^(%d+) (%d+) (%d) (.*)$')
local member = token:sub(1, 40) .. ':' .. entry
--@include clock_ms.lua

-- Leases that are over go. A lease that ends later than one can is from before the node's clock stepped back. At the head it would
-- hold up all for as long as the step was, so it goes. A client that lives takes its place again when it next renews it.
for _, gone in ipairs(call('zrangebyscore', lease, '-inf', now_ms, 'limit', 0, 64)) do
    call('zrem', queue, gone)
    call('zrem', lease, gone)
end
local head, tries = call('zrange', queue, 0, 0)[1], 64
while head and tries > 0 and (call('zscore', lease, head) or 9e15) - now_ms > 10000 do
    tries = tries - 1
    call('zrem', queue, head)
    call('zrem', lease, head)
    head = call('zrange', queue, 0, 0)[1]
end

local value, ticket, left_ms, rank = call('get', key), ticket_text + 0, -2, -2
local counter = ticket > 0 and call('get', key .. '#ticket') or '0'
local is_mine = value == token
-- S24: if nobody knows in which round the key was granted, every poll is an old one.
if not is_mine or round + 0 >= tonumber(call('get', grant) or 9007199254740991) then
    -- A ticket that is ahead costs the place. Otherwise the first in the queue might be one that can be granted nothing.
    if ticket > clock[1] * 1e6 + clock[2] + skew_ms * 1e3 then
        call('zrem', queue, member)
        call('zrem', lease, member)
        if is_mine then
            call('del', key, grant)
            tell(queue)
        end
        return { err = 'AHEAD of the clock of this node: ' .. clock[1] }
    end
    -- The queue is seen to before the counter, so that a ticket which is too small does not cost the place. A set has its TTL
    -- from a call of the same command before, which an ACL would have refused, so nothing stays without one.
    if renews == '1' then
        call('pexpire', queue, 5000)
        call('zadd', queue, turn, member)
        call('pexpire', queue, 5000)
        call('zadd', lease, now_ms + 5000, member)
        call('pexpire', lease, 5000)
        head = call('zrange', queue, 0, 0)[1]
    end
    if head == (turn ~= '0' and member or nil) then
        if (not value or is_mine) and (ticket == 0 or ticket > tonumber(counter)) then
            if ticket > 0 then call('set', key .. '#ticket', ticket_text, 'px', life_ms) end
            local pttl = call('pttl', key)
            call('set', grant, round, 'px', math.max(pttl, ttl_ms + 0))
            if pttl ~= -1 and pttl < ttl_ms + 0 then call('set', key, token, 'px', ttl_ms) end
            return { ok = 'OK' }
        end
    elseif is_mine then
        call('del', key, grant)
        tell(queue)
    end
    rank = call('zrank', queue, member) or -1
end
if value and not is_mine then
    left_ms = math.min(call('pttl', key), 4294967295)
elseif head and head ~= member then
    left_ms = math.max((call('zscore', lease, head) or now_ms) - now_ms, 0)
end
return counter .. ' ' .. left_ms .. ' ' .. (call('zrevrange', queue, 0, 0, 'withscores')[2] or 0) .. ' ' .. rank
