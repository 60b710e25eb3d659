/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of requests that post an object which is an order, not something to
 * keep (Binding, Eviction): its body, its options, admission.
 */
#ifndef KS_PIPELINE_RESOURCE_ORDER_H
#define KS_PIPELINE_RESOURCE_ORDER_H

#include "core/pipeline/resource/write.h"

struct ks_order {
	struct ks_value value;         /* in the request's arena once it was admitted */
	struct ks_str name;            /* of the object that it is about */
	/* Between mutating and validating admission: what is wrong with it. 0 or the code set in request->status. */
	int (*check)(struct ks_edit *edit, struct ks_order *order);
	ks_edit_step carry_out;        /* after admission */
};

/* An edit that has `order` as `data` and runs. */
enum ks_stage_result ks_order_start(struct ks_request *request, struct ks_order *order);
/* The order of an edit. */
static inline struct ks_order *ks_order_of(struct ks_edit *edit) { return edit->data; }
/* The index of a built-in resource that orders are about. */
static inline uint16_t ks_order_resource(const struct ks_edit *edit, const char *group, const char *resource)
{
	return ks_schema_find_resource(edit->schema, ks_str_from(group), KS_STR_LIT("v1"), ks_str_from(resource));
}

#endif
