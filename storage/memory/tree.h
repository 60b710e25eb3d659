/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The keys in order (a skip list), each with its versions, newest first. Not locked. */
#ifndef KS_MEMORY_TREE_H
#define KS_MEMORY_TREE_H

#include "storage/common/record.h"

#define MEMORY_LEVELS 16

struct memory_node;

struct memory_version {
	struct memory_version *older;
	struct memory_node *node;
	struct ks_record *record;
};

struct memory_node {
	struct memory_version *newest; /* never NULL in the tree */
	unsigned levels;
	struct memory_node *next[];
};

struct memory_tree {
	struct memory_node *head[MEMORY_LEVELS];
	uint64_t random;
};

/* The first node whose key is not less. */
struct memory_node *ks_memory_tree_seek(const struct memory_tree *tree, struct ks_view key);
/* The node of the key itself, or NULL. */
struct memory_node *ks_memory_tree_find(const struct memory_tree *tree, struct ks_view key);
/* A node that is not in the tree yet; NULL when out of memory. free() it when it is not inserted. */
struct memory_node *ks_memory_node_new(struct memory_tree *tree);
/* The node has its first version; its key is not in the tree. */
void ks_memory_tree_insert(struct memory_tree *tree, struct memory_node *node);
void ks_memory_tree_remove(struct memory_tree *tree, struct memory_node *node);

static inline struct ks_view memory_node_key(const struct memory_node *node)
{
	return ks_record_key(node->newest->record);
}

#endif
