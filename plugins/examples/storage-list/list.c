/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * list: the smallest store that keeps its word: a sorted list in memory, every
 * version of every key until it is compacted, and a thread that tells watchers.
 *
 *     storage:
 *     - plugin: list
 */
#include <keelson/storage.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64 };

struct item;

/* One state of a key. */
struct version {
	struct version *older;       /* of the same key */
	struct item *item;
	struct ks_host_bytes *value; /* NULL: deleted */
	uint64_t create, mod, lease;
};

/* A key, with its newest version first. Stays in the list when it has been deleted. */
struct item {
	struct item *next;
	struct version *newest;
	size_t n;
	char key[];
};

struct watch {
	struct watch *next;
	struct ks_store_watch to;
	uint64_t at, told, credit;   /* next revision to tell; progress that was told; events that may be told */
	int busy, over;
	size_t prefix_n;
	char prefix[];
};

struct list {
	const struct ks_host *host;
	pthread_t thread;
	pthread_mutex_t lock;        /* for everything below */
	pthread_cond_t news, quiet;
	int stopping;
	struct item *items;          /* by key */
	struct version **log;        /* log[i] has revision first + i */
	size_t n_log, cap_log;
	uint64_t first, revision;    /* the oldest in the log; the newest */
	uint64_t oldest;             /* that can be read: at first nothing is in the log yet */
	struct watch *watches;
};

/* -- keys and versions (under the lock) -- */

static int compare(const char *a, size_t n, struct ks_view b)
{
	size_t common = n < b.n ? n : b.n;
	int c = common ? memcmp(a, b.p, common) : 0;

	return c ? c : (n > b.n) - (n < b.n);
}

static int starts(const char *key, size_t n, struct ks_view prefix)
{
	return n >= prefix.n && (prefix.n == 0 || memcmp(key, prefix.p, prefix.n) == 0);
}

/* Where the key is or would be. */
static struct item **find(struct list *l, struct ks_view key)
{
	struct item **at = &l->items;

	while (*at && compare((*at)->key, (*at)->n, key) < 0)
		at = &(*at)->next;
	return at;
}

static int is_at(struct item **at, struct ks_view key)
{
	return *at && compare((*at)->key, (*at)->n, key) == 0;
}

/* The state of a key at a revision; NULL: not there. */
static const struct version *state(const struct item *item, uint64_t revision)
{
	const struct version *v = item->newest;

	while (v && v->mod > revision)
		v = v->older;
	return v && v->value ? v : NULL;
}

static void fill(const struct list *l, const struct version *v, struct ks_store_kv *kv)
{
	*kv = (struct ks_store_kv){
		.key = {v->item->key, v->item->n}, .value = v->value ? l->host->bytes_ref(v->value) : NULL,
		.create_revision = v->create, .mod_revision = v->mod, .lease_until_ms = v->lease,
	};
}

static int check_revision(const struct list *l, uint64_t *revision)
{
	if (!*revision)
		*revision = l->revision;
	return *revision > l->revision ? KS_ERR_FUTURE : *revision < l->oldest ? KS_ERR_COMPACTED : KS_DONE;
}

/* -- reads -- */

static int get(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r)
{
	struct list *l = self;
	const struct version *v = NULL;
	struct item **at;
	int code;

	(void)op;
	pthread_mutex_lock(&l->lock);
	code = check_revision(l, &revision);
	at = find(l, key);
	if (code == KS_DONE && is_at(at, key))
		v = state(*at, revision);
	if (v)
		fill(l, v, kv_r);
	*found_r = v != NULL;
	pthread_mutex_unlock(&l->lock);
	return code;
}

static int range(void *self, struct ks_op *op, const struct ks_store_range *r, struct ks_store_range_result *result_r)
{
	struct ks_view start = compare(r->start.p, r->start.n, r->prefix) > 0 ? r->start : r->prefix;
	uint64_t revision = r->revision, emitted = 0;
	struct list *l = self;
	struct ks_store_kv kv;
	int code;

	(void)op;
	pthread_mutex_lock(&l->lock);
	code = check_revision(l, &revision);
	for (const struct item *i = *find(l, start); code == KS_DONE && i && starts(i->key, i->n, r->prefix); i = i->next) {
		const struct version *v = state(i, revision);

		if (!v)
			continue;
		result_r->more = r->limit && emitted == r->limit;
		if (result_r->more)
			break;
		fill(l, v, &kv);
		if (r->keys_only && kv.value) {
			l->host->bytes_unref(kv.value);
			kv.value = NULL;
		}
		emitted++;
		if (r->emit(r->arg, &kv))
			break;
	}
	result_r->revision = revision;
	pthread_mutex_unlock(&l->lock);
	return code;
}

static int revision(void *self, uint64_t *current_r, uint64_t *oldest_r)
{
	struct list *l = self;

	pthread_mutex_lock(&l->lock);
	*current_r = l->revision;
	*oldest_r = l->oldest;
	pthread_mutex_unlock(&l->lock);
	return KS_DONE;
}

/* -- writes -- */

static int expected(const struct ks_store_write *w, const struct version *now)
{
	if (w->expect == KS_STORE_EXPECT_ABSENT)
		return !now;
	return w->expect == KS_STORE_EXPECT_ANY || (now && now->mod == w->expected);
}

static struct item *add_item(struct item **at, struct ks_view key)
{
	struct item *item = calloc(1, sizeof(*item) + key.n);

	if (!item)
		return NULL;
	memcpy(item->key, key.p, key.n);
	item->n = key.n;
	item->next = *at;
	*at = item;
	return item;
}

static int make_room(struct list *l)
{
	size_t cap = l->cap_log ? l->cap_log * 2 : 256;
	struct version **log;

	if (l->n_log < l->cap_log)
		return 1;
	log = realloc(l->log, cap * sizeof(*log));
	if (!log)
		return 0;
	l->log = log;
	l->cap_log = cap;
	return 1;
}

static int commit(struct list *l, const struct ks_store_write *w, struct item *item, const struct version *now)
{
	struct version *v = make_room(l) ? calloc(1, sizeof(*v)) : NULL;

	if (!v)
		return KS_ERR_NOMEM;
	*v = (struct version){
		.older = item->newest, .item = item, .value = w->value ? l->host->bytes_ref(w->value) : NULL,
		.create = now ? now->create : l->revision + 1, .mod = l->revision + 1, .lease = w->lease_until_ms,
	};
	item->newest = v;
	l->log[l->n_log++] = v;
	l->revision++;
	pthread_cond_signal(&l->news);
	return KS_DONE;
}

static int decide(struct list *l, const struct ks_store_write *w, struct ks_store_write_result *result)
{
	struct item **at = find(l, w->key), *item = is_at(at, w->key) ? *at : NULL;
	const struct version *now = item ? state(item, l->revision) : NULL;
	int code = KS_DONE;

	if (!expected(w, now)) {
		result->outcome = KS_STORE_LOST_RACE;
		if (now)
			fill(l, now, &result->current);
		result->current.key = w->key;
	} else if (!w->value && !now) {
		result->outcome = KS_STORE_NOT_FOUND;
	} else {
		if (!item)
			item = add_item(at, w->key);
		code = item ? commit(l, w, item, now) : KS_ERR_NOMEM;
		result->outcome = KS_STORE_COMMITTED;
	}
	result->revision = l->revision;
	return code;
}

static int write_(void *self, struct ks_op *op, const struct ks_store_write *w, struct ks_store_write_result *result_r)
{
	struct list *l = self;
	int code;

	(void)op;
	pthread_mutex_lock(&l->lock);
	code = decide(l, w, result_r);
	pthread_mutex_unlock(&l->lock);
	return code;
}

static void free_version(const struct list *l, struct version *v)
{
	if (v->value)
		l->host->bytes_unref(v->value);
	free(v);
}

/* Versions that no revision from `revision` on shows. */
static void forget_older(struct list *l, struct item *item, uint64_t revision)
{
	struct version *keep = item->newest;

	while (keep && keep->mod > revision)
		keep = keep->older;
	while (keep && keep->older) {
		struct version *v = keep->older;

		keep->older = v->older;
		free_version(l, v);
	}
}

static int compact(void *self, struct ks_op *op, uint64_t revision)
{
	struct list *l = self;

	(void)op;
	pthread_mutex_lock(&l->lock);
	if (revision > l->oldest && revision <= l->revision) {
		size_t n = (size_t)(revision - l->first);

		l->n_log -= n;
		memmove(l->log, l->log + n, l->n_log * sizeof(*l->log));
		l->first = l->oldest = revision;
		for (struct item *i = l->items; i; i = i->next)
			forget_older(l, i, revision);
	}
	pthread_mutex_unlock(&l->lock);
	return KS_DONE;
}

/* -- watches -- */

static int watch(void *self, const struct ks_store_watch *to, void **watch_r)
{
	struct list *l = self;
	struct watch *w = calloc(1, sizeof(*w) + to->prefix.n);
	int code = w ? KS_DONE : KS_ERR_NOMEM;
	uint64_t from;

	pthread_mutex_lock(&l->lock);
	from = to->from_revision ? to->from_revision : l->revision + 1;
	if (w && from < l->oldest)
		code = KS_ERR_COMPACTED;
	if (code == KS_DONE) {
		w->to = *to;
		w->at = from < l->first ? l->first : from;
		w->credit = BATCH;
		w->prefix_n = to->prefix.n;
		if (to->prefix.n)
			memcpy(w->prefix, to->prefix.p, to->prefix.n);
		w->next = l->watches;
		l->watches = w;
		*watch_r = w;
		pthread_cond_signal(&l->news);
	}
	pthread_mutex_unlock(&l->lock);
	if (code != KS_DONE)
		free(w);
	return code;
}

static void watch_credit(void *self, void *watch, uint64_t n)
{
	struct list *l = self;

	pthread_mutex_lock(&l->lock);
	((struct watch *)watch)->credit += n;
	pthread_cond_signal(&l->news);
	pthread_mutex_unlock(&l->lock);
}

static void watch_close(void *self, void *watch)
{
	struct list *l = self;
	struct watch *w = watch, **at;

	pthread_mutex_lock(&l->lock);
	while (w->busy)
		pthread_cond_wait(&l->quiet, &l->lock);
	for (at = &l->watches; *at != w; at = &(*at)->next)
		;
	*at = w->next;
	pthread_mutex_unlock(&l->lock);
	free(w);
}

/* Events for one watch, with references to their values. */
static size_t collect(struct list *l, struct watch *w, struct ks_store_event *events)
{
	size_t n = 0;

	for (; w->at <= l->revision && n < BATCH && n < w->credit; w->at++) {
		const struct version *v = l->log[w->at - l->first];

		if (!starts(v->item->key, v->item->n, (struct ks_view){w->prefix, w->prefix_n}))
			continue;
		events[n] = (struct ks_store_event){.revision = v->mod};
		events[n].type = !v->value ? KS_EVENT_DELETED : v->create == v->mod ? KS_EVENT_ADDED : KS_EVENT_MODIFIED;
		fill(l, v, &events[n++].kv);
	}
	return n;
}

/* Tells one watch what there is for it; the lock is let go meanwhile. */
static void tell(struct list *l, struct watch *w)
{
	struct ks_store_event events[BATCH];
	int passed = w->at < l->first;
	size_t n = passed ? 0 : collect(l, w, events);
	uint64_t credit = 0;

	w->told = w->at > l->revision ? l->revision : w->at - 1;
	w->credit = 0; /* what is said from now on counts */
	w->busy = 1;
	w->over = passed;
	pthread_mutex_unlock(&l->lock);
	if (passed)
		w->to.failed(w->to.arg, KS_ERR_COMPACTED);
	else
		credit = w->to.events(w->to.arg, events, n, w->told);
	for (size_t i = 0; i < n; i++)
		if (events[i].kv.value)
			l->host->bytes_unref(events[i].kv.value);
	pthread_mutex_lock(&l->lock);
	w->credit += credit;
	w->busy = 0;
	pthread_cond_broadcast(&l->quiet);
}

static struct watch *next_to_tell(const struct list *l)
{
	struct watch *w = l->watches;

	while (w && (w->over || w->told >= l->revision || !w->credit))
		w = w->next;
	return w;
}

static void *run(void *self)
{
	struct list *l = self;

	pthread_mutex_lock(&l->lock);
	while (!l->stopping) {
		struct watch *w = next_to_tell(l);

		if (w)
			tell(l, w);
		else
			pthread_cond_wait(&l->news, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* -- life -- */

/* Revisions never go back, not even over a restart that loses everything: they begin with the time. */
static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct list *l = calloc(1, sizeof(*l));
	struct timespec now;

	(void)config;
	(void)error;
	if (!l)
		return KS_ERR_NOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	l->host = host;
	l->revision = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	l->oldest = l->revision;
	l->first = l->revision + 1;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->news, NULL);
	pthread_cond_init(&l->quiet, NULL);
	*self = l;
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	struct list *l = self;

	if (pthread_create(&l->thread, NULL, run, l) == 0)
		return KS_DONE;
	strcpy(error->text, "no thread");
	return KS_ERR;
}

static void stop(void *self)
{
	struct list *l = self;

	pthread_mutex_lock(&l->lock);
	l->stopping = 1;
	pthread_cond_signal(&l->news);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
}

static void destroy(void *self)
{
	struct list *l = self;
	struct item *next;

	for (struct item *i = l->items; i; i = next) {
		next = i->next;
		forget_older(l, i, UINT64_MAX);
		if (i->newest)
			free_version(l, i->newest);
		free(i);
	}
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->news);
	pthread_cond_destroy(&l->quiet);
	free(l->log);
	free(l);
}

static const struct ks_lifecycle lifecycle = {
	.size = sizeof(lifecycle), .create = create, .start = start, .stop = stop, .destroy = destroy,
};
static const struct ks_store_ops ops = {
	.size = sizeof(ops), .get = get, .range = range, .write = write_, .watch = watch, .watch_credit = watch_credit,
	.watch_close = watch_close, .compact = compact, .revision = revision,
};
static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_STORE,
	.version = KS_STORE_VERSION,
	.flags = KS_STORE_SINGLE_WRITER,
	.name = "list",
	.lifecycle = &lifecycle,
	.ops = &ops,
};

KS_PLUGIN(list) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1.0",
	.description = "Keeps everything in a sorted list in memory.",
};
