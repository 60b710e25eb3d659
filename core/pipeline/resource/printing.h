/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Answers as meta.k8s.io Tables: what the handlers of the verbs call when that was negotiated. */
#ifndef KS_PIPELINE_RESOURCE_PRINTING_H
#define KS_PIPELINE_RESOURCE_PRINTING_H

#include "core/cache/cache.h"
#include "core/pipeline/request.h"
#include "core/pipeline/resource/reply.h"
#include "core/registry/table/table.h"

/* Rows take longer than bytes that are there already: so many go into a turn of the worker. */
enum { KS_PRINTING_SLICE = 64 };

/* Does the form that was negotiated fit a list, or one object? 0, or 406 in request->status. */
int ks_printing_check(struct ks_request *request, uint16_t resource, bool list) __attribute__((warn_unused_result));

/* *table_r: a Table when that was negotiated (?includeObject= is read), else NULL. 0, or the code set in request->status. */
int ks_printing_open(struct ks_request *request, uint16_t resource, struct ks_table **table_r) __attribute__((warn_unused_result));
/* NULL is safe. */
void ks_printing_close(struct ks_table **table);
/* Adds the row of an object as of `revision`. 0 or negative (it can't be shown in this version, or memory). */
int ks_printing_add(struct ks_table *table, struct ks_object *object, uint64_t revision) __attribute__((warn_unused_result));

/* A list: the head, then rows in parts, then "]}". Failures are the chunk's. */
void ks_printing_head(const struct ks_table *table, const struct ks_table_meta *meta, struct ks_chunk *chunk);
void ks_printing_rows(struct ks_table *table, bool last, struct ks_chunk *chunk);

/* The object of a watch event: a Table of one row; from the second on without columns. 0 or negative. */
int ks_printing_event(struct ks_table *table, struct ks_object *object, uint64_t revision, struct ks_chunk *chunk)
	__attribute__((warn_unused_result));
/* The same of a bookmark, an object of the table's resource that has nothing but metadata. */
int ks_printing_bookmark(struct ks_table *table, const struct ks_value *tree, uint64_t revision, struct ks_buf *out)
	__attribute__((warn_unused_result));

/* See ks_reply_object and ks_reply_tree. */
enum ks_stage_result ks_printing_reply_object(struct ks_request *request, int code, struct ks_object *object, uint16_t resource,
	uint64_t revision);
enum ks_stage_result ks_printing_reply_tree(struct ks_request *request, int code, const struct ks_value *tree);

#endif
