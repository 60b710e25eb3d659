/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Paths: what is there, what isn't, discovery, OpenAPI, health, metrics, version. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/pipeline/health.h"
#include "core/pipeline/lane.h"
#include "core/pipeline/routes.h"
#include "tests/unit/fake-pipeline.h"

#define NO_RESOURCE "\"message\":\"the server could not find the requested resource\",\"reason\":\"NotFound\",\"details\":{},\"code\":404}"
#define NO_METHOD                                                               \
	"\"message\":\"the server does not allow this method on the requested " \
	"resource\",\"reason\":\"MethodNotAllowed\",\"details\":{},\"code\":405}"

static struct fake fake;

static int start(void **state)
{
	(void)state;
	fake_start(&fake);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	assert_int_equal(ks_lane_of(&fake.server, fake.loop)->n_live, 0);
	fake_stop(&fake);
	return 0;
}

static void expect(const struct fake_answer *answer, int code, const char *part)
{
	if (answer->code != code || !strstr(answer->body, part))
		fail_msg("want %d and %s, got %d: %.300s", code, part, answer->code, answer->body);
}

static void expect_header(const struct fake_answer *answer, const char *header)
{
	if (!strstr(answer->headers, header))
		fail_msg("want %s in:\n%s", header, answer->headers);
}

static const struct fake_answer *call(const char *method, const char *target)
{
	static const char *const good[] = {"authorization", "Bearer good", NULL};

	return fake_request(&fake, method, target, good, NULL);
}

static const struct fake_answer *get_as(const char *target, const char *accept)
{
	const char *const headers[] = {"authorization", "Bearer good", "accept", accept, NULL};

	return fake_request(&fake, "GET", target, headers, NULL);
}

static void test_not_found(void **state)
{
	static const char *const resources[] = {"/api/v2", "/api/v1/nosuch", "/apis/apps/v9", "/apis/apps/v1/nosuch",
		"/apis/apps/v1/namespaces/x/nosuch", "/apis/apps/v1beta1/deployments", "/api/v1/namespaces/x/configmaps/a/nosuch",
		"/api/v1/namespaces/x/configmaps/a/status", "/api/v1/namespaces/x/nodes", "/api/v1/nodes/a/b/c", "/api/v1//configmaps",
		"/api/v1/ConfigMaps", "/api/v1/pods/x", "/api/v1/namespaces/x/bindings/y", "/api/v1/namespaces/x/configmaps//a"};
	static const char *const pages[] = {"/nosuch", "/apis/nosuch", "/apis/nosuch/v1", "/apis/nosuch/v1/things",
		"/apis/extensions/v1beta1/ingresses", "/API/v1", "/livez/", "/healthz/nosuch", "/livez/shutdown", "/openapi/v1", "/swagger.json"};

	(void)state;
	for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++)
		expect(call("GET", resources[i]), 404, NO_RESOURCE);
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
		expect(call("GET", pages[i]), 404, "404 page not found\n");
	expect_header(call("GET", "/nosuch"), "content-type: text/plain; charset=utf-8\n");
}

static void test_methods(void **state)
{
	static const char *const refused[][2] = {{"OPTIONS", "/api/v1/namespaces/x/configmaps"}, {"HEAD", "/api/v1/namespaces/x/configmaps/a"},
		{"HEAD", "/api"}, {"OPTIONS", "/api"}, {"HEAD", "/version"}, {"PATCH", "/api/v1/namespaces/x/configmaps"},
		{"POST", "/api/v1/configmaps"}, {"POST", "/api/v1/namespaces/x/configmaps/a"}, {"GET", "/apis/authentication.k8s.io/v1/tokenreviews"},
		{"HEAD", "/apis/batch/v1"}, {"GET", "/api/v1/namespaces/x/bindings"}, {"POST", "/api/v1/watch/pods"}};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		expect(call(refused[i][0], refused[i][1]), 405, NO_METHOD);
	expect_header(call("OPTIONS", "/api/v1/namespaces/x/configmaps"), "allow: GET, POST, DELETE\n");
	expect(call("HEAD", "/apis/batch"), 200, "");
	expect(call("POST", "/healthz"), 200, "ok");
	expect(call("GET", "/api/v1/watch/namespaces/x/pods/y"), 200, "handled");
	expect(call("GET", "/api/v1/namespaces/x/services/s/proxy/a/b"), 200, "handled");
	expect(call("PUT", "/api/v1/namespaces/x/finalize"), 200, "handled");
}

static void test_accept(void **state)
{
	(void)state;
	expect(get_as("/api/v1/namespaces/x/configmaps", "text/html"), 406,
		"\"message\":\"406: Not Acceptable\\n\\nAvailable representations: application/json, application/yaml, "
		"application/vnd.kubernetes.protobuf, "
		"application/json;stream=watch, "
		"application/vnd.kubernetes.protobuf;stream=watch\",\"reason\":\"NotAcceptable\",\"details\":{},\"code\":406}");
	expect(get_as("/api/v1/namespaces/x/configmaps/a", "text/html"), 406,
		"\"406: Not Acceptable\\n\\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf\"");
	expect(get_as("/api/v1/nosuch", "text/html"), 404, NO_RESOURCE);
	expect(get_as("/api", "text/html"), 406, "\"406: Not Acceptable");
	expect(get_as("/apis/batch/v1", "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"), 406,
		"\"message\":\"only the following media types are accepted: application/json, application/yaml, "
		"application/vnd.kubernetes.protobuf\","
		"\"reason\":\"NotAcceptable\",\"code\":406}");
	expect(get_as("/api", "application/json;as=APIGroupDiscoveryList;v=v9;g=apidiscovery.k8s.io"), 406, "\"only the following media types");
}

static void test_names_and_warnings(void **state)
{
	(void)state;
	expect(call("GET", "/api/v1/namespaces/x/configmaps/.."), 400,
		"\"message\":\"Name parameter invalid: \\\"..\\\": may not be '..'\",\"reason\":\"BadRequest\"");
	expect_header(
		call("GET", "/api/v1/endpoints"), "warning: 299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"\n");
}

static void test_discovery(void **state)
{
	const struct fake_answer *answer;
	char etag[256];
	const char *matching[] = {"authorization", "Bearer good", "accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
		"if-none-match", etag, NULL};

	(void)state;
	expect(call("GET", "/api"), 200, "\"192.0.2.10:6443\"");
	expect(call("GET", "/apis"), 200, "\"APIGroupList\"");
	expect(call("GET", "/apis/apps/"), 200, "\"APIGroup\"");
	expect(call("GET", "/apis/apps/v1"), 200, "\"deployments/scale\"");
	expect(call("GET", "/api/v1/"), 200, "\"APIResourceList\"");
	expect(get_as("/apis/batch/v1", "application/yaml"), 200,
		"apiVersion: v1\ngroupVersion: batch/v1\nkind: APIResourceList\nresources:\n- categories:\n  - all\n");
	answer = get_as("/apis", matching[3]);
	expect(answer, 200, "\"APIGroupDiscoveryList\"");
	expect_header(answer, "content-type: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\n");
	expect_header(answer, "vary: Accept\n");
	expect_header(answer, "cache-control: public\n");
	assert_int_equal(sscanf(strstr(answer->headers, "etag: "), "etag: %255s", etag), 1);
	answer = fake_request(&fake, "GET", "/apis", matching, NULL);
	expect(answer, 304, "");
	assert_int_equal(answer->body_n, 0);
}

static void test_openapi_addresses(void **state)
{
	const struct fake_answer *answer;
	char target[512], hash[256];

	(void)state;
	answer = call("GET", "/openapi/v3");
	expect(answer, 200, "\"apis/coordination.k8s.io/v1\"");
	assert_int_equal(sscanf(strstr(answer->body, "coordination.k8s.io/v1?hash="), "coordination.k8s.io/v1?hash=%255[^\"]", hash), 1);
	snprintf(target, sizeof(target), "/openapi/v3/apis/coordination.k8s.io/v1?hash=%s", hash);
	answer = call("HEAD", target);
	assert_int_equal(answer->code, 200);
	expect_header(answer, "cache-control: public, immutable\n");
	expect_header(answer, "expires: ");
	answer = call("GET", "/openapi/v3/apis/coordination.k8s.io/v1?hash=OLD");
	assert_int_equal(answer->code, 301);
	expect_header(answer, target);
	answer = call("GET", "/openapi/v3/nosuch");
	assert_int_equal(answer->code, 404);
	assert_int_equal(answer->body_n, 0);
	assert_int_equal(get_as("/openapi/v3/api/v1", "text/html")->code, 406);
}

static int sick(void *arg, struct ks_error *err)
{
	(void)arg;
	return ks_error_set(err, -EIO, "it hurts");
}

static void test_health(void **state)
{
	(void)state;
	expect(call("GET", "/healthz/ping"), 200, "ok");
	expect(call("GET", "/readyz?verbose"), 200, "[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n");
	expect(call("GET", "/readyz?verbose"), 200, "[+]shutdown ok\nreadyz check passed\n");
	expect(call("GET", "/livez?verbose&exclude=etcd&exclude=nosuch"), 200,
		"[+]etcd excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"nosuch\"\nlivez check passed\n");
	assert_int_equal(ks_health_add(fake.server.health, "body", KS_LIVEZ, sick, NULL), 0);
	expect(call("GET", "/livez"), 500, "[+]etcd ok\n[-]body failed: reason withheld\nlivez check failed\n");
	expect(call("GET", "/livez/body"), 500, "internal server error: it hurts\n");
	expect(call("GET", "/livez?exclude=body"), 200, "ok");
	fake.server.draining = true;
	expect(call("GET", "/readyz"), 500, "[-]shutdown failed: reason withheld\nreadyz check failed\n");
}

static void test_metrics(void **state)
{
	(void)state;
	expect(fake_get(&fake, "/api/v1/namespaces/x/pods"), 200, "handled");
	expect(fake_get(&fake, "/api/v1/namespaces/x/pods"), 200, "handled");
	expect(fake_get(&fake, "/api/v1/nosuch"), 404, "");
	expect(fake_get(&fake, "/metrics"), 200,
		"apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"pods\",scope=\"namespace\","
		"subresource=\"\","
		"verb=\"LIST\",version=\"v1\"} 2\n");
	expect(fake_get(&fake, "/metrics"), 200,
		"apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"\",scope=\"\",subresource=\"/"
		"metrics\","
		"verb=\"GET\",version=\"\"} 1\n");
	expect(fake_get(&fake, "/metrics"), 200, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1\n");
	expect(fake_get(&fake, "/metrics"), 200, "\nprocess_resident_memory_bytes ");
	expect(fake_get(&fake, "/metrics"), 200, "apiserver_request_filter_duration_seconds_count{filter=\"authorization\"} ");
}

static void test_version_and_root(void **state)
{
	(void)state;
	expect(call("GET", "/version"), 200, "{\n  \"major\": \"1\",\n  \"minor\": \"36\",\n");
	expect(call("GET", "/version"), 200, "\"gitVersion\": \"v1.36.3+keelson.");
	expect(call("GET", "/"), 200, "{\n  \"paths\": [\n    \"/api\",\n    \"/api/v1\",\n    \"/apis\",\n    \"/apis/\",\n");
	expect(call("GET", "/"), 200, "    \"/readyz/shutdown\",\n");
}

static enum ks_stage_result serve_mine(struct ks_request *request, void *arg)
{
	ks_request_respond_text(request, 200, arg);
	return KS_STAGE_ANSWERED;
}

static void test_routes_change(void **state)
{
	struct ks_route mine = {.path = "/mine/", .flags = KS_ROUTE_PREFIX, .run = serve_mine, .arg = "mine"};

	(void)state;
	expect(call("GET", "/mine/x"), 404, "404 page");
	assert_int_equal(ks_routes_add(fake.server.routes, &mine), 0);
	expect(call("GET", "/mine/x"), 200, "mine");
	mine.arg = "other";
	assert_int_equal(ks_routes_add(fake.server.routes, &mine), 0);
	expect(call("GET", "/mine/x"), 200, "other");
	assert_int_equal(ks_routes_remove(fake.server.routes, "/mine/"), 0);
	assert_int_equal(ks_routes_remove(fake.server.routes, "/mine/"), -ENOENT);
	expect(call("GET", "/mine/x"), 404, "404 page");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)
	const struct CMUnitTest tests[] = {
		TEST(test_not_found),
		TEST(test_methods),
		TEST(test_accept),
		TEST(test_names_and_warnings),
		TEST(test_discovery),
		TEST(test_openapi_addresses),
		TEST(test_health),
		TEST(test_metrics),
		TEST(test_version_and_root),
		TEST(test_routes_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
