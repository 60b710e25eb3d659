/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects that every cluster has from its first moment on. */
#include <stdarg.h>
#include <stdio.h>

#include "core/registry/allocate/ip.h"
#include "core/registry/registry.h"

enum { MOST_OBJECTS = 16, TEXT_ROOM = 1024 };

static struct {
	struct ks_bootstrap_object objects[MOST_OBJECTS];
	char texts[MOST_OBJECTS][TEXT_ROOM];
	size_t n;
} start;

__attribute__((format(printf, 2, 3))) static void add(struct ks_bootstrap_object object, const char *format, ...)
{
	va_list args;

	if (start.n == MOST_OBJECTS)
		return;
	va_start(args, format);
	vsnprintf(start.texts[start.n], TEXT_ROOM, format, args);
	va_end(args);
	start.objects[start.n] = object;
	start.objects[start.n].json = start.texts[start.n];
	start.n++;
}

static void add_namespaces(void)
{
	static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct ks_bootstrap_object object = {
			.collection = "/api/v1/namespaces", .group = "", .resource = "namespaces", .ns = "", .name = names[i], .kept = true};

		add(object, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", names[i]);
	}
}

/* The first of the addresses is the server's own. */
static void add_service(const struct ks_ip_range *range, unsigned port)
{
	const struct ks_bootstrap_object object = {
		.collection = "/api/v1/namespaces/default/services", .group = "", .resource = "services", .ns = "default", .name = "kubernetes", .kept = true};
	char address[KS_IP_TEXT];

	ks_ip_print(&range->first, address);
	add(object, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\","
		"\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"%s\","
		"\"ipFamilyPolicy\":\"SingleStack\",\"sessionAffinity\":\"None\","
		"\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":443,\"targetPort\":%u}]}}", address, port);
}

static void add_service_range(const struct ks_ip_range *ranges, unsigned n)
{
	const struct ks_bootstrap_object object = {.collection = "/apis/networking.k8s.io/v1/servicecidrs", .group = "networking.k8s.io",
		.resource = "servicecidrs", .ns = "", .name = "kubernetes", .kept = true};
	char first[KS_IP_RANGE_TEXT], second[KS_IP_RANGE_TEXT] = "";

	ks_ip_range_print(&ranges[0], first);
	if (n > 1)
		ks_ip_range_print(&ranges[1], second);
	add(object, "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"ServiceCIDR\",\"metadata\":{\"name\":\"kubernetes\"},"
		"\"spec\":{\"cidrs\":[\"%s\"%s%s%s]}}", first, n > 1 ? ",\"" : "", second, n > 1 ? "\"" : "");
}

static void add_priority_class(const char *name, unsigned value, const char *description)
{
	const struct ks_bootstrap_object object = {.collection = "/apis/scheduling.k8s.io/v1/priorityclasses", .group = "scheduling.k8s.io",
		.resource = "priorityclasses", .ns = "", .name = name};

	add(object, "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"%s\"},"
		"\"value\":%u,\"preemptionPolicy\":\"PreemptLowerPriority\",\"description\":\"%s\"}", name, value, description);
}

const struct ks_bootstrap_object *ks_registry_bootstrap(const struct ks_config *config, unsigned port, size_t *n_r)
{
	struct ks_ip_range ranges[2];
	unsigned n = ks_ip_ranges_parse(config->service_cluster_ip_range, ranges);

	start.n = 0;
	if (!n)
		return NULL;
	add_namespaces();
	add_service_range(ranges, n);
	add_service(&ranges[0], port);
	add_priority_class("system-cluster-critical", 2000000000,
		"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.");
	add_priority_class("system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node.");
	*n_r = start.n;
	return start.objects;
}
