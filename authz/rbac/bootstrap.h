/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The roles and bindings that a cluster starts with. */
#ifndef KS_RBAC_BOOTSTRAP_H
#define KS_RBAC_BOOTSTRAP_H

#include "authz/rbac/objects.h"

/* Lists are one text, their items separated by commas; NULL: there is none. */
struct rbac_default_rule { const char *json, *verbs, *groups, *resources, *names, *paths; };
struct rbac_default_subject {
	const char *json, *name; /* of an account: its user name */
	int is_group;
};

/* One default object: what it is, its JSON, and what is in it. */
struct rbac_default {
	enum rbac_kind kind;
	const char *ns, *name;
	const char *json;
	const char *labels;     /* "key=value,key=value" */
	const char *aggregated; /* the label that an aggregated role looks for; NULL: it is none */
	const struct rbac_default_rule *rules;
	size_t n_rules;
	const struct rbac_default_subject *subjects;
	size_t n_subjects;
	int to_cluster_role;
	const char *role;       /* that a binding gives */
};

/* Compiled from bootstrap.jsonl. */
extern const struct rbac_default ks_rbac_defaults[];
extern const size_t ks_rbac_n_defaults;

struct rbac_bootstrap;

/* Writes the defaults that `objects` does not hold, and mends those that lack something; `done` is called once when all have been answered. All on the executor thread.
 * NULL when out of memory; NULL too (and `done` called) when nothing has to be written. */
struct rbac_bootstrap *ks_rbac_bootstrap_start(const struct ks_host *host, const struct rbac_objects *objects, void (*done)(void *arg), void *arg);
/* When no answer can come any more. NULL is safe. */
void ks_rbac_bootstrap_free(struct rbac_bootstrap *bootstrap);

#endif
