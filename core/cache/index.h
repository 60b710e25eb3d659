/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What selectors ask of an object, read from its JSON in one pass without a tree: name,
 * namespace, uid, labels and the resource's selectable fields. The bytes come from
 * our own encoder or from another server's; whatever they are, nothing outside of them is
 * read, but a text that isn't JSON may pass where nobody looks.
 */
#ifndef KS_CACHE_INDEX_H
#define KS_CACHE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "core/api/schema.h"
#include "core/api/selector.h"
#include "core/util/arena.h"
#include "core/util/str.h"

enum { KS_INDEX_FIELDS_MOST = 32 };

struct ks_index {
	struct ks_str api_version, kind, name, ns, uid;
	struct ks_label *labels; /* sorted by key; arena */
	uint32_t n_labels, labels_cap;
	struct ks_str fields[2 * KS_INDEX_FIELDS_MOST]; /* p NULL: absent. The second half: what an absent field is taken from instead */
	uint16_t n_fields;
	size_t rv_at; /* right after metadata's opening brace */
	bool rv_comma; /* metadata has members */
	size_t rv_from, rv_to; /* a resourceVersion that stands there although it shouldn't; rv_to 0: none */
};

/* Texts are views of `json` or, where escapes had to be resolved, of the arena. 0, -EINVAL with message, -ENOMEM. */
int ks_index_scan(struct ks_arena *arena, const struct ks_schema *schema, uint16_t resource, struct ks_str json, struct ks_index *out_r,
	const char **message_r) __attribute__((warn_unused_result));

/* As ks_cache_field_index, for the storage resource and a path in the words of any of its versions. */
int ks_index_stored_field(const struct ks_schema *schema, uint16_t resource, struct ks_str path);

/* What an absent field reads as: "false", "0" or "", by its type. */
struct ks_str ks_index_field_default(const struct ks_schema *schema, uint16_t resource, unsigned field);

#endif
