-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Reads the declarations of a Go package that describes API types: structs with
-- their tags and markers, named types, typed string constants, and what
-- register.go adds to the scheme. It understands gofmt's layout of such
-- packages, not the language.

local M = {}

local Package = {}
Package.__index = Package

local function list_files(dir)
	local out = {}
	local pipe = assert(io.popen("LC_ALL=C ls '" .. dir .. "' 2>/dev/null"))
	for name in pipe:lines() do
		local skip = name:match("_test%.go$") or name:match("generated%.pb%.go$")
			or name:match("^zz_generated%.[dcp]") or name:match("swagger_doc")
		if name:match("%.go$") and not skip then
			out[#out + 1] = name
		end
	end
	pipe:close()
	return out
end

-- "// +listType=map" -> markers.listType = {"map"}; everything else in a comment is prose.
local function add_marker(markers, text)
	local key, value = text:match("^%+([%w:%.%-]+)=?(.*)$")
	if not key then
		return
	end
	if text:match("^%+k8s:alpha") or text:match("^%+k8s:beta") then
		key, value = text:match("^%+(k8s:%w+)(.*)$")
	end
	markers[#markers + 1] = { key = key, value = value }
	markers[key] = markers[key] or {}
	table.insert(markers[key], value)
end

local function struct_tag(tags, key)
	return tags:match('%f[%w]' .. key .. ':"([^"]*)"')
end

-- One line inside a struct; nil when it declares no field.
local function parse_field(line, markers)
	local left, tags = line:match("^%s+(.-)%s+`([^`]*)`")
	if not left then
		return nil
	end
	local name, go_type = left:match("^(%w+)%s+(%S+)$")
	local embedded = false
	if not name then
		go_type, embedded = left, true
		name = left:match("(%w+)$")
	end
	local json = struct_tag(tags, "json")
	if not json or json == "-" then
		return nil
	end
	local json_name = json:match("^([^,]*)")
	local field = {
		go_name = name, go_type = go_type, json = json_name, markers = markers,
		omitempty = json:find(",omitempty", 1, true) ~= nil,
		omitzero = json:find(",omitzero", 1, true) ~= nil,
		inline = json:find(",inline", 1, true) ~= nil or (embedded and json_name == ""),
		patch_strategy = struct_tag(tags, "patchStrategy"),
		patch_merge_key = struct_tag(tags, "patchMergeKey"),
	}
	local protobuf = struct_tag(tags, "protobuf")
	if protobuf then
		field.wire, field.proto = protobuf:match("^(%w+),(%d+)")
	end
	return field
end

local function parse_type_line(self, line, markers)
	local name, equals, rest = line:match("^type (%w+) (=?)%s*(.+)$")
	if not name then
		return nil
	end
	if equals == "=" then
		self.types[name] = { kind = "alias", name = name, go_type = rest, package = self }
	elseif rest:match("^struct%s*{%s*}") then
		self.types[name] = { kind = "struct", name = name, fields = {}, markers = markers, package = self }
	elseif rest:match("^struct%s*{") then
		local t = { kind = "struct", name = name, fields = {}, markers = markers, package = self }
		self.types[name] = t
		return t
	elseif not rest:match("^interface") and not rest:match("^func") then
		self.types[name] = { kind = "named", name = name, go_type = rest:match("^%S+"), markers = markers, package = self }
	end
	return nil
end

local function parse_const(self, line, lines)
	local name, go_type, text = line:match('^%s*(%w+)%s+(%w+)%s*=%s*"([^"]*)"')
	if name and name ~= "const" then
		self.consts[#self.consts + 1] = { name = name, type = go_type, text = text, lines = lines }
		self.const_text[name] = text
		return
	end
	name, go_type, text = line:match('^%s*(%w+)%s*=%s*(%w+)%("([^"]*)"%)')
	if name then
		self.consts[#self.consts + 1] = { name = name, type = go_type, text = text, lines = lines }
		self.const_text[name] = text
		return
	end
	name, go_type, text = line:match("^%s*(%w+)%s*=%s*(%w+)%(([%w%.]+)%)")
	if name then
		self.consts[#self.consts + 1] = { name = name, type = go_type, ref = text }
		return
	end
	name, text = line:match('^%s*(%w+)%s*=%s*"([^"]*)"')
	if name then
		self.const_text[name] = text
		return
	end
	name, go_type, text = line:match("^%s*(%w+)%s+(%w+)%s*=%s*(%w+)")
	if name then
		self.consts[#self.consts + 1] = { name = name, type = go_type, ref = text }
	end
end

-- What a comment says: markers, and all of its lines.
local function new_markers()
	return { lines = {} }
end

-- As go/ast takes a comment's text from it: without the first space, directives, and all empty lines but one in a row.
local function add_line(lines, raw)
	local directive = raw:match("^%l[%l%d]*:[%l%d]")
	local line = raw:gsub("^ ", ""):gsub("%s+$", "")
	if not directive and (line ~= "" or (#lines > 0 and lines[#lines] ~= "")) then
		lines[#lines + 1] = line
	end
end

-- The markers of a declaration that the comment above touches; no comment does otherwise.
local function touched(markers, touching)
	if not touching then
		return new_markers()
	end
	local lines = markers.lines
	while lines[#lines] == "" do
		lines[#lines] = nil
	end
	return markers
end

-- Markers of a type may stand in the comment above the one that touches it.
local function joined(markers, before)
	if not before then
		return markers
	end
	for _, m in ipairs(before) do
		add_marker(markers, "+" .. m.key .. (m.value ~= "" and "=" .. m.value or ""))
	end
	return markers
end

local function parse_file(self, path)
	local struct, in_const, in_import = nil, false, false
	local markers, before, touching = new_markers(), nil, false
	for line in io.lines(path) do
		local comment = line:match("^%s*//(.*)$")
		if comment then
			if not touching then
				before, markers, touching = markers, new_markers(), true
			end
			add_marker(markers, comment:match("^%s*(.-)%s*$"))
			add_line(markers.lines, comment)
		elseif line:match("^%s*$") then
			touching = false
		else
			if struct then
				if line:match("^}") then
					struct = nil
				else
					local field = parse_field(line, touched(markers, touching))
					if field then
						struct.fields[#struct.fields + 1] = field
					end
				end
			elseif in_import then
				local alias, import = line:match('^%s*(%w*)%s*"([^"]+)"')
				if import then
					self.imports[alias ~= "" and alias or import:match("([^/]+)$")] = import
				end
				in_import = not line:match("^%)")
			elseif in_const then
				parse_const(self, line, touched(markers, touching).lines)
				in_const = not line:match("^%)")
			elseif line:match("^import %(") then
				in_import = true
			elseif line:match("^const %(") or line:match("^var %(") then
				in_const = true
			elseif line:match("^const ") then
				parse_const(self, line:sub(7), touched(markers, touching).lines)
			elseif line:match("^type ") then
				if not touching then
					before, markers = markers, new_markers()
				end
				struct = parse_type_line(self, line, joined(touched(markers, true), before))
			end
			markers, before, touching = new_markers(), nil, false
		end
	end
end

-- What register.go puts into the scheme, in order: names of types.
local function parse_register(self, path)
	local file = io.open(path)
	if not file then
		return
	end
	local text = file:read("a")
	file:close()
	self.group = text:match('GroupName%s*=%s*"([^"]*)"')
	for body in text:gmatch("AddKnownTypes%(SchemeGroupVersion,(.-)\n?%s*%)") do
		for name in body:gmatch("&(%w+){}") do
			table.insert(self.known, name)
		end
	end
	for body in text:gmatch("AddUnversionedTypes%(Unversioned,(.-)\n?%s*%)") do
		for name in body:gmatch("&(%w+){}") do
			table.insert(self.unversioned, name)
		end
	end
	for body in text:gmatch("optionsTypes = %[%]runtime%.Object{(.-)\n}") do
		for name in body:gmatch("&(%w+){}") do
			table.insert(self.options, name)
		end
	end
end

local function parse_model_names(self, path)
	local file = io.open(path)
	if not file then
		return
	end
	self.model_prefix = file:read("a"):match('return "([^"]+)%.%w+"')
	file:close()
end

-- Loads the package in `dir`; `import` is its import path.
function M.load(dir, import)
	local self = setmetatable({
		import = import, dir = dir, types = {}, consts = {}, const_text = {}, imports = {},
		known = {}, unversioned = {}, options = {},
	}, Package)
	self.short = import:match("([^/]+/[^/]+)$"):gsub("/", ".")
	for _, name in ipairs(list_files(dir)) do
		if not name:match("^zz_generated") then
			parse_file(self, dir .. "/" .. name)
		end
	end
	parse_register(self, dir .. "/register.go")
	parse_model_names(self, dir .. "/zz_generated.model_name.go")
	return self
end

-- The constants of a named type, aliases followed, in order of declaration.
-- `resolve(package, alias, name)` finds those of other packages.
function Package:constants(type_name, resolve)
	local names = { [type_name] = true }
	for name, t in pairs(self.types) do
		if t.kind == "alias" and t.go_type == type_name then
			names[name] = true
		end
	end
	local out = {}
	for _, c in ipairs(self.consts) do
		if names[c.type] then
			local alias, name = (c.ref or ""):match("^(%w+)%.(%w+)$")
			local text = c.text or self.const_text[c.ref] or alias and resolve(self, alias, name)
			out[#out + 1] = text or error(self.import .. ": constant " .. c.name)
		end
	end
	return out
end

return M
