-- Acquires one of several permits (S20), the first slot that is free and whose counter is smaller than the ticket.
--
-- KEYS  the resource; its slots are "resource:1" and so on
-- ARGV  token, TTL in ms; ticket (0: none), life of its counter in ms, how far it may be ahead of the node's clock in ms;
--       how many permits there are, the slot that is wanted (0: any), entry among the waiters ('': none)
-- :slot granted (S3: only the number of a slot is a grant); or "counter ms": the largest ticket of those that are free, and how long
-- until one is
--
-- The token shuffles the order of the slots, so that it is the same on each node. After a grant nothing may raise an error.
--@macro WIRE_PERMIT_ACQUIRE_SCRIPT WIRE_PERMIT_ACQUIRE_SHA1
local token, ttl_ms, ticket_text, life_ms, skew_ms, count, wanted, entry = unpack(ARGV)
local call, ticket, largest, free_in_ms = redis.call, ticket_text + 0, '0', -1
local left, dice = {}, tonumber(token:sub(1, 8), 16)
for slot = 1, count do left[slot] = slot end
if wanted ~= '0' then left, count = { wanted + 0 }, 1 end

for last = count, 1, -1 do
    dice = dice * 16807 % 2147483647
    local at = dice % last + 1
    local slot = left[at]
    left[at] = left[last]
    local key = KEYS[1] .. ':' .. slot
    local left_ms = math.min(call('pttl', key), 4294967295)
    if left_ms == -2 then
        free_in_ms = left_ms
        local counter = ticket > 0 and call('get', key .. '#ticket') or '0'
        if ticket == 0 or ticket > tonumber(counter) then
            if ticket > 0 then
                local clock = call('time')
                --@include ahead.lua
                call('set', key .. '#ticket', ticket_text, 'px', life_ms)
            end
            call('set', key, token, 'px', ttl_ms)
            if entry ~= '' then redis.pcall('zrem', KEYS[1] .. ':#waiters', entry) end
            return slot
        end
        if tonumber(counter) > tonumber(largest) then largest = counter end
    elseif left_ms >= 0 and free_in_ms ~= -2 and (free_in_ms < 0 or left_ms < free_in_ms) then
        free_in_ms = left_ms
    end
end
return largest .. ' ' .. free_in_ms
