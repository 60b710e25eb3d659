/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies of one generation: files that were read and compiled, and what each policy wants to see.
 * Immutable and shared by count: evaluations that run keep the generation they began with.
 *
 * A file is Lua text that calls policy{...} once or more:
 *
 *     policy {
 *         name = "no-latest",
 *         match = { operations = {"CREATE", "UPDATE"}, groups = {"apps"}, resources = {"deployments"} },
 *         failurePolicy = "Fail",
 *         validate = function(object, old, request) ... end,
 *     }
 */
#ifndef KS_LUA_POLICIES_H
#define KS_LUA_POLICIES_H

#include <stdatomic.h>

#include <keelson/admission.h>
#include <keelson/sdk/pool.h>

enum lua_failure_policy { LUA_FAIL, LUA_IGNORE };

struct lua_names {
	struct ks_view *items; /* n 0: any */
	size_t n;
};

struct lua_label { struct ks_view key, value; };

struct lua_policy {
	struct ks_view name;
	enum lua_failure_policy failure_policy;
	uint32_t operations; /* enum ks_operation, or-ed */
	struct lua_names groups, versions, resources, namespaces, except_namespaces;
	struct lua_label *labels;
	size_t n_labels;
};

struct lua_chunk {
	const char *file;    /* as configured */
	struct ks_view code; /* compiled by us from text */
};

struct lua_bounds {
	uint64_t instructions, memory; /* of one evaluation; memory in bytes */
	uint64_t time_ms;
};

struct lua_policies {
	_Atomic uint32_t refs;
	struct ks_pool *pool; /* everything, and this */
	uint64_t generation;
	struct lua_bounds bounds;
	struct lua_chunk *chunks;
	size_t n_chunks;
	struct lua_policy *policies; /* in the order of the files and of the calls in them */
	size_t n_policies, room;
};

/* Reads files, and all *.lua of folders, in the order given (a folder's by name). NULL with the error worded: file:line: what. */
struct lua_policies *ks_lua_policies_read(const struct ks_config_list *paths, const struct lua_bounds *bounds, enum lua_failure_policy failure_policy,
	struct ks_plugin_error *error);
struct lua_policies *ks_lua_policies_ref(struct lua_policies *policies);
void ks_lua_policies_unref(struct lua_policies *policies); /* NULL is safe */

/* Does the policy want to see this? */
int ks_lua_policy_matches(const struct lua_policy *policy, const struct ks_value_ops *values, const struct ks_admission_request *request);

#endif
