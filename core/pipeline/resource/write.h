/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * One write on its way: the loop that create, update, patch, delete and the
 * subresources share.
 *
 *     load -> change -> mutate -> complete -> validate -> commit -> (settle) -> answer
 *       ^                                                    |
 *       +------------- a lost race, with what stands there --+
 *
 * Each step does its part, sets the next one and answers KS_STAGE_NEXT; KS_STAGE_PENDING
 * leaves, and the same step is called again. A write that was begun at the store is
 * finished whatever becomes of the client.
 */
#ifndef KS_PIPELINE_RESOURCE_WRITE_H
#define KS_PIPELINE_RESOURCE_WRITE_H

#include "core/pipeline/admission.h"
#include "core/pipeline/authorize.h"
#include "core/pipeline/offload.h"
#include "core/pipeline/resource/options.h"
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"
#include "core/registry/registry.h"

struct ks_edit;
typedef enum ks_stage_result (*ks_edit_step)(struct ks_edit *edit);

struct ks_edit {
	struct ks_handler_run handler; /* first: request->handler_data points here */
	struct ks_request *request;
	ks_edit_step step;
	bool computes;                 /* the next step touches nothing of the worker's: when there is much to do it runs on another thread */
	bool may_leave;                /* that is so for whatever `change` and `answer` do, too */
	struct ks_away *away;
	/* Makes `object` (in `round`) out of the request and `old`. 0 or the code set in request->status. */
	int (*change)(struct ks_edit *edit);
	/* The end of a write that succeeded. */
	ks_edit_step answer;
	/* What a round begins with after a lost race; ks_edit_begin_round by default. */
	ks_edit_step again;
	void *data;                    /* of whoever set `change` and `answer` */

	const struct ks_schema *schema;
	uint16_t target;               /* what the request names: a resource or subresource */
	uint16_t resource, storage;    /* the main resource in the version asked for, and in the one that is kept */
	struct ks_cache_resource *cache;
	const struct ks_store *store;
	struct ks_registry_context ctx;
	struct ks_write_options options;
	struct ks_delete_options delete_options;
	bool may_create;               /* an object that isn't there is made (PUT of some kinds) */
	bool creating;                 /* nothing stands there: this round makes it */
	bool tracks;                   /* managedFields are kept up to date with what was changed */

	struct ks_arena round;         /* trees of this round */
	struct ks_object *current;     /* what stands there: a reference, or NULL */
	struct ks_value old, object;   /* `object` of the version asked for */
	uint32_t rounds;
	bool quiet;                    /* warnings were given in an earlier round */

	/* What admission sees in place of the object (Scale). NULL: the object. `take_shown` puts what became of it into `object`. */
	struct ks_value *shown, *shown_old;
	int (*take_shown)(struct ks_edit *edit);

	enum ks_delete_step removal;   /* what a delete came to */
	struct ks_admission admission;
	bool admitting;                /* `admission` is initialised */
	struct ks_authorize authorize; /* whether who may update may create */
	struct ks_user user;
	bool asked, may;               /* that was asked, and answered with yes */
	struct ks_object *finished;    /* what was written, or would have been: a reference */
	uint64_t revision;             /* of the answer's object; 0: none */
	bool removed, unchanged;
	/* What a removal says of the object beside, before it goes. False when out of memory. */
	bool (*last_words)(struct ks_edit *edit);
	bool admitted;                 /* a removal that admission has seen as something else */
	bool then_remove;              /* the update that is on its way is the first half of a removal */

	struct ks_store_call call;
	struct ks_cache_wait wait;
	struct ks_timer timer;
	bool waiting;
	struct ks_request_end end;
};

/* Zeroed memory of the request, ready for `first` (the first step), and in request->handler_data; NULL when out of memory (status is set). */
struct ks_edit *ks_edit_new(struct ks_request *request, ks_edit_step first);
/* For the same request, another object (collections): gives back what the last one held. */
void ks_edit_reset(struct ks_edit *edit, struct ks_str ns, struct ks_str name);
/* The same for an object of another resource (an index): what follows is about that one. */
void ks_edit_turn_to(struct ks_edit *edit, uint16_t resource, struct ks_str ns, struct ks_str name);
/* Runs steps until one has to wait or ends it, on another thread where that takes long. */
enum ks_stage_result ks_edit_run(struct ks_edit *edit);

static inline enum ks_stage_result ks_edit_next(struct ks_edit *edit, ks_edit_step step)
{
	edit->step = step;
	edit->computes = false;
	return KS_STAGE_NEXT;
}

/* The next step is one that computes only (see core/pipeline/offload.h for what it must not do). */
static inline enum ks_stage_result ks_edit_compute(struct ks_edit *edit, ks_edit_step step)
{
	edit->step = step;
	edit->computes = true;
	return KS_STAGE_NEXT;
}

/* -- steps -------------------------------------------------------------------------------------------------------- */

/* Takes the object out of the cache and goes on with `change`. */
enum ks_stage_result ks_edit_load(struct ks_edit *edit);
/* `change`, its checks, mutating admission, strategy, validation, validating admission, store. */
enum ks_stage_result ks_edit_begin_round(struct ks_edit *edit);
/* Stores `object` (or removes `current` when `removed` is set) and goes on with `answer` once the cache has it. */
enum ks_stage_result ks_edit_commit(struct ks_edit *edit);

/* Gives back what a round that failed has taken and made. */
void ks_edit_end_round(struct ks_edit *edit);

/* -- for answers and changes ---------------------------------------------------------------------------------------- */

/* The finished object; 201 when this write made it. */
enum ks_stage_result ks_edit_answer_object(struct ks_edit *edit);
/* 201: a Status that says no more than success. */
enum ks_stage_result ks_edit_answer_done(struct ks_edit *edit);
int ks_edit_not_found(struct ks_edit *edit, struct ks_str name);
const char *ks_edit_group(const struct ks_edit *edit);
const char *ks_edit_resource(const struct ks_edit *edit); /* plural */
const char *ks_edit_kind(const struct ks_edit *edit);
int ks_edit_out_of_memory(struct ks_edit *edit);
/* `old` decoded from `current`, in the version asked for. */
int ks_edit_decode_old(struct ks_edit *edit) __attribute__((warn_unused_result));

#endif
