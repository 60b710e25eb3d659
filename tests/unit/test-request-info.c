/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* RequestInfo: what a method and a path ask for. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/lane.h"
#include "tests/unit/fake-pipeline.h"

static struct ks_request request;
static struct ks_server_state server = {.schema = &ks_schema_builtin};

static int parse(const char *method, const char *target)
{
	const char *mark = strchr(target, '?');
	struct ks_str path = mark ? ks_str_of(target, (size_t)(mark - target)) : ks_str_from(target);

	ks_arena_fini(&request.arena);
	request = (struct ks_request){.server = &server};
	assert_true(ks_request_set_target(&request, ks_str_from(method), path, mark ? ks_str_from(mark + 1) : (struct ks_str){0}));
	return ks_info_parse(&request);
}

static void check(struct ks_str got, const char *want)
{
	if (!ks_str_is(got, want))
		fail_msg("want %s, got %.*s", want, (int)got.n, got.p ? got.p : "");
}

/* verb group version namespace resource subresource name */
static void expect(const char *method, const char *target, const char *const want[7])
{
	const struct ks_request_info *info = &request.info;
	struct ks_str got[7];

	assert_int_equal(parse(method, target), 0);
	assert_true(info->is_resource);
	memcpy(got, (struct ks_str[]){info->verb, info->group, info->version, info->ns, info->resource, info->subresource, info->name}, sizeof(got));
	for (size_t i = 0; i < 7; i++)
		check(got[i], want[i]);
}

#define EXPECT(method, target, ...) expect(method, target, (const char *const[]){__VA_ARGS__})

static void test_resources(void **state)
{
	(void)state;
	EXPECT("GET", "/api/v1/namespaces", "list", "", "v1", "", "namespaces", "", "");
	EXPECT("GET", "/api/v1/namespaces/other", "get", "", "v1", "other", "namespaces", "", "other");
	EXPECT("GET", "/api/v1/namespaces/other/pods", "list", "", "v1", "other", "pods", "", "");
	EXPECT("GET", "/api/v1/namespaces/other/pods/foo", "get", "", "v1", "other", "pods", "", "foo");
	EXPECT("HEAD", "/api/v1/namespaces/other/pods/foo", "get", "", "v1", "other", "pods", "", "foo");
	EXPECT("GET", "/api/v1/pods", "list", "", "v1", "", "pods", "", "");
	EXPECT("POST", "/apis/apps/v1/namespaces/other/deployments", "create", "apps", "v1", "other", "deployments", "", "");
	EXPECT("PUT", "/apis/apps/v1/namespaces/other/deployments/d", "update", "apps", "v1", "other", "deployments", "", "d");
	EXPECT("PATCH", "/apis/apps/v1/namespaces/other/deployments/d/scale", "patch", "apps", "v1", "other", "deployments", "scale", "d");
	EXPECT("DELETE", "/api/v1/namespaces/other/pods/foo", "delete", "", "v1", "other", "pods", "", "foo");
	EXPECT("DELETE", "/api/v1/namespaces/other/pods", "deletecollection", "", "v1", "other", "pods", "", "");
	EXPECT("OPTIONS", "/api/v1/pods", "", "", "v1", "", "pods", "", "");
}

static void test_namespace_subresources(void **state)
{
	(void)state;
	EXPECT("PUT", "/api/v1/namespaces/other/finalize", "update", "", "v1", "other", "namespaces", "finalize", "other");
	EXPECT("PUT", "/api/v1/namespaces/other/status", "update", "", "v1", "other", "namespaces", "status", "other");
	EXPECT("GET", "/api/v1/namespaces/other/services/s/proxy/x/y", "get", "", "v1", "other", "services", "proxy", "s");
	check(request.info.rest, "/x/y");
}

static void test_watches(void **state)
{
	(void)state;
	EXPECT("GET", "/api/v1/pods?watch=true", "watch", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/pods?watch=1", "watch", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/pods?watch", "watch", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/pods?watch=False", "list", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/pods?watch=0", "list", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/watch/pods", "watch", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/watch/namespaces/other/pods/foo", "watch", "", "v1", "other", "pods", "", "foo");
	assert_true(request.info.watch_prefix);
	/* A name makes it a get, whatever the query says. */
	EXPECT("GET", "/api/v1/namespaces/other/pods/foo?watch=1", "get", "", "v1", "other", "pods", "", "foo");
}

static void test_name_from_field_selector(void **state)
{
	(void)state;
	EXPECT("GET", "/api/v1/namespaces/other/pods?fieldSelector=metadata.name%3Dfoo", "list", "", "v1", "other", "pods", "", "foo");
	assert_true(request.info.name_from_selector);
	EXPECT("GET", "/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dfoo", "watch", "", "v1", "", "pods", "", "foo");
	EXPECT("GET", "/api/v1/pods?fieldSelector=metadata.name!%3Dfoo", "list", "", "v1", "", "pods", "", "");
	EXPECT("GET", "/api/v1/pods?fieldSelector=metadata.name%3D..", "list", "", "v1", "", "pods", "", "");
}

static void test_escapes(void **state)
{
	(void)state;
	EXPECT("GET", "/api/v1/namespaces/other/configmaps/a%62", "get", "", "v1", "other", "configmaps", "", "ab");
	EXPECT("GET", "/api/v1/namespaces/other/configmaps/a%2Fb", "get", "", "v1", "other", "configmaps", "b", "a");
	EXPECT("GET", "/api/v1/namespaces/other/configmaps/a+b", "get", "", "v1", "other", "configmaps", "", "a+b");
	assert_int_equal(parse("GET", "/api/v1/pods/%zz"), -EINVAL);
	assert_int_equal(parse("GET", "/api/v1/pods/%4"), -EINVAL);
	EXPECT("GET", "/api/v1//configmaps", "get", "", "v1", "", "", "", "configmaps");
	EXPECT("GET", "/api/v1/namespaces/other/configmaps/", "list", "", "v1", "other", "configmaps", "", "");
}

static void test_paths_that_are_no_resources(void **state)
{
	static const char *const paths[] = {
		"/", "/api", "/api/v1", "/api/v1/", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/healthz/a/b/c", "/nosuch/x/y/z"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		assert_int_equal(parse("GET", paths[i]), 0);
		assert_false(request.info.is_resource);
		check(request.info.verb, "get");
		check(request.info.path, paths[i]);
	}
	assert_int_equal(parse("BREW", "/x"), 0);
	check(request.info.verb, "brew");
}

static void test_index_in_the_schema(void **state)
{
	(void)state;
	assert_int_equal(parse("GET", "/api/v1/namespaces/x/pods/p/status"), 0);
	assert_int_not_equal(request.info.resource_index, KS_NO_RESOURCE);
	assert_string_equal(ks_schema_text(&ks_schema_builtin, ks_schema_builtin.resources[request.info.resource_index].resource), "pods/status");
	assert_int_equal(parse("GET", "/api/v1/nosuch"), 0);
	assert_int_equal(request.info.resource_index, KS_NO_RESOURCE);
	assert_int_equal(parse("GET", "/api/v1/watch"), -ENOENT);
}

static int end(void **state)
{
	(void)state;
	ks_arena_fini(&request.arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resources),
		cmocka_unit_test(test_namespace_subresources),
		cmocka_unit_test(test_watches),
		cmocka_unit_test(test_name_from_field_selector),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_paths_that_are_no_resources),
		cmocka_unit_test(test_index_in_the_schema),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
