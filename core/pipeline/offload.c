/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/offload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/pipeline/lane.h"
#include "core/pipeline/server.h"

/* NICE: who asks for little comes first when there are not enough cores. */
enum { THREADS_MOST = 4, NICE = 5, STACK_BYTES = 8 << 20, MUCH = 1 << 20 };

/* -- threads ------------------------------------------------------------------------------------------------------ */

struct ks_offload {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct ks_job *first, **last;
	pthread_t threads[THREADS_MOST];
	unsigned n_threads, n_wanted;
	bool started, stopped;
};

struct ks_offload *ks_offload_new(void)
{
	struct ks_offload *o = calloc(1, sizeof(*o));
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (!o)
		return NULL;
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->wake, NULL);
	o->last = &o->first;
	o->n_wanted = cores < 4 ? 1 : cores < 16 ? 2 : THREADS_MOST;
	return o;
}

static struct ks_job *next_job(struct ks_offload *o)
{
	struct ks_job *job = NULL;

	pthread_mutex_lock(&o->lock);
	while (!o->first && !o->stopped)
		pthread_cond_wait(&o->wake, &o->lock);
	if (!o->stopped) {
		job = o->first;
		o->first = job->next;
		if (!o->first)
			o->last = &o->first;
	}
	pthread_mutex_unlock(&o->lock);
	return job;
}

static void on_done(struct ks_task *task)
{
	struct ks_job *job = (struct ks_job *)((char *)task - offsetof(struct ks_job, task));

	job->done(job);
}

static void *run_thread(void *arg)
{
	struct ks_offload *o = arg;
	struct ks_job *job;

	pthread_setname_np(pthread_self(), "offload");
	/* On Linux a thread has a nice value of its own. That it can't be had is no error. */
	if (setpriority(PRIO_PROCESS, 0, NICE) != 0)
		errno = 0;
	while ((job = next_job(o))) {
		struct ks_loop *loop = job->loop;

		job->run(job);
		if (!loop)
			continue;
		job->task.run = on_done;
		ks_loop_post(loop, &job->task);
	}
	return NULL;
}

/* Called with the lock. */
static void start_threads(struct ks_offload *o)
{
	pthread_attr_t attributes;
	sigset_t all, before;

	o->started = true;
	if (pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (o->n_threads < o->n_wanted && pthread_create(&o->threads[o->n_threads], &attributes, run_thread, o) == 0)
		o->n_threads++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
}

bool ks_offload_start(struct ks_offload *o, struct ks_job *job)
{
	bool taken;

	if (!o)
		return false;
	pthread_mutex_lock(&o->lock);
	if (!o->started && !o->stopped)
		start_threads(o);
	taken = o->n_threads > 0 && !o->stopped;
	if (taken) {
		job->next = NULL;
		*o->last = job;
		o->last = &job->next;
		pthread_cond_signal(&o->wake);
	}
	pthread_mutex_unlock(&o->lock);
	return taken;
}

void ks_offload_stop(struct ks_offload *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->stopped = true;
	pthread_cond_broadcast(&o->wake);
	pthread_mutex_unlock(&o->lock);
	for (unsigned i = 0; i < o->n_threads; i++)
		pthread_join(o->threads[i], NULL);
	o->n_threads = 0;
	while (o->first) {
		struct ks_job *job = o->first;

		o->first = job->next;
		if (!job->loop)
			job->run(job);
	}
	o->last = &o->first;
}

void ks_offload_free(struct ks_offload **offload)
{
	struct ks_offload *o = *offload;

	*offload = NULL;
	if (!o)
		return;
	ks_offload_stop(o);
	pthread_cond_destroy(&o->wake);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

struct garbage {
	struct ks_job job;
	struct ks_arena arena; /* which it lies in itself */
};

static void free_garbage(struct ks_job *job)
{
	struct ks_arena arena = ((struct garbage *)job)->arena;

	ks_arena_fini(&arena);
}

void ks_offload_fini_arena(struct ks_offload *offload, struct ks_arena *arena)
{
	struct garbage *garbage = arena->used < MUCH ? NULL : ks_arena_zalloc(arena, 1, sizeof(*garbage));

	if (garbage) {
		garbage->arena = *arena;
		garbage->job.run = free_garbage;
		if (ks_offload_start(offload, &garbage->job)) {
			ks_arena_init(arena, 0);
			return;
		}
	}
	ks_arena_fini(arena);
}

/* -- requests ----------------------------------------------------------------------------------------------------- */

struct ks_away {
	struct ks_job job;
	struct ks_request *request;
	struct ks_request copy;
	struct ks_copy stand_in;
	enum ks_stage_result (*run)(struct ks_request *copy, void *arg);
	void *arg;
	enum ks_stage_result result;
	bool out, came;
	struct ks_request_end end;
};

static void drop_answer(struct ks_kept_answer *answer)
{
	for (size_t i = 0; answer->given && i < answer->n_pieces; i++)
		if (answer->pieces[i].release)
			answer->pieces[i].release(answer->pieces[i].owner);
	*answer = (struct ks_kept_answer){.given = false};
}

static void end_away(struct ks_request_end *end)
{
	struct ks_away *away = (struct ks_away *)((char *)end - offsetof(struct ks_away, end));

	drop_answer(&away->stand_in.answer);
	ks_offload_fini_arena(away->request->server->offload, &away->copy.arena);
}

static struct ks_away *new_away(struct ks_request *request)
{
	static const char *const names[KS_KEPT_HEADERS] = {"content-type", "user-agent", "accept"};
	struct ks_away *away = ks_arena_zalloc(&request->arena, 1, sizeof(*away));

	if (!away)
		return NULL;
	away->request = request;
	for (int i = 0; i < KS_KEPT_HEADERS; i++)
		away->stand_in.headers[i] = (struct ks_kept_header){names[i], ks_request_header(request, names[i])};
	ks_arena_init(&away->copy.arena, 0);
	ks_request_on_end(request, &away->end, end_away);
	return away;
}

/* The request as it is now, with memory of its own. False when out of memory. */
static bool make_copy(struct ks_away *away)
{
	const struct ks_request *request = away->request;
	struct ks_arena arena = away->copy.arena;
	struct ks_str *warnings = NULL;

	if (request->n_warnings) {
		/* As much room as the request's own has: it is made larger at certain numbers. */
		uint32_t room = 8;

		while (room < request->n_warnings)
			room *= 2;
		warnings = ks_arena_zalloc(&arena, room, sizeof(*warnings));
		if (warnings)
			memcpy(warnings, request->warnings, request->n_warnings * sizeof(*warnings));
	}
	away->copy = *request;
	away->copy.arena = arena;
	away->copy.warnings = warnings;
	away->copy.copy = &away->stand_in;
	away->copy.stream = NULL;
	away->copy.ends = NULL;
	away->copy.status = (struct ks_status){0};
	return warnings || !request->n_warnings;
}

static void run_away(struct ks_job *job)
{
	struct ks_away *away = (struct ks_away *)job;

	away->result = away->run(&away->copy, away->arg);
	/* What is wrong with a large object may be long, too. */
	if (away->result == KS_STAGE_FAILED && !ks_request_over(&away->copy)) {
		ks_request_respond_status(&away->copy);
		away->result = KS_STAGE_ANSWERED;
	}
}

static void send_answer(struct ks_request *request, struct ks_kept_answer *answer)
{
	if (answer->formed)
		ks_request_respond_formed(request, answer->code, answer->fields, answer->n_fields, answer->pieces, answer->n_pieces);
	else
		ks_request_respond(request, answer->code, answer->content_type, answer->fields, answer->n_fields, answer->pieces, answer->n_pieces);
	*answer = (struct ks_kept_answer){.given = false};
}

static void come_back(struct ks_job *job)
{
	struct ks_away *away = (struct ks_away *)job;
	struct ks_request *request = away->request;

	away->out = false;
	away->came = true;
	if (!ks_request_over(request)) {
		request->warnings = away->copy.warnings;
		request->n_warnings = away->copy.n_warnings;
		request->warnings_cut = away->copy.warnings_cut;
		request->warned = away->copy.warned;
		request->media = away->copy.media;
		if (away->result == KS_STAGE_FAILED)
			request->status = away->copy.status;
		if (away->stand_in.answer.given)
			send_answer(request, &away->stand_in.answer);
	}
	ks_request_resume(request);
	ks_request_unpin(request);
}

bool ks_request_leave(struct ks_request *request, struct ks_away **away_r, enum ks_stage_result (*run)(struct ks_request *copy, void *arg), void *arg)
{
	struct ks_away *away = *away_r ? *away_r : new_away(request);

	if (!away)
		return false;
	*away_r = away;
	if (!make_copy(away))
		return false;
	away->job.loop = request->loop;
	away->job.run = run_away;
	away->job.done = come_back;
	away->run = run;
	away->arg = arg;
	away->out = true;
	ks_request_pin(request);
	if (ks_offload_start(request->server->offload, &away->job))
		return true;
	away->out = false;
	request->pins--;
	return false;
}

bool ks_request_is_away(const struct ks_away *away)
{
	return away && away->out;
}

bool ks_away_take(struct ks_away *away, enum ks_stage_result *result_r)
{
	if (!away || !away->came)
		return false;
	away->came = false;
	*result_r = away->result;
	return true;
}

/* -- what the copy is told ------------------------------------------------------------------------------------------- */

struct ks_str ks_copy_header(const struct ks_copy *copy, const char *name)
{
	for (int i = 0; i < KS_KEPT_HEADERS; i++)
		if (strcmp(copy->headers[i].name, name) == 0)
			return copy->headers[i].value;
	return (struct ks_str){0};
}

void ks_copy_answer(struct ks_request *request, int code, const char *content_type, bool formed, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces)
{
	struct ks_kept_answer *answer = &request->copy->answer;

	*answer = (struct ks_kept_answer){.content_type = content_type,
		.n_fields = n_headers,
		.n_pieces = n_pieces,
		.code = code,
		.formed = formed,
		.fields = ks_arena_alloc(&request->arena, (n_headers + 1) * sizeof(*headers)),
		.pieces = ks_arena_alloc(&request->arena, (n_pieces + 1) * sizeof(*pieces))};
	request->answered = true;
	if (!answer->fields || !answer->pieces) {
		for (size_t i = 0; i < n_pieces; i++)
			if (pieces[i].release)
				pieces[i].release(pieces[i].owner);
		*answer = (struct ks_kept_answer){.code = 500, .given = true, .content_type = content_type};
		return;
	}
	if (n_headers)
		memcpy(answer->fields, headers, n_headers * sizeof(*headers));
	if (n_pieces)
		memcpy(answer->pieces, pieces, n_pieces * sizeof(*pieces));
	answer->given = true;
}
