/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Warnings about pods and workloads: strategy.warnings of registry.h. */
#ifndef KS_REGISTRY_VALIDATE_WARNINGS_H
#define KS_REGISTRY_VALIDATE_WARNINGS_H

#include "core/registry/validate/pod.h"

typedef void ks_warner(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old);

ks_warner ks_warn_pod, ks_warn_podtemplate, ks_warn_replicationcontroller, ks_warn_workload, ks_warn_daemonset, ks_warn_statefulset, ks_warn_job, ks_warn_cronjob;

/* `PATH: TEXT`; `name` (may be NULL) is a child of the path. */
void ks_warn_at(struct ks_check *c, const struct ks_path *path, const char *name, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Of a spec and the metadata beside it; `path` is where both are (NULL: the object itself). */
void ks_warn_pod_parts(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *metadata);
void ks_warn_volumes(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *volumes);
void ks_warn_ports(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec);
/* Addresses and ranges that could be written better. */
void ks_warn_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
void ks_warn_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
void ks_warn_ips(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list);
void ks_warn_cidrs(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list);
/* Bytes come whole. */
void ks_warn_fraction(struct ks_check *c, const struct ks_path *path, const struct ks_value *amounts, struct ks_str name);

#endif
