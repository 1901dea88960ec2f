-- Tells which of the names a node has.
--
-- ARGV  the names, "size:name size:name..." without the blanks
-- a digit for each: 1, the node has it, or 0
--@macro SCAN_KNOWN_SCRIPT
local answers, names, at = {}, ARGV[1], 1
while at <= #names do
    local _, colon, size = names:find('^(%d+):', at)
    answers[#answers + 1] = redis.pcall('exists', names:sub(colon + 1, colon + size)) == 1 and '1' or '0'
    at = colon + size + 1
end
return table.concat(answers)
