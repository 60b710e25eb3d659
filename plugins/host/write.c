/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Writes of plugins: given to a worker, which runs the whole pipeline for them; the end is told on the plugin's executor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util/log.h"
#include "plugins/host/internal.h"

enum { DEFAULT_SECONDS = 60 };

struct write {
	struct ks_inner_write inner;  /* first: ks_inner_write_done casts */
	struct ks_task task;          /* to the worker */
	struct ks_job job;            /* and back */
	struct ks_plugins *plugins;
	struct write *next;           /* among those that wait for the first worker */
	struct ks_executor *executor; /* outlives the instance's use of it */
	void (*done)(void *arg, int code, struct ks_view body);
	void *arg;
	int code;
	struct ks_bytes *answer;
	struct ks_arena arena;
};

static void free_write(struct write *w)
{
	ks_executor_unref(w->executor);
	ks_bytes_unref(w->answer);
	ks_arena_fini(&w->arena);
	free(w);
}

static struct write *of_job(struct ks_job *job)
{
	return (struct write *)((char *)job - offsetof(struct write, job));
}

static void drop_end(struct ks_job *job)
{
	free_write(of_job(job));
}

static void run_end(struct ks_job *job)
{
	struct write *w = of_job(job);

	w->done(w->arg, w->code, w->answer ? (struct ks_view){w->answer->data, w->answer->len} : (struct ks_view){"", 0});
	free_write(w);
}

void ks_inner_write_done(struct ks_inner_write *inner, int code, struct ks_str body)
{
	struct write *w = (struct write *)inner;

	w->code = code;
	w->answer = ks_bytes_dup(body.p, body.n);
	if (!w->answer && code < 400)
		ks_log(KS_LOG_WARN, "plugins", "out of memory: the answer to a write of %s is told without its object", inner->user);
	w->job.run = run_end;
	w->job.drop = drop_end;
	ks_executor_post(w->executor, &w->job);
}

static void run_write(struct ks_task *task)
{
	struct write *w = (struct write *)((char *)task - offsetof(struct write, task));

	w->plugins->writer(w->plugins->writer_arg, &w->inner);
}

/* Workers take turns. NULL when none has started. Under the lock. */
static struct ks_loop *choose_worker(struct ks_plugins *plugins)
{
	struct ks_loop *loop = NULL;

	for (uint32_t i = 0; i < KS_HOST_WORKERS_MOST && !loop; i++) {
		plugins->next_slot = (plugins->next_slot + 1) % KS_HOST_WORKERS_MOST;
		loop = plugins->slots[plugins->next_slot].loop;
	}
	return loop;
}

static void give_to(struct write *w, struct ks_loop *loop)
{
	w->inner.loop = loop;
	w->task.run = run_write;
	ks_loop_post(loop, &w->task);
}

/* Plugins start before the workers do: what they write until then waits for the first one. */
static void give_to_a_worker(struct write *w)
{
	struct ks_plugins *plugins = w->plugins;
	struct ks_loop *loop;

	pthread_mutex_lock(&plugins->lock);
	loop = choose_worker(plugins);
	if (!loop) {
		w->next = plugins->early_writes;
		plugins->early_writes = w;
	}
	pthread_mutex_unlock(&plugins->lock);
	if (loop)
		give_to(w, loop);
}

static struct write *take_early_writes(struct ks_plugins *plugins)
{
	struct write *first;

	pthread_mutex_lock(&plugins->lock);
	first = plugins->early_writes;
	plugins->early_writes = NULL;
	pthread_mutex_unlock(&plugins->lock);
	return first;
}

void ks_early_writes_give(struct ks_plugins *plugins, struct ks_loop *loop)
{
	for (struct write *w = take_early_writes(plugins), *next; w; w = next) {
		next = w->next;
		give_to(w, loop);
	}
}

void ks_early_writes_drop(struct ks_plugins *plugins)
{
	for (struct write *w = take_early_writes(plugins), *next; w; w = next) {
		next = w->next;
		free_write(w);
	}
}

static bool copy(struct ks_arena *arena, struct ks_view from, struct ks_str *to_r)
{
	*to_r = ks_str_of(ks_arena_dup(arena, from.n ? from.p : "", from.n), from.n);
	return to_r->p;
}

static bool copy_texts(struct write *w, const struct ks_write *from)
{
	struct ks_arena *arena = &w->arena;
	struct ks_inner_write *inner = &w->inner;

	return copy(arena, from->group, &inner->group) && copy(arena, from->version, &inner->version) &&
		copy(arena, from->resource, &inner->resource) && copy(arena, from->subresource, &inner->subresource) &&
		copy(arena, from->namespace_, &inner->ns) && copy(arena, from->name, &inner->name) && copy(arena, from->body, &inner->body);
}

static bool fill(struct write *w, const struct ks_instance *instance, const struct ks_write *from)
{
	const struct ks_op *parent = from->parent;

	ks_arena_init(&w->arena, 0);
	w->plugins = instance->plugins;
	w->done = from->done;
	w->arg = from->arg;
	w->inner.verb = (enum ks_write_verb)from->verb;
	w->inner.nesting = parent ? (uint16_t)(parent->nesting + 1) : 1;
	w->inner.deadline_ns = parent && parent->deadline_ns ? parent->deadline_ns : ks_monotonic_ns() + DEFAULT_SECONDS * 1000000000ull;
	w->inner.user = ks_arena_printf(&w->arena, "system:keelson:plugin:%s", instance->name);
	w->inner.audit_id = ks_arena_printf(&w->arena, "%s", parent ? parent->audit_id : "");
	return w->inner.user && w->inner.audit_id && copy_texts(w, from);
}

static int begin(struct ks_instance *instance, const struct ks_write *from)
{
	struct write *w = calloc(1, sizeof(*w));

	if (!w)
		return KS_ERR_NOMEM;
	w->executor = ks_instance_executor(instance);
	if (!w->executor || !fill(w, instance, from)) {
		free_write(w);
		return KS_ERR_NOMEM;
	}
	give_to_a_worker(w);
	return KS_PENDING;
}

int ks_write_start(const struct ks_host *host, const struct ks_write *write)
{
	struct ks_instance *instance = ks_instance_of(host);

	if (write->verb < KS_WRITE_CREATE || write->verb > KS_WRITE_DELETE || !write->done)
		return KS_ERR;
	if (write->parent && write->parent->nesting >= KS_WRITE_NESTING_MOST)
		return ks_op_fail(write->parent, KS_ERR_LIMIT, "a write led to a write more than %d deep", KS_WRITE_NESTING_MOST);
	if (!instance->plugins->writer)
		return KS_ERR_UNAVAILABLE;
	return begin(instance, write);
}

void ks_plugins_set_writer(struct ks_plugins *plugins, void (*writer)(void *arg, struct ks_inner_write *write), void *arg)
{
	plugins->writer = writer;
	plugins->writer_arg = arg;
}
