/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/fake-internal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* -- log -------------------------------------------------------------------------------------------------------- */

static void log_append(struct ks_fake_host *fake, const char *level, const char *text)
{
	size_t n = strlen(level) + strlen(text) + 3;
	char *grown;

	pthread_mutex_lock(&fake->lock);
	grown = realloc(fake->log, fake->log_n + n);
	if (grown) {
		fake->log = grown;
		fake->log_n += (size_t)snprintf(grown + fake->log_n, n, "%s %s\n", level, text);
	}
	if (fake->log_show)
		fprintf(stderr, "%s: %s %s\n", fake->host.instance, level, text);
	pthread_mutex_unlock(&fake->lock);
}

static void __attribute__((format(printf, 3, 4))) host_log(const struct ks_host *host, int level, const char *format, ...)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	char text[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	log_append(host->context, level >= 0 && level <= KS_HOST_LOG_DEBUG ? names[level] : "?", text);
}

const char *ks_fake_log(struct ks_fake_host *fake)
{
	return fake->log ? fake->log : "";
}

void ks_fake_log_show(struct ks_fake_host *fake, int on)
{
	fake->log_show = on;
}

/* -- operations ------------------------------------------------------------------------------------------------- */

static void *op_alloc(struct ks_op *op, size_t size)
{
	struct ks_fake_memory *m = calloc(1, sizeof(*m) + size);

	if (!m)
		return NULL;
	m->next = op->memory;
	op->memory = m;
	return m->data;
}

static void *op_scratch(struct ks_op *op)
{
	return op->scratch;
}

static uint64_t op_deadline_ns(const struct ks_op *op)
{
	return op->deadline_ns;
}

static int op_cancelled(const struct ks_op *op)
{
	return __atomic_load_n(&op->cancelled, __ATOMIC_RELAXED);
}

static const char *op_audit_id(const struct ks_op *op)
{
	(void)op;
	return "00000000-0000-4000-8000-000000000000";
}

static uint32_t op_worker(const struct ks_op *op)
{
	return op->worker;
}

static int __attribute__((format(printf, 2, 3))) op_error(struct ks_op *op, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(op->error, sizeof(op->error), format, ap);
	va_end(ap);
	return KS_ERR;
}

static void op_complete(struct ks_op *op, int result)
{
	if (op->on_complete) {
		op->on_complete(op, result, op->on_complete_arg);
		return;
	}
	pthread_mutex_lock(&op->lock);
	op->completions++;
	op->result = result;
	pthread_cond_broadcast(&op->cond);
	pthread_mutex_unlock(&op->lock);
}

struct ks_op *ks_fake_op_new(struct ks_fake_host *fake)
{
	struct ks_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	op->scratch = calloc(1, FAKE_SCRATCH_SIZE);
	if (!op->scratch) {
		free(op);
		return NULL;
	}
	op->fake = fake;
	op->deadline_ns = monotonic_ns() + 60000000000u;
	pthread_mutex_init(&op->lock, NULL);
	pthread_cond_init(&op->cond, NULL);
	return op;
}

void ks_fake_op_reset(struct ks_op *op)
{
	struct ks_fake_memory *m, *next;

	ks_fake_op_drop_values(op);
	for (m = op->memory; m; m = next) {
		next = m->next;
		free(m);
	}
	op->memory = NULL;
	op->error[0] = '\0';
	op->result = 0;
	op->completions = 0;
	op->cancelled = 0;
	op->deadline_ns = monotonic_ns() + 60000000000u;
	memset(op->scratch, 0, FAKE_SCRATCH_SIZE);
}

void ks_fake_op_free(struct ks_op **op)
{
	if (!*op)
		return;
	ks_fake_op_reset(*op);
	pthread_mutex_destroy(&(*op)->lock);
	pthread_cond_destroy(&(*op)->cond);
	free((*op)->scratch);
	free(*op);
	*op = NULL;
}

int ks_fake_op_wait(struct ks_op *op, int returned)
{
	struct timespec until;
	int result, failed = 0;

	if (returned != KS_PENDING)
		return returned;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	pthread_mutex_lock(&op->lock);
	while (!op->completions && failed != ETIMEDOUT)
		failed = pthread_cond_timedwait(&op->cond, &op->lock, &until);
	result = op->completions == 1 ? op->result : KS_ERR_TIMEOUT;
	pthread_mutex_unlock(&op->lock);
	return result;
}

int ks_fake_op_done(struct ks_op *op)
{
	int done;

	pthread_mutex_lock(&op->lock);
	done = op->completions > 0;
	pthread_mutex_unlock(&op->lock);
	return done;
}

void ks_fake_op_on_complete(struct ks_op *op, void (*done)(struct ks_op *op, int result, void *arg), void *arg)
{
	op->on_complete = done;
	op->on_complete_arg = arg;
}

const char *ks_fake_op_error(const struct ks_op *op)
{
	return op->error;
}

void ks_fake_op_cancel(struct ks_op *op)
{
	__atomic_store_n(&op->cancelled, 1, __ATOMIC_RELAXED);
}

void ks_fake_op_set_deadline(struct ks_op *op, uint64_t deadline_ns)
{
	op->deadline_ns = deadline_ns;
}

void ks_fake_op_set_worker(struct ks_op *op, uint32_t worker)
{
	op->worker = worker;
}

/* -- bytes ------------------------------------------------------------------------------------------------------ */

static struct ks_host_bytes *bytes_new(size_t n)
{
	struct ks_host_bytes *b = malloc(sizeof(*b) + n);

	if (!b)
		return NULL;
	b->refs = 1;
	b->n = n;
	return b;
}

static void *bytes_data(struct ks_host_bytes *bytes)
{
	return bytes->data;
}

static struct ks_view bytes_view(const struct ks_host_bytes *bytes)
{
	return (struct ks_view){bytes->data, bytes->n};
}

static struct ks_host_bytes *bytes_ref(struct ks_host_bytes *bytes)
{
	__atomic_add_fetch(&bytes->refs, 1, __ATOMIC_RELAXED);
	return bytes;
}

static void bytes_unref(struct ks_host_bytes *bytes)
{
	if (bytes && __atomic_sub_fetch(&bytes->refs, 1, __ATOMIC_ACQ_REL) == 0)
		free(bytes);
}

/* -- timers ----------------------------------------------------------------------------------------------------- */

static int host_timer(const struct ks_host *host, uint64_t milliseconds, void (*fire)(void *arg), void *arg)
{
	struct ks_fake_host *fake = host->context;
	struct ks_fake_timer *t = malloc(sizeof(*t));

	if (!t)
		return KS_ERR_NOMEM;
	t->fire = fire;
	t->arg = arg;
	pthread_mutex_lock(&fake->lock);
	t->due = fake->now_ms + milliseconds;
	t->next = fake->timers;
	fake->timers = t;
	pthread_mutex_unlock(&fake->lock);
	return KS_DONE;
}

/* Takes the timer that is due first out of the list; NULL when none is due. */
static struct ks_fake_timer *timer_take(struct ks_fake_host *fake, uint64_t until)
{
	struct ks_fake_timer **p, **first = NULL, *t = NULL;

	pthread_mutex_lock(&fake->lock);
	for (p = &fake->timers; *p; p = &(*p)->next)
		if ((*p)->due <= until && (!first || (*p)->due <= (*first)->due))
			first = p;
	if (first) {
		t = *first;
		*first = t->next;
		fake->now_ms = t->due > fake->now_ms ? t->due : fake->now_ms;
	}
	pthread_mutex_unlock(&fake->lock);
	return t;
}

void ks_fake_timers_run(struct ks_fake_host *fake, uint64_t milliseconds)
{
	uint64_t until = fake->now_ms + milliseconds;
	struct ks_fake_timer *t;

	while ((t = timer_take(fake, until))) {
		t->fire(t->arg);
		free(t);
	}
	fake->now_ms = until;
}

/* -- metrics ---------------------------------------------------------------------------------------------------- */

static struct ks_metric *host_metric(const struct ks_host *host, int type, const char *name, const char *help)
{
	struct ks_fake_host *fake = host->context;
	struct ks_metric *m = calloc(1, sizeof(*m));

	(void)help;
	if (!m || !(m->name = strdup(name))) {
		free(m);
		return NULL;
	}
	m->type = type;
	m->fake = fake;
	pthread_mutex_lock(&fake->lock);
	m->next = fake->metrics;
	fake->metrics = m;
	pthread_mutex_unlock(&fake->lock);
	return m;
}

static void metric_add(struct ks_metric *metric, double value)
{
	pthread_mutex_lock(&metric->fake->lock);
	metric->value += value;
	pthread_mutex_unlock(&metric->fake->lock);
}

static void metric_set(struct ks_metric *metric, double value)
{
	pthread_mutex_lock(&metric->fake->lock);
	metric->value = value;
	pthread_mutex_unlock(&metric->fake->lock);
}

double ks_fake_metric(struct ks_fake_host *fake, const char *name)
{
	struct ks_metric *m;
	double value = NAN;

	pthread_mutex_lock(&fake->lock);
	for (m = fake->metrics; m; m = m->next)
		if (strcmp(m->name, name) == 0)
			value = m->value;
	pthread_mutex_unlock(&fake->lock);
	return value;
}

/* -- secrets ---------------------------------------------------------------------------------------------------- */

static int equal_constant_time(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;
	unsigned char difference = 0;
	size_t i;

	for (i = 0; i < n; i++)
		difference |= x[i] ^ y[i];
	return difference == 0;
}

static void set_ready(const struct ks_host *host, int ready)
{
	struct ks_fake_host *fake = host->context;

	fake->ready = ready;
}

int ks_fake_ready(const struct ks_fake_host *fake)
{
	return fake->ready;
}

static void wipe(void *p, size_t n)
{
	explicit_bzero(p, n);
}

/* -- the host --------------------------------------------------------------------------------------------------- */

struct ks_fake_host *ks_fake_host_new(const char *instance)
{
	struct ks_fake_host *fake = calloc(1, sizeof(*fake));

	if (!fake)
		return NULL;
	pthread_mutex_init(&fake->lock, NULL);
	fake->host = (struct ks_host){
		.size = sizeof(fake->host), .abi_major = KS_ABI_MAJOR, .abi_minor = KS_ABI_MINOR,
		.instance = instance, .context = fake, .log = host_log,
		.op_alloc = op_alloc, .op_scratch = op_scratch, .op_deadline_ns = op_deadline_ns, .op_cancelled = op_cancelled,
		.op_audit_id = op_audit_id, .op_worker = op_worker, .op_error = op_error, .complete = op_complete,
		.values = &ks_fake_values,
		.bytes_new = bytes_new, .bytes_data = bytes_data, .bytes_view = bytes_view, .bytes_ref = bytes_ref,
		.bytes_unref = bytes_unref,
		.timer = host_timer, .informer = ks_fake_informer, .informer_synced = ks_fake_informer_synced,
		.cached_get = ks_fake_cached_get, .write = ks_fake_write,
		.metric = host_metric, .metric_add = metric_add, .metric_set = metric_set,
		.equal_constant_time = equal_constant_time, .wipe = wipe, .set_ready = set_ready,
		.cached_list = ks_fake_cached_list,
	};
	return fake;
}

void ks_fake_host_free(struct ks_fake_host **fake_p)
{
	struct ks_fake_host *fake = *fake_p;
	struct ks_fake_timer *t;
	struct ks_metric *m;

	if (!fake)
		return;
	ks_fake_cache_free(fake);
	while ((t = fake->timers)) {
		fake->timers = t->next;
		free(t);
	}
	while ((m = fake->metrics)) {
		fake->metrics = m->next;
		free(m->name);
		free(m);
	}
	pthread_mutex_destroy(&fake->lock);
	free(fake->log);
	free(fake);
	*fake_p = NULL;
}

const struct ks_host *ks_fake_host_table(struct ks_fake_host *fake)
{
	return &fake->host;
}

const char *ks_fake_error(const struct ks_fake_host *fake)
{
	return fake->error.text;
}
