/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/known.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t hash_text(uint32_t hash, struct ks_str text)
{
	for (size_t i = 0; i < text.n; i++)
		hash = (hash ^ (unsigned char)text.p[i]) * 16777619u;
	return hash;
}

static uint32_t hash_of(const struct ks_object *object)
{
	return hash_text((hash_text(2166136261u, object->ns) ^ '/') * 16777619u, object->name);
}

void ks_known_fini(struct ks_known *known)
{
	for (size_t i = 0; i < known->size; i++)
		ks_object_unref(known->entries[i].object);
	free(known->entries);
	*known = (struct ks_known){0};
}

/* The entry of that name, or the free one where it would go. The table is never full. */
static struct ks_known_entry *find(const struct ks_known *known, const struct ks_object *object, uint32_t hash)
{
	for (size_t at = hash;; at++) {
		struct ks_known_entry *entry = &known->entries[at & (known->size - 1)];

		if (!entry->object)
			return entry;
		if (entry->hash == hash && ks_str_eq(entry->object->name, object->name) && ks_str_eq(entry->object->ns, object->ns))
			return entry;
	}
}

static int grow(struct ks_known *known)
{
	struct ks_known bigger = {.n = known->n, .size = known->size ? known->size * 2 : 64};

	if (known->n + 1 <= known->size / 4 * 3)
		return 0;
	bigger.entries = calloc(bigger.size, sizeof(*bigger.entries));
	if (!bigger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < known->size; i++)
		if (known->entries[i].object)
			*find(&bigger, known->entries[i].object, known->entries[i].hash) = known->entries[i];
	free(known->entries);
	*known = bigger;
	return 0;
}

int ks_known_put(struct ks_known *known, struct ks_object *object, uint32_t round, struct ks_object **before_r)
{
	uint32_t hash = hash_of(object);
	struct ks_known_entry *entry;

	if (grow(known) < 0)
		return -ENOMEM;
	entry = find(known, object, hash);
	known->n += !entry->object;
	*before_r = entry->object;
	*entry = (struct ks_known_entry){ks_object_ref(object), hash, round};
	return 0;
}

/* Moves what stands behind a freed entry and would not be found any more. */
static void close_gap(struct ks_known *known, size_t gap)
{
	size_t mask = known->size - 1;

	for (size_t at = (gap + 1) & mask; known->entries[at].object; at = (at + 1) & mask) {
		size_t home = known->entries[at].hash & mask;

		if (((at - home) & mask) < ((at - gap) & mask))
			continue;
		known->entries[gap] = known->entries[at];
		known->entries[at].object = NULL;
		gap = at;
	}
}

void ks_known_remove(struct ks_known *known, const struct ks_object *object)
{
	struct ks_known_entry *entry;

	if (!known->size)
		return;
	entry = find(known, object, hash_of(object));
	if (!entry->object)
		return;
	ks_object_unref(entry->object);
	entry->object = NULL;
	known->n--;
	close_gap(known, (size_t)(entry - known->entries));
}

struct ks_object *ks_known_take_stale(struct ks_known *known, uint32_t round, size_t *at)
{
	for (; *at < known->size; ++*at) {
		struct ks_known_entry *entry = &known->entries[*at];
		struct ks_object *object = entry->object;

		if (!object || entry->round == round)
			continue;
		entry->object = NULL;
		known->n--;
		close_gap(known, *at);
		return object;
	}
	return NULL;
}
