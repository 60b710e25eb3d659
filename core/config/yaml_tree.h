/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration file as a tree that knows where everything stands.
 *
 * One YAML document of scalars, sequences and mappings with scalar keys. Refused, because a
 * configuration needs none of it: aliases, tags, several documents, duplicate
 * keys. Size, depth and number of nodes are bounded.
 */
#ifndef KS_CONFIG_YAML_TREE_H
#define KS_CONFIG_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/config/problems.h"
#include "core/util/arena.h"

enum { KS_YAML_FILE_MOST = 4 << 20, KS_YAML_DEPTH_MOST = 32, KS_YAML_NODES_MOST = 100000 };

enum ks_yaml_kind { KS_YAML_SCALAR, KS_YAML_SEQUENCE, KS_YAML_MAPPING };

struct ks_yaml_node {
	enum ks_yaml_kind kind;
	bool quoted;                 /* SCALAR: it can only be a text */
	struct ks_place place;
	struct ks_str text;          /* SCALAR; NUL-terminated, and without a NUL inside */
	struct ks_yaml_node **items; /* SEQUENCE; of a MAPPING key, value, key, value, ... */
	size_t n;                    /* items of a SEQUENCE, pairs of a MAPPING */
};

/* Reads `text` (of `file`, a name for messages) into `arena`. 0 and *root_r (NULL when the document is empty), or -EINVAL with problems, or
 * -ENOMEM. */
int ks_yaml_tree_parse(struct ks_arena *arena, const char *file, struct ks_str text, struct ks_yaml_node **root_r,
	struct ks_problems *problems) __attribute__((warn_unused_result));
/* The same from a file. */
int ks_yaml_tree_read(struct ks_arena *arena, const char *file, struct ks_yaml_node **root_r, struct ks_problems *problems)
	__attribute__((warn_unused_result));

/* Value of a key; NULL when absent, or when `node` is no mapping. */
const struct ks_yaml_node *ks_yaml_get(const struct ks_yaml_node *node, const char *key);
/* Plain `null`, `~` or nothing. */
bool ks_yaml_is_null(const struct ks_yaml_node *node);
/* Appends a text that is the same for two trees exactly when they say the same, places apart. NULL is a tree, too. */
void ks_yaml_signature(const struct ks_yaml_node *node, struct ks_buf *out);

#endif
