#!/usr/bin/env lua5.4
-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
--
-- Compiles .schema, .rules and .columns files to the constant tables of core/api/schema.h.
--
--   compile.lua -o FILE.c FILE.schema... FILE.rules...
--   compile.lua --descriptions FILE.c [--docs DIR] FILE.schema... FILE.rules... FILE.columns
--
-- The second makes the table of descriptions, of comments in the Go packages below DIR; without DIR it is empty.

local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local reader, describe = require("reader"), require("describe")
local fail = reader.fail

local CLASS = {
	bool = 1, int32 = 2, int64 = 3, float64 = 4, string = 5, bytes = 6, time = 7, microtime = 8, duration = 9, quantity = 10,
	intorstring = 11, raw = 12, json = 13, fieldsv1 = 14,
}
local STRUCT, LIST, MAP = 15, 16, 17
local LIST_KIND = { atomic = 0, set = 1, map = 2 }
local FLAG = {
	omitempty = 1 << 0, omitzero = 1 << 1, pointer = 1 << 2, required = 1 << 3, nullable = 1 << 4, element_pointer = 1 << 5,
	retain_keys = 1 << 6, patch_merge = 1 << 7, atomic = 1 << 8, granular = 1 << 9, union_member = 1 << 10,
	discriminator = 1 << 11, proto_none = 1 << 12, default_ours = 1 << 13, list_said = 1 << 14, patch_replace = 1 << 15,
}
local VERB = {
	get = 1, list = 2, watch = 4, create = 8, update = 16, patch = 32, delete = 64, deletecollection = 128, proxy = 256,
	connect = 512,
}
local NONE = 0xffff

-- The string pool: every text once.
local pool, pool_at, pool_size = { "" }, { [""] = 0 }, 1

local function text(s)
	if not pool_at[s] then
		pool_at[s] = pool_size
		pool[#pool + 1] = s
		pool_size = pool_size + #s + 1
	end
	return pool_at[s]
end

-- Lists of texts in one array; equal lists are shared.
local function new_lists()
	local self = { items = {}, seen = {} }
	function self.add(texts)
		if #texts == 0 then
			return 0
		end
		local key = table.concat(texts, "\0")
		if not self.seen[key] then
			self.seen[key] = #self.items
			for _, t in ipairs(texts) do
				self.items[#self.items + 1] = text(t)
			end
		end
		return self.seen[key]
	end
	return self
end

local lists, list_keys, enums = new_lists(), new_lists(), new_lists()
lists.add({ "" }) -- index 0: no embedded struct

local function fnv(s)
	local h = 2166136261
	for i = 1, #s do
		h = ((h ~ s:byte(i)) * 16777619) & 0xffffffff
	end
	return h
end

-- Open addressing, half full at most; probing goes up by one.
local function hash_table(hashes)
	local size = 1
	while size < 2 * #hashes do
		size = size * 2
	end
	local slots = {}
	for i = 1, size do
		slots[i] = NONE
	end
	for i, h in ipairs(hashes) do
		local at = h & (size - 1)
		while slots[at + 1] ~= NONE do
			at = (at + 1) & (size - 1)
		end
		slots[at + 1] = i - 1
	end
	return slots, size
end

local function new_type(t)
	return {
		class = t.class, list_kind = t.list_kind or 0, atomic = t.atomic and 1 or 0, message = t.message and 1 or 0,
		element = t.element or 0, n_fields = 0, first_field = 0, union = t.union, name = t.name or "",
		name_table = 0, name_table_size = 0, enum_first = t.enum_first or 0, n_enum = t.n_enum or 0, key = t.key or 0,
	}
end

local schemas, rules, column_sources = {}, {}, {}
local types, type_of, declared = { [0] = new_type({ class = 0 }) }, {}, {}
local fields, slots = { [0] = { name = "", type = 0, flags = 0, proto = 0, proto_parent = 0 } }, {}
local n_fields = 1

local function add_type(key, t)
	types[#types + 1] = new_type(t)
	type_of[key] = #types
	return #types
end

local function load_inputs(paths)
	for _, path in ipairs(paths) do
		if path:match("%.schema$") then
			schemas[#schemas + 1] = reader.schema(path)
		elseif path:match("%.rules$") then
			for _, rule in ipairs(reader.rules(path)) do
				rules[#rules + 1] = rule
			end
		elseif path:match("%.columns$") then
			for _, source in ipairs(reader.columns(path)) do
				column_sources[#column_sources + 1] = source
			end
		else
			error("not .schema, .rules or .columns: " .. path, 0)
		end
	end
	table.sort(schemas, function(a, b)
		return (a.order or 1e9) < (b.order or 1e9) or (a.order == b.order and a.package < b.package)
	end)
end

local function declare_scalars()
	for _, s in ipairs(schemas) do
		for _, scalar in ipairs(s.scalars) do
			local class = CLASS[scalar.name:match("^%l%w*")] or error("unknown scalar " .. scalar.name, 0)
			add_type(scalar.name, { class = class, name = scalar.model })
		end
	end
	for _, name in ipairs({ "bool", "int32", "int64", "float64", "string", "bytes", "json" }) do
		add_type(name, { class = CLASS[name] })
	end
end

local function sorted_unique(values)
	local out, seen = {}, {}
	for _, v in ipairs(values) do
		if not seen[v] then
			seen[v] = true
			out[#out + 1] = v
		end
	end
	table.sort(out)
	return out
end

local function declare_types()
	for _, s in ipairs(schemas) do
		for _, t in ipairs(s.types) do
			local key = s.package .. "." .. t.name
			t.key = key
			declared[key] = t
			if t.class == "struct" then
				t.index = add_type(key, { class = STRUCT, name = s.model .. "." .. t.name, atomic = t.atomic, union = t.union })
			elseif t.class == "enum" then
				local values = sorted_unique(t.values)
				local name = s.model .. "." .. t.name
				add_type(key, { class = CLASS.string, name = name, enum_first = enums.add(values), n_enum = #values })
			end
		end
	end
end

-- A list or map type from its text, or a named type; nil when it is neither. They may refer to others that aren't made yet.
local resolve

local function composite(where, name)
	local key, element = name:match("^{(.-)}%*?(.+)$")
	if key then
		key = key ~= "" and resolve(where, key) or 0
		return { class = MAP, element = resolve(where, element), key = key }
	end
	element = name:match("^%[%]%*?(.+)$")
	return element and { class = LIST, element = resolve(where, element) }
end

local function named_type(where, named)
	local t = composite(where, named.type)
	if not t then
		local of = types[resolve(where, named.type)]
		t = { class = of.class, element = of.element, key = of.key, enum_first = of.enum_first, n_enum = of.n_enum }
	end
	t.message, t.name = named.message, named.package.model .. "." .. named.name
	return t
end

-- Index of a type by its text; composite and named types are made on the way.
function resolve(where, name)
	if type_of[name] then
		return type_of[name]
	end
	local named = declared[name]
	local t = named and named.class == "named" and named_type(where, named) or composite(where, name)
	return t and add_type(name, t) or fail(where, "unknown type " .. name)
end

local function field_flags(f, struct)
	local flags = 0
	local function set(condition, name)
		if condition then
			flags = flags | FLAG[name]
		end
	end
	set(f.omitempty, "omitempty")
	set(f.omitzero, "omitzero")
	set(f.type:match("^%*"), "pointer")
	set(f.type:match("^%[%]%*") or f.type:match("^{[^}]*}%*"), "element_pointer")
	set(f.required, "required")
	set(f.nullable, "nullable")
	set(f.patch and f.patch:find("retainKeys"), "retain_keys")
	set(f.patch and f.patch:find("merge"), "patch_merge")
	set(f.patch and f.patch:find("replace"), "patch_replace")
	set(f.map == "atomic", "atomic")
	set(f.map == "granular", "granular")
	set(f.list, "list_said")
	set(f.discriminator, "discriminator")
	set(f.oneof or (struct.union and not f.discriminator and not f.required), "union_member")
	return flags
end

local function add_field(struct, from, f, parent_proto, proto_none, embedded)
	local list_kind, keys = 0, {}
	if f.list then
		local kind, names = f.list:match("^(%a+):?(.*)$")
		list_kind = LIST_KIND[kind] or fail(f.where, "unknown list type " .. f.list)
		for key in names:gmatch("[^,]+") do
			keys[#keys + 1] = key
		end
	end
	local type_index = resolve(f.where, (f.type:gsub("^%*", "")))
	local t = types[type_index]
	local flags = field_flags(f, struct)
	if proto_none or f.proto == 0 then
		flags = flags | FLAG.proto_none
	end
	fields[n_fields] = {
		name = f.name, type = type_index, flags = flags, proto = f.proto, proto_parent = parent_proto,
		list_kind = list_kind, n_list_keys = #keys, first_list_key = list_keys.add(keys), merge = f.merge or "",
		default = f.default or "", enum_first = t.n_enum > 0 and t.enum_first or 0, n_enum = t.n_enum, union = f.oneof or "",
		embedded = embedded and lists.add({ embedded }) or 0,
		model = from.package.model, declared_in = from.name,
	}
	n_fields = n_fields + 1
	struct.slot_of[f.name] = n_fields - 1
end

-- Fields of a struct with embedded ones put in their place.
local function add_fields(struct, from, parent_proto, proto_none, embedded)
	for _, f in ipairs(from.fields) do
		if f.inline then
			local inner = declared[f.inline] or fail(f.where, "unknown type " .. f.inline)
			if parent_proto > 255 or f.proto > 255 then
				fail(f.where, "embedded too deep for proto_parent")
			end
			local parent = parent_proto == 0 and f.proto or parent_proto | f.proto << 8
			local path = (embedded and embedded .. "." or "") .. inner.name
			add_fields(struct, inner, parent, f.proto == 0 or proto_none, path)
		elseif struct.slot_of[f.name] then
			fail(f.where, "field " .. f.name .. " twice")
		else
			add_field(struct, from, f, parent_proto, proto_none, embedded)
		end
	end
end

local function compile_struct(t)
	t.slot_of = {}
	local first = n_fields
	add_fields(t, t, 0, false, nil)
	local out = types[t.index]
	out.first_field, out.n_fields = first, n_fields - first
	local hashes = {}
	for i = first, n_fields - 1 do
		hashes[#hashes + 1] = fnv(fields[i].name)
	end
	if #hashes > 0 then
		local own
		own, out.name_table_size = hash_table(hashes)
		out.name_table = #slots
		table.move(own, 1, #own, #slots + 1, slots)
	end
end

local function compile_types()
	for _, s in ipairs(schemas) do
		for _, t in ipairs(s.types) do
			if t.class == "struct" then
				compile_struct(t)
			elseif t.class == "named" then
				resolve(nil, t.key)
			end
		end
	end
end

local rule = {}

function rule.default(field, value)
	field.default, field.flags = value, field.flags | FLAG.default_ours
end

local RULE = { any = 1, dropped = 2, elsewhere = 3 }

-- Any value of the field's type will do: no code judges it.
function rule.any(field)
	field.rule = RULE.any
end

-- The field belongs to a feature that is off (the value says which).
function rule.dropped(field)
	field.rule = RULE.dropped
end

-- The field is judged by what the value names.
function rule.elsewhere(field, value, where)
	if value == "" then
		fail(where, "elsewhere is where?")
	end
	field.rule = RULE.elsewhere
end

local function apply_rules()
	for _, r in ipairs(rules) do
		local t = declared[r.type]
		if not t or t.class ~= "struct" then
			fail(r.where, "there is no type " .. r.type)
		end
		local index = t.slot_of[r.field] or fail(r.where, ("%s has no field %s"):format(r.type, r.field))
		local apply = rule[r.rule] or fail(r.where, "unknown rule " .. r.rule)
		apply(fields[index], r.value, r.where)
	end
end

local function has_drops(t)
	for i = t.first_field, t.first_field + t.n_fields - 1 do
		if fields[i].rule == RULE.dropped or types[fields[i].type].drops then
			return true
		end
	end
	return types[t.element].drops
end

-- Types in which a field is dropped, however deep.
local function mark_drops()
	local changed
	repeat
		changed = false
		for i = 1, #types do
			local t = types[i]
			if not t.drops and has_drops(t) then
				t.drops, changed = true, true
			end
		end
	until not changed
end

local kinds, kind_at = {}, {}

local function add_kind(group, version, type_key)
	local name = type_key:match("(%w+)$")
	local key = name .. "\0" .. group .. "\0" .. version
	if not kind_at[key] then
		local type_index = type_of[type_key] or error("kind " .. type_key, 0)
		kind_at[key] = { group = group, version = version, kind = name, type = type_index, resource = NONE, key = key }
		kinds[#kinds + 1] = kind_at[key]
	end
end

local function collect_kinds()
	for _, s in ipairs(schemas) do
		for _, key in ipairs(s.kinds) do
			add_kind(s.group, s.version, key)
		end
	end
	for _, m in ipairs(schemas) do
		for _, key in ipairs(m.meta) do
			add_kind("meta.k8s.io", "v1", key)
		end
		for _, key in ipairs(m.unversioned) do
			add_kind("", "v1", key)
		end
		for _, key in ipairs(m.everywhere) do
			add_kind("meta.k8s.io", "v1", key)
			for _, s in ipairs(schemas) do
				if s.group then
					add_kind(s.group, s.version, key)
				end
			end
		end
	end
	table.sort(kinds, function(a, b) return a.key < b.key end)
end

local resources, group_versions, columns, resource_at = {}, {}, {}, {}

local function verb_bits(verbs)
	local bits = 0
	for _, v in ipairs(verbs) do
		bits = bits | (VERB[v] or error("unknown verb " .. v, 0))
	end
	return bits
end

local function kind_type(group, version, kind)
	local found = kind_at[kind .. "\0" .. group .. "\0" .. version]
	return found and found.type
end

local function add_resource(s, r)
	local index = #resources
	resources[index + 1] = r
	r.group, r.version = s.group, s.version
	resource_at[s.group .. "\0" .. s.version .. "\0" .. r.resource] = index
	r.type = kind_type(r.kind_group, r.kind_version, r.kind) or error(s.path .. ": no kind " .. r.kind, 0)
	return index
end

local function add_main_resource(s, r)
	r.kind_group, r.kind_version = s.group, s.version
	local bits = verb_bits(r.verbs)
	r.bits, r.is_subresource = bits, 0
	r.index = add_resource(s, r)
	r.parent = r.index
	r.list_type = 0
	if bits & VERB.list ~= 0 then
		r.list_type = kind_type(s.group, s.version, r.kind .. "List") or error("no list of " .. r.kind, 0)
	end
	kind_at[r.kind .. "\0" .. s.group .. "\0" .. s.version].resource = r.index
	r.first_column = #columns
	for _, c in ipairs(r.columns) do
		c.of = s.package .. "/" .. r.resource
		columns[#columns + 1] = c
	end
	for _, sub in ipairs(r.subresources) do
		local entry = {
			resource = r.resource .. "/" .. sub.name, kind = sub.kind, kind_group = sub.group or s.group,
			kind_version = sub.version or s.version, scope = r.scope, bits = verb_bits(sub.verbs), is_subresource = 1,
			parent = r.index, list_type = 0, columns = {}, first_column = 0, short = {}, category = {}, selectable = {},
			singular = "", main = r,
		}
		entry.index = add_resource(s, entry)
	end
end

local function collect_resources()
	for _, s in ipairs(schemas) do
		if s.group then
			local gv = { group = s.group, version = s.version, preferred = s.preferred, first = #resources }
			for _, r in ipairs(s.resources) do
				add_main_resource(s, r)
			end
			gv.n = #resources - gv.first
			group_versions[#group_versions + 1] = gv
		end
	end
	for _, r in ipairs(resources) do
		local main = r.main or r
		local as = main.stored
		r.storage = main.index
		if as then
			local key = as.group .. "\0" .. as.version .. "\0" .. as.resource
			r.storage = resource_at[key] or error("stored as nothing: " .. r.resource, 0)
		end
		r.prefix = main.prefix
	end
end

local function c_text(s)
	return '"' .. s:gsub('[%c"\\?]', function(c) return ("\\%03o"):format(c:byte()) end) .. '\\0"'
end

local function emit_rows(out, declaration, rows, per_line)
	out:write("\n", declaration, " = {\n")
	for at = 1, #rows, per_line do
		out:write("\t", table.concat(rows, ", ", at, math.min(at + per_line - 1, #rows)), ",\n")
	end
	out:write("};\n")
end

local function row(...)
	return "{" .. table.concat({ ... }, ", ") .. "}"
end

local function type_rows()
	local rows = {}
	for i = 0, #types do
		local t = types[i]
		rows[#rows + 1] = row(t.class, t.list_kind, t.atomic, t.message, t.element, t.n_fields, t.first_field, text(t.name),
			t.name_table, t.name_table_size, t.enum_first, t.n_enum, t.union and 1 or 0, t.key, t.drops and 1 or 0)
	end
	return rows
end

local function field_rows()
	local rows = {}
	for i = 0, n_fields - 1 do
		local f = fields[i]
		rows[#rows + 1] = row(text(f.name), f.type, f.flags, f.proto, f.proto_parent, f.list_kind or 0, f.n_list_keys or 0,
			f.first_list_key or 0, text(f.merge or ""), text(f.default or ""), f.enum_first or 0, f.n_enum or 0, f.rule or 0,
			text(f.union or ""), #f.name, f.embedded or 0)
	end
	return rows
end

local function resource_rows()
	local rows = {}
	for _, r in ipairs(resources) do
		rows[#rows + 1] = row(text(r.group), text(r.version), text(r.resource), text(r.singular), text(r.kind), text(r.kind_group),
			text(r.kind_version), r.type, r.list_type, r.bits, r.scope == "Namespaced" and 1 or 0, r.is_subresource,
			lists.add(r.short), #r.short, lists.add(r.category), #r.category, r.first_column, #r.columns,
			lists.add(r.selectable), #r.selectable, r.parent, r.storage, text(r.prefix or ""), text(r.hash or ""), r.returns_deleted and 1 or 0, 0)
	end
	return rows
end

local function other_rows()
	local gvs, kind_rows, column_rows = {}, {}, {}
	for _, gv in ipairs(group_versions) do
		gvs[#gvs + 1] = row(text(gv.group), text(gv.version), gv.first, gv.n, gv.preferred and 1 or 0, 0)
	end
	for _, k in ipairs(kinds) do
		kind_rows[#kind_rows + 1] = row(text(k.group), text(k.version), text(k.kind), k.type, k.resource)
	end
	for _, c in ipairs(columns) do
		column_rows[#column_rows + 1] = row(text(c.name), text(c.type), text(c.format), 0, c.priority)
	end
	return gvs, kind_rows, column_rows
end

local function pool_rows(texts)
	local rows = {}
	for _, s in ipairs(texts) do
		rows[#rows + 1] = c_text(s)
	end
	return table.concat(rows, "\n\t")
end

local function or_zero(items)
	return #items > 0 and items or { 0 }
end

local function emit(path)
	local out = assert(io.open(path, "w"))
	local hashes = {}
	for _, r in ipairs(resources) do
		hashes[#hashes + 1] = fnv(r.group .. "/" .. r.version .. "/" .. r.resource)
	end
	local resource_table, resource_table_size = hash_table(hashes)
	local gvs, kind_rows, column_rows = other_rows()
	local trows, frows, rrows = type_rows(), field_rows(), resource_rows()
	out:write("/* Made by core/api/schema/compile.lua; not edited. */\n#include \"core/api/schema.h\"\n")
	emit_rows(out, "static const struct ks_type types[]", trows, 4)
	emit_rows(out, "static const struct ks_field fields[]", frows, 2)
	emit_rows(out, "static const struct ks_resource resources[]", rrows, 1)
	emit_rows(out, "static const struct ks_group_version group_versions[]", gvs, 4)
	emit_rows(out, "static const struct ks_kind kinds[]", kind_rows, 6)
	emit_rows(out, "static const struct ks_column columns[]", column_rows, 6)
	emit_rows(out, "static const uint16_t slots[]", slots, 24)
	emit_rows(out, "static const uint16_t resource_table[]", resource_table, 24)
	emit_rows(out, "static const uint32_t lists[]", or_zero(lists.items), 20)
	emit_rows(out, "static const uint32_t list_keys[]", or_zero(list_keys.items), 20)
	emit_rows(out, "static const uint32_t enums[]", or_zero(enums.items), 20)
	out:write("\nstatic const char strings[] =\n\t", pool_rows(pool), ";\n")
	out:write(([[

const struct ks_schema ks_schema_builtin = {
	.types = types,
	.fields = fields,
	.resources = resources,
	.group_versions = group_versions,
	.kinds = kinds,
	.columns = columns,
	.slots = slots,
	.lists = lists,
	.list_keys = list_keys,
	.enums = enums,
	.strings = strings,
	.resource_table = resource_table,
	.resource_table_size = %d,
	.n_types = %d,
	.n_fields = %d,
	.n_resources = %d,
	.n_group_versions = %d,
	.n_kinds = %d,
	.strings_size = sizeof(strings),
	.n_slots = %d,
	.n_columns = %d,
	.descriptions = &ks_descriptions_builtin,
};
]]):format(resource_table_size, #types + 1, n_fields, #resources, #group_versions, #kinds, #slots, #columns))
	out:close()
end

-- -- descriptions ------------------------------------------------------------------------------------------------------

-- Descriptions have a pool of their own, which nobody reads but who writes documents.
local function new_texts()
	local self = { items = { "" }, at = { [""] = 0 }, size = 1, hash = 0xcbf29ce484222325 }
	function self.add(s)
		if not self.at[s] then
			self.at[s] = self.size
			self.items[#self.items + 1] = s
			self.size = self.size + #s + 1
			for i = 1, #s do
				self.hash = (self.hash ~ s:byte(i)) * 0x100000001b3
			end
		end
		return self.at[s]
	end
	return self
end

-- Where a column's text is: a .columns line, or what every object has.
local function column_source(column)
	for _, source in ipairs(column_sources) do
		if source.of == column.of and source.name == column.name then
			source.used = true
			return source
		end
	end
	local usual = { Name = "name", Age = "creationTimestamp", ["Created At"] = "creationTimestamp" }
	return usual[column.name] and { type = "meta.v1.ObjectMeta", field = usual[column.name] }
end

local function column_texts(docs, texts)
	local rows = {}
	for _, c in ipairs(columns) do
		local source, text_of_column = column_source(c), ""
		if source then
			local t = declared[source.type] or fail(source.where, "there is no type " .. source.type)
			if not t.slot_of[source.field] then
				fail(source.where, ("%s has no field %s"):format(source.type, source.field))
			end
			text_of_column = docs:swagger_doc(t.package.model, t.name, source.field)
		end
		rows[#rows + 1] = texts.add(text_of_column)
	end
	for _, source in ipairs(column_sources) do
		if not source.used then
			fail(source.where, ("there is no column %s of %s"):format(source.name, source.of))
		end
	end
	return rows
end

local function emit_descriptions(path, dir)
	local docs, texts = describe.open(dir), new_texts()
	local type_rows_, field_rows_ = {}, {}
	for i = 0, #types do
		local model, name = types[i].name:match("^(.*)%.([^.]+)$")
		type_rows_[i + 1] = texts.add(model and docs:type(model, name) or "")
	end
	for i = 0, n_fields - 1 do
		local f = fields[i]
		field_rows_[i + 1] = texts.add(f.model and docs:field(f.model, f.declared_in, f.name) or "")
	end
	local column_rows = column_texts(docs, texts)
	local out = assert(io.open(path, "w"))
	out:write("/* Made by core/api/schema/compile.lua; not edited. */\n#include \"core/api/schema.h\"\n")
	if texts.size == 1 then
		out:write("\nconst struct ks_descriptions ks_descriptions_builtin;\n")
	else
		emit_rows(out, "static const uint32_t types[]", type_rows_, 20)
		emit_rows(out, "static const uint32_t fields[]", field_rows_, 20)
		emit_rows(out, "static const uint32_t columns[]", column_rows, 20)
		out:write("\nstatic const char texts[] =\n\t", pool_rows(texts.items), ";\n")
		out:write(([[

const struct ks_descriptions ks_descriptions_builtin = {
	.types = types,
	.fields = fields,
	.columns = columns,
	.texts = texts,
	.hash = 0x%016xu,
};
]]):format(texts.hash))
	end
	out:close()
end

local takes_value = { ["-o"] = true, ["--descriptions"] = true, ["--docs"] = true }

local function parse_arguments()
	local options, inputs = {}, {}
	local i = 1
	while arg[i] do
		if takes_value[arg[i]] then
			options[arg[i]:match("%w+$")], i = arg[i + 1], i + 1
		else
			inputs[#inputs + 1] = arg[i]
		end
		i = i + 1
	end
	if not (options.o or options.descriptions) or #inputs == 0 then
		error("usage: compile.lua -o FILE.c | --descriptions FILE.c [--docs DIR] FILE.schema... FILE.rules... FILE.columns", 0)
	end
	return options, inputs
end

local function main()
	local options, inputs = parse_arguments()
	load_inputs(inputs)
	declare_scalars()
	declare_types()
	compile_types()
	apply_rules()
	mark_drops()
	collect_kinds()
	collect_resources()
	assert(#types < NONE and #slots < 0xffffffff)
	if options.o then
		emit(options.o)
	else
		emit_descriptions(options.descriptions, options.docs)
	end
end

local ok, why = pcall(main)
if not ok then
	io.stderr:write("compile.lua: ", tostring(why), "\n")
	os.exit(1)
end
