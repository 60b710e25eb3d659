-- SPDX-FileCopyrightText: The Keelson Authors
-- SPDX-License-Identifier: Apache-2.0
-- embed.lua bootstrap.jsonl: writes the default roles and bindings, one JSON object a line, as a C table.

local kinds = {
	ClusterRole = "RBAC_CLUSTER_ROLE",
	Role = "RBAC_ROLE",
	ClusterRoleBinding = "RBAC_CLUSTER_ROLE_BINDING",
	RoleBinding = "RBAC_ROLE_BINDING",
}

local function quote(text)
	return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

print('/* Made by embed.lua from bootstrap.jsonl. */')
print('#include "authz/rbac/bootstrap.h"\n')
print("const struct rbac_default ks_rbac_defaults[] = {")
local n = 0
for line in io.lines(arg[1]) do
	local kind = assert(kinds[line:match('"kind":"(%a+)"')], "line without a kind")
	local metadata = assert(line:match('"metadata":(%b{})'), "line without metadata")
	local name = assert(metadata:match('"name":"([^"]+)"'), "line without a name")
	local ns = metadata:match('"namespace":"([^"]+)"') or ""
	print(("\t{%s, %s, %s,\n\t\t%s},"):format(kind, quote(ns), quote(name), quote(line)))
	n = n + 1
end
print("};")
print(("const size_t ks_rbac_n_defaults = %d;"):format(n))
