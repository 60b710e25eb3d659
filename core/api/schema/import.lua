#!/usr/bin/env lua5.4
-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Imports the API types of a Kubernetes release: facts from the Go packages and
-- from a server's discovery, to <group>_<version>.schema files. README.md says how.
--
--   import.lua --source MODULE=DIR... --facts DIR --output DIR --release 1.36

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local golang, json, sha256 = require("golang"), require("json"), require("sha256")

local function usage(why)
	io.stderr:write("import.lua: ", why, "\n",
		"usage: import.lua --source MODULE=DIR... --facts DIR --output DIR --release VERSION\n")
	os.exit(2)
end

local function parse_args()
	local options = { sources = {} }
	local i = 1
	while arg[i] do
		local value = arg[i + 1] or usage(arg[i] .. " needs a value")
		if arg[i] == "--source" then
			local module, dir = value:match("^([^=]+)=(.+)$")
			options.sources[module or usage("bad --source")] = dir
		elseif arg[i] == "--facts" or arg[i] == "--output" or arg[i] == "--release" then
			options[arg[i]:sub(3)] = value
		else
			usage("unknown option " .. arg[i])
		end
		i = i + 2
	end
	if not (options.facts and options.output and options.release) then
		usage("--facts, --output and --release are needed")
	end
	return options
end

local options = parse_args()

-- Go types that the tables know as scalars of their own.
local special = {
	["meta.v1.Time"] = "time", ["meta.v1.MicroTime"] = "microtime", ["meta.v1.Duration"] = "duration",
	["meta.v1.FieldsV1"] = "fieldsv1", ["api.resource.Quantity"] = "quantity", ["util.intstr.IntOrString"] = "intorstring",
	["pkg.runtime.RawExtension"] = "raw",
	["apiextensions.v1.JSON"] = "json.JSON", ["apiextensions.v1.JSONSchemaPropsOrArray"] = "json.JSONSchemaPropsOrArray",
	["apiextensions.v1.JSONSchemaPropsOrBool"] = "json.JSONSchemaPropsOrBool",
	["apiextensions.v1.JSONSchemaPropsOrStringArray"] = "json.JSONSchemaPropsOrStringArray",
	["pkg.types.UID"] = "string.UID", ["pkg.types.NodeName"] = "string.NodeName",
}

local builtin = {
	string = "string", bool = "bool", int32 = "int32", int64 = "int64", int = "int64", float64 = "float64",
	["interface{}"] = "json",
}

-- Where etcd keys are not simply the resource's name.
local prefixes = {
	["/nodes"] = "minions", ["/services"] = "services/specs", ["/endpoints"] = "services/endpoints",
	["/replicationcontrollers"] = "controllers", ["networking.k8s.io/ingresses"] = "ingress",
	["apiregistration.k8s.io/apiservices"] = "apiregistration.k8s.io/apiservices",
	["apiextensions.k8s.io/customresourcedefinitions"] = "apiextensions.k8s.io/customresourcedefinitions",
}

-- Resources whose objects are kept as another group or version of themselves.
local stored_as = {
	["events.k8s.io/v1/events"] = { group = "", version = "v1", resource = "events" },
	["autoscaling/v1/horizontalpodautoscalers"] = {
		group = "autoscaling", version = "v2", resource = "horizontalpodautoscalers",
	},
}

-- Resources that kube-apiserver keeps in a version that it does not serve: discovery's hash tells.
local hashed_as = {
	["apiextensions.k8s.io/v1/customresourcedefinitions"] = "v1beta1",
	["admissionregistration.k8s.io/v1/mutatingadmissionpolicies"] = "v1beta1",
	["admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"] = "v1beta1",
}

local packages = {}

local function load_package(import)
	if packages[import] == nil then
		local best
		for module, dir in pairs(options.sources) do
			if import == module or import:sub(1, #module + 1) == module .. "/" then
				best = golang.load(dir .. import:sub(#module + 1), import)
			end
		end
		packages[import] = best or false
	end
	return packages[import]
end

local function group_package(group, version)
	local first = group == "" and "core" or group:match("^[^.]+")
	local bases = { "k8s.io/api/", "k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/kube-aggregator/pkg/apis/" }
	for _, base in ipairs(bases) do
		local p = load_package(base .. first .. "/" .. version)
		if p and p.group == group then
			return p
		end
	end
	error("no Go package for " .. group .. "/" .. version)
end

-- The package's types that something written so far refers to.
local wanted, queue = {}, {}

local function want(package, name)
	local key = package.short .. "." .. name
	if not wanted[key] then
		wanted[key] = true
		queue[#queue + 1] = { package = package, name = name }
	end
end

-- Go type text, seen from a package, to ours. `depth` guards against cycles of named types.
local function translate(package, go, depth)
	assert((depth or 0) < 20, go)
	depth = (depth or 0) + 1
	if go == "[]byte" then
		return "bytes"
	elseif go:sub(1, 1) == "*" then
		return "*" .. translate(package, go:sub(2), depth)
	elseif go:sub(1, 2) == "[]" then
		return "[]" .. translate(package, go:sub(3), depth)
	elseif go:match("^map%[") then
		local key, value = go:match("^map%[([%w%.]+)%](.+)$")
		return ("{%s}%s"):format(key == "string" and "" or translate(package, key, depth), translate(package, value, depth))
	elseif builtin[go] then
		return builtin[go]
	end
	local alias, name = go:match("^(%w+)%.(%w+)$")
	local from = package
	if alias then
		local import = package.imports[alias] or error(package.import .. ": no import " .. alias)
		from = load_package(import) or error("no source for " .. import)
		go = name
	end
	local short = from.short .. "." .. go
	if special[short] then
		return special[short]
	end
	local t = from.types[go] or error(package.import .. ": unknown type " .. short)
	if t.kind == "alias" or t.kind == "named" and t.go_type:find("^%w+%.%u") then
		return translate(from, t.go_type, depth)
	end
	want(from, go)
	return short
end

local function marker(markers, ...)
	for _, key in ipairs({ ... }) do
		if markers[key] then
			return markers[key]
		end
	end
	return nil
end

local function default_text(package, text)
	local ref = text:match("^ref%(([%w%.]+)%)$")
	if not ref then
		return text
	end
	local from, name = package, ref
	if ref:find(".", 1, true) then
		local import
		import, name = ref:match("^(.*)%.(%w+)$")
		from = load_package(package.imports[import] or import) or error("default " .. ref)
	end
	return '"' .. (from.const_text[name] or error("default " .. ref)) .. '"'
end

local function is_required(field)
	if marker(field.markers, "required") then
		return true
	end
	return not (marker(field.markers, "optional") or field.omitempty or field.omitzero)
end

-- Markers that later work reads: kept word for word under the field.
local function kept_markers(markers)
	local out = {}
	for _, m in ipairs(markers) do
		if m.key:match("^k8s:alpha") or m.key:match("^k8s:beta") or m.key:match("^k8s:validation")
			or m.key:match("^kubebuilder:validation") or m.key:match("^k8s:deprecated")
			or m.key:match("^k8s:%l") and not m.key:match("gen$") then
			out[#out + 1] = m.key .. (m.value == "" and "" or (m.value:sub(1, 1) == "(" and "" or "=") .. m.value)
		end
	end
	return out
end

local function field_words(package, field)
	local words, markers = {}, field.markers
	local function word(text)
		words[#words + 1] = text
	end
	if field.omitempty then word("omitempty") end
	if field.omitzero then word("omitzero") end
	if marker(markers, "optional") then word("optional") end
	if is_required(field) then word("required") end
	if marker(markers, "nullable") then word("nullable") end
	local list = marker(markers, "listType", "k8s:listType")
	if list then
		local keys = marker(markers, "listMapKey", "k8s:listMapKey")
		word("list=" .. list[1] .. (keys and ":" .. table.concat(keys, ",") or ""))
	end
	local map = marker(markers, "mapType", "structType")
	if map then word("map=" .. map[1]) end
	if field.patch_strategy then word("patch=" .. field.patch_strategy) end
	if field.patch_merge_key then word("merge=" .. field.patch_merge_key) end
	if marker(markers, "unionDiscriminator") then word("discriminator") end
	local one_of = marker(markers, "oneOf", "zeroOrOneOf")
	if one_of then word("oneof=" .. one_of[1]) end
	local gate = marker(markers, "featureGate")
	if gate then word("gate=" .. table.concat(gate, ",")) end
	local default = marker(markers, "default")
	if default then word("default=" .. default_text(package, default[1])) end
	return words
end

local function emit_struct(out, package, t)
	local words = { "type", t.name }
	local struct_type = marker(t.markers, "structType", "mapType")
	if struct_type then words[#words + 1] = struct_type[1] end
	if marker(t.markers, "union") then words[#words + 1] = "union" end
	out(table.concat(words, " "))
	for _, field in ipairs(t.fields) do
		local ours = translate(package, field.go_type)
		if field.inline then
			out(("  inline %s %s"):format(ours, field.proto or "0"))
		else
			local line = { "  " .. field.json, ours, field.proto or "0", table.unpack(field_words(package, field)) }
			out(table.concat(line, " "))
		end
		for _, text in ipairs(kept_markers(field.markers)) do
			out("    + " .. text)
		end
	end
end

local function foreign_constant(package, alias, name)
	local from = load_package(package.imports[alias]) or error("no source for " .. alias)
	return from.const_text[name]
end

local function emit_type(out, package, t)
	if t.kind == "struct" then
		emit_struct(out, package, t)
	elseif t.markers.enum then
		out("enum " .. t.name)
		for _, text in ipairs(package:constants(t.name, foreign_constant)) do
			out("  value " .. text)
		end
	else
		out(("named %s %s%s"):format(t.name, translate(package, t.go_type), t.markers["protobuf.nullable"] and " message" or ""))
	end
end

local function find(list, group, version, resource)
	for _, item in ipairs(list) do
		if item.group == group and item.version == version and item.resource == resource then
			return item
		end
	end
	return nil
end

local function has(list, text)
	for _, item in ipairs(list) do
		if item == text then
			return true
		end
	end
	return false
end

local columns = json.read(options.facts .. "/columns.json")
local selectors = json.read(options.facts .. "/field-selectors.json")

-- Whether DELETE answers with the object that is gone (OpenAPI tells) rather than with a Status.
local function returns_deleted(group, version, r, kind)
	local root = (group == "" and "api" or "apis/" .. group) .. "/" .. version
	local path = "/" .. root .. (r.scope == "Namespaced" and "/namespaces/{namespace}/" or "/") .. r.resource .. "/{name}"
	local doc = json.read(options.facts .. "/openapi/" .. root:gsub("/", "__") .. ".json.gz")
	local operation = doc.paths[path] and doc.paths[path].delete
	local answer = operation and operation.responses["200"].content["application/json"].schema["$ref"]
	return answer ~= nil and answer:match("([^.]+)$") == kind
end

local function emit_stored(out, group, version, r, kind)
	if not (has(r.verbs, "get") and has(r.verbs, "watch")) then
		return
	end
	local key = group .. "/" .. version .. "/" .. r.resource
	local as = stored_as[key]
	out("  prefix " .. (prefixes[group .. "/" .. r.resource] or r.resource))
	if as then
		out(("  stored %s/%s/%s"):format(as.group, as.version, as.resource))
	end
	if as then
		group, version = as.group, as.version
	end
	out("  hash " .. sha256.version_hash(group, hashed_as[key] or version, kind))
end

local function emit_resource(out, group, version, r)
	local kind = r.responseKind.kind
	out(("resource %s %s %s"):format(r.resource, kind, r.scope))
	out("  singular " .. r.singularResource)
	if r.shortNames then out("  short " .. table.concat(r.shortNames, " ")) end
	if r.categories then out("  category " .. table.concat(r.categories, " ")) end
	out("  verbs " .. table.concat(r.verbs, " "))
	if returns_deleted(group, version, r, kind) then out("  returnsdeleted") end
	emit_stored(out, group, version, r, kind)
	local fields = find(selectors, group, version, r.resource)
	local extra = {}
	for _, name in ipairs(fields and fields.fieldSelectors or {}) do
		if name ~= "metadata.name" and name ~= "metadata.namespace" then
			extra[#extra + 1] = name
		end
	end
	if #extra > 0 then out("  selectable " .. table.concat(extra, " ")) end
	local table_columns = find(columns, group, version, r.resource)
	for _, c in ipairs(table_columns and table_columns.columns or {}) do
		out(('  column %d %s "%s" "%s"'):format(c.priority, c.type, c.format, c.name))
	end
	for _, s in ipairs(r.subresources or {}) do
		local k = s.responseKind
		local version_of_kind = k.version ~= "" and (" of " .. k.group .. "/" .. k.version) or ""
		out(("  subresource %s %s%s verbs %s"):format(s.subresource, k.kind, version_of_kind, table.concat(s.verbs, " ")))
	end
end

local outputs, order = {}, {}

-- The schema text of a package: its lines grow as types are found to be needed.
local function output_of(package, group, version)
	local o = outputs[package.short]
	if not o then
		local name = (group == "" and "core" or group or package.short) .. "_" .. (version or "v1")
		o = { lines = {}, name = name, package = package, types = {} }
		outputs[package.short] = o
		order[#order + 1] = o
	end
	return o
end

local function emit_group_version(group, version, preferred, resources)
	local package = group_package(group, version)
	local o = output_of(package, group, version)
	local function out(line)
		o.lines[#o.lines + 1] = line
	end
	out("group " .. (group == "" and '""' or group))
	out("version " .. version .. (preferred and " preferred" or ""))
	for _, r in ipairs(resources) do
		out("")
		emit_resource(out, group, version, r)
	end
	out("")
	for _, name in ipairs(package.known) do
		out("kind " .. translate(package, name))
	end
end

local function emit_meta()
	local package = assert(load_package("k8s.io/apimachinery/pkg/apis/meta/v1"))
	local o = output_of(package, "meta", "v1")
	local function out(line)
		o.lines[#o.lines + 1] = line
	end
	for _, name in ipairs(package.unversioned) do
		out("unversioned " .. translate(package, name))
	end
	for _, name in ipairs(package.options) do
		out("everywhere " .. translate(package, name))
	end
	out("everywhere " .. translate(package, "WatchEvent"))
	for _, name in ipairs(package.known) do
		out("meta " .. translate(package, name))
	end
	out("scalar time " .. package.model_prefix .. ".Time")
	out("scalar microtime " .. package.model_prefix .. ".MicroTime")
	out("scalar duration " .. package.model_prefix .. ".Duration")
	out("scalar fieldsv1 " .. package.model_prefix .. ".FieldsV1")
	local scalars = {
		{ "quantity", "k8s.io/apimachinery/pkg/api/resource", "Quantity" },
		{ "intorstring", "k8s.io/apimachinery/pkg/util/intstr", "IntOrString" },
		{ "raw", "k8s.io/apimachinery/pkg/runtime", "RawExtension" },
	}
	for _, s in ipairs(scalars) do
		out(("scalar %s %s.%s"):format(s[1], assert(load_package(s[2])).model_prefix, s[3]))
	end
	for _, name in ipairs({ "UID", "NodeName" }) do
		out(("scalar string.%s io.k8s.apimachinery.pkg.types.%s"):format(name, name))
	end
	local extensions = assert(load_package("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"))
	for _, name in ipairs({ "JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray" }) do
		out(("scalar json.%s %s.%s"):format(name, extensions.model_prefix, name))
	end
	want(package, "ObjectMeta")
	want(package, "LabelSelector")
	want(package, "Condition")
	want(assert(load_package("k8s.io/apimachinery/pkg/version")), "Info")
end

local function drain_queue()
	local at = 1
	while queue[at] do
		local item = queue[at]
		local t = item.package.types[item.name]
		local o = output_of(item.package)
		local lines = {}
		emit_type(function(line) lines[#lines + 1] = line end, item.package, t)
		o.types[item.name] = lines
		at = at + 1
	end
end

local function write_output(o)
	local path = options.output .. "/" .. o.name .. ".schema"
	local file = assert(io.open(path, "w"))
	file:write("# Imported by import.lua from Kubernetes ", options.release,
		"; change the importer or a .rules file, never this one.\n")
	file:write("package ", o.package.short, " ", o.package.model_prefix, "\n")
	for _, line in ipairs(o.lines) do
		file:write(line, "\n")
	end
	local names = {}
	for name in pairs(o.types) do
		names[#names + 1] = name
	end
	table.sort(names)
	for _, name in ipairs(names) do
		file:write("\n", table.concat(o.types[name], "\n"), "\n")
	end
	file:close()
end

for _, file in ipairs({ "discovery-api.json", "discovery-apis.json" }) do
	for position, g in ipairs(json.read(options.facts .. "/" .. file).items) do
		for i, v in ipairs(g.versions) do
			emit_group_version(g.metadata.name or "", v.version, i == 1, v.resources)
			local o = order[#order]
			table.insert(o.lines, 1, ("order %d"):format((file == "discovery-api.json" and 0 or 100 + position * 10) + i))
		end
	end
end
emit_meta()
drain_queue()
for _, o in ipairs(order) do
	write_output(o)
end
