/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store-suite.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEYS 40

static int __attribute__((format(printf, 2, 3))) fails(struct ks_store_suite *suite, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(suite->failure, sizeof(suite->failure), format, ap);
	va_end(ap);
	return -1;
}

static const struct ks_host *host_of(struct ks_store_suite *suite)
{
	return ks_fake_host_table(suite->fake);
}

static const struct ks_store_ops *ops_of(struct ks_store_suite *suite)
{
	return suite->iface->ops;
}

int ks_store_suite_start(struct ks_store_suite *suite)
{
	if (ks_fake_start(suite->fake, suite->iface, suite->config, &suite->self) != KS_DONE)
		return fails(suite, "the store does not start: %s", ks_fake_error(suite->fake));
	return 0;
}

void ks_store_suite_stop(struct ks_store_suite *suite)
{
	ks_fake_stop(suite->fake, suite->iface, suite->self);
	suite->self = NULL;
}

/* -- single calls -------------------------------------------------------------------------------------------------- */

struct ks_host_bytes *ks_store_suite_bytes(struct ks_store_suite *suite, const char *p, size_t n)
{
	struct ks_host_bytes *b = host_of(suite)->bytes_new(n);

	if (b && n)
		memcpy(host_of(suite)->bytes_data(b), p, n);
	return b;
}

static struct ks_view view_of(const char *text)
{
	return (struct ks_view){text, strlen(text)};
}

static int write_lease(struct ks_store_suite *suite, const char *key, const char *value, uint32_t expect, uint64_t expected, uint64_t lease,
	struct ks_store_write_result *result_r)
{
	struct ks_op *op = ks_fake_op_new(suite->fake);
	struct ks_store_write write = {
		.size = sizeof(write), .expect = expect, .expected = expected, .key = view_of(key), .lease_until_ms = lease,
		.value = value ? ks_store_suite_bytes(suite, value, strlen(value)) : NULL,
	};
	int result;

	*result_r = (struct ks_store_write_result){.size = sizeof(*result_r)};
	result = ks_fake_op_wait(op, ops_of(suite)->write(suite->self, op, &write, result_r));
	if (write.value)
		host_of(suite)->bytes_unref(write.value);
	ks_fake_op_free(&op);
	return result;
}

int ks_store_suite_write(struct ks_store_suite *suite, const char *key, const char *value, uint32_t expect, uint64_t expected,
	struct ks_store_write_result *result_r)
{
	return write_lease(suite, key, value, expect, expected, 0, result_r);
}

static char *take_text(struct ks_store_suite *suite, struct ks_host_bytes *bytes)
{
	struct ks_view v;
	char *text;

	if (!bytes)
		return NULL;
	v = host_of(suite)->bytes_view(bytes);
	text = strndup(v.p, v.n);
	host_of(suite)->bytes_unref(bytes);
	return text;
}

static char *get_kv(struct ks_store_suite *suite, const char *key, uint64_t revision, int *result_r, struct ks_store_kv *kv)
{
	struct ks_op *op = ks_fake_op_new(suite->fake);
	int found = 0;

	*kv = (struct ks_store_kv){.value = NULL};
	*result_r = ks_fake_op_wait(op, ops_of(suite)->get(suite->self, op, view_of(key), revision, &found, kv));
	ks_fake_op_free(&op);
	return *result_r == KS_DONE && found ? take_text(suite, kv->value) : NULL;
}

char *ks_store_suite_get(struct ks_store_suite *suite, const char *key, uint64_t revision, int *result_r)
{
	struct ks_store_kv kv;

	return get_kv(suite, key, revision, result_r, &kv);
}

/* -- the model: every event ever, and what follows from it ----------------------------------------------------------- */

struct event {
	uint64_t revision, created;
	uint32_t type;
	int key;
	char *value; /* NULL: deleted */
};

struct model {
	struct ks_store_suite *suite;
	char keys[KEYS][64];   /* sorted */
	struct event *events;
	size_t n, size;
	uint64_t current, oldest;
	uint64_t random;
};

static uint32_t draw(struct model *m, uint32_t below)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(m->random >> 33) % below;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void model_init(struct model *m, struct ks_store_suite *suite, uint64_t seed)
{
	static const char *const prefixes[] = {"/registry/pods/a/", "/registry/pods/b/", "/registry/podsx/", "/registry/pods/a"};
	int i;

	memset(m, 0, sizeof(*m));
	m->suite = suite;
	m->random = seed * 2 + 1;
	for (i = 0; i < KEYS; i++)
		snprintf(m->keys[i], sizeof(m->keys[i]), "%sk%d", prefixes[i % 4], i);
	qsort(m->keys, KEYS, sizeof(m->keys[0]), compare_keys);
}

static void model_fini(struct model *m)
{
	while (m->n)
		free(m->events[--m->n].value);
	free(m->events);
}

/* The last event of a key up to a revision; NULL when it is not there then. */
static const struct event *model_get(const struct model *m, int key, uint64_t revision)
{
	const struct event *e = NULL;
	size_t i;

	for (i = 0; i < m->n && m->events[i].revision <= revision; i++)
		if (m->events[i].key == key)
			e = &m->events[i];
	return e && e->value ? e : NULL;
}

static void model_add(struct model *m, int key, const char *value, uint64_t revision)
{
	const struct event *before = model_get(m, key, UINT64_MAX);
	struct event e = {.revision = revision, .key = key, .value = value ? strdup(value) : NULL};

	e.created = before ? before->created : revision;
	e.type = !value ? KS_EVENT_DELETED : before ? KS_EVENT_MODIFIED : KS_EVENT_ADDED;
	if (m->n == m->size) {
		m->size = m->size ? 2 * m->size : 1024;
		m->events = realloc(m->events, m->size * sizeof(struct event));
	}
	m->events[m->n++] = e;
	m->current = revision;
}

static int model_sync_revision(struct model *m)
{
	uint64_t current, oldest;

	if (ops_of(m->suite)->revision(m->suite->self, &current, &oldest) != KS_DONE)
		return fails(m->suite, "revision() failed");
	if (current < m->current)
		return fails(m->suite, "the revision went back");
	m->current = current;
	m->oldest = oldest;
	return 0;
}

static char *random_value(struct model *m)
{
	size_t n = draw(m, 20) ? draw(m, 200) : draw(m, 9000);
	char *text = malloc(n + 32);
	int at = snprintf(text, 32, "%u-", draw(m, 1000000));

	memset(text + at, 'a' + (int)draw(m, 26), n);
	text[(size_t)at + n] = '\0';
	return text;
}

/* -- steps of a random history -------------------------------------------------------------------------------------- */

static int check_lost(struct model *m, const struct event *there, struct ks_store_write_result *r)
{
	char *text = take_text(m->suite, r->current.value);
	int ok = there ? text && strcmp(text, there->value) == 0 && r->current.mod_revision == there->revision &&
		r->current.create_revision == there->created : !text;

	free(text);
	return ok ? 0 : fails(m->suite, "a lost race does not tell what is there");
}

static int step_write(struct model *m)
{
	int key = (int)draw(m, KEYS), result;
	const struct event *there = model_get(m, key, UINT64_MAX);
	uint32_t expect = draw(m, 3);
	uint64_t expected = there && draw(m, 4) ? there->revision : m->current - draw(m, 10);
	char *value = draw(m, 4) ? random_value(m) : NULL;
	bool met = expect == KS_STORE_EXPECT_ANY || (expect == KS_STORE_EXPECT_ABSENT ? !there : there && there->revision == expected);
	struct ks_store_write_result r;
	int failed = 0;

	result = ks_store_suite_write(m->suite, m->keys[key], value, expect, expected, &r);
	if (result != KS_DONE)
		failed = fails(m->suite, "write of %s: result %d", m->keys[key], result);
	else if (!met)
		failed = r.outcome == KS_STORE_LOST_RACE ? check_lost(m, there, &r) : fails(m->suite, "a race that is lost gave outcome %u", r.outcome);
	else if (!there && !value)
		failed = r.outcome == KS_STORE_NOT_FOUND ? 0 : fails(m->suite, "deletion of nothing gave outcome %u", r.outcome);
	else if (r.outcome != KS_STORE_COMMITTED || r.revision <= m->current)
		failed = fails(m->suite, "write: outcome %u, revision %llu after %llu", r.outcome, (unsigned long long)r.revision, (unsigned long long)m->current);
	else
		model_add(m, key, value, r.revision);
	free(value);
	return failed;
}

static uint64_t random_revision(struct model *m)
{
	uint64_t span = m->current - m->oldest + 5;

	return draw(m, 3) == 0 ? 0 : m->oldest - 2 + draw(m, (uint32_t)span);
}

/* What the store must say about a revision. */
static int expected_result(const struct model *m, uint64_t revision)
{
	if (revision > m->current)
		return KS_ERR_FUTURE;
	/* What is now can be read, whatever can be watched from. */
	return revision && revision != m->current && revision < m->oldest ? KS_ERR_COMPACTED : KS_DONE;
}

static int step_get(struct model *m)
{
	int key = (int)draw(m, KEYS), result, ok;
	uint64_t revision = random_revision(m);
	const struct event *there = model_get(m, key, revision ? revision : UINT64_MAX);
	struct ks_store_kv kv;
	char *text = get_kv(m->suite, m->keys[key], revision, &result, &kv);

	if (result != expected_result(m, revision))
		ok = 0;
	else if (result != KS_DONE || !there)
		ok = !text;
	else
		ok = text && strcmp(text, there->value) == 0 && kv.mod_revision == there->revision && kv.create_revision == there->created;
	free(text);
	return ok ? 0 : fails(m->suite, "get of %s at %llu (now %llu, oldest %llu): result %d", m->keys[key], (unsigned long long)revision,
		(unsigned long long)m->current, (unsigned long long)m->oldest, result);
}

struct range_check {
	struct model *m;
	const struct ks_store_range *range;
	int next;          /* index into keys */
	uint64_t count;
	int failed;
};

static int in_range(const struct range_check *c, int key)
{
	const char *text = c->m->keys[key];

	if (strncmp(text, c->range->prefix.p, c->range->prefix.n) != 0)
		return 0;
	return !c->range->start.n || strcmp(text, c->range->start.p) >= 0;
}

/* The next key of the model in the range; KEYS at the end. */
static int range_next(const struct range_check *c)
{
	int key = c->next;

	while (key < KEYS && !(in_range(c, key) && model_get(c->m, key, c->range->revision ? c->range->revision : UINT64_MAX)))
		key++;
	return key;
}

static int on_range(void *arg, const struct ks_store_kv *kv)
{
	struct range_check *c = arg;
	int key = range_next(c);
	const struct event *e = key < KEYS ? model_get(c->m, key, c->range->revision ? c->range->revision : UINT64_MAX) : NULL;
	char *text = take_text(c->m->suite, kv->value);

	if (!e || kv->key.n != strlen(c->m->keys[key]) || memcmp(kv->key.p, c->m->keys[key], kv->key.n) != 0 || kv->mod_revision != e->revision ||
	    kv->create_revision != e->created || (c->range->keys_only ? text != NULL : !text || strcmp(text, e->value) != 0))
		c->failed = 1;
	free(text);
	c->next = key + 1;
	c->count++;
	return 0;
}

static int step_range(struct model *m)
{
	static const char *const prefixes[] = {"/registry/", "/registry/pods/", "/registry/pods/a", "/registry/podsx/", "", "/none/"};
	struct ks_op *op = ks_fake_op_new(m->suite->fake);
	struct range_check check = {.m = m};
	struct ks_store_range_result r = {.size = sizeof(r)};
	struct ks_store_range range = {
		.size = sizeof(range), .keys_only = draw(m, 2), .prefix = view_of(prefixes[draw(m, 6)]),
		.start = draw(m, 2) ? view_of(m->keys[draw(m, KEYS)]) : view_of(""), .limit = draw(m, 2) ? 1 + draw(m, 10) : 0,
		.revision = random_revision(m), .emit = on_range, .arg = &check,
	};
	uint64_t expected_revision = range.revision ? range.revision : m->current;
	int result;

	check.range = &range;
	result = ks_fake_op_wait(op, ops_of(m->suite)->range(m->suite->self, op, &range, &r));
	ks_fake_op_free(&op);
	if (result != expected_result(m, range.revision))
		return fails(m->suite, "range at %llu: result %d", (unsigned long long)range.revision, result);
	if (result != KS_DONE)
		return 0;
	if (check.failed)
		return fails(m->suite, "range of '%s' at %llu: a wrong item", range.prefix.p, (unsigned long long)range.revision);
	if (r.revision != expected_revision)
		return fails(m->suite, "range: revision %llu instead of %llu", (unsigned long long)r.revision, (unsigned long long)expected_revision);
	if (r.more ? check.count != range.limit || range_next(&check) == KEYS : range_next(&check) != KEYS)
		return fails(m->suite, "range of '%s': ends after %llu of limit %llu, more %u", range.prefix.p, (unsigned long long)check.count,
			(unsigned long long)range.limit, r.more);
	return 0;
}

static int step_compact(struct model *m)
{
	struct ks_op *op = ks_fake_op_new(m->suite->fake);
	uint64_t revision = m->oldest + draw(m, (uint32_t)(m->current - m->oldest) + 1);
	int result = ks_fake_op_wait(op, ops_of(m->suite)->compact(m->suite->self, op, revision));

	ks_fake_op_free(&op);
	if (result != KS_DONE)
		return fails(m->suite, "compact to %llu: result %d", (unsigned long long)revision, result);
	if (model_sync_revision(m))
		return -1;
	return m->oldest >= revision ? 0 : fails(m->suite, "compaction left the oldest revision at %llu", (unsigned long long)m->oldest);
}

/* -- watches --------------------------------------------------------------------------------------------------------- */

struct watch {
	struct ks_store_suite *suite;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	void *handle;
	uint64_t from, progress, credit;
	const char *prefix;
	struct event *events; /* `key` is an index into the model's keys, -1: unknown */
	size_t n, size;
	const struct model *m;
	int result;           /* of failed */
	int disorder;
	unsigned draws;
};

static int key_index(const struct model *m, struct ks_view key)
{
	int i;

	for (i = 0; i < KEYS; i++)
		if (strlen(m->keys[i]) == key.n && memcmp(m->keys[i], key.p, key.n) == 0)
			return i;
	return -1;
}

static void watch_add(struct watch *w, const struct ks_store_event *e)
{
	struct event copy = {.revision = e->revision, .created = e->kv.create_revision, .type = e->type, .key = -1};

	if (w->m)
		copy.key = key_index(w->m, e->kv.key);
	if (e->kv.value)
		copy.value = take_text(w->suite, host_of(w->suite)->bytes_ref(e->kv.value));
	if (w->n == w->size) {
		w->size = w->size ? 2 * w->size : 256;
		w->events = realloc(w->events, w->size * sizeof(struct event));
	}
	w->events[w->n++] = copy;
}

static uint64_t on_events(void *arg, const struct ks_store_event *events, size_t n, uint64_t progress)
{
	struct watch *w = arg;
	uint64_t last, more;
	size_t i;

	pthread_mutex_lock(&w->lock);
	last = w->n ? w->events[w->n - 1].revision : w->from - 1;
	for (i = 0; i < n; i++) {
		w->disorder |= events[i].revision <= last || events[i].revision > progress;
		last = events[i].revision;
		watch_add(w, &events[i]);
	}
	w->disorder |= progress < w->progress;
	w->progress = progress;
	/* Now and then it wants nothing more until it is asked. */
	more = w->draws++ % 5 == 0 ? 0 : 1 + w->draws % 70;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
	return more;
}

static void on_failed(void *arg, int result)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->lock);
	w->result = result;
	pthread_cond_broadcast(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static int watch_open(struct watch *w, struct ks_store_suite *suite, const struct model *m, uint64_t from, const char *prefix)
{
	struct ks_store_watch watch = {.size = sizeof(watch), .prefix = view_of(prefix), .from_revision = from, .events = on_events, .failed = on_failed, .arg = w};
	int result;

	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->cond, NULL);
	w->suite = suite;
	w->m = m;
	w->from = from;
	w->prefix = prefix;
	result = ops_of(suite)->watch(suite->self, &watch, &w->handle);
	if (result != KS_DONE)
		w->handle = NULL;
	return result;
}

static void watch_close(struct watch *w)
{
	if (w->handle)
		ops_of(w->suite)->watch_close(w->suite->self, w->handle);
	w->handle = NULL;
	while (w->n)
		free(w->events[--w->n].value);
	free(w->events);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->cond);
}

/* Until all up to the revision has come, or the watch is over, or 20 s have gone. */
static void watch_settle(struct watch *w, uint64_t revision)
{
	struct timespec t;
	int i;

	/* One from the future has nothing to say yet. */
	if (revision < w->from)
		return;
	pthread_mutex_lock(&w->lock);
	for (i = 0; i < 20000 && w->progress < revision && !w->result; i++) {
		pthread_mutex_unlock(&w->lock);
		ops_of(w->suite)->watch_credit(w->suite->self, w->handle, 3);
		pthread_mutex_lock(&w->lock);
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 1000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		if (w->progress < revision && !w->result)
			pthread_cond_timedwait(&w->cond, &w->lock, &t);
	}
	pthread_mutex_unlock(&w->lock);
}

static int same_event(const struct event *a, const struct event *b)
{
	return a->revision == b->revision && a->type == b->type && a->key == b->key && !a->value == !b->value &&
		(!a->value || (strcmp(a->value, b->value) == 0 && a->created == b->created));
}

/* Everything that the model has from `from` on came, in order; when the watch fell behind, at least the beginning. */
static int watch_check(struct watch *w, struct model *m)
{
	size_t i, n = 0;

	watch_settle(w, m->current);
	if (w->disorder)
		return fails(m->suite, "a watch from %llu: events out of order", (unsigned long long)w->from);
	if (w->result && !(w->result == KS_ERR_COMPACTED && m->oldest > w->from))
		return fails(m->suite, "a watch failed with %d", w->result);
	for (i = 0; i < m->n; i++) {
		const struct event *e = &m->events[i];

		if (e->revision < w->from || strncmp(m->keys[e->key], w->prefix, strlen(w->prefix)) != 0)
			continue;
		if (n == w->n)
			return w->result ? 0 : fails(m->suite, "a watch of '%s' from %llu: event %llu is missing; progress %llu", w->prefix,
				(unsigned long long)w->from, (unsigned long long)e->revision, (unsigned long long)w->progress);
		if (!same_event(e, &w->events[n++]))
			return fails(m->suite, "a watch of '%s': event %llu is wrong", w->prefix, (unsigned long long)e->revision);
	}
	return n == w->n ? 0 : fails(m->suite, "a watch has too many events");
}

static int step_watch(struct model *m, struct watch *w, bool *open)
{
	static const char *const prefixes[] = {"/registry/", "/registry/pods/a/", "", "/registry/podsx"};
	uint64_t from;
	int result, failed = 0;

	if (*open) {
		failed = watch_check(w, m);
		watch_close(w);
		*open = false;
		return failed;
	}
	from = m->oldest - 1 + draw(m, (uint32_t)(m->current - m->oldest) + 4);
	from += from == 0;
	result = watch_open(w, m->suite, m, from, prefixes[draw(m, 4)]);
	*open = result == KS_DONE;
	if (result != (from < m->oldest ? KS_ERR_COMPACTED : KS_DONE))
		failed = fails(m->suite, "watch from %llu (oldest %llu): result %d", (unsigned long long)from, (unsigned long long)m->oldest, result);
	if (!*open)
		watch_close(w);
	return failed;
}

static int step_restart(struct model *m)
{
	uint64_t current = m->current;

	ks_store_suite_stop(m->suite);
	if (ks_store_suite_start(m->suite) || model_sync_revision(m))
		return -1;
	return m->current == current ? 0 : fails(m->suite, "the revision after a restart is %llu, before it was %llu", (unsigned long long)m->current,
		(unsigned long long)current);
}

static int step_random(struct model *m, struct watch *watches, bool *open, int n)
{
	uint32_t what = draw(m, 1000);
	int i = (int)draw(m, (uint32_t)n);

	if (what < 5)
		return step_compact(m);
	if (what < 60)
		return step_watch(m, &watches[i], &open[i]);
	if (what < 200)
		return step_range(m);
	return what < 350 ? step_get(m) : step_write(m);
}

static int close_all(struct model *m, struct watch *watches, bool *open, int n, int failed)
{
	int i;

	for (i = 0; i < n; i++) {
		if (!open[i])
			continue;
		if (!failed)
			failed = watch_check(&watches[i], m);
		watch_close(&watches[i]);
		open[i] = false;
	}
	return failed;
}

int ks_store_suite_random(struct ks_store_suite *suite, uint64_t seed, unsigned steps)
{
	struct watch watches[4];
	bool open[4] = {false};
	struct model m;
	unsigned i;
	int failed;

	model_init(&m, suite, seed);
	failed = model_sync_revision(&m);
	for (i = 0; i < steps && !failed; i++) {
		failed = step_random(&m, watches, open, 4);
		/* Old history goes on its own as well. */
		if (!failed)
			failed = model_sync_revision(&m);
		if (!failed && (suite->iface->flags & KS_STORE_DURABLE) && i % 997 == 996) {
			failed = close_all(&m, watches, open, 4, 0);
			if (!failed)
				failed = step_restart(&m);
		}
	}
	failed = close_all(&m, watches, open, 4, failed);
	if (failed) {
		char words[sizeof(suite->failure)];

		memcpy(words, suite->failure, sizeof(words));
		fails(suite, "seed %llu, step %u: %.400s", (unsigned long long)seed, i, words);
	}
	model_fini(&m);
	return failed;
}

/* -- races ------------------------------------------------------------------------------------------------------------ */

struct racer {
	struct ks_store_suite *suite;
	pthread_t thread;
	unsigned rounds, committed;
	int failed;
};

static int increase(struct racer *r, const char *key)
{
	struct ks_store_suite *suite = r->suite;
	struct ks_store_write_result w;
	struct ks_store_kv kv;
	int result;
	char *text = get_kv(suite, key, 0, &result, &kv), next[32];
	uint64_t revision = text ? kv.mod_revision : 0;

	/* A lost race says what to try next. */
	while (result == KS_DONE) {
		snprintf(next, sizeof(next), "%ld", text ? strtol(text, NULL, 10) + 1 : 1);
		free(text);
		result = ks_store_suite_write(suite, key, next, revision ? KS_STORE_EXPECT_REVISION : KS_STORE_EXPECT_ABSENT, revision, &w);
		if (result != KS_DONE || w.outcome == KS_STORE_COMMITTED)
			return result == KS_DONE ? 0 : -1;
		revision = w.current.mod_revision;
		text = take_text(suite, w.current.value);
		if (w.outcome != KS_STORE_LOST_RACE || !text)
			result = KS_ERR;
	}
	free(text);
	return -1;
}

static void *race_main(void *arg)
{
	struct racer *r = arg;
	char key[32];
	unsigned i;

	for (i = 0; i < r->rounds && !r->failed; i++) {
		snprintf(key, sizeof(key), "/race/%u", i % 3);
		r->failed = increase(r, key);
		r->committed += !r->failed;
	}
	return NULL;
}

static int race_check(struct ks_store_suite *suite, struct watch *w, unsigned total, uint64_t before)
{
	uint64_t current, oldest;
	unsigned sum = 0;
	char key[32], *text;
	int i, result;

	for (i = 0; i < 3; i++) {
		snprintf(key, sizeof(key), "/race/%d", i);
		text = ks_store_suite_get(suite, key, 0, &result);
		sum += text ? (unsigned)strtoul(text, NULL, 10) : 0;
		free(text);
	}
	if (sum != total)
		return fails(suite, "%u increments gave %u", total, sum);
	ops_of(suite)->revision(suite->self, &current, &oldest);
	if (current - before != total)
		return fails(suite, "%u writes took %llu revisions", total, (unsigned long long)(current - before));
	watch_settle(w, current);
	if (w->disorder || w->result || w->n != total)
		return fails(suite, "the watch has %zu events of %u (disorder %d, result %d)", w->n, total, w->disorder, w->result);
	return 0;
}

int ks_store_suite_race(struct ks_store_suite *suite, unsigned threads, unsigned rounds)
{
	struct racer *racers = calloc(threads, sizeof(*racers));
	uint64_t current, oldest;
	struct watch w;
	unsigned i, total = 0;
	int failed = 0;

	ops_of(suite)->revision(suite->self, &current, &oldest);
	if (!racers || watch_open(&w, suite, NULL, current + 1, "/race/") != KS_DONE) {
		free(racers);
		return fails(suite, "no memory or no watch");
	}
	for (i = 0; i < threads; i++) {
		racers[i] = (struct racer){.suite = suite, .rounds = rounds};
		pthread_create(&racers[i].thread, NULL, race_main, &racers[i]);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(racers[i].thread, NULL);
		total += racers[i].committed;
		failed |= racers[i].failed;
	}
	failed = failed ? fails(suite, "a write failed") : race_check(suite, &w, total, current);
	watch_close(&w);
	free(racers);
	return failed;
}

/* -- snapshots -------------------------------------------------------------------------------------------------------- */

struct snapshot {
	struct ks_store_suite *suite;
	uint64_t highest;
	unsigned count;
	char last[64];
	int disorder;
	pthread_t writer;
	_Atomic unsigned writes;
	_Atomic int ending;
};

/* Keys behind, at and before the cursor change, come and go while the range runs. */
static void *snapshot_writer(void *arg)
{
	struct snapshot *s = arg;
	struct ks_store_write_result r;
	char key[64];
	unsigned i;

	for (i = 0; !atomic_load(&s->ending); i++) {
		snprintf(key, sizeof(key), "/snap/%06u", (i * 7919) % 4000);
		if (ks_store_suite_write(s->suite, key, i % 3 ? "changed" : NULL, KS_STORE_EXPECT_ANY, 0, &r) != KS_DONE)
			break;
		atomic_fetch_add(&s->writes, 1);
	}
	return NULL;
}

/* Lets the writer go on, if the store does: one that holds a lock meanwhile is slow, not wrong. */
static void let_write(struct snapshot *s)
{
	unsigned before = atomic_load(&s->writes);
	int i;

	for (i = 0; i < 20 && atomic_load(&s->writes) == before; i++)
		usleep(100);
}

static int on_snapshot(void *arg, const struct ks_store_kv *kv)
{
	struct snapshot *s = arg;
	char key[64] = "", *text = take_text(s->suite, kv->value);

	free(text);
	memcpy(key, kv->key.p, kv->key.n < 63 ? kv->key.n : 63);
	s->disorder |= strcmp(key, s->last) <= 0;
	memcpy(s->last, key, sizeof(key));
	if (kv->mod_revision > s->highest)
		s->highest = kv->mod_revision;
	if (++s->count % 50 == 0)
		let_write(s);
	return 0;
}

/* Every key was there when the range began, and each is as it was then. */
static int snapshot_check(struct ks_store_suite *suite, const struct snapshot *s, unsigned keys, int result, uint64_t revision)
{
	if (result == KS_DONE && !s->disorder && s->count == keys && s->highest <= revision)
		return 0;
	return fails(suite, "range: result %d, %u of %u keys, newest %llu at revision %llu, disorder %d", result, s->count, keys,
		(unsigned long long)s->highest, (unsigned long long)revision, s->disorder);
}

int ks_store_suite_snapshot(struct ks_store_suite *suite, unsigned keys)
{
	struct snapshot s = {.suite = suite};
	struct ks_store_range range = {.size = sizeof(range), .prefix = view_of("/snap/"), .emit = on_snapshot, .arg = &s};
	struct ks_store_range_result r = {.size = sizeof(r)};
	struct ks_store_write_result w;
	struct ks_op *op;
	unsigned i;
	int result;
	char key[64];

	for (i = 0; i < keys; i++) {
		snprintf(key, sizeof(key), "/snap/%06u", i);
		if (ks_store_suite_write(suite, key, "first", KS_STORE_EXPECT_ABSENT, 0, &w) != KS_DONE)
			return fails(suite, "a write failed");
	}
	range.revision = w.revision;
	if (pthread_create(&s.writer, NULL, snapshot_writer, &s))
		return fails(suite, "no thread");
	op = ks_fake_op_new(suite->fake);
	result = ks_fake_op_wait(op, ops_of(suite)->range(suite->self, op, &range, &r));
	ks_fake_op_free(&op);
	atomic_store(&s.ending, 1);
	pthread_join(s.writer, NULL);
	/* With a short history the revision may be gone before the range begins. */
	if (result == KS_ERR_COMPACTED && s.count == 0)
		return 0;
	return snapshot_check(suite, &s, keys, result, range.revision);
}

/* -- leases ----------------------------------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int ks_store_suite_lease(struct ks_store_suite *suite)
{
	struct ks_store_write_result r;
	uint64_t current, oldest, soon = now_ms() + 150;
	struct watch w;
	char *kept, *gone;
	int result, failed = 0;

	ops_of(suite)->revision(suite->self, &current, &oldest);
	if (watch_open(&w, suite, NULL, current + 1, "/lease/") != KS_DONE)
		return fails(suite, "no watch");
	if (write_lease(suite, "/lease/gone", "x", 0, 0, soon, &r) || write_lease(suite, "/lease/kept", "x", 0, 0, soon, &r) ||
	    write_lease(suite, "/lease/kept", "y", 0, 0, 0, &r))
		failed = fails(suite, "a write failed");
	/* Three writes and one expiry. */
	watch_settle(&w, current + 4);
	if (!failed && (w.n != 4 || w.events[3].type != KS_EVENT_DELETED || now_ms() < soon))
		failed = fails(suite, "expiry: %zu events", w.n);
	gone = ks_store_suite_get(suite, "/lease/gone", 0, &result);
	kept = ks_store_suite_get(suite, "/lease/kept", 0, &result);
	if (!failed && (gone || !kept || strcmp(kept, "y") != 0))
		failed = fails(suite, "the wrong key expired");
	free(gone);
	free(kept);
	watch_close(&w);
	return failed;
}

static bool is_there(struct ks_store_suite *suite, const char *key)
{
	int result;
	char *value = ks_store_suite_get(suite, key, 0, &result);

	free(value);
	return value;
}

static bool waited_until_gone(struct ks_store_suite *suite, const char *key)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 20000 && is_there(suite, key); i++)
		nanosleep(&pause, NULL);
	return !is_there(suite, key);
}

int ks_store_suite_lease_restart(struct ks_store_suite *suite)
{
	struct ks_store_write_result r;
	uint64_t later = now_ms() + 500;

	if (write_lease(suite, "/lease/past", "x", 0, 0, now_ms() + 1, &r) || write_lease(suite, "/lease/later", "x", 0, 0, later, &r) ||
	    write_lease(suite, "/lease/never", "x", 0, 0, 0, &r))
		return fails(suite, "a write failed");
	ks_store_suite_stop(suite);
	if (ks_store_suite_start(suite))
		return fails(suite, "it did not start again");
	if (!waited_until_gone(suite, "/lease/past"))
		return fails(suite, "what ended while it was away is still there");
	if (!is_there(suite, "/lease/later") && now_ms() < later)
		return fails(suite, "a lease ended too early");
	if (!waited_until_gone(suite, "/lease/later"))
		return fails(suite, "a lease did not end");
	if (now_ms() < later)
		return fails(suite, "a lease ended too early");
	return is_there(suite, "/lease/never") ? 0 : fails(suite, "a key without a lease is gone");
}
