/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Services. */
#include "core/registry/service.h"

#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { KUBELET_PORT = 10250, AFFINITY_SECONDS_MOST = 86400 };

static const char *const traffic_policies[] = {"Cluster", "Local", NULL};
static const char *const service_types[] = {"ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL};

struct service {
	struct ks_check *c;
	struct ks_registry_context *ctx;
	const struct ks_value *object, *before, *ports, *old; /* `before` (whole) and `old` (its spec) are NULL on create */
	struct ks_value spec;
	struct ks_str type;
	bool balanced, headless;
};

static struct service read_service(struct ks_check *c, struct ks_registry_context *ctx, const struct ks_value *object)
{
	struct service s = {.c = c, .ctx = ctx, .object = object, .spec = ks_struct_in(c, object, "spec")};
	const struct ks_value *ips = KS_IN_LIST(c, &s.spec, "clusterIPs");

	s.ports = KS_IN_LIST(c, &s.spec, "ports");
	s.type = KS_IN_TEXT(c, &s.spec, "type");
	s.balanced = ks_str_is(s.type, "LoadBalancer");
	s.headless = ks_value_count(ips) == 1 && ks_str_is(ks_value_str(&ips->items[0]), "None");
	return s;
}

static const struct ks_value *note(const struct service *s, struct ks_str name)
{
	const struct ks_value *notes = KS_IN(s->c, KS_IN(s->c, s->object, "metadata"), "annotations");

	return notes ? ks_value_get_str(s->c->schema, notes, name) : NULL;
}

/* -- ports -------------------------------------------------------------------------------------------------------- */

static void check_port(const struct service *s, const struct ks_path *path, const struct ks_value *port, struct ks_seen *names)
{
	static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
	struct ks_check *c = s->c;
	struct ks_str name = KS_IN_TEXT(c, port, "name"), protocol = KS_IN_TEXT(c, port, "protocol");

	if (!name.n && s->ports->n > 1)
		ks_err_required(c, path, "name", "");
	else if (name.n)
		ks_check_name(c, path, "name", KS_NAME_DNS1123_LABEL, name);
	if (name.n && !ks_seen_add(c, names, name))
		ks_err_duplicate_text(c, path, "name", name);
	ks_check_port(c, path, "port", KS_IN_INT(c, port, "port", 0));
	if (!protocol.n)
		ks_err_required(c, path, "protocol", "");
	else
		ks_check_one_of(c, path, "protocol", protocol, protocols);
	ks_check_port_or_name(c, path, "targetPort", KS_IN(c, port, "targetPort"));
	if (KS_IN(c, port, "appProtocol"))
		ks_check_name(c, path, "appProtocol", KS_NAME_LABEL_KEY, KS_IN_TEXT(c, port, "appProtocol"));
}

/* A port and protocol may come once only. */
static void check_repeated(const struct service *s, bool of_node)
{
	struct ks_path path = ks_path_root("spec.ports");
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; i < ks_value_count(s->ports); i++) {
		const struct ks_value *port = &s->ports->items[i];
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str protocol = KS_IN_TEXT(s->c, port, "protocol");
		int64_t number = of_node ? KS_IN_INT(s->c, port, "nodePort", 0) : KS_IN_INT(s->c, port, "port", 0);

		if ((of_node && !number) || ks_seen_add_pair(s->c, &seen, ks_str_of((const char *)&number, sizeof(number)), protocol))
			continue;
		if (of_node)
			ks_err_duplicate(s->c, &item, "nodePort", KS_IN(s->c, port, "nodePort"));
		else
			ks_status_cause(s->c->status, s->c->arena, "FieldValueDuplicate", ks_path_text(s->c->arena, &item, NULL),
				"Duplicate value: {\"Name\":\"\",\"Protocol\":\"%.*s\",\"AppProtocol\":null,\"Port\":%lld,\"TargetPort\":0,\"NodePort\":0}",
				(int)protocol.n, protocol.p, (long long)KS_IN_INT(s->c, port, "port", 0));
	}
}

static void check_node_ports(const struct service *s)
{
	struct ks_path path = ks_path_root("spec.ports");

	for (uint32_t i = 0; ks_str_is(s->type, "ClusterIP") && i < ks_value_count(s->ports); i++) {
		struct ks_path item = ks_path_index(&path, i);

		if (KS_IN_INT(s->c, &s->ports->items[i], "nodePort", 0))
			ks_err_forbidden(s->c, &item, "nodePort", "may not be used when `type` is 'ClusterIP'");
	}
	check_repeated(s, true);
	check_repeated(s, false);
}

/* -- types -------------------------------------------------------------------------------------------------------- */

static void check_external_name(const struct service *s, const struct ks_path *path)
{
	static const char unset[] = "may not be set for ExternalName services";
	struct ks_str name = KS_IN_TEXT(s->c, &s->spec, "externalName");

	if (ks_value_count(KS_IN(s->c, &s->spec, "clusterIPs")))
		ks_err_forbidden(s->c, path, "clusterIPs", unset);
	if (ks_value_count(KS_IN(s->c, &s->spec, "ipFamilies")))
		ks_err_forbidden(s->c, path, "ipFamilies", unset);
	if (KS_IN(s->c, &s->spec, "ipFamilyPolicy"))
		ks_err_forbidden(s->c, path, "ipFamilyPolicy", unset);
	if (name.n && name.p[name.n - 1] == '.')
		name.n--;
	ks_check_required_name(s->c, path, "externalName", KS_NAME_DNS1123_SUBDOMAIN, name);
}

static void check_of_type(const struct service *s, const struct ks_path *path)
{
	struct ks_path ports = ks_path_child(path, "ports"), ips = ks_path_child(path, "clusterIPs"), first = ks_path_index(&ips, 0);

	for (uint32_t i = 0; s->balanced && i < ks_value_count(s->ports); i++) {
		struct ks_path item = ks_path_index(&ports, i);

		if (KS_IN_INT(s->c, &s->ports->items[i], "port", 0) == KUBELET_PORT)
			ks_err_invalid_int(s->c, &item, NULL, KUBELET_PORT, "may not expose port 10250 externally since it is used by kubelet");
	}
	if (s->headless && s->balanced)
		ks_err_invalid_text(s->c, &first, NULL, KS_STR_LIT("None"), "may not be set to 'None' for LoadBalancer services");
	if (s->headless && ks_str_is(s->type, "NodePort"))
		ks_err_invalid_text(s->c, &first, NULL, KS_STR_LIT("None"), "may not be set to 'None' for NodePort services");
	if (ks_str_is(s->type, "ExternalName"))
		check_external_name(s, path);
}

static void check_affinity(const struct service *s, const struct ks_path *path)
{
	static const char *const affinities[] = {"ClientIP", "None", NULL};
	struct ks_check *c = s->c;
	struct ks_str affinity = KS_IN_TEXT(c, &s->spec, "sessionAffinity");
	const struct ks_value *config = KS_IN(c, &s->spec, "sessionAffinityConfig"), *client = KS_IN(c, config, "clientIP");
	const struct ks_value *seconds = KS_IN(c, client, "timeoutSeconds");
	int64_t n = ks_value_int_or(seconds, 0);

	if (!affinity.n)
		ks_err_required(c, path, "sessionAffinity", "");
	else
		ks_check_one_of(c, path, "sessionAffinity", affinity, affinities);
	if (ks_str_is(affinity, "None") && config)
		ks_err_forbidden(c, path, "sessionAffinityConfig", "must not be set when session affinity is None");
	if (!ks_str_is(affinity, "ClientIP"))
		return;
	if (!config)
		ks_err_required(c, path, "sessionAffinityConfig", "when session affinity type is ClientIP");
	else if (!client)
		ks_err_required(c, path, "sessionAffinityConfig.clientIP", "when session affinity type is ClientIP");
	else if (!seconds)
		ks_err_required(c, path, "sessionAffinityConfig.clientIP.timeoutSeconds", "when session affinity type is ClientIP");
	else if (n <= 0 || n > AFFINITY_SECONDS_MOST)
		ks_err_invalid_int(c, path, "sessionAffinityConfig.clientIP.timeoutSeconds", n, "must be greater than 0 and less than 86400");
}

static void check_external_ips(const struct service *s, const struct ks_path *path)
{
	const struct ks_value *ips = KS_IN_LIST(s->c, &s->spec, "externalIPs");
	struct ks_path at = ks_path_child(path, "externalIPs");

	for (uint32_t i = 0; i < ks_value_count(ips); i++) {
		struct ks_path item = ks_path_index(&at, i);

		if (ks_check_new_ip(s->c, &item, NULL, ks_value_str(&ips->items[i]), s->old))
			ks_check_ip_not_special(s->c, &item, NULL, ks_value_str(&ips->items[i]));
	}
}

/* -- load balancers ----------------------------------------------------------------------------------------------- */

static struct ks_str trimmed(struct ks_str text)
{
	while (text.n && strchr(" \t\r\n", text.p[0]))
		text = ks_str_of(text.p + 1, text.n - 1);
	while (text.n && strchr(" \t\r\n", text.p[text.n - 1]))
		text.n--;
	return text;
}

/* The field has priority over the annotation that it replaced. */
static void check_source_ranges(const struct service *s, const struct ks_path *spec)
{
	static const char only[] = "may only be used when `type` is 'LoadBalancer'";
	const struct ks_value *ranges = KS_IN_LIST(s->c, &s->spec, "loadBalancerSourceRanges");
	const struct ks_value *in_note = note(s, KS_STR_LIT("service.beta.kubernetes.io/load-balancer-source-ranges"));
	struct ks_path at = ks_path_child(spec, "LoadBalancerSourceRanges"), metadata = ks_path_root("metadata.annotations");
	struct ks_path at_note = ks_path_key(&metadata, KS_STR_LIT("service.beta.kubernetes.io/load-balancer-source-ranges"));
	struct ks_str rest = trimmed(ks_value_str(in_note));

	if (ks_value_count(ranges)) {
		if (!s->balanced)
			ks_err_forbidden(s->c, &at, NULL, only);
		for (uint32_t i = 0; i < ranges->n; i++) {
			struct ks_path item = ks_path_index(&at, i);

			ks_check_new_cidr(s->c, &item, NULL, trimmed(ks_value_str(&ranges->items[i])), s->old);
		}
		return;
	}
	if (in_note && !s->balanced)
		ks_err_forbidden(s->c, &at_note, NULL, only);
	while (in_note && rest.n) {
		const char *comma = memchr(rest.p, ',', rest.n);
		size_t n = comma ? (size_t)(comma - rest.p) : rest.n;

		ks_check_cidr(s->c, &at_note, NULL, trimmed(ks_str_of(rest.p, n)), !s->old);
		rest = comma ? ks_str_of(comma + 1, rest.n - n - 1) : (struct ks_str){0};
	}
}

static void check_class(const struct service *s, const struct ks_path *path)
{
	const struct ks_value *class = KS_IN(s->c, &s->spec, "loadBalancerClass");

	if (class && s->balanced)
		ks_check_name(s->c, path, "loadBalancerClass", KS_NAME_LABEL_KEY, ks_value_str(class));
	else if (class)
		ks_err_forbidden(s->c, path, "loadBalancerClass", "may only be used when `type` is 'LoadBalancer'");
}

static void check_balancer(const struct service *s, const struct ks_path *path)
{
	const struct ks_value *allocate = KS_IN(s->c, &s->spec, "allocateLoadBalancerNodePorts");
	struct ks_path alone = ks_path_root("allocateLoadBalancerNodePorts");

	check_source_ranges(s, path);
	if (allocate && !s->balanced)
		ks_err_forbidden(s->c, path, "allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'");
	if (!allocate && s->balanced)
		ks_err_required(s->c, &alone, NULL, "");
	check_class(s, path);
}

/* -- traffic ------------------------------------------------------------------------------------------------------ */

static bool reachable_from_outside(const struct service *s)
{
	return s->balanced || ks_str_is(s->type, "NodePort") ||
		(ks_str_is(s->type, "ClusterIP") && ks_value_count(KS_IN(s->c, &s->spec, "externalIPs")));
}

static bool needs_health_port(const struct service *s)
{
	return s->balanced && ks_str_is(KS_IN_TEXT(s->c, &s->spec, "externalTrafficPolicy"), "Local");
}

static void check_traffic(const struct service *s, const struct ks_path *path)
{
	static const char *const distributions[] = {"PreferClose", "PreferSameZone", "PreferSameNode", NULL};
	struct ks_check *c = s->c;
	struct ks_str policy = KS_IN_TEXT(c, &s->spec, "externalTrafficPolicy");
	const struct ks_value *inside = KS_IN(c, &s->spec, "internalTrafficPolicy"), *distribution = KS_IN(c, &s->spec, "trafficDistribution");
	int64_t port = KS_IN_INT(c, &s->spec, "healthCheckNodePort", 0);

	if (!reachable_from_outside(s)) {
		if (policy.n)
			ks_err_invalid_text(c, path, "externalTrafficPolicy", policy, "may only be set for externally-accessible services");
	} else if (!policy.n) {
		ks_err_required(c, path, "externalTrafficPolicy", "");
	} else {
		ks_check_one_of(c, path, "externalTrafficPolicy", policy, traffic_policies);
	}
	if (needs_health_port(s) && !port)
		ks_err_required(c, path, "healthCheckNodePort", "");
	else if (needs_health_port(s))
		ks_check_port(c, path, "healthCheckNodePort", port);
	else if (port)
		ks_err_invalid_int(c, path, "healthCheckNodePort", port,
			"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
	if (inside)
		ks_check_one_of(c, path, "internalTrafficPolicy", ks_value_str(inside), traffic_policies);
	else if (ks_str_in(s->type, service_types) && !ks_str_is(s->type, "ExternalName"))
		ks_err_required(c, path, "internalTrafficPolicy", "");
	if (distribution)
		ks_check_one_of(c, path, "trafficDistribution", ks_value_str(distribution), distributions);
}

static void check_hints(const struct service *s)
{
	const struct ks_value *mode = note(s, KS_STR_LIT("service.kubernetes.io/topology-mode"));
	const struct ks_value *hints = note(s, KS_STR_LIT("service.kubernetes.io/topology-aware-hints"));
	struct ks_path notes = ks_path_root("metadata.annotations"), at = ks_path_key(&notes, KS_STR_LIT("service.kubernetes.io/topology-mode"));

	if (mode && hints && !ks_value_equal(mode, hints))
		ks_err_invalid_text(s->c, &at, NULL, ks_value_str(mode),
			"must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified");
}

static void check_service(const struct service *s)
{
	struct ks_path path = ks_path_root("spec"), ports = ks_path_child(&path, "ports");
	struct ks_seen names = {.n = 0};

	check_hints(s);
	if (!ks_value_count(s->ports) && !s->headless && !ks_str_is(s->type, "ExternalName"))
		ks_err_required(s->c, &path, "ports", "");
	check_of_type(s, &path);
	for (uint32_t i = 0; i < ks_value_count(s->ports); i++) {
		struct ks_path item = ks_path_index(&ports, i);

		check_port(s, &item, &s->ports->items[i], &names);
	}
	ks_check_labels(s->c, &path, "selector", KS_IN_MAP(s->c, &s->spec, "selector"));
	check_affinity(s, &path);
	ks_service_validate_addresses(s->ctx, s->object, s->before, s->c->status);
	check_external_ips(s, &path);
	if (!s->type.n)
		ks_err_required(s->c, &path, "type", "");
	else
		ks_check_one_of(s->c, &path, "type", s->type, service_types);
	check_node_ports(s);
	check_balancer(s, &path);
	check_traffic(s, &path);
}

/* -- update ------------------------------------------------------------------------------------------------------- */

static bool same_item(const struct ks_value *a, const struct ks_value *b, uint32_t at)
{
	return at < ks_value_count(a) && at < ks_value_count(b) && ks_value_equal(&a->items[at], &b->items[at]);
}

static void check_single_stack(const struct service *s, const char *what)
{
	struct ks_path path = ks_path_root("spec");

	if (!ks_str_is(KS_IN_TEXT(s->c, &s->spec, "ipFamilyPolicy"), "SingleStack"))
		ks_err_invalid_slot(s->c, &path, "ipFamilyPolicy", &s->spec, "ipFamilyPolicy",
			ks_err_detail(s->c, "must be set to 'SingleStack' when releasing the secondary %s", what));
}

/* A second address may come and go, the first one stays. */
static void check_address_update(const struct service *s, const struct service *old)
{
	const struct ks_value *now = KS_IN_LIST(s->c, &s->spec, "clusterIPs"), *before = KS_IN_LIST(s->c, &old->spec, "clusterIPs");
	struct ks_path path = ks_path_root("spec.clusterIPs"), first = ks_path_index(&path, 0);
	uint32_t n = ks_value_count(now), had = ks_value_count(before);

	if (s->headless && old->headless)
		return;
	if (n == had) {
		for (uint32_t i = 0; i < n; i++) {
			struct ks_path item = ks_path_index(&path, i);

			if (!same_item(now, before, i))
				ks_err_invalid_slot(s->c, &item, NULL, &s->spec, "clusterIPs", "may not change once set");
		}
		return;
	}
	if (!n)
		ks_err_invalid_slot(s->c, &first, NULL, &s->spec, "clusterIPs", "primary clusterIP can not be unset");
	else if (had && !same_item(now, before, 0))
		ks_err_invalid_slot(s->c, &first, NULL, &s->spec, "clusterIPs", "may not change once set");
	if (had > n && n == 1)
		check_single_stack(s, "clusterIP");
}

static void check_family_update(const struct service *s, const struct service *old)
{
	const struct ks_value *now = KS_IN_LIST(s->c, &s->spec, "ipFamilies"), *before = KS_IN_LIST(s->c, &old->spec, "ipFamilies");
	struct ks_path path = ks_path_root("spec.ipFamilies"), first = ks_path_index(&path, 0);
	uint32_t n = ks_value_count(now), had = ks_value_count(before);

	if (s->headless || old->headless)
		return;
	if (n == had) {
		for (uint32_t i = 0; i < n; i++)
			if (!same_item(now, before, i))
				ks_err_invalid_slot(s->c, &first, NULL, &s->spec, "ipFamilies", "may not change once set");
		return;
	}
	if (had > n && !ks_value_count(KS_IN(s->c, &s->spec, "clusterIPs")))
		ks_err_invalid_slot(s->c, &first, NULL, &s->spec, "ipFamilies", "primary ipFamily can not be unset");
	if (n && had && !same_item(now, before, 0))
		ks_err_invalid_slot(s->c, &first, NULL, &s->spec, "clusterIPs", "may not change once set");
	if (had > n && n == 1)
		check_single_stack(s, "ipFamily");
}

static void check_update(const struct service *s, const struct service *old)
{
	struct ks_path path = ks_path_root("spec");

	if (!ks_str_is(s->type, "ExternalName") && !ks_str_is(old->type, "ExternalName")) {
		check_address_update(s, old);
		check_family_update(s, old);
	}
	if (s->balanced && old->balanced && !ks_value_same(KS_IN(s->c, &s->spec, "loadBalancerClass"), KS_IN(s->c, &old->spec, "loadBalancerClass")))
		ks_err_invalid_slot(s->c, &path, "loadBalancerClass", &s->spec, "loadBalancerClass", "may not change once set");
	check_class(s, &path);
	if (needs_health_port(s) && needs_health_port(old) &&
		KS_IN_INT(s->c, &s->spec, "healthCheckNodePort", 0) != KS_IN_INT(s->c, &old->spec, "healthCheckNodePort", 0))
		ks_err_forbidden(s->c, &path, "healthCheckNodePort", "field is immutable");
}

/* -- status ------------------------------------------------------------------------------------------------------- */

static void check_ingress(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const struct ks_value *old)
{
	static const char *const modes[] = {"Proxy", "VIP", NULL};
	struct ks_str ip = KS_IN_TEXT(c, v, "ip"), host = KS_IN_TEXT(c, v, "hostname");
	const struct ks_value *mode = KS_IN(c, v, "ipMode");
	struct ks_status aside = {0};
	struct ks_check quiet = *c;

	if (ip.n)
		ks_check_new_ip(c, path, "ip", ip, old);
	if (!mode && ip.n)
		ks_err_required(c, path, "ipMode", "must be specified when `ip` is set");
	else if (mode && !ip.n)
		ks_err_forbidden(c, path, "ipMode", "may not be specified when `ip` is not set");
	else if (mode)
		ks_check_one_of(c, path, "ipMode", ks_value_str(mode), modes);
	if (!host.n)
		return;
	ks_check_name(c, path, "hostname", KS_NAME_DNS1123_SUBDOMAIN, host);
	quiet.status = &aside;
	if (ks_check_ip(&quiet, path, "hostname", host, false))
		ks_err_invalid_text(c, path, "hostname", host, "must be a DNS name, not an IP address");
}

static void check_status(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	const struct ks_value *list = KS_IN_LIST(c, KS_IN(c, KS_IN(c, object, "status"), "loadBalancer"), "ingress");
	struct ks_path path = ks_path_root("status.loadBalancer.ingress");

	if (ks_value_count(list) && !ks_str_is(KS_IN_TEXT(c, KS_IN(c, object, "spec"), "type"), "LoadBalancer")) {
		ks_err_forbidden(c, &path, NULL, "may only be used when `spec.type` is 'LoadBalancer'");
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		check_ingress(c, &item, &list->items[i], KS_IN(c, old, "status"));
	}
}

void ks_validate_service(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct service s, before;

	if (ks_str_is(ctx->subresource, "status")) {
		check_status(&c, object, old);
		return;
	}
	if (ctx->subresource.n)
		return;
	s = read_service(&c, ctx, object);
	s.before = old;
	s.old = old ? KS_IN(&c, old, "spec") : NULL;
	if (old) {
		before = read_service(&c, ctx, old);
		check_update(&s, &before);
	}
	check_service(&s);
}
