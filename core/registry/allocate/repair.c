/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/repair.h"

#include <errno.h>
#include <keelson/storage.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/api/time.h"
#include "core/registry/allocate/address.h"
#include "core/registry/allocate/use.h"
#include "core/util/log.h"

enum { LANES = 32, GRACE_S = 60, LOOKS_BEFORE_LOST = 3, MOST_RANGES = 64, ALL_PORTS = 65536 };

/* An IPAddress object that is wrong: it goes, if `revision` says that there is one; then it is made for that service, if `make`. */
struct fault {
	struct ks_ip ip;
	char name[KS_IP_TEXT + 16]; /* of the object */
	uint64_t revision;
	bool make;
	struct ks_str service_ns, service_name;
};

struct lane {
	struct ks_repair *repair;
	struct fault *fault;
	struct ks_object *object;
	struct ks_store_call call;
};

struct ks_repair {
	struct ks_pools *pools;
	bool alone; /* nothing is on its way: nobody else writes, and this server has not begun to serve */
	uint8_t lost[ALL_PORTS]; /* how often in a row a port was found lost */
	/* of a run */
	struct ks_loop *loop;
	void (*done)(void *arg, int result);
	void *arg;
	int result;
	struct ks_arena arena;
	struct ks_ip_range ranges[MOST_RANGES];
	unsigned n_ranges;
	struct fault *faults;
	size_t n_faults, cap_faults, next_fault;
	struct lane lanes[LANES];
	unsigned n_busy;
	struct ks_portmap stored, used;
	struct ks_port_wish wish;
	struct ks_port_claim *claims;
	uint32_t *returned;
	struct ks_task task;
};

struct ks_repair *ks_repair_new(struct ks_pools *pools)
{
	struct ks_repair *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->pools = pools;
	r->alone = pools->addresses.store->flags & pools->services.store->flags & KS_STORE_SINGLE_WRITER;
	ks_arena_init(&r->arena, 0);
	return r;
}

void ks_repair_free(struct ks_repair **repair)
{
	if (!*repair)
		return;
	ks_arena_fini(&(*repair)->arena);
	free((*repair)->faults);
	free(*repair);
	*repair = NULL;
}

/* -- what is wrong with addresses ------------------------------------------------------------------------------------ */

static struct ks_str keep(struct ks_repair *r, struct ks_str text)
{
	char *copy = ks_arena_dup(&r->arena, text.p ? text.p : "", text.n);

	return ks_str_of(copy, copy ? text.n : 0);
}

static struct fault *add_fault(struct ks_repair *r)
{
	if (r->n_faults == r->cap_faults) {
		size_t cap = r->cap_faults ? 2 * r->cap_faults : 64;
		struct fault *grown = realloc(r->faults, cap * sizeof(*grown));

		if (!grown) {
			r->result = -ENOMEM;
			return NULL;
		}
		r->faults = grown;
		r->cap_faults = cap;
	}
	r->faults[r->n_faults] = (struct fault){.make = false};
	return &r->faults[r->n_faults++];
}

static bool in_a_range(const struct ks_repair *r, const struct ks_ip *ip)
{
	for (unsigned i = 0; i < r->n_ranges; i++)
		if (ks_ip_range_has(&r->ranges[i], ip))
			return true;
	return false;
}

enum verdict { RIGHT, WRONG, OF_ANOTHER };

/* Is the object of a service's address as it should be? */
static enum verdict judge(struct ks_repair *r, const struct ks_object *address, const struct ks_object *service)
{
	struct ks_pools *pools = r->pools;
	enum verdict verdict = WRONG;
	struct ks_str ns, name;
	struct ks_arena arena;
	struct ks_value tree;

	ks_arena_init(&arena, 0);
	if (!ks_object_tree(address, pools->schema, &arena, &tree) && ks_address_owner(pools, &tree, &ns, &name)) {
		if (ks_str_eq(ns, service->ns) && ks_str_eq(name, service->name))
			verdict = ks_address_is_labelled(pools, &tree) ? RIGHT : WRONG;
		else if (ks_pools_service_has(pools, ns, name, address->name))
			verdict = OF_ANOTHER;
	}
	ks_arena_fini(&arena);
	return verdict;
}

static void check_address(struct ks_repair *r, const struct ks_object *service, struct ks_str text)
{
	enum verdict verdict = WRONG;
	struct ks_object *address;
	struct fault *fault;
	struct ks_ip ip;
	char name[KS_IP_TEXT];

	if (!ks_ip_parse(text, &ip) || !in_a_range(r, &ip)) {
		ks_log(KS_LOG_WARN, "addresses", "the address %.*s of service %.*s/%.*s is not within any service range; please recreate it",
			(int)text.n, text.p, (int)service->ns.n, service->ns.p, (int)service->name.n, service->name.p);
		return;
	}
	ks_ip_print(&ip, name);
	address = ks_cache_get(r->pools->addresses.cache, (struct ks_str){0}, ks_str_from(name));
	if (address)
		verdict = judge(r, address, service);
	if (verdict == OF_ANOTHER)
		ks_log(KS_LOG_ERROR, "addresses", "the address %s of service %.*s/%.*s was given to another service, too; please recreate it", name,
			(int)service->ns.n, service->ns.p, (int)service->name.n, service->name.p);
	if (verdict == WRONG && (fault = add_fault(r))) {
		ks_log(KS_LOG_WARN, "addresses", "the address %s of service %.*s/%.*s is not allocated; repairing", name, (int)service->ns.n,
			service->ns.p, (int)service->name.n, service->name.p);
		fault->ip = ip;
		strcpy(fault->name, name);
		fault->revision = address ? address->revision : 0;
		fault->make = true;
		fault->service_ns = keep(r, service->ns);
		fault->service_name = keep(r, service->name);
	}
	ks_object_unref(address);
}

static int check_service(struct ks_pools *pools, struct ks_object *object, const struct ks_value *service, void *repair)
{
	const struct ks_value *list = ks_value_at(pools->schema, service, "spec.clusterIPs");

	if (ks_str_is(ks_value_str(ks_value_at(pools->schema, service, "spec.type")), "ExternalName"))
		return 0;
	for (uint32_t i = 0; ks_value_present(list) && list->kind == KS_LIST && i < list->n; i++) {
		struct ks_str text = ks_value_str(&list->items[i]);

		if (text.n && !ks_str_is(text, "None"))
			check_address(repair, object, text);
	}
	return 0;
}

/* It may be on its way to a service that is just being made, or changed. */
static bool is_young(struct ks_repair *r, struct ks_arena *arena, const struct ks_value *address)
{
	struct ks_time made, now = ks_time_now();
	const char *message;

	if (r->alone ||
		ks_time_parse(arena, ks_value_str(ks_value_at(r->pools->schema, address, "metadata.creationTimestamp")), false, &made, &message))
		return false;
	return now.seconds - made.seconds <= GRACE_S;
}

static bool is_lost(struct ks_repair *r, struct ks_arena *arena, const struct ks_object *object)
{
	struct ks_pools *pools = r->pools;
	struct ks_str ns, name;
	struct ks_value tree;

	if (ks_object_tree(object, pools->schema, arena, &tree) || !ks_address_is_managed(pools, &tree))
		return false;
	if (!ks_address_owner(pools, &tree, &ns, &name))
		return true;
	return !ks_pools_service_has(pools, ns, name, object->name) && !is_young(r, arena, &tree);
}

static void check_addresses(struct ks_repair *r)
{
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_arena arena;
	struct ks_object *object;

	ks_arena_init(&arena, 0);
	ks_cache_snapshot(r->pools->addresses.cache, &snapshot);
	ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
	while ((object = ks_cursor_next(&cursor))) {
		struct fault *fault = is_lost(r, &arena, object) && object->name.n < sizeof(fault->name) ? add_fault(r) : NULL;

		if (fault) {
			ks_log(KS_LOG_WARN, "addresses", "the address %.*s belongs to no service; it is given back", (int)object->name.n,
				object->name.p);
			memcpy(fault->name, object->name.p, object->name.n);
			fault->revision = object->revision;
		}
		ks_arena_reset(&arena);
	}
	ks_snapshot_release(&snapshot);
	ks_arena_fini(&arena);
}

/* -- putting addresses right ----------------------------------------------------------------------------------------- */

static void check_ports(struct ks_repair *r);
static void next_fault(struct lane *lane);

static void end_lane(struct lane *lane)
{
	ks_object_unref(lane->object);
	lane->object = NULL;
	ks_buf_fini(&lane->call.key);
}

static void written(struct ks_store_call *call);

static void write_object(struct lane *lane, struct ks_bytes *value, uint64_t expected)
{
	struct ks_repair *r = lane->repair;
	struct ks_buf key = lane->call.key;

	lane->call = (struct ks_store_call){.loop = r->loop, .key = key, .value = value, .expected = expected, .done = written, .arg = lane};
	ks_buf_clear(&lane->call.key);
	ks_store_key(&lane->call.key, r->pools->schema, r->pools->addresses.resource, (struct ks_str){0}, ks_str_from(lane->fault->name));
	ks_store_write_start(r->pools->addresses.store, &lane->call);
}

static void make(struct lane *lane)
{
	struct ks_repair *r = lane->repair;
	struct fault *fault = lane->fault;

	fault->make = false;
	lane->object = ks_address_object(r->pools, &fault->ip, fault->service_ns, fault->service_name);
	if (!lane->object) {
		r->result = -ENOMEM;
		next_fault(lane);
		return;
	}
	write_object(lane, lane->object->json, 0);
}

/* A race that is lost is somebody else's repair. */
static void written(struct ks_store_call *call)
{
	struct lane *lane = call->arg;

	ks_bytes_unref(call->current);
	call->current = NULL;
	if (call->outcome == KS_WRITE_FAILED) {
		ks_log(KS_LOG_ERROR, "addresses", "the address %s could not be repaired: %s", lane->fault->name, call->error);
		lane->repair->result = -EIO;
	}
	if (lane->fault->make && call->outcome != KS_WRITE_FAILED)
		make(lane);
	else
		next_fault(lane);
}

static void next_fault(struct lane *lane)
{
	struct ks_repair *r = lane->repair;

	end_lane(lane);
	ks_buf_init(&lane->call.key);
	if (r->next_fault == r->n_faults) {
		if (--r->n_busy == 0)
			check_ports(r);
		return;
	}
	lane->fault = &r->faults[r->next_fault++];
	if (lane->fault->revision)
		write_object(lane, NULL, lane->fault->revision);
	else
		make(lane);
}

/* -- node ports ------------------------------------------------------------------------------------------------------- */

static void finish(struct ks_repair *r)
{
	free(r->claims);
	free(r->returned);
	r->claims = NULL;
	r->returned = NULL;
	ks_arena_reset(&r->arena);
	r->alone = false;
	r->done(r->arg, r->result);
}

static void ports_repaired(struct ks_port_wish *wish)
{
	struct ks_repair *r = (struct ks_repair *)((char *)wish - offsetof(struct ks_repair, wish));

	/* What was missing may have been put in by another server: then all is taken again one look later. */
	if (wish->result && wish->result != -EEXIST)
		r->result = wish->result;
	finish(r);
}

/* Ports that services use and the map doesn't have. */
static size_t gather_missing(struct ks_repair *r)
{
	size_t n = 0;

	for (uint32_t port = r->used.first; port < r->used.first + r->used.count; port++) {
		if (!ks_portmap_is_used(&r->used, port) || ks_portmap_is_used(&r->stored, port))
			continue;
		ks_log(KS_LOG_WARN, "ports", "the node port %u of a service is not allocated; repairing", (unsigned)port);
		r->claims[n++].wanted = port;
	}
	return n;
}

static size_t gather_lost(struct ks_repair *r)
{
	size_t n = 0;

	for (uint32_t port = r->used.first; port < r->used.first + r->used.count; port++) {
		if (ks_portmap_is_used(&r->used, port) || !ks_portmap_is_used(&r->stored, port)) {
			r->lost[port] = 0;
			continue;
		}
		if (!r->alone && ++r->lost[port] <= LOOKS_BEFORE_LOST)
			continue;
		ks_log(KS_LOG_WARN, "ports", "the node port %u belongs to no service; it is given back", (unsigned)port);
		r->lost[port] = 0;
		r->returned[n++] = port;
	}
	return n;
}

static void map_read(struct ks_port_wish *wish)
{
	struct ks_repair *r = (struct ks_repair *)((char *)wish - offsetof(struct ks_repair, wish));
	size_t missing, lost;

	if (wish->result) {
		r->result = wish->result;
		finish(r);
		return;
	}
	r->used = (struct ks_portmap){.first = r->stored.first, .count = r->stored.count};
	ks_pools_seed_ports(&r->used, r->pools);
	r->claims = calloc(r->used.count, sizeof(*r->claims));
	r->returned = calloc(r->used.count, sizeof(*r->returned));
	if (!r->claims || !r->returned) {
		r->result = -ENOMEM;
		finish(r);
		return;
	}
	missing = gather_missing(r);
	lost = gather_lost(r);
	if (!missing && !lost) {
		finish(r);
		return;
	}
	r->wish = (struct ks_port_wish){
		.loop = r->loop, .claims = r->claims, .n_claims = missing, .returned = r->returned, .n_returned = lost, .done = ports_repaired};
	ks_ports_ask(&r->pools->ports, &r->wish);
}

static void check_ports(struct ks_repair *r)
{
	r->wish = (struct ks_port_wish){.loop = r->loop, .copy = &r->stored, .done = map_read};
	ks_ports_ask(&r->pools->ports, &r->wish);
}

/* -- a run ------------------------------------------------------------------------------------------------------------ */

static void run(struct ks_task *task)
{
	struct ks_repair *r = (struct ks_repair *)((char *)task - offsetof(struct ks_repair, task));

	r->n_ranges = ks_pools_ranges(r->pools, false, false, r->ranges, MOST_RANGES / 2);
	r->n_ranges += ks_pools_ranges(r->pools, true, false, r->ranges + r->n_ranges, MOST_RANGES / 2);
	ks_pools_each_service(r->pools, check_service, r);
	check_addresses(r);
	r->n_busy = LANES;
	for (unsigned i = 0; i < LANES; i++) {
		r->lanes[i] = (struct lane){.repair = r};
		next_fault(&r->lanes[i]);
	}
}

void ks_repair_start(struct ks_repair *r, struct ks_loop *loop, void (*done)(void *arg, int result), void *arg)
{
	r->loop = loop;
	r->done = done;
	r->arg = arg;
	r->result = 0;
	r->n_faults = r->next_fault = 0;
	r->task.run = run;
	ks_loop_post(loop, &r->task);
}

struct wait {
	bool over;
	int result;
};

static void end_wait(void *arg, int result)
{
	*(struct wait *)arg = (struct wait){true, result};
}

int ks_repair_run(struct ks_repair *repair, struct ks_loop *loop)
{
	struct wait wait = {false, 0};
	int result = 0;

	ks_repair_start(repair, loop, end_wait, &wait);
	while (!result && !wait.over)
		result = ks_loop_turn(loop, true);
	return result ? result : wait.result;
}
