/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields that a write of a resource or subresource never changes: whoever sends
 * them is not recorded as their manager, and an apply of them conflicts with nobody.
 *
 * The sets are those of kube-apiserver 1.36. They are the same in all versions of
 * a group that we serve.
 */
#ifndef KS_REGISTRY_RESET_FIELDS_H
#define KS_REGISTRY_RESET_FIELDS_H

#include "core/util/str.h"

struct ks_reset_fields {
	const char *group, *resource; /* "pods" or "pods/status" */
	const char *const *paths; /* dotted names ("metadata.labels"), NULL at the end; what lies below them is reset too */
};

/* What one resource or subresource ("pods/status") resets; NULL when nothing. Any thread. */
const struct ks_reset_fields *ks_reset_fields_find(struct ks_str group, struct ks_str resource);

/* Of custom resources with a status subresource: the resource itself, and its /status. Group and resource are "". */
extern const struct ks_reset_fields ks_reset_fields_custom, ks_reset_fields_custom_status;

/* The whole table, for tests. */
const struct ks_reset_fields *ks_reset_fields_all(size_t *n_r);

#endif
