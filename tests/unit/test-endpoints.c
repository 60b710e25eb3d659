/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the servers of a group write into the endpoints of the kubernetes Service. */
#include <stdio.h>

#include "core/endpoints.h"
#include "tests/unit/allocate-help.h"
#include "tests/unit/cache-help.h"

#define META(name, labels) "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\",\"labels\":{" labels "}}"
#define MIRROR "\"endpointslice.kubernetes.io/skip-mirror\":\"true\""
#define SERVICE "\"kubernetes.io/service-name\":\"kubernetes\""
#define ENDPOINTS(labels, ips, port)                                                                                                               \
	"{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\"," META("kubernetes", labels) ",\"subsets\":[{\"addresses\":[" ips "],\"ports\":[{\"name\":" \
										    "\"https\",\"port\":" port ",\"protocol\":\"TCP\"}]}]}"
#define SLICE(name, type, endpoints, port)                                               \
	"{\"kind\":\"EndpointSlice\",\"apiVersion\":\"discovery.k8s.io/v1\"," META(      \
		name, SERVICE) ",\"addressType\":\"" type "\",\"endpoints\":[" endpoints \
			       "],\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":" port "}]}"
#define ONE "{\"addresses\":[\"192.0.2.1\"],\"conditions\":{\"ready\":true}}"
#define TWO ONE ",{\"addresses\":[\"192.0.2.2\"],\"conditions\":{\"ready\":true}}"
#define ENDPOINTS_KEY "/registry/services/endpoints/default/kubernetes"
#define SLICE_KEY "/registry/endpointslices/default/"

static char asked[16384];

static int note(void *arg, const char *method, const char *content_type, const char *target, struct ks_str body)
{
	size_t n = strlen(asked);

	(void)arg;
	(void)content_type;
	snprintf(asked + n, sizeof(asked) - n, "%s %s %.*s\n", method, target, (int)body.n, body.p ? body.p : "");
	return 0;
}

/* The requests that a comparison leads to. */
static const char *compare(struct allocate_group *g, const char *const *servers, bool dual, bool own_port)
{
	struct ks_server_state state = {.schema = &ks_schema_builtin, .cache = g->a.cache};
	struct ks_endpoints wanted = {.n_families = dual ? 2 : 1, .v6 = {false, true}, .port = 6443, .own_port = own_port};
	uint64_t now, oldest;

	assert_int_equal(g->host.store.ops->revision(g->host.store.self, &now, &oldest), 0);
	help_wait(g->a.cache, help_resource("", "v1", "endpoints"), now);
	help_wait(g->a.cache, help_resource("discovery.k8s.io", "v1", "endpointslices"), now);
	for (; servers[wanted.n_servers]; wanted.n_servers++)
		assert_true(ks_ip_parse(ks_str_from(servers[wanted.n_servers]), &wanted.servers[wanted.n_servers]));
	asked[0] = 0;
	assert_int_equal(ks_endpoints_compare(&state, &wanted, note, NULL), 0);
	return asked;
}

static const char *const one[] = {"192.0.2.1", NULL}, *const two[] = {"192.0.2.1", "192.0.2.2", NULL};

static void what_is_missing_is_made(void **state)
{
	struct allocate_group g;
	const char *requests;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	requests = compare(&g, two, false, true);
	assert_non_null(strstr(requests,
		"POST /api/v1/namespaces/default/endpoints?fieldManager=kube-apiserver " ENDPOINTS(
			MIRROR, "{\"ip\":\"192.0.2.1\"},{\"ip\":\"192.0.2.2\"}", "6443") "\n"));
	assert_non_null(strstr(requests, "POST /apis/discovery.k8s.io/v1/namespaces/default/endpointslices?"));
	assert_non_null(strstr(requests, "\"endpoints\":[" TWO "]"));
	assert_null(strstr(requests, "kubernetes-v6"));
	allocate_close(&g);
}

static void put_right_ones(struct allocate_group *g, const char *port)
{
	allocate_put(g, ENDPOINTS_KEY,
		strcmp(port, "6443") ? ENDPOINTS(MIRROR, "{\"ip\":\"192.0.2.1\"}", "7000") : ENDPOINTS(MIRROR, "{\"ip\":\"192.0.2.1\"}", "6443"));
	allocate_put(g, SLICE_KEY "kubernetes",
		strcmp(port, "6443") ? SLICE("kubernetes", "IPv4", ONE, "7000") : SLICE("kubernetes", "IPv4", ONE, "6443"));
}

static void what_is_right_stays(void **state)
{
	struct allocate_group g;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	put_right_ones(&g, "6443");
	assert_string_equal(compare(&g, one, false, true), "");
	/* Another server's port is as good as ours, but when this one has just begun. */
	put_right_ones(&g, "7000");
	assert_string_equal(compare(&g, one, false, false), "");
	assert_non_null(strstr(compare(&g, one, false, true), "\"port\":6443"));
	allocate_close(&g);
}

static void servers_come_and_go(void **state)
{
	struct allocate_group g;
	const char *requests;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	put_right_ones(&g, "7000");
	requests = compare(&g, two, false, false);
	assert_non_null(strstr(requests, "PATCH /api/v1/namespaces/default/endpoints/kubernetes?"));
	assert_non_null(strstr(requests,
		"{\"op\":\"add\",\"path\":\"/subsets\",\"value\":[{\"addresses\":[{\"ip\":\"192.0.2.1\"},{\"ip\":\"192.0.2.2\"}],"
		"\"ports\":[{\"name\":\"https\",\"port\":7000,\"protocol\":\"TCP\"}]}]}"));
	assert_non_null(strstr(requests, "PATCH /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes?"));
	assert_non_null(strstr(requests, "{\"op\":\"add\",\"path\":\"/endpoints\",\"value\":[" TWO "]}"));
	allocate_put(&g, SLICE_KEY "kubernetes", SLICE("kubernetes", "IPv4", TWO, "7000"));
	requests = compare(&g, one, false, false);
	assert_null(strstr(requests, "192.0.2.2"));
	assert_non_null(strstr(requests, "\"value\":[" ONE "]}"));
	allocate_close(&g);
}

static void labels_are_kept(void **state)
{
	struct allocate_group g;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	put_right_ones(&g, "6443");
	allocate_put(&g, ENDPOINTS_KEY, ENDPOINTS("", "{\"ip\":\"192.0.2.1\"}", "6443"));
	assert_non_null(strstr(compare(&g, one, false, true), "{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{" MIRROR "}}"));
	allocate_close(&g);
}

/* Slices of a family that the cluster has no more, or that somebody else made for the service. */
static void foreign_slices_go(void **state)
{
	struct allocate_group g;
	const char *requests;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	put_right_ones(&g, "6443");
	allocate_put(&g, SLICE_KEY "kubernetes-v6", SLICE("kubernetes-v6", "IPv6", "", "6443"));
	allocate_put(&g, SLICE_KEY "other", SLICE("other", "IPv4", ONE, "6443"));
	requests = compare(&g, one, false, true);
	assert_non_null(strstr(requests, "DELETE /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes-v6?"));
	assert_non_null(strstr(requests, "DELETE /apis/discovery.k8s.io/v1/namespaces/default/endpointslices/other?"));
	assert_null(strstr(requests, "endpointslices/kubernetes?"));
	/* With two families the second slice is there, empty as long as not every server has both. */
	requests = compare(&g, one, true, true);
	assert_null(strstr(requests, "kubernetes-v6"));
	allocate_put(&g, SLICE_KEY "kubernetes-v6", NULL);
	assert_non_null(strstr(compare(&g, one, true, true), META("kubernetes-v6", SERVICE) ",\"addressType\":\"IPv6\",\"endpoints\":[]"));
	allocate_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_missing_is_made),
		cmocka_unit_test(what_is_right_stays),
		cmocka_unit_test(servers_come_and_go),
		cmocka_unit_test(labels_are_kept),
		cmocka_unit_test(foreign_slices_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
