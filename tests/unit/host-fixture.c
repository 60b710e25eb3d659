/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "host-fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/util/log.h"

void fixture_nap(void)
{
	struct timespec ms = {0, 1000000};

	nanosleep(&ms, NULL);
}

/* The library is loaded before the host does it, and shared with it. */
static struct test_trace *find_trace(void)
{
	void *handle = dlopen(GOOD, RTLD_NOW | RTLD_LOCAL);
	struct test_trace *(*get)(void) = NULL;

	assert_non_null(handle);
	*(void **)&get = dlsym(handle, "test_trace");
	assert_non_null(get);
	return get();
}

void fixture_begin(struct fixture *f)
{
	fixture_begin_with(f, "configmaps");
}

void fixture_begin_with(struct fixture *f, const char *cached)
{
	struct ks_plugins_options options = {.schema = &ks_schema_builtin, .default_directory = TEST_PLUGINS};
	uint16_t resource = ks_schema_find_resource(&ks_schema_builtin, KS_STR_LIT(""), KS_STR_LIT("v1"), ks_str_from(cached));

	memset(f, 0, sizeof(*f));
	ks_problems_init(&f->problems);
	f->main_loop = ks_loop_new(KS_LOOP_NO_INDEX);
	assert_non_null(f->main_loop);
	options.main_loop = f->main_loop;
	assert_int_equal(ks_plugins_new(&options, &f->plugins), 0);
	f->trace = find_trace();
	memset(f->trace, 0, sizeof(*f->trace));
	small_cache_begin(&ks_schema_builtin, resource, 100);
}

static void write_config(struct fixture *f, const char *lists)
{
	static const char head[] = "apiVersion: keelson.dev/v1alpha1\nkind: Configuration\nserver: {certificateFile: a, keyFile: a}\n";
	int fd;

	strcpy(f->file, "/tmp/ks-host-XXXXXX");
	fd = mkstemp(f->file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, head, sizeof(head) - 1), sizeof(head) - 1);
	assert_int_equal(write(fd, lists, strlen(lists)), strlen(lists));
	close(fd);
}

typedef int (*use_fn)(struct ks_plugins *plugins, const struct ks_config *config, struct ks_problems *problems);

static int with_lists(struct fixture *f, const char *lists, use_fn use)
{
	struct ks_config *config = NULL;
	int result;

	ks_buf_clear(&f->problems.text);
	f->problems.n = 0;
	write_config(f, lists);
	result = ks_config_load(f->file, NULL, &config, &f->problems);
	if (result == 0)
		result = use(f->plugins, config, &f->problems);
	ks_config_free(&config);
	unlink(f->file);
	return result;
}

static int with_config(struct fixture *f, const char *authn, const char *admission, use_fn use)
{
	char lists[4096];
	int n = snprintf(lists, sizeof(lists),
		"authentication: [%s]\nauthorization: [{plugin: " GOOD "}]\nadmission: [%s]\nstorage: [{plugin: " GOOD "}]\n", authn, admission);

	assert_true(n > 0 && (size_t)n < sizeof(lists));
	return with_lists(f, lists, use);
}

int fixture_load_lists(struct fixture *f, const char *lists)
{
	return with_lists(f, lists, ks_plugins_load);
}

int fixture_load(struct fixture *f, const char *authn, const char *admission)
{
	return with_config(f, authn, admission, ks_plugins_load);
}

int fixture_reload(struct fixture *f, const char *authn, const char *admission)
{
	return with_config(f, authn, admission, ks_plugins_reload);
}

struct worker_start {
	struct fixture *f;
	struct ks_loop *loop;
	_Atomic int state;
};

static void *run_worker(void *arg)
{
	struct worker_start *start = arg;
	struct ks_plugins *plugins = start->f->plugins;
	struct ks_loop *loop = start->loop;
	struct ks_error err;
	bool fine = ks_plugins_worker_started(plugins, loop, &err) == 0;

	start->state = fine ? 1 : 2;
	if (fine)
		ks_loop_run(loop);
	ks_plugins_worker_stopped(plugins, loop);
	return NULL;
}

void fixture_run(struct fixture *f)
{
	assert_int_equal(ks_plugins_start_stores(f->plugins, &f->problems), 0);
	ks_plugins_set_cache(f->plugins, small_cache());
	assert_int_equal(ks_plugins_start(f->plugins, &f->problems), 0);
	assert_int_equal(ks_plugins_publish(f->plugins, &f->problems), 0);
	for (uint32_t i = 0; i < FIXTURE_WORKERS; i++) {
		struct worker_start start = {.f = f, .loop = ks_loop_new(i)};

		f->workers[i] = start.loop;
		assert_int_equal(pthread_create(&f->threads[i], NULL, run_worker, &start), 0);
		wait_until(start.state != 0);
		assert_int_equal(start.state, 1);
	}
	f->running = true;
}

void fixture_turn_main(struct fixture *f)
{
	(void)ks_loop_turn(f->main_loop, false);
}

void fixture_end(struct fixture *f)
{
	ks_plugins_drain(f->plugins, 100);
	for (int i = 0; i < FIXTURE_WORKERS && f->running; i++) {
		ks_loop_stop(f->workers[i]);
		pthread_join(f->threads[i], NULL);
		ks_loop_free(&f->workers[i]);
	}
	ks_plugins_stop(f->plugins);
	ks_plugins_free(&f->plugins);
	ks_loop_free(&f->main_loop);
	ks_problems_fini(&f->problems);
	small_cache_end();
	assert_int_equal(f->trace->created, f->trace->destroyed);
}

const char *fixture_problems(struct fixture *f)
{
	ks_buf_add_char(&f->problems.text, 0);
	return f->problems.text.data;
}

struct visit {
	struct ks_task task;
	void (*visit)(void *arg);
	void *arg;
	_Atomic bool over;
};

static void run_visit(struct ks_task *task)
{
	struct visit *visit = (struct visit *)task;

	visit->visit(visit->arg);
	visit->over = true;
}

void fixture_on_worker(struct fixture *f, int worker, void (*visit)(void *arg), void *arg)
{
	struct visit v = {.task.run = run_visit, .visit = visit, .arg = arg};

	ks_loop_post(f->workers[worker], &v.task);
	wait_until(v.over);
}

/* -- waiting for an answer -- */

static void finish(struct waited *w, int result, bool at_once)
{
	pthread_mutex_lock(&w->lock);
	w->result = result;
	w->at_once = at_once;
	w->done = true;
	pthread_cond_signal(&w->over);
	pthread_mutex_unlock(&w->lock);
}

static void on_done(struct ks_op *op, int result)
{
	finish(op->arg, result, false);
}

void waited_begin(struct waited *w, struct ks_loop *loop, uint64_t timeout_ms)
{
	memset(w, 0, sizeof(*w));
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->over, NULL);
	ks_op_init(&w->op, loop, ks_monotonic_ns() + timeout_ms * 1000000, "audit-1");
	w->op.done = on_done;
	w->op.arg = w;
}

void waited_returned(struct waited *w, int result)
{
	if (result != KS_PENDING)
		finish(w, result, true);
}

int waited_wait(struct waited *w)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&w->lock);
	while (!w->done && pthread_cond_timedwait(&w->over, &w->lock, &until) == 0)
		;
	assert_true(w->done);
	pthread_mutex_unlock(&w->lock);
	return w->result;
}

void waited_end(struct waited *w)
{
	ks_op_fini(&w->op);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->over);
}
