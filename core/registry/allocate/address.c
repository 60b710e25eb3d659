/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/address.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/api/json.h"
#include "core/api/time.h"
#include "core/api/uid.h"
#include "core/util/log.h"

enum { SLICE = 1024 };

#define FAMILY_LABEL "ipaddress.kubernetes.io/ip-family"
#define MANAGER_LABEL "ipaddress.kubernetes.io/managed-by"
#define MANAGER "ipallocator.k8s.io"
#define FIELDS                                                                                 \
	"{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:" FAMILY_LABEL "\":{},\"f:" MANAGER_LABEL \
	"\":{}}},\"f:spec\":{\"f:parentRef\":{\".\":{},\"f:name\":"                            \
	"{},\"f:namespace\":{},\"f:resource\":{}}}}"

/* -- the object ----------------------------------------------------------------------------------------------------- */

static void print_object(struct ks_buf *out, const struct ks_ip *ip, struct ks_str ns, struct ks_str name)
{
	char text[KS_IP_TEXT], uid[KS_UID_TEXT], now[KS_TIME_TEXT];

	ks_ip_print(ip, text);
	ks_time_print(ks_time_now(), false, now);
	if (ks_uid_new(uid)) {
		out->failed = true;
		return;
	}
	ks_buf_printf(out,
		"{\"kind\":\"IPAddress\",\"apiVersion\":\"networking.k8s.io/v1\",\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\","
		"\"creationTimestamp\":\"%s\",\"labels\":{\"" FAMILY_LABEL "\":\"%s\",\"" MANAGER_LABEL "\":\"" MANAGER
		"\"},\"managedFields\":[{\"manager\":"
		"\"kube-apiserver\",\"operation\":\"Update\",\"apiVersion\":\"networking.k8s.io/"
		"v1\",\"time\":\"%s\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":" FIELDS
		"}]},\"spec\":{\"parentRef\":{\"resource\":\"services\",\"namespace\":\"",
		text, uid, now, ip->v6 ? "IPv6" : "IPv4", now);
	ks_buf_add(out, ns.p, ns.n);
	ks_buf_add_str(out, "\",\"name\":\"");
	ks_buf_add(out, name.p, name.n);
	ks_buf_add_str(out, "\"}}}");
}

struct ks_object *ks_address_object(struct ks_pools *pools, const struct ks_ip *ip, struct ks_str ns, struct ks_str name)
{
	uint16_t type = pools->schema->resources[pools->addresses.resource].type;
	struct ks_object *object = NULL;
	struct ks_arena arena;
	struct ks_value tree;
	struct ks_buf text;
	const char *message;

	ks_buf_init(&text);
	ks_arena_init(&arena, 0);
	print_object(&text, ip, ns, name);
	if (!text.failed && !ks_json_decode(&arena, pools->schema, type, 0, text.data, text.len, &tree, NULL, &message))
		object = ks_object_from_tree(pools->schema, pools->addresses.resource, &tree);
	ks_arena_fini(&arena);
	ks_buf_fini(&text);
	return object;
}

static struct ks_str text_at(struct ks_pools *pools, const struct ks_value *v, const char *path)
{
	return ks_value_str(ks_value_at(pools->schema, v, path));
}

bool ks_address_owner(struct ks_pools *pools, const struct ks_value *address, struct ks_str *ns_r, struct ks_str *name_r)
{
	if (text_at(pools, address, "spec.parentRef.group").n || !ks_str_is(text_at(pools, address, "spec.parentRef.resource"), "services"))
		return false;
	*ns_r = text_at(pools, address, "spec.parentRef.namespace");
	*name_r = text_at(pools, address, "spec.parentRef.name");
	return true;
}

bool ks_address_is_managed(struct ks_pools *pools, const struct ks_value *address)
{
	const struct ks_value *labels = ks_value_at(pools->schema, address, "metadata.labels");

	return ks_value_present(labels) && ks_str_is(ks_value_str(ks_value_get(pools->schema, labels, MANAGER_LABEL)), MANAGER);
}

bool ks_address_is_labelled(struct ks_pools *pools, const struct ks_value *address)
{
	const struct ks_value *labels = ks_value_at(pools->schema, address, "metadata.labels");
	bool v6 = text_at(pools, address, "metadata.name").n &&
		memchr(text_at(pools, address, "metadata.name").p, ':', text_at(pools, address, "metadata.name").n);

	return ks_address_is_managed(pools, address) &&
		ks_str_is(ks_value_str(ks_value_get(pools->schema, labels, FAMILY_LABEL)), v6 ? "IPv6" : "IPv4");
}

/* -- taking --------------------------------------------------------------------------------------------------------- */

static void search(struct ks_address_wish *wish);

static void run_done(struct ks_task *task)
{
	struct ks_address_wish *wish = (struct ks_address_wish *)((char *)task - offsetof(struct ks_address_wish, task));

	wish->done(wish);
}

static void release_call(struct ks_address_wish *wish)
{
	ks_buf_fini(&wish->call.key);
	ks_object_unref(wish->object);
	wish->object = NULL;
}

static void finish(struct ks_address_wish *wish, int result)
{
	release_call(wish);
	wish->result = result;
	wish->task.run = run_done;
	ks_loop_post(wish->loop, &wish->task);
}

static void created(struct ks_store_call *call)
{
	struct ks_address_wish *wish = call->arg;

	if (call->outcome != KS_WRITE_COMMITTED)
		ks_cache_unpark(wish->pools->addresses.cache, wish->object);
	ks_bytes_unref(call->current);
	call->current = NULL;
	if (call->outcome == KS_WRITE_COMMITTED) {
		wish->revision = call->revision;
		finish(wish, KS_ADDRESS_TAKEN);
	} else if (call->outcome == KS_WRITE_LOST_RACE) {
		if (wish->wanted.n)
			finish(wish, KS_ADDRESS_IN_USE);
		else
			search(wish);
	} else {
		ks_log(KS_LOG_ERROR, "addresses", "the address %s could not be written down: %s", wish->text, call->error);
		finish(wish, KS_ADDRESS_FAILED);
	}
}

static void create(struct ks_address_wish *wish, const struct ks_ip *ip)
{
	struct ks_pools *pools = wish->pools;

	release_call(wish);
	ks_ip_print(ip, wish->text);
	wish->object = ks_address_object(pools, ip, wish->ns, wish->name);
	wish->call = (struct ks_store_call){.loop = wish->loop, .done = created, .arg = wish};
	ks_buf_init(&wish->call.key);
	ks_store_key(&wish->call.key, pools->schema, pools->addresses.resource, (struct ks_str){0}, ks_str_from(wish->text));
	if (!wish->object || wish->call.key.failed) {
		finish(wish, KS_ADDRESS_FAILED);
		return;
	}
	wish->call.value = wish->object->json;
	ks_cache_park(pools->addresses.cache, wish->object);
	ks_store_write_start(pools->addresses.store, &wish->call);
}

/* -- any address ---------------------------------------------------------------------------------------------------- */

static uint64_t random_below(uint64_t n)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = ks_monotonic_ns();
	return n ? number % n : 0;
}

/* The part of the range that comes next: first what is given to anybody, then what is kept for those who ask. False: no range is left. */
static bool next_part(struct ks_address_wish *wish)
{
	while (wish->n_tried < wish->n_ranges) {
		const struct ks_ip_range *range = &wish->ranges[(wish->first_range + wish->n_tried) % wish->n_ranges];
		uint64_t reserved = range->reserved < range->count ? range->reserved : 0;

		wish->from = wish->lower ? 0 : reserved;
		wish->count = wish->lower ? reserved : range->count - reserved;
		if (wish->lower)
			wish->n_tried++;
		wish->lower = !wish->lower;
		wish->start = random_below(wish->count);
		wish->at = 0;
		if (wish->count)
			return true;
	}
	return false;
}

static const struct ks_ip_range *current_range(const struct ks_address_wish *wish)
{
	return &wish->ranges[(wish->first_range + wish->n_tried - (wish->lower ? 0 : 1)) % wish->n_ranges];
}

static bool is_known(struct ks_address_wish *wish, const struct ks_ip *ip)
{
	char text[KS_IP_TEXT];
	struct ks_object *object;

	ks_ip_print(ip, text);
	object = ks_cache_get(wish->pools->addresses.cache, (struct ks_str){0}, ks_str_from(text));
	ks_object_unref(object);
	return object;
}

static void search_on(struct ks_task *task)
{
	search((struct ks_address_wish *)((char *)task - offsetof(struct ks_address_wish, task)));
}

/* A crowded range takes a while to look through: the loop gets its turn in between. */
static void search(struct ks_address_wish *wish)
{
	for (unsigned i = 0; i < SLICE; i++) {
		struct ks_ip ip;

		if (wish->at == wish->count && !next_part(wish)) {
			finish(wish, KS_ADDRESS_NONE_LEFT);
			return;
		}
		ip = ks_ip_plus(&current_range(wish)->first, wish->from + (wish->start + wish->at++) % wish->count);
		if (!is_known(wish, &ip)) {
			create(wish, &ip);
			return;
		}
	}
	wish->task.run = search_on;
	ks_loop_post(wish->loop, &wish->task);
}

void ks_address_ask(struct ks_address_wish *wish)
{
	struct ks_ip ip = {.v6 = wish->v6};
	bool holds = !wish->wanted.n;

	wish->n_tried = 0;
	wish->lower = false;
	wish->at = wish->count = 0;
	wish->object = NULL;
	ks_buf_init(&wish->call.key);
	if (wish->wanted.n && !ks_ip_parse(wish->wanted, &ip)) {
		finish(wish, KS_ADDRESS_NO_RANGE);
		return;
	}
	wish->n_ranges = ks_pools_ranges(wish->pools, ip.v6, true, wish->ranges, KS_ADDRESS_RANGES);
	wish->first_range = (unsigned)random_below(wish->n_ranges);
	for (unsigned i = 0; wish->wanted.n && i < wish->n_ranges; i++)
		holds |= ks_ip_range_has(&wish->ranges[i], &ip);
	if (!holds)
		finish(wish, KS_ADDRESS_NO_RANGE);
	else if (wish->wanted.n)
		create(wish, &ip);
	else
		search(wish);
}
