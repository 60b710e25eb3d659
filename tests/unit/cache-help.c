/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cache-help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/cache/internal.h"
#include "plugins/host/op.h"

uint16_t help_resource(const char *group, const char *version, const char *resource)
{
	uint16_t index = ks_schema_find_resource(&ks_schema_builtin, ks_str_from(group), ks_str_from(version), ks_str_from(resource));

	assert_int_not_equal(index, KS_NO_RESOURCE);
	return index;
}

struct ks_bytes *help_json(uint16_t resource, const char *ns, const char *name, const char *labels, const char *rest)
{
	const struct ks_resource *r = &ks_schema_builtin.resources[resource];
	const char *group = ks_schema_text(&ks_schema_builtin, r->group);
	struct ks_bytes *bytes;
	struct ks_buf buf;

	ks_buf_init(&buf);
	ks_buf_printf(&buf, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\",\"metadata\":{\"name\":\"%s\"", ks_schema_text(&ks_schema_builtin, r->kind),
		group, *group ? "/" : "", ks_schema_text(&ks_schema_builtin, r->version), name);
	if (ns)
		ks_buf_printf(&buf, ",\"namespace\":\"%s\"", ns);
	ks_buf_printf(&buf, ",\"uid\":\"u-%s\"", name);
	if (labels)
		ks_buf_printf(&buf, ",\"labels\":{%s}", labels);
	ks_buf_printf(&buf, "}%s}", rest ? rest : "");
	assert_false(buf.failed);
	bytes = ks_bytes_dup(buf.data, buf.len);
	assert_non_null(bytes);
	ks_buf_fini(&buf);
	return bytes;
}

struct ks_object *help_object(uint16_t resource, const char *ns, const char *name, const char *labels, const char *rest)
{
	struct ks_bytes *json = help_json(resource, ns, name, labels, rest);
	struct ks_error err;
	struct ks_object *object = ks_object_from_json(&ks_schema_builtin, resource, json, &err);

	assert_non_null(object);
	ks_bytes_unref(json);
	return object;
}

/* -- the store -------------------------------------------------------------------------------------------------- */

static bool same_key(const struct help_record *record, struct ks_view key)
{
	return strlen(record->key) == key.n && memcmp(record->key, key.p, key.n) == 0;
}

/* The state of a key at a revision: its last record. */
static struct help_record *find(struct help_store *s, struct ks_view key, uint64_t revision)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->log[i].revision <= revision && same_key(&s->log[i], key))
			return s->log[i].value ? &s->log[i] : NULL;
	return NULL;
}

static struct ks_store_kv kv_of(const struct help_record *r, bool counted)
{
	if (r->value && counted)
		ks_bytes_ref(r->value);
	return (struct ks_store_kv){.key = {r->key, strlen(r->key)},
		.value = (struct ks_host_bytes *)r->value,
		.create_revision = r->create_revision,
		.mod_revision = r->revision,
		.lease_until_ms = r->lease_until_ms};
}

/* Under the lock, which stays: the receiver only queues. */
static void pump(struct help_store *s)
{
	while (s->watching && !s->held && s->credit > 0 && (s->cursor < s->n || s->told < s->revision)) {
		struct ks_store_event event = {0};
		size_t n = s->cursor < s->n;

		s->told = s->revision;
		if (n) {
			const struct help_record *r = &s->log[s->cursor++];

			event = (struct ks_store_event){.type = r->type, .revision = r->revision, .kv = kv_of(r, false)};
			s->told = r->revision;
		}
		s->credit = s->watch.events(s->watch.arg, &event, n, s->told);
	}
}

static uint64_t append(struct help_store *s, struct ks_view key, struct ks_bytes *value, uint64_t lease)
{
	struct help_record *before = find(s, key, s->revision), *record;

	if (!value && !before)
		return s->revision;
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->log = realloc(s->log, s->cap * sizeof(*s->log));
		assert_non_null(s->log);
		before = find(s, key, s->revision);
	}
	record = &s->log[s->n];
	*record = (struct help_record){
		.revision = ++s->revision, .key = strndup(key.p, key.n), .value = value ? ks_bytes_ref(value) : NULL, .lease_until_ms = lease};
	record->create_revision = before ? before->create_revision : s->revision;
	record->type = !value ? KS_EVENT_DELETED : before ? KS_EVENT_MODIFIED : KS_EVENT_ADDED;
	s->n++;
	pump(s);
	return s->revision;
}

struct completion {
	struct ks_op *op;
	int result;
};

static void *complete_later(void *arg)
{
	struct completion c = *(struct completion *)arg;

	free(arg);
	ks_op_complete(c.op, c.result);
	return NULL;
}

void help_store_join(struct help_store *s)
{
	if (s->has_completer)
		pthread_join(s->completer, NULL);
	s->has_completer = false;
}

static int answer(struct help_store *s, struct ks_op *op, int result)
{
	struct completion *c;

	if (!s->pending)
		return result;
	c = malloc(sizeof(*c));
	assert_non_null(c);
	*c = (struct completion){op, result};
	help_store_join(s);
	assert_int_equal(pthread_create(&s->completer, NULL, complete_later, c), 0);
	s->has_completer = true;
	return KS_PENDING;
}

static int store_get(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r)
{
	struct help_store *s = self;
	struct help_record *r;
	int result = KS_DONE;

	pthread_mutex_lock(&s->lock);
	if (s->read_failures > 0) {
		s->read_failures--;
		result = KS_ERR_UNAVAILABLE;
	} else if (revision && revision < s->oldest) {
		result = KS_ERR_COMPACTED;
	} else {
		r = find(s, key, revision ? revision : s->revision);
		*found_r = r != NULL;
		if (r)
			*kv_r = kv_of(r, true);
	}
	pthread_mutex_unlock(&s->lock);
	return answer(s, op, result);
}

static int compare_records(const void *a, const void *b)
{
	return strcmp((*(struct help_record *const *)a)->key, (*(struct help_record *const *)b)->key);
}

static int store_range(void *self, struct ks_op *op, const struct ks_store_range *range, struct ks_store_range_result *result_r)
{
	struct help_store *s = self;
	struct help_record **found;
	uint64_t revision;
	size_t n = 0;

	pthread_mutex_lock(&s->lock);
	s->ranges++;
	revision = range->revision ? range->revision : s->revision;
	if (s->away || (range->revision && range->revision < s->oldest)) {
		pthread_mutex_unlock(&s->lock);
		return answer(s, op, s->away ? KS_ERR_UNAVAILABLE : KS_ERR_COMPACTED);
	}
	found = calloc(s->n + 1, sizeof(struct help_record *));
	assert_non_null(found);
	for (size_t i = 0; i < s->n; i++) {
		struct ks_str key = ks_str_from(s->log[i].key);

		if (s->log[i].revision <= revision && find(s, (struct ks_view){key.p, key.n}, revision) == &s->log[i] &&
			ks_str_starts(key, ks_str_of(range->prefix.p, range->prefix.n)) &&
			(range->start.n == 0 || ks_str_cmp(key, ks_str_of(range->start.p, range->start.n)) >= 0))
			found[n++] = &s->log[i];
	}
	qsort(found, n, sizeof(*found), compare_records);
	result_r->revision = revision;
	for (size_t i = 0; i < n; i++) {
		struct ks_store_kv kv = kv_of(found[i], true);

		if (range->limit && i == range->limit) {
			ks_bytes_unref((struct ks_bytes *)kv.value);
			result_r->more = 1;
			break;
		}
		if (range->emit(range->arg, &kv))
			break;
	}
	free(found);
	pthread_mutex_unlock(&s->lock);
	return answer(s, op, KS_DONE);
}

static int try_write(struct help_store *s, const struct ks_store_write *write, struct ks_store_write_result *result_r)
{
	struct help_record *r = find(s, write->key, s->revision);
	enum help_trouble trouble = s->trouble;

	s->trouble = HELP_NONE;
	if (trouble == HELP_UNAVAILABLE)
		return KS_ERR_UNAVAILABLE;
	if (trouble == HELP_UNCERTAIN_LOST)
		return KS_ERR_UNCERTAIN;
	if ((write->expect == KS_STORE_EXPECT_ABSENT && r) || (write->expect == KS_STORE_EXPECT_REVISION && (!r || r->revision != write->expected))) {
		result_r->outcome = KS_STORE_LOST_RACE;
		result_r->revision = s->revision;
		if (r)
			result_r->current = kv_of(r, true);
		return KS_DONE;
	}
	result_r->outcome = !r && !write->value ? KS_STORE_NOT_FOUND : KS_STORE_COMMITTED;
	result_r->revision = append(s, write->key, (struct ks_bytes *)write->value, write->lease_until_ms);
	if (trouble == HELP_UNCERTAIN_DONE) {
		result_r->outcome = KS_STORE_UNKNOWN;
		return KS_ERR_UNCERTAIN;
	}
	return KS_DONE;
}

static int store_write(void *self, struct ks_op *op, const struct ks_store_write *write, struct ks_store_write_result *result_r)
{
	struct help_store *s = self;
	int result;

	pthread_mutex_lock(&s->lock);
	result = try_write(s, write, result_r);
	pthread_mutex_unlock(&s->lock);
	return answer(s, op, result);
}

static int store_watch(void *self, const struct ks_store_watch *watch, void **watch_r)
{
	struct help_store *s = self;
	int result = KS_DONE;

	pthread_mutex_lock(&s->lock);
	s->watches++;
	if (s->watch_failures > 0) {
		s->watch_failures--;
		result = KS_ERR_UNAVAILABLE;
	} else if (watch->from_revision < s->oldest) {
		result = KS_ERR_COMPACTED;
	} else {
		s->watch = *watch;
		s->watching = true;
		s->credit = 1;
		s->told = watch->from_revision - 1;
		for (s->cursor = 0; s->cursor < s->n && s->log[s->cursor].revision < watch->from_revision; s->cursor++)
			;
		*watch_r = s;
		pump(s);
	}
	pthread_mutex_unlock(&s->lock);
	return result;
}

static void store_credit(void *self, void *watch, uint64_t n)
{
	struct help_store *s = self;

	assert_ptr_equal(watch, s);
	pthread_mutex_lock(&s->lock);
	s->credit += n;
	pump(s);
	pthread_mutex_unlock(&s->lock);
}

static void store_close(void *self, void *watch)
{
	struct help_store *s = self;

	assert_ptr_equal(watch, s);
	pthread_mutex_lock(&s->lock);
	s->watching = false;
	pthread_mutex_unlock(&s->lock);
}

static int store_revision(void *self, uint64_t *current_r, uint64_t *oldest_r)
{
	struct help_store *s = self;

	pthread_mutex_lock(&s->lock);
	*current_r = s->revision;
	*oldest_r = s->oldest;
	pthread_mutex_unlock(&s->lock);
	return KS_DONE;
}

static const struct ks_store_ops help_ops = {
	.size = sizeof(help_ops),
	.get = store_get,
	.range = store_range,
	.write = store_write,
	.watch = store_watch,
	.watch_credit = store_credit,
	.watch_close = store_close,
	.revision = store_revision,
};

void help_store_init(struct help_store *s, const char *name)
{
	*s = (struct help_store){.store = {.name = name, .self = s, .ops = &help_ops}, .revision = 10, .oldest = 1};
	pthread_mutex_init(&s->lock, NULL);
}

void help_store_fini(struct help_store *s)
{
	help_store_join(s);
	for (size_t i = 0; i < s->n; i++) {
		free(s->log[i].key);
		ks_bytes_unref(s->log[i].value);
	}
	free(s->log);
	pthread_mutex_destroy(&s->lock);
}

uint64_t help_store_put(struct help_store *s, uint16_t resource, const char *ns, const char *name, struct ks_bytes *json)
{
	struct ks_buf key;
	uint64_t revision;

	ks_buf_init(&key);
	ks_store_key(&key, &ks_schema_builtin, resource, ks_str_from(ns), ks_str_from(name));
	pthread_mutex_lock(&s->lock);
	revision = append(s, (struct ks_view){key.data, key.len}, json, 0);
	pthread_mutex_unlock(&s->lock);
	ks_buf_fini(&key);
	ks_bytes_unref(json);
	return revision;
}

void help_store_break(struct help_store *s, int result, uint64_t oldest)
{
	pthread_mutex_lock(&s->lock);
	if (oldest > s->oldest)
		s->oldest = oldest;
	s->held = false;
	if (s->watching)
		s->watch.failed(s->watch.arg, result);
	s->credit = 0;
	pthread_mutex_unlock(&s->lock);
}

void help_store_hold(struct help_store *s, bool held)
{
	pthread_mutex_lock(&s->lock);
	s->held = held;
	pump(s);
	pthread_mutex_unlock(&s->lock);
}

void help_store_advance(struct help_store *s, uint64_t n)
{
	pthread_mutex_lock(&s->lock);
	s->revision += n;
	pump(s);
	pthread_mutex_unlock(&s->lock);
}

struct ks_router *help_router(struct help_store *s)
{
	static const char *const all[] = {"*"};
	const struct ks_router_entry entry = {s->store, all, 1};
	struct ks_router *router = ks_router_new(&entry, 1, NULL);

	assert_non_null(router);
	return router;
}

void help_wait(struct ks_cache *cache, uint16_t resource, uint64_t revision)
{
	const struct timespec pause = {.tv_nsec = 200000};
	struct ks_cache_resource *r = ks_cache_find(cache, resource);

	assert_non_null(r);
	for (int i = 0; i < 100000 && ks_cache_revision(r) < revision; i++)
		nanosleep(&pause, NULL);
	assert_true(ks_cache_revision(r) >= revision);
}

static bool is_idle(struct ks_feed *feed)
{
	bool idle;

	pthread_mutex_lock(&feed->lock);
	idle = !feed->applying && !feed->first;
	pthread_mutex_unlock(&feed->lock);
	return idle;
}

void help_settle(struct ks_cache *cache, uint16_t resource, uint64_t revision)
{
	const struct timespec pause = {.tv_nsec = 200000};
	struct ks_cache_resource *r = ks_cache_find(cache, resource);

	help_wait(cache, resource, revision);
	for (int i = 0; i < 100000 && !is_idle(r->feed); i++)
		nanosleep(&pause, NULL);
	assert_true(is_idle(r->feed));
}
