-- Marks a period as taken (S18). A mark is "period marker when who", in the key "resource#done".
--
-- KEYS  the resource
-- ARGV  token, mark, its life in ms (0: only look), how far the marker's clock may differ from the node's in ms
-- :1 taken, or would be; :0 our lock is not there; or another's mark of this period, or the mark of a later one
--
-- A mark is taken from the holder alone. Otherwise all hosts that begin in the same second would burn the period on minorities.
-- Another's mark is reported even if our lock is not there. A mark lives no shorter than the one it replaces. Otherwise a mark of
-- a minute would make the node forget that the day is marked, too.
--@macro WIRE_MARK_SCRIPT
local token, mark, life_ms, skew_ms = unpack(ARGV)
local call, name, form = redis.call, KEYS[1] .. '#done', '^(%d+) (%x+) (%d+)'
local period, marker, when = mark:match(form)

local there = call('get', name)
if there then
    local its_period, its_marker = there:match(form)
    if not its_period then return { err = 'ERR ' .. name .. ' is no mark of a period' } end
    if its_period + 0 > period + 0 or its_period + 0 == period + 0 and its_marker ~= marker then return there end
end
if call('get', KEYS[1]) ~= token then return 0 end

local clock = call('time')
local ahead_ms = when - clock[1] * 1e3 - clock[2] / 1e3
if ahead_ms > skew_ms + 0 then return { err = 'AHEAD of the clock of this node: ' .. clock[1] } end
if -ahead_ms > skew_ms + 0 then return { err = 'BEHIND the clock of this node: ' .. clock[1] } end
if life_ms ~= '0' then call('set', name, mark, 'px', math.max(life_ms + 0, call('pttl', name))) end
return 1
