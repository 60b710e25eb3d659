/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Admission controllers as handlers meet them: who is asked, in which order, and how a denial reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/api/json.h"
#include "core/pipeline/admission.h"
#include "core/pipeline/lane.h"
#include "tests/unit/fake-pipeline.h"

static struct fake fake;
static char order[64];

static const char *const good[] = {"authorization", "Bearer good", NULL};

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	order[0] = '\0';
	return 0;
}

static bool is_settled(void *arg)
{
	(void)arg;
	return ks_lane_of(&fake.server, fake.loop)->n_live == 0;
}

static int stop(void **state)
{
	(void)state;
	fake_run_until(&fake, is_settled, NULL);
	assert_true(is_settled(NULL));
	fake_stop(&fake);
	return 0;
}

static void expect(const struct fake_answer *answer, int code, const char *part)
{
	if (answer->code != code || !strstr(answer->body, part))
		fail_msg("want %d and %s, got %d: %.300s", code, part, answer->code, answer->body);
}

/* A handler that creates a pod: mutate, validate, done. */
struct create {
	struct ks_admission admission;
	struct ks_value object;
	int step;
};

static enum ks_stage_result create(struct ks_request *request)
{
	struct create *c = request->handler_data;
	int result = KS_DONE;
	const char *message;

	if (!c) {
		static const char pod[] = "{\"metadata\":{\"name\":\"x\"}}";

		c = request->handler_data = ks_arena_zalloc(&request->arena, 1, sizeof(*c));
		assert_int_equal(ks_json_decode(&request->arena, &ks_schema_builtin, 0, 0, pod, sizeof(pod) - 1, &c->object, NULL, &message), 0);
		ks_admission_init(&c->admission, request, KS_OPERATION_CREATE, request->info.resource_index, NULL);
		c->admission.object = &c->object;
		c->admission.ns = request->info.ns;
		c->admission.dry_run = ks_request_query(request, "dryRun").n > 0;
	}
	if (c->step == 0)
		result = ks_admission_mutate(&c->admission);
	if (c->step == 0 && result == KS_DONE)
		c->step = 1;
	if (c->step == 1)
		result = ks_admission_validate(&c->admission);
	if (result == KS_PENDING)
		return KS_STAGE_PENDING;
	if (result != KS_DONE)
		return KS_STAGE_FAILED;
	ks_request_respond_text(request, 201, "created");
	return KS_STAGE_ANSWERED;
}

static const struct fake_answer *post(const char *target)
{
	fake_resource_handler = create;
	return fake_request(&fake, "POST", target, good, "{}");
}

/* Says its name, m for mutate and v for validate. */
static int note(struct ks_instance *self, struct ks_op *op, struct ks_admission_call *call)
{
	size_t n = strlen(order);

	(void)op;
	assert_true(call->mutate == (call->object != NULL));
	snprintf(order + n, sizeof(order) - n, "%s%c ", self->name, call->mutate ? 'm' : 'v');
	call->result->allowed = 1;
	return KS_DONE;
}

static struct ks_instance a = {.name = "a", .stage = KS_STAGE_ADMISSION, .admit = note, .mutates = true, .validates = true};
static struct ks_instance b = {.name = "b", .stage = KS_STAGE_ADMISSION, .admit = note, .validates = true};
static struct ks_instance c = {.name = "c", .stage = KS_STAGE_ADMISSION, .admit = note, .mutates = true};

static void use(struct ks_instance *instance)
{
	fake_instances[fake_n_instances++] = instance;
}

static void test_order(void **state)
{
	(void)state;
	use(&a);
	use(&b);
	use(&c);
	expect(post("/api/v1/namespaces/ns/pods"), 201, "created");
	assert_string_equal(order, "am cm av bv ");
}

static void test_only_what_matches(void **state)
{
	static struct ks_instance pods = {
		.name = "p", .stage = KS_STAGE_ADMISSION, .admit = note, .validates = true, .group = "", .resource = "pods", .subresource = ""};
	static struct ks_instance outside = {
		.name = "o", .stage = KS_STAGE_ADMISSION, .flags = KS_ADMISSION_SIDE_EFFECTS, .admit = note, .validates = true};

	(void)state;
	use(&pods);
	use(&outside);
	expect(post("/api/v1/namespaces/ns/configmaps"), 201, "created");
	expect(post("/api/v1/namespaces/ns/pods"), 201, "created");
	expect(post("/api/v1/namespaces/ns/pods?dryRun=All"), 201, "created");
	assert_string_equal(order, "ov pv ov pv ");
}

static int refuse(struct ks_instance *self, struct ks_op *op, struct ks_admission_call *call)
{
	static const struct ks_view warning = {"careful", 7};
	static const struct ks_admission_cause cause = {
		.reason = {"NamespaceTerminating", 20}, .message = {"it ends", 7}, .field = {"metadata.namespace", 18}};

	(void)op;
	call->result->warnings = &warning;
	call->result->n_warnings = 1;
	call->result->code = (int32_t)self->flags;
	call->result->message = (struct ks_view){self->group, strlen(self->group)};
	if (self->flags == 0) {
		call->result->causes = &cause;
		call->result->n_causes = 1;
	}
	return KS_DONE;
}

static struct ks_instance refusing = {.name = "refusing", .stage = KS_STAGE_ADMISSION, .admit = refuse, .validates = true};

static void test_denial(void **state)
{
	const struct fake_answer *answer;

	(void)state;
	use(&refusing);
	refusing.group = "no room";
	refusing.flags = 0;
	answer = post("/api/v1/namespaces/ns/pods");
	expect(answer, 403,
		"\"message\":\"pods \\\"x\\\" is forbidden: no "
		"room\",\"reason\":\"Forbidden\",\"details\":{\"name\":\"x\",\"kind\":\"pods\",\"causes\":["
		"{\"reason\":\"NamespaceTerminating\",\"message\":\"it ends\",\"field\":\"metadata.namespace\"}]},\"code\":403}");
	assert_non_null(strstr(answer->headers, "warning: 299 - \"careful\"\n"));
}

static int miss(struct ks_instance *self, struct ks_op *op, struct ks_admission_call *call)
{
	(void)self;
	(void)op;
	call->result->code = 404;
	call->result->about_resource = (struct ks_view){"namespaces", 10};
	call->result->about_name = (struct ks_view){"gone", 4};
	return KS_DONE;
}

static struct ks_instance missing = {.name = "missing", .stage = KS_STAGE_ADMISSION, .admit = miss, .mutates = true};

static void test_denial_about_another_object(void **state)
{
	(void)state;
	use(&missing);
	expect(post("/apis/apps/v1/namespaces/gone/deployments"), 404,
		"\"message\":\"namespaces \\\"gone\\\" not "
		"found\",\"reason\":\"NotFound\",\"details\":{\"name\":\"gone\",\"kind\":\"namespaces\"},\"code\":404}");
}

static void test_denial_with_a_code(void **state)
{
	(void)state;
	use(&refusing);
	refusing.flags = 429;
	refusing.group = "slower";
	expect(post("/apis/apps/v1/namespaces/ns/deployments"), 429, "\"message\":\"slower\",\"reason\":\"TooManyRequests\"");
}

static int fall(struct ks_instance *self, struct ks_op *op, struct ks_admission_call *call)
{
	(void)self;
	call->result->allowed = 1;
	return ks_op_fail(op, KS_ERR, "fell over");
}

static void test_failure_is_no_yes(void **state)
{
	static struct ks_instance falling = {.name = "falling", .stage = KS_STAGE_ADMISSION, .admit = fall, .mutates = true};

	(void)state;
	use(&falling);
	expect(post("/api/v1/namespaces/ns/pods"), 500, "fell over");
}

static struct ks_op *pending;
static struct ks_admission_result *pending_result;

static int later(struct ks_instance *self, struct ks_op *op, struct ks_admission_call *call)
{
	note(self, op, call);
	call->result->allowed = 0;
	pending = op;
	pending_result = call->result;
	return KS_PENDING;
}

static struct ks_instance slow = {.name = "slow", .stage = KS_STAGE_ADMISSION, .admit = later, .mutates = true};

static void test_answer_later(void **state)
{
	struct ks_stream *stream;

	(void)state;
	use(&slow);
	use(&a);
	fake_resource_handler = create;
	stream = fake_open(&fake, "POST", "/api/v1/namespaces/ns/pods", good, "{}");
	assert_int_equal(fake_answer_of(stream)->code, 0);
	pending_result->allowed = 1;
	ks_op_complete(pending, KS_DONE);
	fake_run_until_answered(&fake, stream);
	expect(fake_answer_of(stream), 201, "created");
	assert_string_equal(order, "slowm am av ");
	fake_free_stream(stream);
}

static void test_client_goes(void **state)
{
	struct ks_stream *stream;

	(void)state;
	use(&slow);
	use(&a);
	fake_resource_handler = create;
	stream = fake_open(&fake, "POST", "/api/v1/namespaces/ns/pods", good, "{}");
	fake_hang_up(stream);
	pending_result->allowed = 1;
	ks_op_complete(pending, KS_DONE);
	fake_run_until(&fake, is_settled, NULL);
	assert_string_equal(order, "slowm ");
	fake_free_stream(stream);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_only_what_matches),
		TEST(test_denial),
		TEST(test_denial_with_a_code),
		TEST(test_denial_about_another_object),
		TEST(test_failure_is_no_yes),
		TEST(test_answer_later),
		TEST(test_client_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
