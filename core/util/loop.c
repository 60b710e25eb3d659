/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/util/loop.h"

#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* A wheel of wheels: a timer hangs at the level of the highest six bits in which its time differs from now. */
enum { WHEEL_BITS = 6, WHEEL_SLOTS = 1 << WHEEL_BITS, WHEEL_LEVELS = 7 };
/* Seven levels reach 139 years of uptime; a timer may wait for 34 of them. */
#define LONGEST_WAIT_MS (UINT64_C(1) << 40)
#define NEVER UINT64_MAX

/* With the longest task, a turn stays near a millisecond. One that posts itself again to let others run waits for the next turn. */
enum { TASK_BUDGET_NS = 500000 };

struct ks_loop {
	struct event_base *base;
	struct event *wakeup;
	uint32_t index;
	int fd;
	_Atomic bool running, stopping;
	pthread_t thread;
	/* Vyukov's queue: producers swap `tail`, the consumer walks from `head`; `stub` stands in when it is empty. */
	struct ks_task *head;
	struct ks_task stub;
	bool backlog; /* tasks were left when the turn's budget ran out */
	bool more;    /* a hook of the last turn has more to do */
	struct ks_turn_hook *hooks;
	struct event *alarm;
	uint64_t alarm_at; /* NEVER when not set; nothing in the wheel is due before */
	uint64_t wheel_now;
	uint64_t occupied[WHEEL_LEVELS]; /* a bit may outlive its timers, never the other way round */
	struct ks_timer *wheel[WHEEL_LEVELS][WHEEL_SLOTS];
	/* What other threads write stays off the cache lines above. */
	_Alignas(64) struct ks_task *_Atomic tail;
	_Atomic bool signalled;
};

static void push(struct ks_loop *loop, struct ks_task *task)
{
	struct ks_task *previous;

	atomic_store_explicit(&task->next, NULL, memory_order_relaxed);
	previous = atomic_exchange_explicit(&loop->tail, task, memory_order_acq_rel);
	atomic_store_explicit(&previous->next, task, memory_order_release);
}

static struct ks_task *pop(struct ks_loop *loop)
{
	struct ks_task *head = loop->head;
	struct ks_task *next = atomic_load_explicit(&head->next, memory_order_acquire);

	if (head == &loop->stub) {
		if (!next)
			return NULL;
		loop->head = head = next;
		next = atomic_load_explicit(&head->next, memory_order_acquire);
	}
	if (next) {
		loop->head = next;
		return head;
	}
	if (head != atomic_load_explicit(&loop->tail, memory_order_acquire))
		return NULL; /* a producer is between its two steps and will signal */
	push(loop, &loop->stub);
	next = atomic_load_explicit(&head->next, memory_order_acquire);
	if (!next)
		return NULL;
	loop->head = next;
	return head;
}

static void run_tasks(struct ks_loop *loop)
{
	struct ks_task *task = pop(loop);
	uint64_t until;

	loop->backlog = false;
	if (!task)
		return;
	until = ks_monotonic_ns() + TASK_BUDGET_NS;
	for (; task; task = pop(loop)) {
		task->run(task);
		if (ks_monotonic_ns() > until) {
			loop->backlog = true;
			return;
		}
	}
}

static void on_wakeup(evutil_socket_t fd, short what, void *arg)
{
	struct ks_loop *loop = arg;
	uint64_t count;

	(void)what;
	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	/* An exchange, not a store: who found it set does not signal, and what he pushed before must be seen below. */
	(void)atomic_exchange(&loop->signalled, false);
	if (!loop->backlog)
		run_tasks(loop);
}

static void signal_loop(struct ks_loop *loop)
{
	uint64_t one = 1;

	if (atomic_exchange(&loop->signalled, true))
		return;
	while (write(loop->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void ks_loop_post(struct ks_loop *loop, struct ks_task *task)
{
	push(loop, task);
	signal_loop(loop);
}

/* -- timers ---------------------------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	return ks_monotonic_ns() / 1000000;
}

static void timer_unlink(struct ks_timer *timer)
{
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->link = NULL;
}

/* Returns when the wheel has to be looked at because of this timer. `timer->due` is after `wheel_now`. */
static uint64_t wheel_add(struct ks_loop *loop, struct ks_timer *timer)
{
	uint64_t due = timer->due;
	struct ks_timer **slot;
	int level, shift;
	uint64_t index;

	level = (63 - __builtin_clzll(due ^ loop->wheel_now)) / WHEEL_BITS;
	shift = level * WHEEL_BITS;
	index = (due >> shift) & (WHEEL_SLOTS - 1);
	slot = &loop->wheel[level][index];
	timer->next = *slot;
	timer->link = slot;
	if (timer->next)
		timer->next->link = &timer->next;
	*slot = timer;
	loop->occupied[level] |= UINT64_C(1) << index;
	return due >> shift << shift;
}

/* The time of the first slot in use; its place in `level_r` and `index_r`. */
static uint64_t wheel_next(const struct ks_loop *loop, int *level_r, unsigned *index_r)
{
	for (int level = 0; level < WHEEL_LEVELS; level++) {
		int shift = level * WHEEL_BITS;
		unsigned index;

		if (!loop->occupied[level])
			continue;
		index = (unsigned)__builtin_ctzll(loop->occupied[level]);
		*level_r = level;
		*index_r = index;
		return (loop->wheel_now >> shift >> WHEEL_BITS << WHEEL_BITS | index) << shift;
	}
	return NEVER;
}

static void run_slot(struct ks_loop *loop, int level, unsigned index)
{
	struct ks_timer *list = loop->wheel[level][index];
	struct ks_timer *timer;

	loop->wheel[level][index] = NULL;
	loop->occupied[level] &= ~(UINT64_C(1) << index);
	if (list)
		list->link = &list;
	while ((timer = list)) {
		timer_unlink(timer);
		if (timer->due <= loop->wheel_now)
			timer->fire(timer);
		else
			wheel_add(loop, timer);
	}
}

static void set_alarm(struct ks_loop *loop, uint64_t at, uint64_t now)
{
	uint64_t wait = at > now ? at - now : 0;
	struct timeval tv = {.tv_sec = (time_t)(wait / 1000), .tv_usec = (suseconds_t)(wait % 1000 * 1000)};

	loop->alarm_at = at;
	event_add(loop->alarm, &tv);
}

static void on_alarm(evutil_socket_t fd, short what, void *arg)
{
	struct ks_loop *loop = arg;
	uint64_t now = now_ms(), next;
	unsigned index = 0;
	int level = 0;

	(void)fd;
	(void)what;
	loop->alarm_at = 0; /* timers that start now need not set it: it is set below */
	while ((next = wheel_next(loop, &level, &index)) <= now) {
		loop->wheel_now = next;
		run_slot(loop, level, index);
	}
	if (loop->wheel_now < now)
		loop->wheel_now = now;
	loop->alarm_at = NEVER;
	if (next != NEVER)
		set_alarm(loop, next, now);
}

int ks_timer_start(struct ks_loop *loop, struct ks_timer *timer, uint64_t milliseconds)
{
	uint64_t now_ns = ks_monotonic_ns(), now = now_ns / 1000000, at;

	if (timer->link)
		timer_unlink(timer);
	if (now < loop->alarm_at && now > loop->wheel_now)
		loop->wheel_now = now; /* nothing hangs between the two */
	if (milliseconds > LONGEST_WAIT_MS)
		milliseconds = LONGEST_WAIT_MS;
	timer->due = (now_ns + 999999) / 1000000 + milliseconds;
	if (timer->due <= loop->wheel_now)
		timer->due = loop->wheel_now + 1;
	at = wheel_add(loop, timer);
	if (at < loop->alarm_at)
		set_alarm(loop, at, now);
	return 0;
}

void ks_timer_cancel(struct ks_timer *timer)
{
	if (timer->link)
		timer_unlink(timer);
}

/* -- the loop -------------------------------------------------------------------------------------------------- */

/* Not EVENT_BASE_FLAG_PRECISE_TIMER: it costs a system call a turn, and the wheel reads the precise clock itself. */
static struct event_base *make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (!config)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

struct ks_loop *ks_loop_new(uint32_t index)
{
	struct ks_loop *loop = aligned_alloc(_Alignof(struct ks_loop), sizeof(*loop));

	if (!loop)
		return NULL;
	*loop = (struct ks_loop){.index = index, .head = &loop->stub, .alarm_at = NEVER, .wheel_now = now_ms()};
	atomic_init(&loop->tail, &loop->stub);
	loop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->base = make_base();
	if (loop->fd < 0 || !loop->base)
		goto failed;
	loop->wakeup = event_new(loop->base, loop->fd, EV_READ | EV_PERSIST, on_wakeup, loop);
	loop->alarm = event_new(loop->base, -1, 0, on_alarm, loop);
	if (!loop->wakeup || !loop->alarm || event_add(loop->wakeup, NULL) < 0)
		goto failed;
	if (event_add(loop->alarm, &(struct timeval){.tv_sec = 3600}) < 0)
		goto failed; /* takes its place among the timeouts now, so that it can't fail later */
	return loop;
failed:
	ks_loop_free(&loop);
	return NULL;
}

void ks_loop_free(struct ks_loop **loop)
{
	struct ks_loop *l = *loop;

	if (!l)
		return;
	*loop = NULL;
	if (l->wakeup)
		event_free(l->wakeup);
	if (l->alarm)
		event_free(l->alarm);
	if (l->base)
		event_base_free(l->base);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

struct event_base *ks_loop_base(struct ks_loop *loop)
{
	return loop->base;
}

uint32_t ks_loop_index(const struct ks_loop *loop)
{
	return loop->index;
}

static bool run_hooks(struct ks_loop *loop)
{
	bool more = false;

	for (struct ks_turn_hook *hook = loop->hooks; hook; hook = hook->next)
		more |= hook->run(hook);
	return more;
}

int ks_loop_turn(struct ks_loop *loop, bool wait)
{
	int flags = EVLOOP_ONCE | (!wait || loop->more || loop->backlog ? EVLOOP_NONBLOCK : 0);
	int result = event_base_loop(loop->base, flags);

	if (loop->backlog)
		run_tasks(loop);
	loop->more = run_hooks(loop);
	return result < 0 ? -EIO : 0;
}

int ks_loop_run(struct ks_loop *loop)
{
	int result = 0;

	loop->thread = pthread_self();
	atomic_store(&loop->running, true);
	while (result == 0 && !atomic_load(&loop->stopping))
		result = ks_loop_turn(loop, true);
	atomic_store(&loop->running, false);
	return result;
}

void ks_loop_stop(struct ks_loop *loop)
{
	atomic_store(&loop->stopping, true);
	signal_loop(loop);
}

bool ks_loop_is_current(const struct ks_loop *loop)
{
	return atomic_load(&loop->running) && pthread_equal(loop->thread, pthread_self());
}

void ks_loop_add_turn_hook(struct ks_loop *loop, struct ks_turn_hook *hook)
{
	struct ks_turn_hook **link = &loop->hooks;

	while (*link)
		link = &(*link)->next;
	hook->next = NULL;
	*link = hook;
}

void ks_loop_remove_turn_hook(struct ks_loop *loop, struct ks_turn_hook *hook)
{
	for (struct ks_turn_hook **link = &loop->hooks; *link; link = &(*link)->next) {
		if (*link != hook)
			continue;
		*link = hook->next;
		return;
	}
}

uint64_t ks_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
