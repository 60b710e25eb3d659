-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- What the comments of the Go packages say about types and fields, as OpenAPI documents and
-- Tables show it. Read at build time from where the packages are installed; never kept in the tree.

local golang = require("golang")

local M = {}

local Describer = {}
Describer.__index = Describer

-- `dir` holds k8s.io; nil: nothing is described.
function M.open(dir)
	return setmetatable({ dir = dir, packages = {}, swagger = {} }, Describer)
end

function M.exists(dir)
	local file = io.open(dir .. "/k8s.io/api/core/v1/types.go")
	return file ~= nil and file:close()
end

-- "io.k8s.api.core.v1" is what OpenAPI calls k8s.io/api/core/v1.
local function import_path(model)
	return (model:gsub("^io%.k8s%.", "k8s.io/"):gsub("%.", "/"):gsub("^k8s/io", "k8s.io"))
end

local function package_of(self, model)
	if self.packages[model] == nil then
		local import = import_path(model)
		self.packages[model] = self.dir and golang.load(self.dir .. "/" .. import, import) or false
	end
	return self.packages[model]
end

-- Comment lines to text: lines are joined, empty ones part paragraphs, indented ones stay lines of their own. What
-- follows "---", lines that begin with TODO and markers are for the authors of the types.
local function to_text(lines)
	local out = ""
	for _, line in ipairs(lines) do
		local word = line:match("^%s*(.*)$")
		if line == "---" then
			break
		elseif line == "" then
			out = out:sub(1, -2) .. "\n\n"
		elseif word:match("^TODO") or word:match("^%+") then
			goto continue
		elseif line:match("^%s") then
			out = out:sub(1, -2) .. "\n" .. line .. "\n"
		else
			out = out .. line .. " "
		end
		::continue::
	end
	return (out:gsub("^\n+", ""):gsub("\n+$", ""):gsub('\\"', '"'):gsub("^ +", ""):gsub(" +$", ""))
end

-- One line for each allowed value, sorted.
local function enum_lines(package, type_name)
	local lines = {}
	for _, c in ipairs(package.consts) do
		if c.type == type_name and c.text then
			local comment = table.concat(c.lines or {}, " "):match("^%s*(.-)%s*$")
			if comment:sub(1, #c.name) == c.name then
				comment = comment:sub(#c.name + 1):match("^%s*(.*)$")
			end
			lines[#lines + 1] = (' - `"%s"` %s'):format(c.text, (comment:gsub("%s+", " "))):gsub(" $", "")
		end
	end
	table.sort(lines)
	return lines
end

-- The enumeration that a field's Go type is, with its package; nil when it is none.
local function enum_of(self, package, go_type)
	local alias, name = go_type:gsub("^%*", ""):match("^(%w+)%.(%w+)$")
	if alias then
		local import = package.imports[alias]
		package = import and package_of(self, (import:gsub("^k8s%.io", "io.k8s"):gsub("/", ".")))
	else
		name = go_type:gsub("^%*", "")
	end
	local t = package and package.types[name]
	if t and t.kind == "alias" then
		return enum_of(self, package, t.go_type)
	end
	return t and t.markers and t.markers.enum and package or nil, name
end

-- "" when nothing is said.
function Describer:type(model, name)
	local package = package_of(self, model)
	local t = package and package.types[name]
	return t and t.markers and to_text(t.markers.lines) or ""
end

function Describer:field(model, type_name, json_name)
	local package = package_of(self, model)
	local t = package and package.types[type_name]
	for _, field in ipairs(t and t.fields or {}) do
		if field.json == json_name and not field.inline then
			local lines = table.move(field.markers.lines, 1, #field.markers.lines, 1, {})
			local where, name = enum_of(self, package, field.go_type)
			local values = where and enum_lines(where, name) or {}
			if #values > 0 then
				table.move({ "", "Possible enum values:", table.unpack(values) }, 1, #values + 2, #lines + 1, lines)
			end
			return to_text(lines)
		end
	end
	return ""
end

local function read_swagger(path)
	local types, of = {}, nil
	local file = io.open(path)
	for line in file and file:lines() or function() end do
		local name = line:match("^var map_(%w+) = map%[string%]string{")
		local key, text = line:match('^%s+"([^"]*)":%s+"(.*)",$')
		if name then
			of = {}
			types[name] = of
		elseif key and of then
			of[key] = text:gsub("\\n", "\n"):gsub("\\t", "\t"):gsub('\\"', '"'):gsub("\\\\", "\\")
		end
	end
	if file then
		file:close()
	end
	return types
end

-- What SwaggerDoc() of a type says about a field, in which paragraphs are made a little differently.
function Describer:swagger_doc(model, type_name, json_name)
	if not self.dir then
		return ""
	end
	if not self.swagger[model] then
		self.swagger[model] = read_swagger(self.dir .. "/" .. import_path(model) .. "/types_swagger_doc_generated.go")
	end
	local fields = self.swagger[model][type_name]
	return fields and fields[json_name] or ""
end

return M
