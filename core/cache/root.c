/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/root.h"

#include <errno.h>
#include <stdlib.h>

int ks_roots_init(struct ks_roots *roots, uint64_t version)
{
	struct ks_root *root = calloc(1, sizeof(*root));

	if (!root)
		return -ENOMEM;
	if (pthread_mutex_init(&roots->lock, NULL)) {
		free(root);
		return -ENOMEM;
	}
	root->roots = roots;
	root->version = version;
	atomic_init(&root->refs, 1);
	roots->newest = root;
	atomic_store(&roots->current, root);
	return 0;
}

void ks_roots_close(struct ks_roots *roots)
{
	ks_root_unref(atomic_exchange(&roots->current, NULL));
}

void ks_roots_fini(struct ks_roots *roots)
{
	pthread_mutex_destroy(&roots->lock);
}

/* What the next older state can't reach either is free; the rest is that state's now. Takes `garbage` apart. */
static struct ks_tree_garbage hand_down(struct ks_tree_garbage *garbage, struct ks_root *older)
{
	struct ks_tree_garbage dead = {0};
	struct ks_tree_node *node;
	struct ks_object *object;

	if (!older)
		return *garbage;
	while ((node = garbage->nodes)) {
		struct ks_tree_node **list = node->born <= older->version ? &older->garbage.nodes : &dead.nodes;

		garbage->nodes = node->next;
		node->next = *list;
		*list = node;
	}
	while ((object = garbage->objects)) {
		struct ks_object **list = object->born <= older->version ? &older->garbage.objects : &dead.objects;

		garbage->objects = object->garbage;
		object->garbage = *list;
		*list = object;
	}
	return dead;
}

/* On the reclaiming thread. */
static void bury(struct ks_rcu_head *head)
{
	struct ks_root *root = (struct ks_root *)((char *)head - offsetof(struct ks_root, rcu));
	struct ks_roots *roots = root->roots;
	struct ks_tree_garbage dead;

	pthread_mutex_lock(&roots->lock);
	if (root->newer)
		root->newer->older = root->older;
	else
		roots->newest = root->older;
	if (root->older)
		root->older->newer = root->newer;
	pthread_mutex_unlock(&roots->lock);
	/* the older one is not current any more and can't be buried meanwhile: its garbage is ours alone */
	dead = hand_down(&root->garbage, root->older);
	ks_tree_garbage_free(&dead);
	free(root);
}

static void free_private(struct ks_root *root)
{
	struct ks_tree_node *node;

	while ((node = root->own)) {
		root->own = node->next;
		free(node);
	}
	for (size_t i = 0; i < root->n_restored; i++)
		ks_object_unref(root->restored[i]);
	free(root->restored);
	ks_root_unref(root->base);
	free(root);
}

void ks_root_unref(struct ks_root *root)
{
	if (!root || atomic_fetch_sub_explicit(&root->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (root->base)
		free_private(root);
	else
		ks_rcu_defer(&root->rcu, bury);
}

void ks_roots_publish(struct ks_roots *roots, struct ks_root *root, struct ks_tree_garbage *garbage)
{
	struct ks_root *old = atomic_load_explicit(&roots->current, memory_order_relaxed);

	atomic_init(&root->refs, 1);
	root->roots = roots;
	pthread_mutex_lock(&roots->lock);
	root->older = roots->newest;
	root->newer = NULL;
	if (root->older)
		root->older->newer = root;
	roots->newest = root;
	old->garbage = *garbage;
	pthread_mutex_unlock(&roots->lock);
	*garbage = (struct ks_tree_garbage){0};
	atomic_store_explicit(&roots->current, root, memory_order_release);
	ks_root_unref(old);
}

struct ks_root *ks_roots_take(struct ks_roots *roots)
{
	for (;;) {
		struct ks_root *root = atomic_load_explicit(&roots->current, memory_order_acquire);
		uint32_t refs = atomic_load_explicit(&root->refs, memory_order_relaxed);

		while (refs > 0)
			if (atomic_compare_exchange_weak_explicit(&root->refs, &refs, refs + 1, memory_order_acquire, memory_order_relaxed))
				return root;
		/* it has been replaced since we looked */
	}
}
