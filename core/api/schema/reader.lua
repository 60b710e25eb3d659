-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Reads .schema and .rules files into Lua tables. Every complaint names file and line.

local M = {}

local function fail(where, what)
	error(("%s:%d: %s"):format(where.path, where.line, what), 0)
end
M.fail = fail

local function copy(where)
	return { path = where.path, line = where.line }
end

local function words_of(line)
	local words = {}
	for word in line:gmatch("%S+") do
		words[#words + 1] = word
	end
	return words
end

local function rest(words, from)
	return table.move(words, from, #words, 1, {})
end

local attributes = {
	omitempty = true, omitzero = true, optional = true, required = true, nullable = true, discriminator = true,
	list = "text", map = "text", patch = "text", merge = "text", oneof = "text", gate = "text",
}

-- `restartPolicy core.v1.RestartPolicy 3 omitempty optional default="Always"`: default is the last and may hold spaces.
local function parse_field(where, line)
	local head, default = line:match("^(.-) default=(.*)$")
	local words = words_of(head or line)
	if #words < 3 or not tonumber(words[3]) then
		fail(where, "a field needs a name, a type and a number")
	end
	local field = { name = words[1], type = words[2], proto = tonumber(words[3]), default = default, where = copy(where) }
	for _, word in ipairs(rest(words, 4)) do
		local key, value = word:match("^(%a+)=(.*)$")
		key = key or word
		local known = attributes[key]
		if not known or (known == "text") ~= (value ~= nil) then
			fail(where, "unknown attribute " .. word)
		end
		field[key] = value or true
	end
	return field
end

local resource_line = {}

function resource_line.singular(r, words) r.singular = words[2] end
function resource_line.short(r, words) r.short = rest(words, 2) end
function resource_line.category(r, words) r.category = rest(words, 2) end
function resource_line.verbs(r, words) r.verbs = rest(words, 2) end
function resource_line.prefix(r, words) r.prefix = words[2] end
function resource_line.hash(r, words) r.hash = words[2] end
function resource_line.selectable(r, words) r.selectable = rest(words, 2) end

function resource_line.returnsdeleted(r) r.returns_deleted = true end

function resource_line.stored(r, words)
	local group, version, resource = words[2]:match("^([^/]*)/([^/]+)/(.+)$")
	r.stored = { group = group, version = version, resource = resource }
end

function resource_line.column(r, _, line, where)
	local priority, type_, format, name = line:match('^column (%d+) (%a+) "([^"]*)" "([^"]*)"$')
	if not priority then
		fail(where, "bad column")
	end
	table.insert(r.columns, { priority = tonumber(priority), type = type_, format = format, name = name })
end

function resource_line.subresource(r, _, line, where)
	local name, kind, of, verbs = line:match("^subresource (%S+) (%S+)(.-) verbs (.+)$")
	if not name then
		fail(where, "bad subresource")
	end
	local sub = { name = name, kind = kind, verbs = words_of(verbs) }
	if of ~= "" then
		sub.group, sub.version = of:match("^ of ([^/]*)/(%S+)$")
	end
	table.insert(r.subresources, sub)
end

local top_line = {}

function top_line.package(s, words) s.package, s.model = words[2], words[3] end
function top_line.order(s, words) s.order = tonumber(words[2]) end
function top_line.group(s, words) s.group = words[2] == '""' and "" or words[2] end
function top_line.version(s, words) s.version, s.preferred = words[2], words[3] == "preferred" end
function top_line.kind(s, words) table.insert(s.kinds, words[2]) end
function top_line.unversioned(s, words) table.insert(s.unversioned, words[2]) end
function top_line.everywhere(s, words) table.insert(s.everywhere, words[2]) end
function top_line.meta(s, words) table.insert(s.meta, words[2]) end
function top_line.scalar(s, words) table.insert(s.scalars, { name = words[2], model = words[3] }) end

function top_line.resource(s, words, where)
	local r = {
		resource = words[2], kind = words[3], scope = words[4], columns = {}, subresources = {}, short = {}, category = {},
		verbs = {}, selectable = {},
	}
	if r.scope ~= "Namespaced" and r.scope ~= "Cluster" then
		fail(where, "bad scope")
	end
	table.insert(s.resources, r)
	return "resource", r
end

function top_line.type(s, words, where)
	local t = { class = "struct", name = words[2], fields = {}, package = s, where = copy(where) }
	for _, word in ipairs(rest(words, 3)) do
		t[word] = true
	end
	table.insert(s.types, t)
	return "type", t
end

function top_line.enum(s, words)
	local t = { class = "enum", name = words[2], values = {}, package = s }
	table.insert(s.types, t)
	return "enum", t
end

function top_line.named(s, words)
	local message = words[4] == "message"
	table.insert(s.types, { class = "named", name = words[2], type = words[3], message = message, package = s })
end

local function inner_line(context, item, words, text, where)
	if context == "resource" then
		local handler = resource_line[words[1]] or fail(where, "unknown word " .. words[1])
		handler(item, words, text, where)
	elseif context == "type" and words[1] == "+" then
		return -- a marker kept for later use
	elseif context == "type" and words[1] == "inline" then
		table.insert(item.fields, { inline = words[2], proto = tonumber(words[3]), where = copy(where) })
	elseif context == "type" then
		table.insert(item.fields, parse_field(where, text))
	elseif context == "enum" then
		table.insert(item.values, text:match("^value (.*)$") or text:match("^value$") and "" or fail(where, "bad value"))
	else
		fail(where, "nothing for this line to belong to")
	end
end

function M.schema(path)
	local s = {
		path = path, resources = {}, types = {}, kinds = {}, unversioned = {}, everywhere = {}, meta = {}, scalars = {},
	}
	local where = { path = path, line = 0 }
	local context, item
	for line in io.lines(path) do
		where.line = where.line + 1
		local indent, text = line:match("^(%s*)(.-)%s*$")
		if text ~= "" and text:sub(1, 1) ~= "#" then
			local words = words_of(text)
			if indent == "" then
				local handler = top_line[words[1]] or fail(where, "unknown word " .. words[1])
				context, item = handler(s, words, where)
			else
				inner_line(context, item, words, text, where)
			end
		end
	end
	return s
end

-- `core.v1.PodSpec restartPolicy default "Always"`: type, field, rule, value.
function M.rules(path)
	local rules = {}
	local where = { path = path, line = 0 }
	for line in io.lines(path) do
		where.line = where.line + 1
		if line:match("%S") and not line:match("^%s*#") then
			local type_, field, rule, value = line:match("^(%S+)%s+(%S+)%s+(%S+)%s*(.-)%s*$")
			if not rule then
				fail(where, "a rule needs a type, a field and what to do")
			end
			rules[#rules + 1] = { type = type_, field = field, rule = rule, value = value, where = copy(where) }
		end
	end
	return rules
end

-- `core.v1/services "Port(s)" core.v1.ServiceSpec ports`: whose field's description a column of a Table has.
function M.columns(path)
	local out = {}
	local where = { path = path, line = 0 }
	for line in io.lines(path) do
		where.line = where.line + 1
		if line:match("%S") and not line:match("^%s*#") then
			local of, name, type_, field = line:match('^(%S+) "([^"]+)" (%S+) (%S+)$')
			if not of then
				fail(where, "a column needs a resource, a name in quotes, a type and a field")
			end
			out[#out + 1] = { of = of, name = name, type = type_, field = field, where = copy(where) }
		end
	end
	return out
end

return M
