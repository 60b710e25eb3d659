/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What events change: the next states of the resources that they touch, shown together. */
#include <errno.h>
#include <stdlib.h>

#include "core/cache/internal.h"

/* Everything that an event needs to be applied and shown, so that neither fails later. */
static int touch(struct ks_cache_resource *r)
{
	int result = ks_history_reserve(&r->history);

	if (result || r->next_root)
		return result;
	r->next_root = calloc(1, sizeof(*r->next_root));
	if (!r->next_root)
		return -ENOMEM;
	r->edit.version++;
	r->edit.pool = &r->feed->pool;
	r->next_touched = r->feed->touched;
	r->feed->touched = r;
	return 0;
}

int ks_apply_put(struct ks_cache_resource *r, struct ks_object *object)
{
	struct ks_object *previous;
	bool owned;
	int result = touch(r);

	if (!result)
		result = ks_tree_put(&r->edit, object, &previous, &owned);
	if (result)
		return result;
	ks_history_append(&r->history, object->revision, object, previous);
	r->bytes += object->json->len;
	if (previous)
		r->bytes -= previous->json->len;
	if (owned)
		ks_object_unref(previous);
	return 0;
}

int ks_apply_delete(struct ks_cache_resource *r, struct ks_str ns, struct ks_str name, uint64_t revision)
{
	struct ks_object *previous;
	bool owned;
	int result = touch(r);

	if (!result)
		result = ks_tree_remove(&r->edit, ns, name, &previous, &owned);
	if (result || !previous)
		return result;
	ks_history_append(&r->history, revision, NULL, previous);
	r->bytes -= previous->json->len;
	if (owned)
		ks_object_unref(previous);
	return 0;
}

static void publish(struct ks_cache_resource *r, uint64_t revision)
{
	struct ks_root *root = r->next_root;

	root->top = r->edit.top;
	root->count = r->edit.count;
	root->version = r->edit.version;
	root->bytes = r->bytes;
	root->revision = revision;
	root->history_end = r->history.next;
	r->next_root = NULL;
	/* a watcher that was told of a change finds it when it reads: the state first, then the history's end */
	ks_roots_publish(&r->roots, root, &r->edit.garbage);
	ks_history_publish(&r->history);
	ks_past_expire(&r->past);
}

void ks_apply_publish(struct ks_feed *feed, uint64_t revision)
{
	struct ks_cache_resource *r, *touched = feed->touched;

	feed->touched = NULL;
	for (r = touched; r; r = r->next_touched)
		publish(r, revision);
	atomic_store(&feed->revision, revision);
	for (r = touched; r; r = r->next_touched)
		ks_watch_sets_notify(r);
	ks_waits_reached(&feed->waits, revision);
}
