/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/removal.h"

#include <stdlib.h>

#include "core/registry/allocate/address.h"
#include "core/util/log.h"

enum { MOST_TRIES = 4 };

struct run {
	struct ks_removal removal;
	struct ks_store_call call;
	struct ks_arena arena;
	unsigned tries;
};

static void end(struct run *r, uint64_t revision)
{
	struct ks_removal removal = r->removal;

	ks_buf_fini(&r->call.key);
	ks_arena_fini(&r->arena);
	free(r);
	if (removal.done)
		removal.done(removal.arg, revision);
}

/* Is it still the one that is meant, and does nobody hold it? */
static bool may_go(struct run *r, const struct ks_object *object)
{
	struct ks_pools *pools = r->removal.pools;
	struct ks_str ns, name;
	struct ks_value tree;

	if (ks_object_tree(object, pools->schema, &r->arena, &tree) || ks_value_present(ks_value_at(pools->schema, &tree, "metadata.finalizers")))
		return false;
	if (!r->removal.owner_name.n)
		return true;
	return ks_address_owner(pools, &tree, &ns, &name) && ks_str_eq(ns, r->removal.owner_ns) && ks_str_eq(name, r->removal.owner_name);
}

static void removed(struct ks_store_call *call);

static void start(struct run *r, uint64_t revision)
{
	struct ks_buf key = r->call.key;

	r->tries++;
	r->call = (struct ks_store_call){.loop = r->removal.loop, .key = key, .expected = revision, .done = removed, .arg = r};
	ks_store_write_start(r->removal.of->store, &r->call);
}

/* It has changed since it was looked at. */
static void look_again(struct run *r, struct ks_bytes *stored, uint64_t revision)
{
	struct ks_error err = {.text = ""};
	struct ks_object *object = NULL;
	bool go;

	if (stored && !r->removal.revision && r->tries < MOST_TRIES)
		object = ks_object_from_json(r->removal.pools->schema, r->removal.of->resource, stored, &err);
	ks_bytes_unref(stored);
	go = object && may_go(r, object);
	ks_object_unref(object);
	if (go)
		start(r, revision);
	else
		end(r, 0);
}

static void removed(struct ks_store_call *call)
{
	struct run *r = call->arg;
	struct ks_bytes *current = call->current;

	call->current = NULL;
	if (call->outcome == KS_WRITE_LOST_RACE) {
		look_again(r, current, call->current_revision);
		return;
	}
	if (call->outcome == KS_WRITE_FAILED)
		ks_log(KS_LOG_WARN, "services", "%.*s could not be removed, the next repair will: %s", (int)call->key.len, call->key.data,
			call->error);
	end(r, call->outcome == KS_WRITE_COMMITTED ? call->revision : 0);
}

/* The revision at which it may go, as far as is known; 0: it may not, or it isn't there. */
static uint64_t known_revision(struct run *r)
{
	struct ks_object *object = ks_cache_get(r->removal.of->cache, r->removal.ns, r->removal.name);
	uint64_t revision = object && may_go(r, object) ? object->revision : 0;

	ks_object_unref(object);
	return revision;
}

static bool keep(struct ks_arena *arena, struct ks_str *text)
{
	char *copy = ks_arena_dup(arena, text->p ? text->p : "", text->n);

	text->p = copy;
	return copy;
}

void ks_removal_start(const struct ks_removal *removal)
{
	struct run *r = calloc(1, sizeof(*r));
	uint64_t revision = removal->revision;

	if (!r) {
		ks_log(KS_LOG_WARN, "services", "out of memory: what a service had is removed by the next repair");
		if (removal->done)
			removal->done(removal->arg, 0);
		return;
	}
	r->removal = *removal;
	ks_arena_init(&r->arena, 0);
	ks_buf_init(&r->call.key);
	if (!keep(&r->arena, &r->removal.ns) || !keep(&r->arena, &r->removal.name) || !keep(&r->arena, &r->removal.owner_ns) ||
		!keep(&r->arena, &r->removal.owner_name)) {
		end(r, 0);
		return;
	}
	ks_store_key(&r->call.key, removal->pools->schema, removal->of->resource, r->removal.ns, r->removal.name);
	if (!revision)
		revision = known_revision(r);
	if (!revision || r->call.key.failed)
		end(r, 0);
	else
		start(r, revision);
}
