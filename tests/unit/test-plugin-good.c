/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A library with plugins of every kind that do what the test says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test-plugin.h"

static struct test_trace trace;

__attribute__((visibility("default"))) struct test_trace *test_trace(void)
{
	return &trace;
}

static void sleep_ms(int64_t ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* -- life -- */

static void on_event(void *arg, const struct ks_informer_event *event)
{
	struct test_instance *t = arg;
	const struct ks_value_ops *v = t->host->values;
	struct ks_view value = v->string(v->member(v->member(event->object, (struct ks_view){"data", 4}), (struct ks_view){"a", 1}));

	sleep_ms(trace.slow_ms);
	trace.last_name = test_text(event->name.p, event->name.n);
	trace.last_value = test_text(value.p, value.n);
	if (event->type == KS_EVENT_ADDED)
		trace.added++;
	else if (event->type == KS_EVENT_MODIFIED)
		trace.modified++;
	else
		trace.deleted++;
}

static void on_synced(void *arg)
{
	(void)arg;
	trace.synced++;
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct test_instance *t;

	if (((const struct test_config *)config)->fail_create) {
		snprintf(error->text, sizeof(error->text), "the moon is wrong");
		return KS_ERR_CONFIG;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return KS_ERR_NOMEM;
	t->host = host;
	t->config = config;
	trace.last = t;
	trace.created++;
	t->calls = host->metric(host, KS_METRIC_COUNTER, "calls_total", "Calls so far.");
	*self = t;
	return KS_DONE;
}

static int create_watching(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	int result = create(host, config, self, error);
	struct ks_informer_handler handler = {.size = sizeof(handler), .event = on_event, .synced = on_synced};
	struct test_instance *t = *self;

	if (result != KS_DONE)
		return result;
	handler.arg = t;
	t->informer = host->informer(host, (struct ks_view){"", 0}, (struct ks_view){"", 0}, (struct ks_view){"configmaps", 10}, &handler);
	return KS_DONE;
}

static int start(void *self, struct ks_plugin_error *error)
{
	const struct test_instance *t = self;

	if (t->config->fail_start) {
		snprintf(error->text, sizeof(error->text), "nobody answers at %s", t->config->word);
		return KS_ERR_UNAVAILABLE;
	}
	trace.started++;
	return KS_DONE;
}

static int attach(void *self, uint32_t worker)
{
	(void)worker;
	if (((const struct test_instance *)self)->config->fail_attach)
		return KS_ERR;
	trace.attached++;
	return KS_DONE;
}

static void detach(void *self, uint32_t worker)
{
	(void)self;
	(void)worker;
	trace.detached++;
}

static void drain(void *self, uint64_t deadline_ms)
{
	(void)self;
	(void)deadline_ms;
	trace.drained++;
}

static void stop(void *self)
{
	(void)self;
	trace.stopped++;
}

static void destroy(void *self)
{
	trace.destroyed++;
	free(self);
}

/* -- authentication -- */

static void complete_later(void *arg)
{
	struct ks_op *op = arg;

	trace.last->host->complete(op, KS_DONE);
}

static void note_begin(struct test_instance *t)
{
	int running = ++t->running, most = t->most_running;

	while (running > most && !atomic_compare_exchange_weak(&t->most_running, &most, running))
		;
	t->n_calls++;
	t->host->metric_add(t->calls, 1);
}

static int answer(struct test_instance *t, struct ks_op *op, struct ks_authn_result *result)
{
	result->decision = KS_AUTHN_AUTHENTICATED;
	result->name = (struct ks_view){"tester", 6};
	switch (t->config->mode) {
	case TEST_NOT_MINE:
		*result = (struct ks_authn_result){.size = sizeof(*result)};
		return KS_DONE;
	case TEST_PENDING:
		return t->host->timer(t->host, (uint64_t)t->config->wait, complete_later, op) == KS_DONE ? KS_PENDING : KS_ERR;
	case TEST_PENDING_AND_DONE:
		t->host->complete(op, KS_DONE);
		return KS_PENDING;
	case TEST_UNKNOWN:
		result->decision = 77;
		return KS_DONE;
	case TEST_FAIL:
		return t->host->op_error(op, "the %s has gone", t->config->word);
	case TEST_NAMELESS:
		result->name.n = 0;
		return KS_DONE;
	case TEST_WAIT:
		sleep_ms(t->config->wait);
		return KS_DONE;
	}
	return KS_DONE;
}

static int authenticate(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	struct test_instance *t = self;
	int code;

	(void)request;
	note_begin(t);
	code = answer(t, op, result);
	t->running--;
	return code;
}

/* -- authorization -- */

static int authorize(void *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	uint64_t *scratch = ((struct test_instance *)self)->host->op_scratch(op);

	(void)attributes;
	result->decision = *scratch == 0 ? KS_AUTHZ_ALLOW : KS_AUTHZ_DENY;
	*scratch = 1;
	return KS_DONE;
}

/* -- admission -- */

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	result->allowed = 1;
	return trace.mutate ? trace.mutate(self, op, request, result) : KS_DONE;
}

static int reload(void *self, struct ks_plugin_error *error)
{
	if (((const struct test_instance *)self)->config->fail_reload) {
		snprintf(error->text, sizeof(error->text), "a policy does not compile");
		return KS_ERR_CONFIG;
	}
	trace.reloaded++;
	return KS_DONE;
}

/* -- a store that keeps nothing -- */

static int store_get(void *self, struct ks_op *op, struct ks_view key, uint64_t revision, int *found_r, struct ks_store_kv *kv_r)
{
	(void)self; (void)op; (void)key; (void)revision; (void)kv_r;
	*found_r = 0;
	return KS_DONE;
}

static int store_range(void *self, struct ks_op *op, const struct ks_store_range *range, struct ks_store_range_result *result_r)
{
	(void)self; (void)op; (void)range;
	result_r->revision = 1;
	return KS_DONE;
}

static int store_write(void *self, struct ks_op *op, const struct ks_store_write *write, struct ks_store_write_result *result_r)
{
	(void)self; (void)op; (void)write; (void)result_r;
	return KS_ERR_UNAVAILABLE;
}

static int store_watch(void *self, const struct ks_store_watch *watch, void **watch_r)
{
	(void)self; (void)watch; (void)watch_r;
	return KS_ERR_UNAVAILABLE;
}

static void store_credit(void *self, void *watch, uint64_t n)
{
	(void)self; (void)watch; (void)n;
}

static void store_close(void *self, void *watch)
{
	(void)self; (void)watch;
}

static int store_compact(void *self, struct ks_op *op, uint64_t revision)
{
	(void)self; (void)op; (void)revision;
	return KS_DONE;
}

static int store_revision(void *self, uint64_t *current_r, uint64_t *oldest_r)
{
	(void)self;
	*current_r = *oldest_r = 1;
	return KS_DONE;
}

/* -- the table -- */

static const char *const modes[] = {"accept", "not-mine", "pending", "pending-and-done", "unknown", "fail", "nameless", "wait", NULL};

#define AT(member) .offset = offsetof(struct test_config, member)

static const struct ks_config_key keys[] = {
	{.name = "mode", .type = KS_CONFIG_ENUM, AT(mode), .default_text = "accept", .names = modes, .help = "What it does."},
	{.name = "failCreate", .type = KS_CONFIG_BOOL, AT(fail_create), .help = "Fails to be created."},
	{.name = "failStart", .type = KS_CONFIG_BOOL, AT(fail_start), .help = "Fails to start."},
	{.name = "failAttach", .type = KS_CONFIG_BOOL, AT(fail_attach), .help = "Fails to be attached."},
	{.name = "failReload", .type = KS_CONFIG_BOOL, AT(fail_reload), .help = "Fails to reload."},
	{.name = "count", .type = KS_CONFIG_INT, AT(count), .default_text = "7", .min = 1, .max = 10, .help = "A number."},
	{.name = "wait", .type = KS_CONFIG_DURATION, AT(wait), .default_text = "20ms", .help = "A time."},
	{.name = "size", .type = KS_CONFIG_SIZE, AT(size), .default_text = "64Ki", .help = "A size."},
	{.name = "file", .type = KS_CONFIG_PATH, AT(file), .help = "A path."},
	{.name = "secret", .type = KS_CONFIG_STRING, .flags = KS_CONFIG_SECRET, AT(secret), .help = "A secret."},
	{.name = "word", .type = KS_CONFIG_STRING, AT(word), .default_text = "word", .help = "A text."},
	{.name = "words", .type = KS_CONFIG_STRINGS, AT(words), .help = "Texts."},
};

static const struct ks_lifecycle lifecycle = {
	.size = sizeof(lifecycle), .create = create, .start = start, .worker_attach = attach, .worker_detach = detach, .drain = drain,
	.stop = stop, .destroy = destroy,
};
static const struct ks_lifecycle watching_lifecycle = {
	.size = sizeof(lifecycle), .create = create_watching, .start = start, .worker_attach = attach, .worker_detach = detach, .drain = drain,
	.stop = stop, .destroy = destroy,
};
static const struct ks_authn_ops authn_ops = {.size = sizeof(authn_ops), .authenticate = authenticate};
static const struct ks_authz_ops authz_ops = {.size = sizeof(authz_ops), .authorize = authorize};
static const struct ks_admission_match matches[] = {
	{KS_OPERATION_CREATE | KS_OPERATION_UPDATE, "", "configmaps"},
	{KS_OPERATION_CREATE, "apps", "deployments/scale"},
	{KS_OPERATION_DELETE, "*", "*"},
};
static const struct ks_admission_ops admission_ops = {
	.size = sizeof(admission_ops), .matches = matches, .n_matches = sizeof(matches) / sizeof(matches[0]), .mutate = mutate, .reload = reload,
};
static const struct ks_store_ops store_ops = {
	.size = sizeof(store_ops), .get = store_get, .range = store_range, .write = store_write, .watch = store_watch,
	.watch_credit = store_credit, .watch_close = store_close, .compact = store_compact, .revision = store_revision,
};

#define COMMON(kind_, version_, name_, ops_, lifecycle_) \
	.size = sizeof(struct ks_interface), .kind = kind_, .version = version_, .name = name_, .lifecycle = &lifecycle_, .ops = &ops_, \
	.config_keys = keys, .n_config_keys = sizeof(keys) / sizeof(keys[0]), .config_size = sizeof(struct test_config)

static const struct ks_interface interfaces[] = {
	{COMMON(KS_KIND_AUTHENTICATOR, KS_AUTHN_VERSION, "good", authn_ops, lifecycle), .flags = KS_AUTHN_TOKEN},
	{COMMON(KS_KIND_AUTHENTICATOR, KS_AUTHN_VERSION, "serial", authn_ops, lifecycle), .threads = KS_THREADS_SERIAL},
	{COMMON(KS_KIND_AUTHENTICATOR, KS_AUTHN_VERSION, "blocking", authn_ops, lifecycle), .blocking = KS_CALLS_BLOCKING},
	{COMMON(KS_KIND_AUTHENTICATOR, KS_AUTHN_VERSION, "one-blocking", authn_ops, lifecycle), .blocking = KS_CALLS_BLOCKING,
		.threads = KS_THREADS_SERIAL},
	{COMMON(KS_KIND_AUTHORIZER, KS_AUTHZ_VERSION, "good", authz_ops, lifecycle), .scratch_size = 64},
	{COMMON(KS_KIND_ADMISSION, KS_ADMISSION_VERSION, "good", admission_ops, lifecycle)},
	{COMMON(KS_KIND_ADMISSION, KS_ADMISSION_VERSION, "watching", admission_ops, watching_lifecycle)},
	{COMMON(KS_KIND_STORE, KS_STORE_VERSION, "good", store_ops, lifecycle)},
};

KS_PLUGIN(good) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = sizeof(interfaces) / sizeof(interfaces[0]),
	.interfaces = interfaces,
	.version = "1.2",
	.description = "Does what the test says.",
};
