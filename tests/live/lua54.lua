-- Runs scripts as Dragonfly and Garnet do, by Lua 5.4, for disguise.pl: lua5.4 lua54.lua strict|stricter|lax
--
-- Reads commands "EVAL script count key... argument..." in RESP. Each command that a script calls is written, also in RESP, and its
-- reply read; the script's own reply is written behind a line "done". What scripts find here is from Dragonfly's
-- src/core/interpreter.cc and interpreter_polyfill.h at f8eca6d0 (2026-08-22). With "strict" a script may name no keys but those in
-- KEYS, unless it begins as script_mgr.cc wants it; with "stricter", none at all.
local is_strict, may_ask = arg[1]:find('strict') == 1, arg[1] == 'strict'
local allowance = '^%s*%-%-!df flags=allow%-undeclared%-keys%s'
local has_no_keys = { time = true, publish = true, info = true }
local has_keys_alone = { del = true, exists = true }

local function read_line() return (assert(io.read('L'), 'the end'):gsub('\r\n$', '')) end

local function read_text(size)
    local text = size == 0 and '' or io.read(size)
    io.read(2)
    return text
end

-- A reply as a script sees it.
local function read_reply()
    local line = read_line()
    local sign, rest = line:sub(1, 1), line:sub(2)
    if sign == '+' then return { ok = rest } end
    if sign == '-' then return { err = rest } end
    if sign == ':' then return math.tointeger(rest) end
    if rest == '-1' then return false end
    if sign == '$' then return read_text(tonumber(rest)) end
    local list = {}
    for i = 1, tonumber(rest) do list[i] = read_reply() end
    return list
end

local function write_command(words)
    io.write('*', #words, '\r\n')
    for _, word in ipairs(words) do io.write('$', #word, '\r\n', word, '\r\n') end
    io.flush()
end

local function text_of(value)
    local kind = math.type(value)
    if not kind and type(value) ~= 'string' then error('Lua redis() command arguments must be strings or integers', 0) end
    return kind == 'float' and ('%.17g'):format(value) or tostring(value)
end

-- The first key of a command that is not declared; nil: none, or no matter.
local function undeclared(words, declared)
    local name = words[1]:lower()
    for i = 2, has_no_keys[name] and 1 or has_keys_alone[name] and #words or 2 do
        if not declared[words[i]] then return words[i] end
    end
end

-- Dragonfly's scripts get a double as a number, and as an integer if it is a whole one (OnDouble); elsewhere it is a text.
local function gives_number(command, reply) return is_strict and command:lower() == 'zscore' and type(reply) == 'string' end

local function whole_if_possible(number) return math.tointeger(number) or number end

local function caller(declared)
    return function(...)
        local words = { ... }
        for i, value in ipairs(words) do words[i] = text_of(value) end
        local key = declared and undeclared(words, declared)
        if key then return { err = 'script tried accessing undeclared key, key: ' .. key } end
        write_command(words)
        local reply = read_reply()
        return gives_number(words[1], reply) and whole_if_possible(tonumber(reply)) or reply
    end
end

local function globals(keys, arguments, declared)
    local pcalled = caller(declared)
    local function call(...)
        local reply = pcalled(...)
        if type(reply) == 'table' and reply.err then error(reply.err, 0) end
        return reply
    end
    local known = { KEYS = keys, ARGV = arguments, redis = { call = call, pcall = pcalled }, math = math, string = string,
                    table = table, unpack = table.unpack, ipairs = ipairs, pcall = pcall, tonumber = tonumber, type = type }
    return setmetatable(known, { __index = function(_, name) error('nonexistent global variable ' .. name, 2) end,
                                 __newindex = function(_, name) error('created global variable ' .. name, 2) end })
end

local function write_reply(value)
    local kind = type(value)
    if math.type(value) == 'integer' then io.write(':', value, '\r\n')
    elseif kind == 'number' or kind == 'string' then io.write('$', #text_of(value), '\r\n', text_of(value), '\r\n')
    elseif kind ~= 'table' then io.write('$-1\r\n')
    elseif value.err then io.write('-', value.err, '\r\n')
    elseif value.ok then io.write('+', value.ok, '\r\n')
    else
        io.write('*', #value, '\r\n')
        for _, one in ipairs(value) do write_reply(one) end
    end
end

while io.read(0) do
    local words = read_reply()
    local keys, arguments, declared = {}, {}, {}
    for i = 4, #words do
        local list = i < 4 + words[3] and keys or arguments
        list[#list + 1] = words[i]
    end
    for _, key in ipairs(keys) do declared[key] = true end
    local is_free = not is_strict or may_ask and words[2]:find(allowance)
    local script, trouble = load(words[2], '@user_script', 't', globals(keys, arguments, not is_free and declared or nil))
    local good, reply
    if script then good, reply = pcall(script) else reply = trouble end
    if not good then reply = { err = 'ERR Error running script (call to ' .. arg[0] .. '): ' .. tostring(reply) } end
    io.write('done\r\n')
    write_reply(reply)
    io.flush()
end
