/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What claims, classes, slices and states of devices share. */
#ifndef KS_REGISTRY_VALIDATE_DEVICE_H
#define KS_REGISTRY_VALIDATE_DEVICE_H

#include "core/registry/validate/common.h"

enum {
	KS_DEVICE_REQUESTS_MOST = 32, KS_DEVICE_CONSTRAINTS_MOST = 32, KS_DEVICE_CONFIG_MOST = 32, KS_DEVICE_ALTERNATIVES_MOST = 8,
	KS_DEVICE_SELECTORS_MOST = 32, KS_DEVICE_EXPRESSION_BYTES = 10 * 1024, KS_DEVICE_PARAMETERS_BYTES = 10 * 1024, KS_DEVICE_ID_BYTES = 32,
	KS_DEVICE_TAINTS_MOST = 16, KS_DEVICE_CONDITIONS_MOST = 4,
};

typedef void ks_device_check(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg);

/* All items of a list that has at most `most` (-1: any number), each judged by `check`; then (with a key) that the key, or the text when the
 * key is "", is unique. */
void ks_device_list(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list, int64_t most, const char *key,
	ks_device_check *check, const void *arg);

void ks_device_pool_name(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str pool);
/* "[example.com/]name"; `full`: with a domain. */
void ks_device_qualified_name(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str text, bool full);
/* The name of a request among those of `claim` (a DeviceClaim), or "request/subrequest". */
void ks_device_request_reference(struct ks_check *c, const struct ks_path *path, struct ks_str name, const struct ks_value *claim);
void ks_device_request_references(struct ks_check *c, const struct ks_path *path, const struct ks_value *owner, const struct ks_value *claim);
/* A DeviceConfiguration: one of its members. */
void ks_device_configuration(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool stored);
/* A JSON object of limited size. */
void ks_device_raw(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *raw, bool stored, int64_t bytes);
void ks_device_selectors(struct ks_check *c, const struct ks_path *path, const struct ks_value *owner);
void ks_device_binding_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *owner);

/* resourcestatus.c */
void ks_device_claim_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old);

#endif
