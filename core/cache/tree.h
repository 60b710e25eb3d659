/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordered persistent tree of one resource: a B+tree whose published nodes never
 * change. An edit copies the nodes on the way to what it changes; nodes that it
 * made itself it changes in place.
 *
 * The order is that of the store's keys ("namespace/name" as bytes), so that pages and
 * continue tokens agree with any other server on the same store.
 *
 * Nodes have no reference counts. Versions number the states of a resource; a node or
 * object is part of the versions from its birth until the version that let it go, and is
 * freed when no state in between is looked at any more (see root.c).
 */
#ifndef KS_CACHE_TREE_H
#define KS_CACHE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cache/cache.h"

enum { KS_TREE_LEAF = 60, KS_TREE_INNER = 30, KS_TREE_MAX_HEIGHT = 16 };

struct ks_tree_node { /* 512 bytes with the allocator's header */
	uint64_t born; /* version that it was made for */
	struct ks_tree_node *next; /* in the list of spare, own or garbage nodes; readers don't look at it */
	uint16_t n;
	uint16_t level; /* 0: a leaf */
	uint32_t below; /* objects below an inner node */
	union {
		struct ks_object *objects[KS_TREE_LEAF];
		struct {
			struct ks_object *first[KS_TREE_INNER]; /* first object below child i */
			struct ks_tree_node *child[KS_TREE_INNER];
		};
	};
};

/* What one version lets go: nodes and objects that it no longer reaches. */
struct ks_tree_garbage {
	struct ks_tree_node *nodes;
	struct ks_object *objects;
};

/* Version of trees that are made for one reader (a state of the past). */
#define KS_TREE_PRIVATE UINT64_MAX

/* Nodes at hand, so that an edit that has begun can't run out of memory. Not shared between threads. */
struct ks_tree_pool {
	struct ks_tree_node *spare;
	uint32_t n;
};
void ks_tree_pool_fini(struct ks_tree_pool *pool);

/* An edit under way: the state of the next version. */
struct ks_tree_edit {
	struct ks_tree_node *top;
	uint64_t count; /* objects */
	uint64_t version; /* nodes born in it are ours to change */
	struct ks_tree_pool *pool;
	struct ks_tree_garbage garbage;
	struct ks_tree_node *own; /* KS_TREE_PRIVATE: every node that was made */
};

/* Puts an object in place of that of the same key. The tree takes the caller's reference, and gives the one that was replaced in *previous_r (NULL:
 * none) as borrowed: it is in the garbage, or, when it came in with the same version, the caller's to drop (*previous_owned_r).
 * 0 or -ENOMEM; then nothing has changed and the reference is still the caller's. */
int ks_tree_put(struct ks_tree_edit *edit, struct ks_object *object, struct ks_object **previous_r, bool *previous_owned_r)
	__attribute__((warn_unused_result));
/* Takes an object out; *previous_r as above, NULL when it was not there. 0 or -ENOMEM. */
int ks_tree_remove(struct ks_tree_edit *edit, struct ks_str ns, struct ks_str name, struct ks_object **previous_r, bool *previous_owned_r)
	__attribute__((warn_unused_result));
/* Builds the tree from objects in order (checked: -EINVAL), references taken. The edit must be empty. */
int ks_tree_build(struct ks_tree_edit *edit, struct ks_object **objects, size_t n) __attribute__((warn_unused_result));
/* Lets everything go: nodes and objects are garbage now. */
void ks_tree_clear(struct ks_tree_edit *edit);
void ks_tree_garbage_free(struct ks_tree_garbage *garbage);

/* Borrowed; NULL when it isn't there. */
struct ks_object *ks_tree_find(const struct ks_tree_node *top, struct ks_str ns, struct ks_str name);
/* -1, 0, 1: as the bytes of "ns/name" compare. */
int ks_tree_compare(struct ks_str ns, struct ks_str name, const struct ks_object *object);
/* Index of the child that the key belongs to, of an inner node. */
unsigned ks_tree_child_of(const struct ks_tree_node *node, struct ks_str ns, struct ks_str name);
/* Objects of the tree in front of the key, without walking over them. */
uint64_t ks_tree_rank(const struct ks_tree_node *top, struct ks_str ns, struct ks_str name);
/* Objects in front of place `at` of the node. */
uint64_t ks_tree_before(const struct ks_tree_node *node, unsigned at);
/* First place in a leaf whose object isn't before the key. */
unsigned ks_tree_place_of(const struct ks_tree_node *node, struct ks_str ns, struct ks_str name);

#endif
