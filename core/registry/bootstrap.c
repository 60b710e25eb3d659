/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Objects that every cluster has from its first moment on. */
#include <stdarg.h>
#include <stdio.h>

#include "core/registry/service.h"

enum { MOST_OBJECTS = 16, TEXT_ROOM = 1024 };

static struct {
	struct ks_bootstrap_object objects[MOST_OBJECTS];
	char texts[MOST_OBJECTS][TEXT_ROOM];
	size_t n;
} start;

__attribute__((format(printf, 3, 4))) static void add(const char *collection, const char *name, const char *format, ...)
{
	va_list args;

	if (start.n == MOST_OBJECTS)
		return;
	va_start(args, format);
	vsnprintf(start.texts[start.n], TEXT_ROOM, format, args);
	va_end(args);
	start.objects[start.n] = (struct ks_bootstrap_object){collection, name, start.texts[start.n]};
	start.n++;
}

static void add_namespaces(void)
{
	static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add("/api/v1/namespaces", names[i], "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", names[i]);
}

static void add_service(const char *address, unsigned port)
{
	add("/api/v1/namespaces/default/services", "kubernetes",
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\","
		"\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"%s\","
		"\"clusterIPs\":[\"%s\"],\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\",\"sessionAffinity\":\"None\","
		"\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":443,\"targetPort\":%u}]}}", address, address, port);
}

/* Where the server can be reached from inside the cluster; not said when that is not known. */
static void add_endpoints(const char *address, unsigned port)
{
	add("/api/v1/namespaces/default/endpoints", "kubernetes",
		"{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\","
		"\"labels\":{\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}},\"subsets\":[{\"addresses\":[{\"ip\":\"%s\"}],"
		"\"ports\":[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]}]}", address, port);
	add("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "kubernetes",
		"{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\","
		"\"labels\":{\"kubernetes.io/service-name\":\"kubernetes\"}},\"addressType\":\"IPv4\",\"endpoints\":[{\"addresses\":[\"%s\"],"
		"\"conditions\":{\"ready\":true}}],\"ports\":[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]}", address, port);
}

static void add_priority_classes(void)
{
	add("/apis/scheduling.k8s.io/v1/priorityclasses", "system-cluster-critical",
		"{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"system-cluster-critical\"},"
		"\"value\":2000000000,\"preemptionPolicy\":\"PreemptLowerPriority\",\"description\":"
		"\"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.\"}");
	add("/apis/scheduling.k8s.io/v1/priorityclasses", "system-node-critical",
		"{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{\"name\":\"system-node-critical\"},"
		"\"value\":2000001000,\"preemptionPolicy\":\"PreemptLowerPriority\",\"description\":"
		"\"Used for system critical pods that must not be moved from their current node.\"}");
}

const struct ks_bootstrap_object *ks_registry_bootstrap(const struct ks_config *config, size_t *n_r)
{
	uint32_t network, count, unused;
	char address[16];
	unsigned port = config->server.port ? config->server.port : 6443;

	start.n = 0;
	if (!ks_parse_service_range(config->service_cluster_ip_range, &network, &count))
		return NULL;
	network++;
	snprintf(address, sizeof(address), "%u.%u.%u.%u", network >> 24, network >> 16 & 255, network >> 8 & 255, network & 255);
	add_namespaces();
	add_service(address, port);
	if (config->advertise_address && ks_parse_ipv4(ks_str_from(config->advertise_address), &unused))
		add_endpoints(config->advertise_address, port);
	add_priority_classes();
	*n_r = start.n;
	return start.objects;
}
