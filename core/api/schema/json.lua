-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- A small JSON reader for the importer's trusted inputs. null becomes nil.

local M = {}

local escapes = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

local value

local function fail(text, at, what)
	error(("JSON: %s at byte %d: %s"):format(what, at, text:sub(at, at + 20)))
end

local function skip(text, at)
	return text:find("%S", at) or #text + 1
end

local function string_at(text, at)
	local out, from = {}, at + 1
	while true do
		local stop = text:find('["\\]', from) or fail(text, at, "open string")
		out[#out + 1] = text:sub(from, stop - 1)
		if text:sub(stop, stop) == '"' then
			return table.concat(out), stop + 1
		end
		local c = text:sub(stop + 1, stop + 1)
		if c == "u" then
			out[#out + 1] = utf8.char(tonumber(text:sub(stop + 2, stop + 5), 16))
			from = stop + 6
		else
			out[#out + 1] = escapes[c] or fail(text, stop, "escape")
			from = stop + 2
		end
	end
end

local function array_at(text, at)
	local out = {}
	at = skip(text, at + 1)
	if text:sub(at, at) == "]" then
		return out, at + 1
	end
	while true do
		local item
		item, at = value(text, at)
		out[#out + 1] = item
		at = skip(text, at)
		local c = text:sub(at, at)
		if c == "]" then
			return out, at + 1
		elseif c ~= "," then
			fail(text, at, "array")
		end
		at = at + 1
	end
end

local function object_at(text, at)
	local out = {}
	at = skip(text, at + 1)
	if text:sub(at, at) == "}" then
		return out, at + 1
	end
	while true do
		local key
		key, at = string_at(text, skip(text, at))
		at = skip(text, at)
		if text:sub(at, at) ~= ":" then
			fail(text, at, "object")
		end
		out[key], at = value(text, at + 1)
		at = skip(text, at)
		local c = text:sub(at, at)
		if c == "}" then
			return out, at + 1
		elseif c ~= "," then
			fail(text, at, "object")
		end
		at = at + 1
	end
end

function value(text, at)
	at = skip(text, at)
	local c = text:sub(at, at)
	if c == "{" then
		return object_at(text, at)
	elseif c == "[" then
		return array_at(text, at)
	elseif c == '"' then
		return string_at(text, at)
	end
	local word = text:match("^[%w%.%+%-]+", at) or fail(text, at, "value")
	at = at + #word
	if word == "true" or word == "false" then
		return word == "true", at
	elseif word == "null" then
		return nil, at
	end
	return tonumber(word) or fail(text, at, "number"), at
end

function M.decode(text)
	return (value(text, 1))
end

-- A file, gzipped when its name says so.
function M.read(path)
	local file = assert(path:match("%.gz$") and io.popen("gzip -dc '" .. path .. "'") or io.open(path))
	local text = file:read("a")
	file:close()
	return M.decode(text)
end

return M
