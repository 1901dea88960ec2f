-- The readers of a resource, and the writer that waits.
--
-- KEYS  the readers of a resource, its waiting writer
-- ARGV  how many readers are wanted
-- The number of readers, what the writer that waits has said, and then of so many readers the member and the milliseconds left, the
-- longest first: 64 elements at most, which is what an answer may have.
--@macro READERS_SCRIPT
local call = redis.call
--@include ../../redlock/kinds/clock_ms.lua
local readers, answer, count = call('zrevrange', KEYS[1], 0, -1, 'withscores'), { 0, call('get', KEYS[2]) or '' }, 0
for i = 1, #readers, 2 do
    local ends = tonumber(readers[i + 1])
    if ends > now_ms then
        count = count + 1
        if count <= tonumber(ARGV[1]) then
            answer[#answer + 1] = readers[i]
            answer[#answer + 1] = ends - now_ms
        end
    end
end
answer[1] = count
return answer
