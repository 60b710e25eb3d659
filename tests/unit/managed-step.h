/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One object and the writes to it: applies and updates as data, one after the other. */
#ifndef KS_TESTS_MANAGED_STEP_H
#define KS_TESTS_MANAGED_STEP_H

#include "core/api/apply/managed.h"
#include "managed-schema.h"

struct managed_object {
	struct ks_arena *arena;
	const struct ks_schema *schema;
	struct thing_schema *things; /* NULL: a built-in kind */
	struct ks_str version, kind; /* "apps/v1", "Deployment"; of things, the version that a step takes when it says none */
	struct ks_value stored; /* free form, as it was left by the last step; absent at first */
	uint32_t steps;
};

struct managed_outcome {
	enum ks_managed_result result;
	struct ks_conflicts conflicts;
	const char *message;
};

/* `kind` is "apps/v1 Deployment" or, with `things`, anything. */
void managed_object_init(struct managed_object *o, struct ks_arena *arena, struct thing_schema *things, struct ks_str kind);
/*
 * A write: {"op": "apply" or "update", "manager", "version" ("v2", of things), "subresource", "force", "reset": [PATH], "object"}. What each
 * object has (apiVersion, kind, a name) need not be said. The time of step N is N seconds past 2020. The first write that is
 * not refused gives the object a uid.
 */
struct managed_outcome managed_step(struct managed_object *o, const struct ks_value *step);
/* The entries of managedFields as ["MANAGER OPERATION[/SUBRESOURCE] VERSION @N", FIELDS]; N is the step whose time it has. */
struct ks_value managed_entries(struct managed_object *o);
/* The stored object without what each has. */
struct ks_value managed_content(struct managed_object *o);

#endif
