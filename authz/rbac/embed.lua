-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
-- embed.lua bootstrap.jsonl: writes the default roles and bindings, one JSON object a line, as C tables: each whole, and its
-- rules, subjects and labels apart, for the comparison with what a cluster has.

package.path = arg[0]:match("^(.*)authz/rbac/[^/]*$") .. "core/api/schema/?.lua;" .. package.path
local json = require("json")

local kinds = {
	ClusterRole = "RBAC_CLUSTER_ROLE",
	Role = "RBAC_ROLE",
	ClusterRoleBinding = "RBAC_CLUSTER_ROLE_BINDING",
	RoleBinding = "RBAC_ROLE_BINDING",
}

local function quote(text)
	return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

-- Strings, lists of strings, and objects of these.
local function encode(v)
	if type(v) == "string" then
		return '"' .. v .. '"'
	end
	local parts = {}
	if #v > 0 then
		for _, item in ipairs(v) do
			parts[#parts + 1] = encode(item)
		end
		return "[" .. table.concat(parts, ",") .. "]"
	end
	for key, item in pairs(v) do
		parts[#parts + 1] = '"' .. key .. '":' .. encode(item)
	end
	table.sort(parts)
	return "{" .. table.concat(parts, ",") .. "}"
end

-- A list as one text; none at all is NULL, since "" is the list of an empty name.
local function list(items)
	return items and quote(table.concat(items, ",")) or "NULL"
end

local function members(map)
	local out = {}
	for key, value in pairs(map or {}) do
		assert(not (key .. value):find("[,=]"))
		out[#out + 1] = key .. "=" .. value
	end
	table.sort(out)
	return quote(table.concat(out, ","))
end

local function table_of(kind, name, items, row)
	if not items or #items == 0 then
		return "NULL, 0"
	end
	print(("static const struct %s %s[] = {"):format(kind, name))
	for _, item in ipairs(items) do
		print("\t{" .. row(item) .. "},")
	end
	print("};")
	return ("%s, %d"):format(name, #items)
end

local function rule(r)
	return table.concat({ quote(encode(r)), list(r.verbs), list(r.apiGroups), list(r.resources), list(r.resourceNames), list(r.nonResourceURLs) }, ", ")
end

local function subject(s)
	local name = s.kind == "ServiceAccount" and ("system:serviceaccount:%s:%s"):format(s.namespace, s.name) or s.name
	return table.concat({ quote(encode(s)), quote(name), s.kind == "Group" and "1" or "0" }, ", ")
end

-- The label that the roles have which an aggregated one takes in.
local function aggregated(object)
	local selectors = object.aggregationRule and object.aggregationRule.clusterRoleSelectors or {}
	assert(#selectors < 2, "more than one selector")
	return selectors[1] and quote(assert(next(selectors[1].matchLabels))) or "NULL"
end

print('/* Made by embed.lua from bootstrap.jsonl. */')
print('#include "authz/rbac/bootstrap.h"\n')
local rows = {}
for line in io.lines(arg[1]) do
	local object = json.decode(line)
	local metadata, ref, n = object.metadata, object.roleRef or {}, #rows
	local fields = {
		assert(kinds[object.kind], "line without a kind"),
		quote(metadata.namespace or ""),
		quote(metadata.name),
		"\n\t\t" .. quote(line),
		members(metadata.labels),
		aggregated(object),
		table_of("rbac_default_rule", "rules_" .. n, object.rules, rule),
		table_of("rbac_default_subject", "subjects_" .. n, object.subjects, subject),
		ref.kind == "ClusterRole" and "1" or "0",
		quote(ref.name or ""),
	}
	rows[n + 1] = "\t{" .. table.concat(fields, ", ") .. "},"
end
print("const struct rbac_default ks_rbac_defaults[] = {")
print(table.concat(rows, "\n"))
print("};")
print(("const size_t ks_rbac_n_defaults = %d;"):format(#rows))
