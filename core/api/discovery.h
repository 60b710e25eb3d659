/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery documents, made from the schema tables: what is served, as JSON.
 * Pure functions; who serves them keeps what they return (until what is served changes), negotiates and makes ETags
 * (ks_document_hash in core/api/document.h).
 *
 * All return 0 and a counted buffer, -ENOENT when the group or version isn't served, or -ENOMEM.
 */
#ifndef KS_API_DISCOVERY_H
#define KS_API_DISCOVERY_H

#include "core/api/schema.h"
#include "core/util/buf.h"

/* What is served: the built-in schema first, then those of custom resources in any order (they are listed by group name,
 * a group's versions by Kubernetes' priority of versions). */
struct ks_discovery {
	const struct ks_schema *const *schemas;
	size_t n_schemas;
	const char *server_address; /* "192.0.2.10:6443", for /api; NULL: none is told */
	/* Says whether group version `gv` of schema `s` is served; NULL: all are. */
	bool (*is_served)(const struct ks_schema *s, const struct ks_group_version *gv, const void *data);
	const void *data; /* for is_served */
};

enum ks_discovery_form {
	KS_DISCOVERY_V2,      /* apidiscovery.k8s.io/v2 */
	KS_DISCOVERY_V2BETA1, /* apidiscovery.k8s.io/v2beta1 */
};

/* /api: APIVersions */
int ks_discovery_versions(const struct ks_discovery *d, struct ks_bytes **out_r) __attribute__((warn_unused_result));
/* /apis: APIGroupList */
int ks_discovery_groups(const struct ks_discovery *d, struct ks_bytes **out_r) __attribute__((warn_unused_result));
/* /apis/GROUP: APIGroup */
int ks_discovery_group(const struct ks_discovery *d, struct ks_str group, struct ks_bytes **out_r)
	__attribute__((warn_unused_result));
/* /api/v1 (group "") and /apis/GROUP/VERSION: APIResourceList */
int ks_discovery_resources(
	const struct ks_discovery *d, struct ks_str group, struct ks_str version, struct ks_bytes **out_r)
	__attribute__((warn_unused_result));
/* APIGroupDiscoveryList: of /api (`core`) or /apis. */
int ks_discovery_aggregated(const struct ks_discovery *d, bool core, enum ks_discovery_form form, struct ks_bytes **out_r)
	__attribute__((warn_unused_result));

/* The media type of an aggregated form, as Content-Type has it. */
const char *ks_discovery_content_type(enum ks_discovery_form form);

/* Orders versions as Kubernetes does: v2, v1, v1beta1, v1alpha1, then other names by alphabet.
 * Negative: `a` comes first. */
int ks_version_compare(struct ks_str a, struct ks_str b);

#endif
