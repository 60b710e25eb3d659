/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One shape for the calls of all kinds: inline, one at a time, or on the blocking pool; and a look at every answer. */
#include <string.h>

#include "core/util/log.h"
#include "plugins/host/calls.h"

enum { SLOW_NS = 1000000 };

struct call;

struct call_kind {
	int (*run)(const struct ks_interface *interface, void *self, struct ks_op *op, const struct call *call);
	/* The answer was KS_DONE: is it one that the contract knows? The final result. */
	int (*check)(struct ks_op *op, const struct call *call);
};

/* The arguments, in the operation's memory. */
struct call {
	const struct call_kind *kind;
	const void *in, *also;
	void *out;
	struct ks_value *object;
};

struct ks_value *ks_call_object(const struct ks_op *op)
{
	const struct call *call = op->call;

	return call ? call->object : NULL;
}

const struct ks_schema *ks_call_schema(const struct ks_op *op)
{
	const struct call *call = op->call;

	return call && call->object ? ((const struct ks_admission_request *)call->in)->object.owner : NULL;
}

static bool too_late(const struct ks_op *op)
{
	return atomic_load_explicit(&op->cancelled, memory_order_relaxed) || (op->deadline_ns && ks_monotonic_ns() >= op->deadline_ns);
}

static int run_call(struct ks_op *op)
{
	const struct ks_instance *instance = op->instance;
	const struct call *call = op->call;

	return call->kind->run(instance->interface, instance->self, op, call);
}

int ks_call_run_blocking(struct ks_op *op)
{
	const struct ks_instance *instance = op->instance;
	int result;

	if (too_late(op))
		return ks_op_fail(op, KS_ERR_TIMEOUT, "the deadline passed before it could be asked");
	result = run_call(op);
	if (result == KS_PENDING)
		ks_log(KS_LOG_ERROR, instance->name, "declares that its calls block, and answered PENDING");
	return result;
}

/* At the debug level, the time that a call takes from its worker is looked at. */
static int run_inline(struct ks_op *op)
{
	const struct ks_instance *instance = op->instance;
	uint64_t begun, taken;
	int result;

	if (ks_log_get_level() < KS_LOG_DEBUG)
		return run_call(op);
	begun = ks_monotonic_ns();
	result = run_call(op);
	taken = ks_monotonic_ns() - begun;
	if (taken > SLOW_NS)
		ks_log(KS_LOG_WARN, instance->name, "an inline call took %llu us", (unsigned long long)(taken / 1000));
	return result;
}

/* -- one at a time -- */

static void run_queued(struct ks_task *task)
{
	struct ks_op *op = (struct ks_op *)((char *)task - offsetof(struct ks_op, task));
	int result;

	ks_op_begin(op);
	result = too_late(op) ? ks_op_fail(op, KS_ERR_TIMEOUT, "the deadline passed before it could be asked") : run_inline(op);
	result = ks_op_end(op, result);
	if (result != KS_PENDING)
		op->done(op, result);
}

/* True: it is this call's turn. */
static bool serial_enter(struct ks_serial *serial, struct ks_op *op)
{
	bool turn;

	pthread_mutex_lock(&serial->lock);
	turn = !serial->busy;
	serial->busy = true;
	if (!turn) {
		op->next = NULL;
		op->task.run = run_queued;
		if (serial->tail)
			serial->tail->next = op;
		else
			serial->head = op;
		serial->tail = op;
	}
	pthread_mutex_unlock(&serial->lock);
	return turn;
}

static void serial_leave(struct ks_serial *serial)
{
	struct ks_op *next;

	pthread_mutex_lock(&serial->lock);
	next = serial->head;
	if (next) {
		serial->head = next->next;
		if (!serial->head)
			serial->tail = NULL;
	} else {
		serial->busy = false;
	}
	pthread_mutex_unlock(&serial->lock);
	if (next)
		ks_loop_post(next->loop, &next->task);
}

static bool is_serial(const struct ks_interface *interface)
{
	return interface->threads == KS_THREADS_SERIAL && interface->blocking == KS_CALLS_INLINE;
}

/* -- from call to answer -- */

static int finish(struct ks_op *op, int result)
{
	struct ks_instance *instance = op->instance;
	const struct call *call = op->call;

	if (is_serial(instance->interface))
		serial_leave(&instance->serial);
	if (result > KS_DONE)
		result = ks_op_fail(op, KS_ERR, "it answered %d, which means nothing", result);
	if (result == KS_DONE)
		result = call->kind->check(op, call);
	op->call = NULL;
	return result;
}

static int start(struct ks_instance *instance, struct ks_op *op)
{
	const struct ks_interface *interface = instance->interface;
	int result;

	ks_op_begin(op);
	if (interface->blocking == KS_CALLS_BLOCKING) {
		result = ks_blocking_submit(instance->plugins->pool, &instance->pool, op);
		if (result == KS_ERR_LIMIT)
			result = ks_op_fail(op, result, "too many of its calls are waiting");
		return ks_op_end(op, result);
	}
	if (is_serial(interface) && !serial_enter(&instance->serial, op))
		return KS_PENDING;
	return ks_op_end(op, run_inline(op));
}

static int call_instance(struct ks_instance *instance, struct ks_op *op, const struct call *arguments)
{
	struct call *call = ks_arena_alloc(&op->arena, sizeof(*call));
	size_t scratch_size = instance->interface->scratch_size;

	op->error = NULL;
	op->edits = NULL;
	op->edited = false;
	op->scratch = scratch_size ? ks_arena_zalloc(&op->arena, 1, scratch_size) : NULL;
	if (!call || (scratch_size && !op->scratch))
		return KS_ERR_NOMEM;
	*call = *arguments;
	op->instance = instance;
	op->call = call;
	op->finish = finish;
	return start(instance, op);
}

/* -- the kinds -- */

static int run_authenticate(const struct ks_interface *interface, void *self, struct ks_op *op, const struct call *call)
{
	return ((const struct ks_authn_ops *)interface->ops)->authenticate(self, op, call->in, call->out);
}

static int check_authenticate(struct ks_op *op, const struct call *call)
{
	const struct ks_authn_result *result = call->out;

	if (result->decision > KS_AUTHN_REJECTED)
		return ks_op_fail(op, KS_ERR, "it decided %u, which means nothing", result->decision);
	if (result->decision == KS_AUTHN_AUTHENTICATED && result->name.n == 0)
		return ks_op_fail(op, KS_ERR, "it authenticated somebody without a name");
	return KS_DONE;
}

int ks_authn_call(struct ks_instance *instance, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	static const struct call_kind kind = {run_authenticate, check_authenticate};

	*result = (struct ks_authn_result){.size = sizeof(*result)};
	return call_instance(instance, op, &(struct call){.kind = &kind, .in = request, .out = result});
}

static int run_authorize(const struct ks_interface *interface, void *self, struct ks_op *op, const struct call *call)
{
	return ((const struct ks_authz_ops *)interface->ops)->authorize(self, op, call->in, call->out);
}

static int check_authorize(struct ks_op *op, const struct call *call)
{
	const struct ks_authz_result *result = call->out;

	if (result->decision > KS_AUTHZ_NO_OPINION)
		return ks_op_fail(op, KS_ERR, "it decided %u, which means nothing", result->decision);
	return KS_DONE;
}

int ks_authz_call(struct ks_instance *instance, struct ks_op *op, const struct ks_authz_attributes *attributes,
	struct ks_authz_result *result)
{
	static const struct call_kind kind = {run_authorize, check_authorize};

	*result = (struct ks_authz_result){.size = sizeof(*result)};
	return call_instance(instance, op, &(struct call){.kind = &kind, .in = attributes, .out = result});
}

bool ks_authz_has_rules(const struct ks_instance *instance)
{
	return ((const struct ks_authz_ops *)instance->interface->ops)->rules;
}

struct rules_question {
	const struct ks_user *user;
	struct ks_view namespace_;
};

static int run_rules(const struct ks_interface *interface, void *self, struct ks_op *op, const struct call *call)
{
	const struct rules_question *question = call->in;

	return ((const struct ks_authz_ops *)interface->ops)->rules(self, op, question->user, question->namespace_, call->out);
}

static int check_nothing(struct ks_op *op, const struct call *call)
{
	(void)op;
	(void)call;
	return KS_DONE;
}

int ks_authz_rules_call(struct ks_instance *instance, struct ks_op *op, const struct ks_user *user, struct ks_view namespace_,
	struct ks_authz_rules *rules)
{
	static const struct call_kind kind = {run_rules, check_nothing};
	struct rules_question *question;

	*rules = (struct ks_authz_rules){.size = sizeof(*rules)};
	if (!ks_authz_has_rules(instance))
		return KS_ERR_UNAVAILABLE;
	question = ks_arena_alloc(&op->arena, sizeof(*question));
	if (!question)
		return KS_ERR_NOMEM;
	*question = (struct rules_question){user, namespace_};
	return call_instance(instance, op, &(struct call){.kind = &kind, .in = question, .out = rules});
}

static int run_mutate(const struct ks_interface *interface, void *self, struct ks_op *op, const struct call *call)
{
	return ((const struct ks_admission_ops *)interface->ops)->mutate(self, op, call->in, call->out);
}

static int run_validate(const struct ks_interface *interface, void *self, struct ks_op *op, const struct call *call)
{
	return ((const struct ks_admission_ops *)interface->ops)->validate(self, op, call->in, call->out);
}

static int check_admission(struct ks_op *op, const struct call *call)
{
	const struct ks_admission_result *result = call->out;

	if (result->allowed > 1)
		return ks_op_fail(op, KS_ERR, "it answered allowed %u, which means nothing", result->allowed);
	if (result->code && (result->allowed || result->code < 400 || result->code > 599))
		return ks_op_fail(op, KS_ERR, "it answered the code %d, which is no refusal", result->code);
	if (result->allowed && call->object)
		ks_edits_commit(op, call->object);
	return KS_DONE;
}

int ks_admission_call(struct ks_instance *instance, struct ks_op *op, struct ks_admission_call *admission)
{
	static const struct call_kind mutate = {run_mutate, check_admission}, validate = {run_validate, check_admission};

	*admission->result = (struct ks_admission_result){.size = sizeof(*admission->result)};
	return call_instance(instance, op, &(struct call){
		.kind = admission->mutate ? &mutate : &validate,
		.in = admission->request,
		.out = admission->result,
		.object = admission->mutate ? admission->object : NULL,
	});
}

bool ks_admission_mutates(const struct ks_instance *instance)
{
	return ((const struct ks_admission_ops *)instance->interface->ops)->mutate;
}

bool ks_admission_validates(const struct ks_instance *instance)
{
	return ((const struct ks_admission_ops *)instance->interface->ops)->validate;
}

/* "pods" and "pods" alone; "pods/status"; "*": all resources; "*" "/" "*": subresources, too; "pods" "/" "*". */
static bool resource_matches(const char *pattern, struct ks_str resource, struct ks_str subresource)
{
	const char *slash = strchr(pattern, '/');
	struct ks_str first = ks_str_of(pattern, slash ? (size_t)(slash - pattern) : strlen(pattern));
	bool first_matches = ks_str_is(first, "*") || ks_str_eq(first, resource);

	if (!slash)
		return first_matches && subresource.n == 0;
	if (strcmp(slash + 1, "*") == 0)
		return first_matches;
	return first_matches && ks_str_is(subresource, slash + 1);
}

bool ks_admission_matches(const struct ks_instance *instance, enum ks_operation operation, struct ks_str group, struct ks_str resource,
	struct ks_str subresource)
{
	const struct ks_admission_ops *ops = instance->interface->ops;

	for (size_t i = 0; i < ops->n_matches; i++) {
		const struct ks_admission_match *match = &ops->matches[i];

		if (match->operations & (uint32_t)operation && (strcmp(match->group, "*") == 0 || ks_str_is(group, match->group)) &&
		    resource_matches(match->resource, resource, subresource))
			return true;
	}
	return false;
}
