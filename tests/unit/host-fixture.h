/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A plugin host with the test's library, two workers and a main loop, for unit tests. */
#ifndef KS_TESTS_HOST_FIXTURE_H
#define KS_TESTS_HOST_FIXTURE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugins/host/host.h"
#include "small-cache.h"
#include "test-plugin.h"

enum { FIXTURE_WORKERS = 2 };

/* A configuration with the test's store and authorizer; `authn` and `admission` are the lists' entries in flow style: "{plugin: ...}". */
#define GOOD TEST_PLUGINS "/test-plugin-good.so"

struct fixture {
	struct ks_plugins *plugins;
	struct ks_loop *main_loop;
	struct ks_problems problems;
	struct test_trace *trace;
	struct ks_loop *workers[FIXTURE_WORKERS];
	pthread_t threads[FIXTURE_WORKERS];
	char file[40];
	bool running;
};

void fixture_begin(struct fixture *f);
/* The same with another resource than configmaps in the cache. */
void fixture_begin_with(struct fixture *f, const char *cached);
/* Reads a configuration with these entries and has the host create it. The result of ks_plugins_load. */
int fixture_load(struct fixture *f, const char *authn, const char *admission);
/* The same with all four lists, as YAML. */
int fixture_load_lists(struct fixture *f, const char *lists);
int fixture_reload(struct fixture *f, const char *authn, const char *admission);
/* Starts, publishes, and runs the workers. */
void fixture_run(struct fixture *f);
void fixture_end(struct fixture *f);
/* What was told, as one text. */
const char *fixture_problems(struct fixture *f);
/* Runs `visit(arg)` on a worker and waits for it. */
void fixture_on_worker(struct fixture *f, int worker, void (*visit)(void *arg), void *arg);
/* Runs what has been posted to the main loop. */
void fixture_turn_main(struct fixture *f);

/* One call that is waited for. */
struct waited {
	struct ks_op op;
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool done, at_once;
	int result;
};
void waited_begin(struct waited *w, struct ks_loop *loop, uint64_t timeout_ms);
/* On the worker: notes what a call returned. */
void waited_returned(struct waited *w, int result);
int waited_wait(struct waited *w);
void waited_end(struct waited *w);

/* Waits, at most 10 s, until the condition holds. */
#define wait_until(condition) \
	do { \
		for (int tries_ = 0; !(condition) && tries_ < 10000; tries_++) \
			fixture_nap(); \
		assert_true(condition); \
	} while (0)
void fixture_nap(void);

#endif
