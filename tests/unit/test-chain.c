/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A request through the stages: who, may they, how long, and what stays when the client goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/pipeline/lane.h"
#include "tests/unit/fake-pipeline.h"

static struct fake fake;

static const char *const good[] = {"authorization", "Bearer good", NULL};

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	return 0;
}

static int stop(void **state)
{
	struct ks_lane *lane = ks_lane_of(&fake.server, fake.loop);

	(void)state;
	assert_int_equal(lane->n_live, 0);
	fake_stop(&fake);
	return 0;
}

static void add(struct ks_instance *instance)
{
	instance->calls = 0;
	fake_instances[fake_n_instances++] = instance;
}

static void expect(const struct fake_answer *answer, int code, const char *part)
{
	if (answer->code != code || !strstr(answer->body, part))
		fail_msg("want %d and %s, got %d: %s", code, part, answer->code, answer->body);
}

static void expect_header(const struct fake_answer *answer, const char *header)
{
	if (!strstr(answer->headers, header))
		fail_msg("want %s in:\n%s", header, answer->headers);
}

/* -- authentication -------------------------------------------------------------------------------------------- */

static void test_token(void **state)
{
	(void)state;
	expect(fake_get(&fake, "/api/v1/pods"), 200, "{\"handled\":true}");
	expect_header(fake_get(&fake, "/api/v1/pods"), "cache-control: no-cache, private\n");
	expect_header(fake_get(&fake, "/api/v1/pods"), "content-type: application/json\n");
}

static void test_unknown_token(void **state)
{
	static const char *const bad[] = {"authorization", "bearer wrong", NULL};

	(void)state;
	expect(fake_request(&fake, "GET", "/api/v1/pods", bad, NULL), 401, "\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\"");
	expect(fake_request(&fake, "GET", "/healthz", bad, NULL), 401, "Unauthorized");
}

static int anonymous(struct ks_instance *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	static const struct ks_view group = {"system:unauthenticated", 22};

	(void)self;
	(void)op;
	(void)request;
	*result = (struct ks_authn_result){
		.size = sizeof(*result), .decision = KS_AUTHN_AUTHENTICATED, .name = {"system:anonymous", 16}, .groups = &group, .n_groups = 1};
	return KS_DONE;
}

static struct ks_instance nobody = {
	.name = "anonymous", .stage = KS_STAGE_AUTHENTICATION, .flags = KS_AUTHN_NO_CREDENTIAL, .authenticate = anonymous};

static enum ks_stage_result tell_user(struct ks_request *request)
{
	struct ks_buf buf;

	ks_buf_init(&buf);
	ks_buf_printf(&buf, "%.*s:", (int)request->user.name.n, request->user.name.p);
	for (size_t i = 0; i < request->user.n_groups; i++)
		ks_buf_printf(&buf, " %.*s", (int)request->user.groups[i].n, request->user.groups[i].p);
	ks_request_respond_buf(request, 200, "text/plain", &buf);
	return KS_STAGE_ANSWERED;
}

static void test_groups(void **state)
{
	(void)state;
	fake_resource_handler = tell_user;
	expect(fake_get(&fake, "/api/v1/pods"), 200, "alice: dev system:authenticated");
}

static void test_anonymous_only_without_credentials(void **state)
{
	static const char *const bad[] = {"authorization", "Bearer wrong", NULL}, *const basic[] = {"authorization", "Basic eA==", NULL};
	static const char *const spaces[] = {"authorization", "Bearer  good", NULL};

	(void)state;
	add(&nobody);
	fake_resource_handler = tell_user;
	expect(fake_request(&fake, "GET", "/api/v1/pods", NULL, NULL), 200, "system:anonymous: system:unauthenticated");
	expect(fake_request(&fake, "GET", "/api/v1/pods", basic, NULL), 200, "system:anonymous: system:unauthenticated");
	expect(fake_request(&fake, "GET", "/api/v1/pods", bad, NULL), 401, "Unauthorized");
	expect_header(fake_request(&fake, "GET", "/api/v1/pods", spaces, NULL),
		"warning: 299 - \"the provided Authorization header contains extra space before the bearer token, and is ignored\"\n");
}

static void test_no_credentials_and_no_anonymous(void **state)
{
	(void)state;
	expect(fake_request(&fake, "GET", "/api/v1/pods", NULL, NULL), 401, "Unauthorized");
}

static int broken_authn(struct ks_instance *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	(void)self;
	(void)request;
	result->decision = KS_AUTHN_AUTHENTICATED; /* a failed call decides nothing */
	return ks_op_fail(op, KS_ERR_UNAVAILABLE, "no answer");
}

static void test_failing_authenticator(void **state)
{
	static struct ks_instance broken = {
		.name = "broken", .stage = KS_STAGE_AUTHENTICATION, .flags = KS_AUTHN_TOKEN, .authenticate = broken_authn};
	static const char *const bad[] = {"authorization", "Bearer wrong", NULL};

	(void)state;
	add(&broken);
	expect(fake_get(&fake, "/api/v1/pods"), 200, "handled");
	expect(fake_request(&fake, "GET", "/api/v1/pods", bad, NULL), 401, "Unauthorized");
	assert_int_equal(broken.calls, 1);
}

/* -- authorization --------------------------------------------------------------------------------------------- */

static int deny(struct ks_instance *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	(void)op;
	(void)attributes;
	result->decision = self->flags;
	if (self->subresource)
		result->reason = (struct ks_view){self->subresource, strlen(self->subresource)};
	return KS_DONE;
}

static struct ks_instance authorizer = {.name = "authorizer", .stage = KS_STAGE_AUTHORIZATION, .authorize = deny};

static void only(uint32_t decision, const char *reason)
{
	authorizer.flags = decision;
	authorizer.subresource = reason;
	fake_instances[1] = &authorizer;
}

static void test_forbidden_resources(void **state)
{
	(void)state;
	only(KS_AUTHZ_NO_OPINION, NULL);
	expect(fake_get(&fake, "/api/v1/namespaces/ns/pods"), 403,
		"\"message\":\"pods is forbidden: User \\\"alice\\\" cannot list resource \\\"pods\\\" in API group \\\"\\\" in the namespace "
		"\\\"ns\\\"\","
		"\"reason\":\"Forbidden\",\"details\":{\"kind\":\"pods\"},\"code\":403}");
	expect(fake_get(&fake, "/apis/apps/v1/deployments"), 403,
		"deployments.apps is forbidden: User \\\"alice\\\" cannot list resource \\\"deployments\\\" in API group \\\"apps\\\" at the cluster "
		"scope\"");
	expect(fake_get(&fake, "/apis/apps/v1/namespaces/ns/deployments/d/scale"), 403,
		"deployments.apps \\\"d\\\" is forbidden: User \\\"alice\\\" cannot get resource \\\"deployments/scale\\\" in API group \\\"apps\\\" "
		"in the "
		"namespace \\\"ns\\\"\"");
	expect_header(fake_get(&fake, "/api/v1/pods"), "x-content-type-options: nosniff\n");
}

static void test_forbidden_paths(void **state)
{
	(void)state;
	only(KS_AUTHZ_DENY, "not today");
	expect(fake_get(&fake, "/nosuch"), 403,
		"\"message\":\"forbidden: User \\\"alice\\\" cannot get path \\\"/nosuch\\\": not "
		"today\",\"reason\":\"Forbidden\",\"details\":{},\"code\":403}");
}

static int broken_authz(struct ks_instance *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	(void)self;
	(void)attributes;
	result->decision = KS_AUTHZ_ALLOW;
	return ks_op_fail(op, KS_ERR, "lost my list");
}

static void test_failing_authorizer(void **state)
{
	static struct ks_instance broken = {.name = "broken", .stage = KS_STAGE_AUTHORIZATION, .authorize = broken_authz};

	(void)state;
	only(KS_AUTHZ_NO_OPINION, NULL);
	add(&broken);
	expect(fake_get(&fake, "/api/v1/pods"), 500, "Internal Server Error: \"/api/v1/pods\": lost my list\n");
	only(KS_AUTHZ_ALLOW, NULL);
	expect(fake_get(&fake, "/api/v1/pods"), 200, "handled");
}

/* -- waiting --------------------------------------------------------------------------------------------------- */

static struct ks_op *pending;
static struct ks_authz_result *pending_result;

static int later(struct ks_instance *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
{
	(void)self;
	(void)attributes;
	pending = op;
	pending_result = result;
	return KS_PENDING;
}

static struct ks_instance slow = {.name = "slow", .stage = KS_STAGE_AUTHORIZATION, .authorize = later};

static void test_answer_later(void **state)
{
	struct ks_stream *stream;

	(void)state;
	fake_instances[1] = &slow;
	stream = fake_open(&fake, "GET", "/api/v1/pods", good, NULL);
	assert_int_equal(fake_answer_of(stream)->code, 0);
	pending_result->decision = KS_AUTHZ_ALLOW;
	ks_op_complete(pending, KS_DONE);
	fake_run_until_answered(&fake, stream);
	expect(fake_answer_of(stream), 200, "handled");
	fake_free_stream(stream);
}

static bool is_settled(void *arg)
{
	(void)arg;
	return ks_lane_of(&fake.server, fake.loop)->n_live == 0;
}

static void test_client_goes_while_a_plugin_works(void **state)
{
	struct ks_stream *stream;

	(void)state;
	fake_instances[1] = &slow;
	stream = fake_open(&fake, "GET", "/api/v1/pods", good, NULL);
	fake_hang_up(stream);
	assert_int_equal(ks_lane_of(&fake.server, fake.loop)->n_live, 1);
	pending_result->decision = KS_AUTHZ_ALLOW;
	ks_op_complete(pending, KS_DONE);
	fake_run_until(&fake, is_settled, NULL);
	assert_true(is_settled(NULL));
	assert_int_equal(fake_answer_of(stream)->code, 0);
	fake_free_stream(stream);
}

static void test_deadline(void **state)
{
	struct ks_stream *stream;

	(void)state;
	fake_instances[1] = &slow;
	stream = fake_open(&fake, "GET", "/api/v1/pods?timeout=20ms", good, NULL);
	fake_run_until_answered(&fake, stream);
	expect(fake_answer_of(stream), 504, "\"message\":\"Timeout: request did not complete within the allotted timeout\",\"reason\":\"Timeout\"");
	/* The plugin's answer comes too late, and is dropped. */
	assert_int_equal(ks_lane_of(&fake.server, fake.loop)->n_live, 1);
	pending_result->decision = KS_AUTHZ_ALLOW;
	ks_op_complete(pending, KS_DONE);
	fake_run_until(&fake, is_settled, NULL);
	assert_true(is_settled(NULL));
	fake_free_stream(stream);
}

static void test_bad_timeout(void **state)
{
	(void)state;
	expect(fake_get(&fake, "/api/v1/pods?timeout=soon"), 400,
		"\"message\":\"invalid timeout specified in the request URL - time: invalid duration \\\"soon\\\"\"");
	expect(fake_get(&fake, "/api/v1/pods?timeout=0s"), 200, "handled");
}

/* -- bodies, ends, streams -------------------------------------------------------------------------------------- */

static enum ks_stage_result echo(struct ks_request *request)
{
	enum ks_stage_result stage = ks_request_need_body(request);
	struct ks_piece piece;

	if (stage != KS_STAGE_NEXT)
		return stage;
	piece = (struct ks_piece){.data = request->body.n ? request->body.p : "", .len = request->body.n};
	ks_request_respond(request, 201, "text/plain", NULL, 0, &piece, 1);
	return KS_STAGE_ANSWERED;
}

static void test_body(void **state)
{
	char large[2000];

	(void)state;
	fake_resource_handler = echo;
	expect(fake_request(&fake, "POST", "/api/v1/namespaces/x/pods", good, "hello"), 201, "hello");
	assert_int_equal(fake_request(&fake, "POST", "/api/v1/namespaces/x/pods", good, NULL)->body_n, 0);
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	expect(fake_request(&fake, "POST", "/api/v1/namespaces/x/pods", good, large), 413,
		"\"message\":\"Request entity too large: limit is 3145728\",\"reason\":\"RequestEntityTooLarge\"");
}

static unsigned ended;

static void count_end(struct ks_request_end *end)
{
	(void)end;
	ended = ended * 10 + 1;
}

static void count_end_too(struct ks_request_end *end)
{
	(void)end;
	ended = ended * 10 + 2;
}

static struct ks_request *watching;

static enum ks_stage_result watch(struct ks_request *request)
{
	static struct ks_request_end first, second;
	struct ks_piece piece = {.data = "{}\n", .len = 3};

	ks_request_on_end(request, &first, count_end);
	ks_request_on_end(request, &second, count_end_too);
	assert_true(request->long_running);
	assert_int_equal(ks_request_begin_stream(request, 200, "application/json", NULL, 0), 0);
	assert_int_equal(ks_stream_write(request->stream, &piece, 1), 0);
	assert_null(request->set);
	ks_request_trim(request);
	watching = request;
	return KS_STAGE_ANSWERED;
}

static void test_watch_ends_when_the_server_does(void **state)
{
	struct ks_stream *stream;

	(void)state;
	ended = 0;
	fake_resource_handler = watch;
	stream = fake_open(&fake, "GET", "/api/v1/pods?watch=1", good, NULL);
	assert_false(fake_answer_of(stream)->ended);
	ks_pipeline_end_watches(&fake.server);
	ks_pipeline_end_watches(&fake.server);
	fake_run_until_answered(&fake, stream);
	assert_true(fake_answer_of(stream)->ended);
	assert_string_equal(fake_answer_of(stream)->body, "{}\n");
	assert_int_equal(ended, 21);
	fake_free_stream(stream);
}

static void test_watch_that_begins_while_the_server_ends(void **state)
{
	struct ks_stream *stream;

	(void)state;
	fake_resource_handler = watch;
	fake.server.draining = true;
	stream = fake_open(&fake, "GET", "/api/v1/pods?watch=1", good, NULL);
	fake_run_until_answered(&fake, stream);
	assert_true(fake_answer_of(stream)->ended);
	fake_free_stream(stream);
}

static void test_watch_is_left(void **state)
{
	struct ks_stream *stream;

	(void)state;
	ended = 0;
	fake_resource_handler = watch;
	stream = fake_open(&fake, "GET", "/api/v1/pods?watch=1", good, NULL);
	fake_hang_up(stream);
	assert_int_equal(ended, 21);
	fake_free_stream(stream);
}

/* -- headers --------------------------------------------------------------------------------------------------- */

static enum ks_stage_result warn(struct ks_request *request)
{
	ks_request_warn(request, KS_STR_LIT("say \"x\""));
	ks_request_warn(request, KS_STR_LIT("say \"x\""));
	ks_request_warn(request, KS_STR_LIT("bad\nline"));
	ks_status_bad_request(&request->status, &request->arena, "no");
	return KS_STAGE_FAILED;
}

static void test_warnings(void **state)
{
	const struct fake_answer *answer;

	(void)state;
	fake_resource_handler = warn;
	answer = fake_get(&fake, "/api/v1/pods");
	expect(answer, 400, "\"message\":\"no\"");
	expect_header(answer, "warning: 299 - \"say \\\"x\\\"\"\n");
	assert_null(strstr(strstr(answer->headers, "warning") + 1, "warning"));
}

static enum ks_stage_result warn_much(struct ks_request *request)
{
	char text[1001];

	for (int i = 0; i < 26; i++) {
		memset(text, 'a' + i, 1000);
		ks_request_warn(request, ks_str_of(text, 1000));
	}
	ks_status_bad_request(&request->status, &request->arena, "no");
	return KS_STAGE_FAILED;
}

static void test_warnings_are_bounded(void **state)
{
	const struct fake_answer *answer;
	size_t n = 0;

	(void)state;
	fake_resource_handler = warn_much;
	answer = fake_get(&fake, "/api/v1/pods");
	for (const char *p = answer->headers; (p = strstr(p, "warning: ")); p++)
		n++;
	assert_int_equal(n, 16); /* 4,096 characters in all, each cut to 256 */
}

static void test_audit_id(void **state)
{
	static const char *const own[] = {"authorization", "Bearer good", "audit-id", "my-id", NULL};
	static const char *const forged[] = {"authorization", "Bearer good", "audit-id", "x code=200", NULL};
	char first[64];
	const char *at;

	(void)state;
	expect_header(fake_request(&fake, "GET", "/version", own, NULL), "audit-id: my-id\n");
	assert_null(strstr(fake_request(&fake, "GET", "/version", forged, NULL)->headers, "code=200"));
	at = strstr(fake_get(&fake, "/version")->headers, "audit-id: ");
	memcpy(first, at, 46);
	assert_true(at[10 + 8] == '-' && at[10 + 14] == '4' && at[10 + 36] == '\n');
	assert_memory_not_equal(first, strstr(fake_get(&fake, "/version")->headers, "audit-id: "), 46);
}

static void test_yaml_errors(void **state)
{
	static const char *const yaml[] = {"authorization", "Bearer good", "accept", "application/yaml", NULL};

	(void)state;
	expect(fake_request(&fake, "GET", "/api/v1/nosuch", yaml, NULL), 404,
		"apiVersion: v1\ncode: 404\ndetails: {}\nkind: Status\nmessage: the server could not find the requested resource\nmetadata: "
		"{}\nreason: NotFound\n"
		"status: Failure\n");
}

/* -- from inside ----------------------------------------------------------------------------------------------- */

static int inner_code;
static char inner_body[256];

static void take_answer(void *arg, int code, struct ks_str body)
{
	(void)arg;
	inner_code = code;
	snprintf(inner_body, sizeof(inner_body), "%.*s", (int)body.n, body.p);
}

static bool has_inner_answer(void *arg)
{
	(void)arg;
	return inner_code != 0;
}

static void test_inner_request(void **state)
{
	static const char *const groups[] = {"system:masters"};
	struct ks_inner_request inner = {.method = "POST",
		.target = "/api/v1/namespaces/x/pods?dryRun=All",
		.body = KS_STR_LIT("{}"),
		.user = "system:inner",
		.groups = groups,
		.n_groups = 1,
		.answer = take_answer};

	(void)state;
	inner_code = 0;
	fake_resource_handler = tell_user;
	assert_int_equal(ks_pipeline_inner_request(&fake.server, &inner), 0);
	fake_run_until(&fake, has_inner_answer, NULL);
	assert_int_equal(inner_code, 200);
	assert_string_equal(inner_body, "system:inner: system:masters system:authenticated");
	inner_code = 0;
	fake_resource_handler = echo;
	assert_int_equal(ks_pipeline_inner_request(&fake.server, &inner), 0);
	fake_run_until(&fake, has_inner_answer, NULL);
	assert_int_equal(inner_code, 201);
	assert_string_equal(inner_body, "{}");
	inner_code = 0;
	inner.target = "/api/v1/nosuch";
	assert_int_equal(ks_pipeline_inner_request(&fake.server, &inner), 0);
	fake_run_until(&fake, has_inner_answer, NULL);
	assert_int_equal(inner_code, 404);
	fake_run_until(&fake, is_settled, NULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_token),
		TEST(test_unknown_token),
		TEST(test_groups),
		TEST(test_anonymous_only_without_credentials),
		TEST(test_no_credentials_and_no_anonymous),
		TEST(test_failing_authenticator),
		TEST(test_forbidden_resources),
		TEST(test_forbidden_paths),
		TEST(test_failing_authorizer),
		TEST(test_answer_later),
		TEST(test_client_goes_while_a_plugin_works),
		TEST(test_deadline),
		TEST(test_bad_timeout),
		TEST(test_body),
		TEST(test_watch_ends_when_the_server_does),
		TEST(test_watch_that_begins_while_the_server_ends),
		TEST(test_watch_is_left),
		TEST(test_warnings),
		TEST(test_warnings_are_bounded),
		TEST(test_audit_id),
		TEST(test_yaml_errors),
		TEST(test_inner_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
