/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/memory/tree.h"

#include <stdlib.h>

/* For each level the pointer that would lead to `key`. */
static void trace(struct memory_tree *tree, struct ks_view key, struct memory_node **at[MEMORY_LEVELS])
{
	struct memory_node **links = tree->head;
	int level;

	for (level = MEMORY_LEVELS - 1; level >= 0; level--) {
		while (links[level] && ks_view_cmp(memory_node_key(links[level]), key) < 0)
			links = links[level]->next;
		at[level] = &links[level];
	}
}

struct memory_node *ks_memory_tree_seek(const struct memory_tree *tree, struct ks_view key)
{
	struct memory_node *const *links = tree->head;
	int level;

	for (level = MEMORY_LEVELS - 1; level >= 0; level--)
		while (links[level] && ks_view_cmp(memory_node_key(links[level]), key) < 0)
			links = links[level]->next;
	return links[0];
}

struct memory_node *ks_memory_tree_find(const struct memory_tree *tree, struct ks_view key)
{
	struct memory_node *node = ks_memory_tree_seek(tree, key);

	return node && ks_view_cmp(memory_node_key(node), key) == 0 ? node : NULL;
}

/* Geometric with 1/4, so that a node has 1.33 links on average. */
static unsigned random_levels(struct memory_tree *tree)
{
	unsigned levels = 1;
	uint64_t bits;

	tree->random = tree->random * 6364136223846793005u + 1442695040888963407u;
	for (bits = tree->random >> 24; (bits & 3) == 0 && levels < MEMORY_LEVELS; bits >>= 2)
		levels++;
	return levels;
}

struct memory_node *ks_memory_node_new(struct memory_tree *tree)
{
	unsigned levels = random_levels(tree);
	struct memory_node *node = calloc(1, sizeof(*node) + levels * sizeof(struct memory_node *));

	if (node)
		node->levels = levels;
	return node;
}

void ks_memory_tree_insert(struct memory_tree *tree, struct memory_node *node)
{
	struct memory_node **at[MEMORY_LEVELS];
	unsigned i;

	trace(tree, memory_node_key(node), at);
	for (i = 0; i < node->levels; i++) {
		node->next[i] = *at[i];
		*at[i] = node;
	}
}

void ks_memory_tree_remove(struct memory_tree *tree, struct memory_node *node)
{
	struct memory_node **at[MEMORY_LEVELS];
	unsigned i;

	trace(tree, memory_node_key(node), at);
	for (i = 0; i < node->levels; i++)
		*at[i] = node->next[i];
}
