/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/ports.h"

#include <errno.h>
#include <keelson/storage.h>
#include <stddef.h>

#include "core/util/log.h"

/* As kube-apiserver does. */
enum { FIRST_DRY = 32769 };

#define KEY KS_STORE_ROOT "ranges/servicenodeports"

static void fly(struct ks_ports *ports, struct ks_loop *loop);

bool ks_ports_init(struct ks_ports *ports, const struct ks_store *store, const char *range)
{
	*ports = (struct ks_ports){.store = store, .alone = store->flags & KS_STORE_SINGLE_WRITER};
	if (!ks_portmap_init(&ports->known, range))
		return false;
	ports->first = ports->known.first;
	ports->count = ports->known.count;
	ports->last = &ports->waiting;
	pthread_mutex_init(&ports->lock, NULL);
	return true;
}

void ks_ports_fini(struct ks_ports *ports)
{
	ks_buf_fini(&ports->call.key);
	ks_buf_fini(&ports->read.key);
	ks_bytes_unref(ports->value);
	pthread_mutex_destroy(&ports->lock);
}

/* -- what is known ------------------------------------------------------------------------------------------------ */

static void forget(struct ks_portmap *map)
{
	map->used = 0;
	memset(map->words, 0, sizeof(map->words));
}

/* Takes over what stands in the store (NULL: nothing). A map of another range, or one that can't be read, is made anew from the objects. */
static int learn(struct ks_ports *ports, const struct ks_bytes *stored, uint64_t revision)
{
	int result = stored ? ks_portmap_decode(&ports->known, stored) : -ENOENT;

	if (result == -ENOMEM)
		return result;
	if (result < 0) {
		if (stored)
			ks_log(KS_LOG_WARN, "ports", "the map of node ports %s; it is made anew from the services",
				result == -ERANGE ? "is of another range" : "can't be read");
		forget(&ports->known);
		if (ports->seed)
			ports->seed(&ports->known, ports->seed_arg);
	}
	ports->revision = revision;
	ports->fresh = true;
	return 0;
}

/* -- one round: all that is flying, with one swap ------------------------------------------------------------------ */

static int take(struct ks_portmap *map, struct ks_port_claim *claim)
{
	if (!claim->wanted) {
		claim->got = ks_portmap_take_any(map);
		return claim->got ? 0 : -ENOSPC;
	}
	claim->got = claim->wanted;
	if (!ks_portmap_has(map, claim->wanted))
		return -ERANGE;
	return ks_portmap_take(map, claim->wanted) ? 0 : -EEXIST;
}

static void grant(struct ks_portmap *map, struct ks_port_wish *wish)
{
	if (wish->copy)
		*wish->copy = *map;
	wish->result = 0;
	for (size_t i = 0; !wish->result && i < wish->n_claims; i++) {
		wish->failed = i;
		wish->result = take(map, &wish->claims[i]);
	}
	for (size_t i = 0; wish->result && i < wish->failed; i++)
		ks_portmap_give_back(map, wish->claims[i].got);
	for (size_t i = 0; !wish->result && i < wish->n_returned; i++)
		ks_portmap_give_back(map, wish->returned[i]);
}

/* A dry run takes nothing, and gives numbers that nobody will have. */
static void pretend(const struct ks_portmap *map, struct ks_port_wish *wish)
{
	uint32_t last = 0;

	wish->result = 0;
	for (size_t i = 0; !wish->result && i < wish->n_claims; i++) {
		struct ks_port_claim *claim = &wish->claims[i];

		wish->failed = i;
		claim->got = claim->wanted ? claim->wanted : last ? last + 1 : FIRST_DRY;
		if (claim->wanted && ks_portmap_is_used(map, claim->wanted))
			wish->result = -EEXIST;
		for (size_t k = 0; claim->wanted && k < i; k++)
			if (wish->claims[k].got == claim->wanted)
				wish->result = -EEXIST;
		last = claim->got > last ? claim->got : last;
	}
}

static void tell(struct ks_task *task)
{
	struct ks_port_wish *wish = (struct ks_port_wish *)((char *)task - offsetof(struct ks_port_wish, task));

	wish->done(wish);
}

/* Everybody who flew is told; then those go who came in the meantime. */
static void land(struct ks_ports *ports, struct ks_loop *loop, int result)
{
	struct ks_port_wish *wish, *next;

	ks_bytes_unref(ports->value);
	ports->value = NULL;
	pthread_mutex_lock(&ports->lock);
	wish = ports->flying;
	ports->flying = NULL;
	ports->busy = false;
	pthread_mutex_unlock(&ports->lock);
	for (; wish; wish = next) {
		next = wish->next;
		if (result)
			wish->result = result;
		wish->task.run = tell;
		ks_loop_post(wish->loop, &wish->task);
	}
	fly(ports, loop);
}

static void begin_round(struct ks_ports *ports, struct ks_loop *loop);

static void swapped(struct ks_store_call *call)
{
	struct ks_ports *ports = call->arg;

	switch (call->outcome) {
	case KS_WRITE_COMMITTED:
		ports->known = ports->next;
		ports->revision = call->revision;
		land(ports, call->loop, 0);
		return;
	case KS_WRITE_LOST_RACE: {
		int result = learn(ports, call->current, call->current_revision);

		ks_bytes_unref(call->current);
		call->current = NULL;
		ports->live = true;
		if (result)
			land(ports, call->loop, result);
		else
			begin_round(ports, call->loop);
		return;
	}
	default:
		ks_log(KS_LOG_ERROR, "ports", "the map of node ports could not be written: %s", call->error);
		ports->fresh = false;
		land(ports, call->loop, -EIO);
	}
}

static void swap(struct ks_ports *ports, struct ks_loop *loop)
{
	struct ks_buf key = ports->call.key;

	ks_bytes_unref(ports->value);
	ports->value = ks_portmap_encode(&ports->next);
	ks_buf_clear(&key);
	ks_buf_add_str(&key, KEY);
	ports->call =
		(struct ks_store_call){.loop = loop, .key = key, .value = ports->value, .expected = ports->revision, .done = swapped, .arg = ports};
	if (!ports->value || key.failed)
		land(ports, loop, -ENOMEM);
	else
		ks_store_write_start(ports->store, &ports->call);
}

static void was_read(struct ks_store_read *read)
{
	struct ks_ports *ports = read->arg;
	int result = read->result ? -EIO : learn(ports, read->found ? read->value : NULL, read->found ? read->mod_revision : 0);

	if (read->result)
		ks_log(KS_LOG_ERROR, "ports", "the map of node ports could not be read: %s", read->error);
	ks_bytes_unref(read->value);
	read->value = NULL;
	ports->live = true;
	if (result)
		land(ports, read->loop, result);
	else
		begin_round(ports, read->loop);
}

static void look(struct ks_ports *ports, struct ks_loop *loop)
{
	struct ks_buf key = ports->read.key;

	ks_buf_clear(&key);
	ks_buf_add_str(&key, KEY);
	ports->read = (struct ks_store_read){.loop = loop, .key = key, .done = was_read, .arg = ports};
	if (key.failed)
		land(ports, loop, -ENOMEM);
	else
		ks_store_read_start(ports->store, &ports->read);
}

/* Somebody else may have given back what seems to be taken: nobody is refused by what may be out of date, and nobody gets a copy of it. */
static bool is_doubtful(const struct ks_ports *ports)
{
	if (ports->alone || ports->live)
		return false;
	for (const struct ks_port_wish *wish = ports->flying; wish; wish = wish->next)
		if (wish->result || wish->copy)
			return true;
	return false;
}

static void begin_round(struct ks_ports *ports, struct ks_loop *loop)
{
	if (!ports->fresh) {
		look(ports, loop);
		return;
	}
	ports->next = ports->known;
	for (struct ks_port_wish *wish = ports->flying; wish; wish = wish->next)
		if (wish->dry)
			pretend(&ports->known, wish);
		else
			grant(&ports->next, wish);
	if (is_doubtful(ports))
		look(ports, loop);
	else if (ports->revision && memcmp(ports->next.words, ports->known.words, sizeof(ports->known.words)) == 0)
		land(ports, loop, 0);
	else
		swap(ports, loop);
}

/* -- from outside --------------------------------------------------------------------------------------------------- */

static void fly(struct ks_ports *ports, struct ks_loop *loop)
{
	bool go;

	pthread_mutex_lock(&ports->lock);
	go = !ports->busy && ports->waiting;
	if (go) {
		ports->busy = true;
		ports->live = false;
		ports->flying = ports->waiting;
		ports->waiting = NULL;
		ports->last = &ports->waiting;
	}
	pthread_mutex_unlock(&ports->lock);
	if (go)
		begin_round(ports, loop);
}

void ks_ports_ask(struct ks_ports *ports, struct ks_port_wish *wish)
{
	wish->next = NULL;
	pthread_mutex_lock(&ports->lock);
	*ports->last = wish;
	ports->last = &wish->next;
	pthread_mutex_unlock(&ports->lock);
	fly(ports, wish->loop);
}
