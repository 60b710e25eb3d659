/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "core/util/loop.h"

static struct ks_loop *loop;

static int setup(void **state)
{
	(void)state;
	loop = ks_loop_new(3);
	return loop ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	ks_loop_free(&loop);
	return 0;
}

/* -- tasks ----------------------------------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_TASKS = 20000 };

struct numbered {
	struct ks_task task;
	unsigned thread, number;
};

static struct numbered numbered[N_THREADS][N_TASKS];
static unsigned expected[N_THREADS], n_run;

static void run_numbered(struct ks_task *task)
{
	struct numbered *n = (struct numbered *)task;

	assert_int_equal(n->number, expected[n->thread]);
	expected[n->thread]++;
	if (++n_run == N_THREADS * N_TASKS)
		ks_loop_stop(loop);
}

static void *post_all(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < N_TASKS; i++) {
		numbered[thread][i] = (struct numbered){.task.run = run_numbered, .thread = thread, .number = i};
		ks_loop_post(loop, &numbered[thread][i].task);
	}
	return NULL;
}

static void tasks_of_many_threads_run_once_and_in_order(void **state)
{
	pthread_t threads[N_THREADS];

	(void)state;
	n_run = 0;
	for (uintptr_t i = 0; i < N_THREADS; i++) {
		expected[i] = 0;
		assert_int_equal(pthread_create(&threads[i], NULL, post_all, (void *)i), 0);
	}
	assert_int_equal(ks_loop_run(loop), 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(n_run, N_THREADS * N_TASKS);
}

static bool posted_ran;

static void note_and_stop(struct ks_task *task)
{
	(void)task;
	posted_ran = true;
	ks_loop_stop(loop);
}

static void post_does_not_run_the_task_itself(void **state)
{
	struct ks_task task = {.run = note_and_stop};

	(void)state;
	posted_ran = false;
	ks_loop_post(loop, &task);
	assert_false(posted_ran);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_true(posted_ran);
}

/* Posts itself for ever: the loop must still get round to its timers. */
static unsigned greedy_runs;

static void run_greedy(struct ks_task *task)
{
	greedy_runs++;
	ks_loop_post(loop, task);
}

static void stop_by_timer(struct ks_timer *timer)
{
	(void)timer;
	ks_loop_stop(loop);
}

static void endless_tasks_do_not_starve_timers(void **state)
{
	struct ks_task task = {.run = run_greedy};
	struct ks_timer timer = {.fire = stop_by_timer};

	(void)state;
	ks_timer_start(loop, &timer, 20);
	ks_loop_post(loop, &task);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_true(greedy_runs > 16);
}

/* Longer than the budget of a turn, so that the next one is left over. */
static unsigned slow_runs;

static void run_slow(struct ks_task *task)
{
	uint64_t until = ks_monotonic_ns() + UINT64_C(1000000);

	(void)task;
	while (ks_monotonic_ns() < until)
		;
	slow_runs++;
}

static void turns_go_on_with_what_is_left_over(void **state)
{
	struct ks_task tasks[3] = {{.run = run_slow}, {.run = run_slow}, {.run = run_slow}};

	(void)state;
	slow_runs = 0;
	for (int i = 0; i < 3; i++)
		ks_loop_post(loop, &tasks[i]);
	for (int i = 0; i < 3; i++)
		assert_int_equal(ks_loop_turn(loop, false), 0);
	assert_int_equal(slow_runs, 3);
}

/* -- timers ---------------------------------------------------------------------------------------------------- */

enum { N_TIMERS = 500 };

struct measured {
	struct ks_timer timer;
	uint64_t not_before;
	unsigned fired;
};

static struct measured measured[N_TIMERS];
static unsigned n_fired, n_wanted;

static void fire_measured(struct ks_timer *timer)
{
	struct measured *m = (struct measured *)timer;

	assert_true(ks_monotonic_ns() >= m->not_before);
	assert_false(ks_timer_is_active(timer));
	m->fired++;
	if (++n_fired == n_wanted)
		ks_loop_stop(loop);
}

static void start(struct measured *m, uint64_t milliseconds)
{
	m->timer.fire = fire_measured;
	m->not_before = ks_monotonic_ns() + milliseconds * 1000000;
	assert_int_equal(ks_timer_start(loop, &m->timer, milliseconds), 0);
}

static void timers_fire_once_and_never_early(void **state)
{
	(void)state;
	n_fired = 0;
	n_wanted = N_TIMERS;
	for (unsigned i = 0; i < N_TIMERS; i++) {
		measured[i] = (struct measured){0};
		start(&measured[i], i * 7 % 300);
	}
	assert_int_equal(ks_loop_run(loop), 0);
	for (unsigned i = 0; i < N_TIMERS; i++)
		assert_int_equal(measured[i].fired, 1);
}

static void a_timer_is_not_much_too_late(void **state)
{
	(void)state;
	n_fired = 0;
	n_wanted = 1;
	measured[0] = (struct measured){0};
	start(&measured[0], 130);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_true(ks_monotonic_ns() < measured[0].not_before + 100000000);
}

static void a_cancelled_timer_does_not_fire(void **state)
{
	(void)state;
	n_fired = 0;
	n_wanted = 1;
	measured[0] = measured[1] = (struct measured){0};
	start(&measured[0], 5);
	start(&measured[1], 30);
	ks_timer_cancel(&measured[0].timer);
	ks_timer_cancel(&measured[0].timer);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_int_equal(measured[0].fired, 0);
	assert_int_equal(measured[1].fired, 1);
}

static void a_restarted_timer_fires_at_the_later_time(void **state)
{
	(void)state;
	n_fired = 0;
	n_wanted = 1;
	measured[0] = (struct measured){0};
	start(&measured[0], 1);
	start(&measured[0], 70);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_int_equal(measured[0].fired, 1);
}

static void long_timers_do_not_fire_soon(void **state)
{
	static const uint64_t times[] = {60000, 3600000, UINT64_C(86400000) * 400, UINT64_MAX};

	(void)state;
	n_fired = 0;
	n_wanted = 1;
	for (unsigned i = 0; i < 4; i++) {
		measured[i] = (struct measured){0};
		start(&measured[i], times[i]);
	}
	measured[4] = (struct measured){0};
	start(&measured[4], 80);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_int_equal(measured[4].fired, 1);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(ks_timer_is_active(&measured[i].timer));
		ks_timer_cancel(&measured[i].timer);
	}
}

static struct ks_timer first, second;

static void cancel_the_other(struct ks_timer *timer)
{
	ks_timer_cancel(timer == &first ? &second : &first);
	n_fired++;
}

static void a_timer_may_cancel_one_that_is_due_with_it(void **state)
{
	struct ks_timer end = {.fire = stop_by_timer};

	(void)state;
	n_fired = 0;
	first.fire = second.fire = cancel_the_other;
	ks_timer_start(loop, &first, 10);
	ks_timer_start(loop, &second, 10);
	ks_timer_start(loop, &end, 40);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_int_equal(n_fired, 1);
}

/* -- hooks ----------------------------------------------------------------------------------------------------- */

static unsigned hook_runs;

static bool count_turn(struct ks_turn_hook *hook)
{
	(void)hook;
	if (++hook_runs == 10)
		ks_loop_stop(loop);
	return true;
}

static void a_hook_with_more_to_do_keeps_the_loop_awake(void **state)
{
	struct ks_turn_hook hook = {.run = count_turn};

	(void)state;
	hook_runs = 0;
	ks_loop_add_turn_hook(loop, &hook);
	first.fire = cancel_the_other;
	ks_timer_start(loop, &first, 1);
	assert_int_equal(ks_loop_run(loop), 0);
	assert_int_equal(hook_runs, 10);
	ks_loop_remove_turn_hook(loop, &hook);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(tasks_of_many_threads_run_once_and_in_order),
		TEST(post_does_not_run_the_task_itself),
		TEST(endless_tasks_do_not_starve_timers),
		TEST(turns_go_on_with_what_is_left_over),
		TEST(timers_fire_once_and_never_early),
		TEST(a_timer_is_not_much_too_late),
		TEST(a_cancelled_timer_does_not_fire),
		TEST(a_restarted_timer_fires_at_the_later_time),
		TEST(long_timers_do_not_fire_soon),
		TEST(a_timer_may_cancel_one_that_is_due_with_it),
		TEST(a_hook_with_more_to_do_keeps_the_loop_awake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
