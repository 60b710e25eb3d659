/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Label and field selectors: parsed once, matched many times. */
#ifndef KS_API_SELECTOR_H
#define KS_API_SELECTOR_H

#include "core/api/value.h"

struct ks_label { struct ks_str key, value; };

enum ks_selector_op { KS_SELECTOR_IN, KS_SELECTOR_NOT_IN, KS_SELECTOR_EXISTS, KS_SELECTOR_NOT_EXISTS, KS_SELECTOR_GREATER, KS_SELECTOR_LESS };

struct ks_label_requirement { /* = and == are IN with one value, != is NOT_IN with one */
	struct ks_str key;
	enum ks_selector_op op;
	uint32_t n_values;
	const struct ks_str *values; /* sorted, no two are equal */
	int64_t number;              /* of GREATER and LESS */
};

struct ks_selector { /* arena-owned (or one block, from ks_selector_dup); immutable */
	uint32_t n;
	bool nothing; /* matches no object */
	const struct ks_label_requirement *requirements; /* sorted by key */
};

/* `text` as in ?labelSelector= (equality and set based). NULL and 0 for an empty text: everything matches.
 * -EINVAL with kube-apiserver's message. */
int ks_label_selector_parse(struct ks_arena *arena, struct ks_str text, struct ks_selector **out_r, const char **message_r) __attribute__((warn_unused_result));
/* A metav1.LabelSelector value (typed or free form). A NULL or absent value selects nothing, one without requirements everything (`*out_r` is NULL then). */
int ks_label_selector_from_value(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *v, struct ks_selector **out_r, const char **message_r) __attribute__((warn_unused_result));
/* `labels` sorted by key. NULL selector matches. */
bool ks_label_selector_match(const struct ks_selector *sel, const struct ks_label *labels, size_t n);
/* The same against a map of labels as it stands in an object (any order; NULL or absent: no labels). */
bool ks_label_selector_match_value(const struct ks_selector *sel, const struct ks_value *labels);
/* Self-contained copy that outlives its arena, for watches. NULL when out of memory, and for NULL. */
struct ks_selector *ks_selector_dup(const struct ks_selector *sel);
void ks_selector_free(struct ks_selector *sel);

struct ks_field_requirement { struct ks_str path, value; bool not_equal; };
/* ?fieldSelector=: terms joined by AND, sorted by their text. -EINVAL with the message of kube-apiserver. Which paths a resource knows is not checked here. */
int ks_field_selector_parse(struct ks_arena *arena, struct ks_str text, struct ks_field_requirement **out_r, uint32_t *n_r, const char **message_r) __attribute__((warn_unused_result));

#endif
