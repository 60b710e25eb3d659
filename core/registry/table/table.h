/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-side printing: objects as rows of a meta.k8s.io Table, as people see them in `kubectl get`.
 *
 * Columns are facts of the schema tables; the cells of a kind are said in the file of its family. A kind
 * that is not listed there has its name and its time of creation.
 *
 * Cells are made from the *storage* version of an object (ks_resource.storage), whatever version was asked for.
 */
#ifndef KS_REGISTRY_TABLE_TABLE_H
#define KS_REGISTRY_TABLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/api/schema.h"
#include "core/api/time.h"
#include "core/api/value.h"
#include "core/util/buf.h"

struct ks_printer;

/* What a row carries of its object (?includeObject=). */
enum ks_include_object { KS_INCLUDE_METADATA, KS_INCLUDE_OBJECT, KS_INCLUDE_NONE };

/* An object as JSON without its resourceVersion, and the place for it: see ks_json_encode_object. */
struct ks_table_object {
	struct ks_str json;
	size_t rv_at;
	bool rv_comma;
	uint64_t revision; /* 0: none is written */
};

/* metadata of the Table. */
struct ks_table_meta {
	uint64_t revision;        /* 0: none */
	struct ks_str continue_;  /* empty: none */
	int64_t remaining;        /* remainingItemCount; -1: none */
};

/* One answer. Make it with ks_table_init, add rows, write it with ks_table_write; or in parts: ks_table_head, then rows and
 * ks_table_take_rows in turn, then "]}". */
struct ks_table {
	const struct ks_schema *schema;
	uint16_t resource;        /* the main resource, in the version that is served */
	enum ks_include_object include;
	const char *version;      /* of meta.k8s.io */
	bool no_headers;          /* later events of a watch have no columnDefinitions */
	struct ks_time now;       /* ages are told against it */
	const struct ks_printer *printer;
	struct ks_arena scratch;
	struct ks_buf rows, text;
	struct ks_table_place *places; /* of rows that don't come in the order of their keys */
	size_t n_rows, places_room;
};

/* "", "Metadata", "Object", "None". False when it is something else. */
bool ks_include_object_parse(struct ks_str text, enum ks_include_object *include_r) __attribute__((warn_unused_result));

/* `resource`: any index; a subresource is shown as what its answer is. `version`: "v1" or "v1beta1", a constant. Takes the time. */
void ks_table_init(struct ks_table *table, const struct ks_schema *schema, uint16_t resource,
	enum ks_include_object include, const char *version);
/* Frees what it holds; safe on a zeroed table. */
void ks_table_fini(struct ks_table *table);
/* Forgets the rows: the next event of a watch. */
void ks_table_clear(struct ks_table *table);

/* Adds a row. `tree`: the object in its storage version; `object`: in the version that is served (its metadata alone is looked at but for
 * KS_INCLUDE_OBJECT). The tree may lie in table->scratch, which is reset. 0, or -ENOMEM. */
int ks_table_add(struct ks_table *table, const struct ks_value *tree, const struct ks_table_object *object)
	__attribute__((warn_unused_result));
/* Writes the whole Table. A failed allocation is remembered by `out`. */
void ks_table_write(struct ks_table *table, const struct ks_table_meta *meta, struct ks_buf *out);
/* All before the rows. */
void ks_table_head(const struct ks_table *table, const struct ks_table_meta *meta, struct ks_buf *out);
/* Moves the rows that can go to `out`, with the commas between them and those that went before. Rows that are put in order go
 * with the `last` call only. */
void ks_table_take_rows(struct ks_table *table, bool last, struct ks_buf *out);

/* The parts, for those who need no Table: the cells of one object as a JSON list. */
void ks_table_cells(const struct ks_schema *schema, uint16_t resource, const struct ks_value *tree, struct ks_time now,
	struct ks_arena *scratch, struct ks_buf *out);
/* columnDefinitions as a JSON list. */
void ks_table_columns(const struct ks_schema *schema, uint16_t resource, struct ks_buf *out);

/* A length of time for people, in two or three figures: "95s", "3m20s", "5h", "2d4h", "3y12d"; "<invalid>" for one in the future. */
enum { KS_HUMAN_TEXT = 48 };
size_t ks_human_duration(int64_t seconds, char out[KS_HUMAN_TEXT]);

#endif
