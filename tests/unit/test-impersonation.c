/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Impersonate-* headers: which questions the authorizers are asked, and whom the request is from afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/pipeline/lane.h"
#include "tests/unit/fake-pipeline.h"

static struct fake fake;
static char asked[4096];
static const char *allowed; /* questions that are answered with yes, each between spaces; NULL: all */

/* "USER:VERB:RESOURCE[/SUB].GROUP/NAME@NAMESPACE " */
static int answer(struct ks_instance *self, struct ks_op *op, const struct ks_authz_attributes *a, struct ks_authz_result *result)
{
	char question[512];

	(void)self;
	(void)op;
	snprintf(question, sizeof(question), "%.*s:%.*s:%.*s%s%.*s.%.*s/%.*s@%.*s", (int)a->user->name.n, a->user->name.p, (int)a->verb.n, a->verb.p,
		(int)a->resource.n, a->resource.p, a->subresource.n ? "/" : "", (int)a->subresource.n, a->subresource.p ? a->subresource.p : "",
		(int)a->group.n, a->group.p ? a->group.p : "", (int)a->name.n, a->name.p ? a->name.p : "", (int)a->namespace_.n,
		a->namespace_.p ? a->namespace_.p : "");
	strncat(asked, question, sizeof(asked) - strlen(asked) - 2);
	strcat(asked, " ");
	result->decision = !allowed || strstr(allowed, question) ? KS_AUTHZ_ALLOW : KS_AUTHZ_NO_OPINION;
	return KS_DONE;
}

static struct ks_instance authorizer = {.name = "authorizer", .stage = KS_STAGE_AUTHORIZATION, .authorize = answer};

static enum ks_stage_result tell_user(struct ks_request *request)
{
	struct ks_buf buf;

	ks_buf_init(&buf);
	ks_buf_printf(&buf, "%.*s[%.*s]:", (int)request->user.name.n, request->user.name.p, (int)request->user.uid.n, request->user.uid.p);
	for (size_t i = 0; i < request->user.n_groups; i++)
		ks_buf_printf(&buf, " %.*s", (int)request->user.groups[i].n, request->user.groups[i].p);
	for (size_t i = 0; i < request->user.n_extra; i++)
		ks_buf_printf(&buf, " %.*s=%.*s", (int)request->user.extra[i].key.n, request->user.extra[i].key.p,
			(int)request->user.extra[i].values[0].n, request->user.extra[i].values[0].p);
	ks_request_respond_buf(request, 200, "text/plain", &buf);
	return KS_STAGE_ANSWERED;
}

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	fake_instances[1] = &authorizer;
	fake_resource_handler = tell_user;
	asked[0] = '\0';
	allowed = NULL;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(ks_lane_of(&fake.server, fake.loop)->n_live, 0);
	fake_stop(&fake);
	return 0;
}

static const struct fake_answer *as(const char *n1, const char *v1, const char *n2, const char *v2)
{
	const char *const headers[] = {"authorization", "Bearer good", n1, v1, n2, v2, NULL};

	asked[0] = '\0';
	return fake_request(&fake, "GET", "/api/v1/namespaces/ns/pods", headers, NULL);
}

static void expect(const struct fake_answer *got, int code, const char *part)
{
	if (got->code != code || !strstr(got->body, part))
		fail_msg("want %d and %s, got %d: %.300s; asked %s", code, part, got->code, got->body, asked);
}

static void test_user(void **state)
{
	(void)state;
	expect(as("impersonate-user", "bob", NULL, NULL), 200, "bob[]: system:authenticated");
	assert_string_equal(asked,
		"alice:impersonate-on:user-info:list:pods./@ns alice:impersonate:user-info:users.authentication.k8s.io/bob@ "
		"bob:list:pods./@ns ");
}

static void test_old_way(void **state)
{
	(void)state;
	allowed = " alice:impersonate:users./bob@ alice:impersonate:groups./dev@ bob:list:pods./@ns ";
	expect(as("impersonate-user", "bob", "impersonate-group", "dev"), 200, "bob[]: dev system:authenticated");
	assert_string_equal(asked,
		"alice:impersonate-on:user-info:list:pods./@ns alice:impersonate:users./bob@ alice:impersonate:groups./dev@ bob:list:pods./@ns ");
}

static void test_masters_only_the_old_way(void **state)
{
	(void)state;
	expect(as("impersonate-user", "bob", "impersonate-group", "system:masters"), 200, "bob[]: system:masters system:authenticated");
	assert_non_null(strstr(asked, "alice:impersonate:groups./system:masters@ "));
}

static void test_uid_and_extra(void **state)
{
	static const char *const headers[] = {
		"authorization", "Bearer good", "impersonate-user", "bob", "impersonate-uid", "u1", "impersonate-extra-ex.org%2fteam", "t1", NULL};

	(void)state;
	expect(fake_request(&fake, "GET", "/api/v1/pods", headers, NULL), 200, "bob[u1]: system:authenticated ex.org/team=t1");
	assert_non_null(strstr(asked,
		"alice:impersonate:user-info:uids.authentication.k8s.io/u1@ "
		"alice:impersonate:user-info:userextras/ex.org/team.authentication.k8s.io/t1@ bob:list:"));
}

static void test_accounts_and_nodes(void **state)
{
	(void)state;
	expect(as("impersonate-user", "system:serviceaccount:ns:sa", NULL, NULL), 200,
		"system:serviceaccount:ns:sa[]: system:serviceaccounts system:serviceaccounts:ns system:authenticated");
	assert_non_null(strstr(asked, "alice:impersonate:serviceaccount:serviceaccounts.authentication.k8s.io/sa@ns "));
	expect(as("impersonate-user", "system:node:n1", NULL, NULL), 200, "system:node:n1[]: system:nodes system:authenticated");
	assert_non_null(strstr(
		asked, "alice:impersonate-on:arbitrary-node:list:pods./@ns alice:impersonate:arbitrary-node:nodes.authentication.k8s.io/n1@ "));
	expect(as("impersonate-user", "system:anonymous", NULL, NULL), 200, "system:anonymous[]: system:unauthenticated");
}

static void test_refusals(void **state)
{
	(void)state;
	allowed = "";
	expect(as("impersonate-user", "bob", NULL, NULL), 403,
		"pods is forbidden: User \\\"alice\\\" cannot impersonate-on:user-info:list resource \\\"pods\\\" in API group \\\"\\\" in the "
		"namespace \\\"ns\\\"\"");
	assert_null(strstr(asked, "bob:list"));
	allowed = " alice:impersonate:users./bob@ ";
	expect(as("impersonate-user", "bob", NULL, NULL), 403,
		"pods is forbidden: User \\\"bob\\\" cannot list resource \\\"pods\\\" in API group \\\"\\\" in the namespace \\\"ns\\\"\"");
	allowed = " alice:impersonate-on:user-info:list:pods./@ns ";
	expect(as("impersonate-user", "bob", NULL, NULL), 403,
		"users.authentication.k8s.io \\\"bob\\\" is forbidden: User \\\"alice\\\" cannot impersonate:user-info resource \\\"users\\\"");
}

static void test_without_a_name(void **state)
{
	(void)state;
	expect(as("impersonate-group", "dev", NULL, NULL), 400,
		"\"message\":\"requested \\u0026user.DefaultInfo{Name:\\\"\\\", UID:\\\"\\\", Groups:[]string{\\\"dev\\\"}, "
		"Extra:map[string][]string(nil)} without "
		"impersonating a user name\"");
	expect(as("impersonate-extra-scope", "x", NULL, NULL), 400, "Extra:map[string][]string{\\\"scope\\\":[]string{\\\"x\\\"}}}");
	expect(as("impersonate-user", "", NULL, NULL), 200, "alice");
	expect(as("impersonate-foo", "x", NULL, NULL), 200, "alice");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_user),
		TEST(test_old_way),
		TEST(test_masters_only_the_old_way),
		TEST(test_uid_and_extra),
		TEST(test_accounts_and_nodes),
		TEST(test_refusals),
		TEST(test_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
