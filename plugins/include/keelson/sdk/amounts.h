/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/sdk/amounts.h: lists of resources ({"cpu": "100m", "memory": "1Gi"}) in an operation's memory. Link with -lkeelson-sdk. */
#ifndef KEELSON_SDK_AMOUNTS_H
#define KEELSON_SDK_AMOUNTS_H

#include <keelson/sdk/admit.h>
#include <keelson/sdk/amount.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_named_amount {
	struct ks_view name;
	struct ks_amount amount;
};

/* Zeroed: empty. Names are not copied: they must live as long as the list. */
struct ks_amounts {
	struct ks_named_amount *items;
	size_t n, cap;
	int failed; /* 1: out of memory, something is missing */
};

/* Adds what a list of resources in an object says, over what is there. */
void ks_amounts_read(const struct ks_admit *call, struct ks_val list, struct ks_amounts *amounts);
/* NULL: there is none of that name. */
const struct ks_amount *ks_amounts_get(const struct ks_amounts *amounts, struct ks_view name);
void ks_amounts_set(const struct ks_admit *call, struct ks_amounts *amounts, struct ks_view name, const struct ks_amount *amount);
/* Of each resource the sum, and the larger one. */
void ks_amounts_add(const struct ks_admit *call, struct ks_amounts *into, const struct ks_amounts *more);
void ks_amounts_max(const struct ks_admit *call, struct ks_amounts *into, const struct ks_amounts *other);

/* What a pod asks for (`which` "requests") or may use ("limits") in all: its containers together, init containers one after the other beside those
 * that go on running, what the pod itself says over that, and its overhead. */
void ks_pod_amounts(const struct ks_admit *call, struct ks_val spec, const char *which, struct ks_amounts *out);

#ifdef __cplusplus
}
#endif

#endif
