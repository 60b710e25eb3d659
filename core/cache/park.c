/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects whose write is on its way: the applier adopts them instead of decoding their bytes again. */
#include <errno.h>
#include <stdlib.h>

#include "core/cache/internal.h"

struct ks_parked {
	struct ks_parked *next;
	struct ks_object *object;
	uint32_t hash;
};

uint32_t ks_cache_hash(struct ks_str a, struct ks_str b)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < a.n; i++)
		h = (h ^ (unsigned char)a.p[i]) * 16777619u;
	h = (h ^ '/') * 16777619u;
	for (size_t i = 0; i < b.n; i++)
		h = (h ^ (unsigned char)b.p[i]) * 16777619u;
	return h ^ h >> 15;
}

int ks_park_init(struct ks_park *park)
{
	*park = (struct ks_park){0};
	return pthread_mutex_init(&park->lock, NULL) ? -ENOMEM : 0;
}

void ks_park_clear(struct ks_park *park)
{
	pthread_mutex_lock(&park->lock);
	for (uint32_t i = 0; i < park->n_buckets; i++) {
		struct ks_parked *p;

		while ((p = park->buckets[i])) {
			park->buckets[i] = p->next;
			ks_object_unref(p->object);
			free(p);
		}
	}
	park->n = 0;
	pthread_mutex_unlock(&park->lock);
}

void ks_park_fini(struct ks_park *park)
{
	ks_park_clear(park);
	free(park->buckets);
	pthread_mutex_destroy(&park->lock);
}

/* Buckets come with the first parked object of a resource. */
static bool grow(struct ks_park *park)
{
	uint32_t n = park->n_buckets ? park->n_buckets * 2 : 16;
	struct ks_parked **buckets, *p;

	if (park->n < park->n_buckets)
		return true;
	buckets = calloc(n, sizeof(struct ks_parked *));
	if (!buckets)
		return park->n_buckets > 0;
	for (uint32_t i = 0; i < park->n_buckets; i++) {
		while ((p = park->buckets[i])) {
			park->buckets[i] = p->next;
			p->next = buckets[p->hash & (n - 1)];
			buckets[p->hash & (n - 1)] = p;
		}
	}
	free(park->buckets);
	park->buckets = buckets;
	park->n_buckets = n;
	return true;
}

/* Without memory the object isn't parked, and its bytes will be decoded. */
void ks_cache_park(struct ks_cache_resource *r, struct ks_object *object)
{
	struct ks_park *park = &r->park;
	struct ks_parked *p = malloc(sizeof(*p));

	if (!p)
		return;
	p->object = object;
	p->hash = ks_cache_hash(object->ns, object->name);
	pthread_mutex_lock(&park->lock);
	if (grow(park)) {
		ks_object_ref(object);
		p->next = park->buckets[p->hash & (park->n_buckets - 1)];
		park->buckets[p->hash & (park->n_buckets - 1)] = p;
		park->n++;
		p = NULL;
	}
	pthread_mutex_unlock(&park->lock);
	free(p);
}

static bool is_version(const struct ks_object *object, struct ks_str ns, struct ks_str name, const struct ks_bytes *json)
{
	if (object->json != json && (object->json->len != json->len || memcmp(object->json->data, json->data, json->len) != 0))
		return false;
	return ks_str_eq(object->name, name) && ks_str_eq(object->ns, ns);
}

/* Takes one entry out of its bucket: that of `object`, or, when that is NULL, one with these bytes. */
static struct ks_object *take(
	struct ks_park *park, uint32_t hash, const struct ks_object *object, struct ks_str ns, struct ks_str name, const struct ks_bytes *json)
{
	struct ks_parked **link, *p = NULL;
	struct ks_object *taken = NULL;

	pthread_mutex_lock(&park->lock);
	if (park->n > 0) {
		for (link = &park->buckets[hash & (park->n_buckets - 1)]; (p = *link); link = &p->next)
			if (p->hash == hash && (object ? p->object == object : is_version(p->object, ns, name, json)))
				break;
		if (p) {
			*link = p->next;
			park->n--;
			taken = p->object;
		}
	}
	pthread_mutex_unlock(&park->lock);
	free(p);
	return taken;
}

struct ks_object *ks_park_take(struct ks_park *park, struct ks_str ns, struct ks_str name, const struct ks_bytes *json)
{
	return take(park, ks_cache_hash(ns, name), NULL, ns, name, json);
}

void ks_cache_unpark(struct ks_cache_resource *r, struct ks_object *object)
{
	ks_object_unref(take(&r->park, ks_cache_hash(object->ns, object->name), object, object->ns, object->name, NULL));
}
