/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* How a list is told: with its objects as they are, with their metadata alone, or as a Table. */
#ifndef KS_PIPELINE_RESOURCE_LIST_FORM_H
#define KS_PIPELINE_RESOURCE_LIST_FORM_H

#include "core/pipeline/resource/reply.h"
#include "core/registry/table/table.h"

struct ks_list_form {
	const struct ks_schema *schema;
	uint16_t resource; /* in the version that was asked for */
	enum ks_object_form form; /* of its items */
	struct ks_str as_version; /* of meta.k8s.io */
	struct ks_table *table; /* NULL: it is none */
	bool any; /* there was an item */
	bool proto; /* in protobuf: the head has to know how long the items are */
	bool cbor; /* in CBOR: it has to know how many there are */
	size_t items_n; /* bytes (CBOR: number) of the items that were measured */
};

/* By what was negotiated. 0, or the code set in request->status. */
int ks_list_form_open(struct ks_request *request, uint16_t resource, struct ks_list_form *form_r) __attribute__((warn_unused_result));
void ks_list_form_close(struct ks_list_form *form);
/* Does every item have to be measured before the head is written? */
static inline bool ks_list_form_measures(const struct ks_list_form *form)
{
	return form->proto || form->cbor;
}
/* Makes beforehand what measuring the object would make, in a moment when there is time. */
void ks_list_form_prepare(const struct ks_request *request, uint16_t resource, struct ks_object *object);
/* 0 or negative (it can't be shown in this version, or memory). */
int ks_list_form_measure(struct ks_list_form *form, struct ks_object *object) __attribute__((warn_unused_result));
/* The head, items, the tail: in this order, into chunks that may be sent in between. */
void ks_list_form_head(const struct ks_list_form *form, const struct ks_table_meta *meta, struct ks_chunk *chunk);
/* 0 or negative (it can't be shown in this version, or memory). */
int ks_list_form_item(struct ks_list_form *form, struct ks_object *object, struct ks_chunk *chunk) __attribute__((warn_unused_result));
void ks_list_form_tail(struct ks_list_form *form, struct ks_chunk *chunk);

#endif
