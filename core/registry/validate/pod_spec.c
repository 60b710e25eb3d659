/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The spec of a pod, in a pod and in every template. */
#include "core/registry/validate/pod.h"

static const char *const restart_policies[] = {"Always", "OnFailure", "Never", NULL};
static const char *const dns_policies[] = {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL};
static const char *const preemption_policies[] = {"PreemptLowerPriority", "Never", NULL};

static void check_choice(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *const *set)
{
	if (!value.n)
		ks_err_required(c, path, name, "");
	else if (!ks_str_in(value, set))
		ks_err_not_supported(c, path, name, value, set);
}

static void check_claims(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	struct ks_seen *names = &ks_pod_of(c)->claim_names;

	EACH(i, list) {
		const struct ks_value *v = &list->items[i], *claim = IN(v, "resourceClaimName"), *template = IN(v, "resourceClaimTemplateName");
		struct ks_path item = ks_path_index(path, i);
		struct ks_str name = TEXT(v, "name");

		if (!name.n) {
			ks_err_required(c, &item, "name", "");
		} else if (ks_seen_has(names, name)) {
			ks_err_duplicate_text(c, &item, "name", name);
		} else {
			ks_check_name(c, &item, "name", KS_NAME_DNS1123_LABEL, name);
			ks_seen_add(c, names, name);
		}
		if (claim && template)
			ks_err_invalid(c, &item, NULL, v, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
		if (!claim && !template)
			ks_err_invalid(c, &item, NULL, v, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
		if (claim)
			ks_check_name(c, &item, "resourceClaimName", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(claim));
		if (template)
			ks_check_name(c, &item, "resourceClaimTemplateName", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(template));
	}
}

/* On the host's network a port is the same inside and outside. */
static void check_host_network(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *list = LIST(spec, "containers");
	struct ks_path at = ks_path_child(path, "containers");

	if (!IS_TRUE(spec, "hostNetwork"))
		return;
	EACH(i, list) {
		const struct ks_value *ports = LIST(&list->items[i], "ports");
		struct ks_path item = ks_path_index(&at, i), ports_at = ks_path_child(&item, "ports");

		EACH(k, ports) {
			int64_t host = INT(&ports->items[k], "hostPort"), own = INT(&ports->items[k], "containerPort");
			struct ks_path port = ks_path_index(&ports_at, k);

			if ((ks_pod_of(c)->is_pod || host) && host != own)
				ks_err_invalid_int(c, &port, "hostPort", host, "must match `containerPort` when `hostNetwork` is true");
		}
	}
}

/* -- names ---------------------------------------------------------------------------------------------------------- */

static void check_searches(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(path, "searches");
	size_t total = 0;

	if (ks_value_count(list) > 32)
		ks_err_invalid(c, &at, NULL, list, "must not have more than 32 search paths");
	EACH(i, list)
		total += ks_value_str(&list->items[i]).n + (i > 0);
	if (total > 2048)
		ks_err_invalid(c, &at, NULL, list, "must not have more than 2048 characters (including spaces) in the search list");
	EACH(i, list) {
		struct ks_str one = ks_value_str(&list->items[i]);
		struct ks_path item = ks_path_index(&at, i);

		if (ks_str_is(one, "."))
			continue;
		if (one.n && one.p[one.n - 1] == '.')
			one.n--;
		ks_check_name(c, &item, NULL, KS_NAME_SEARCH_DOMAIN, one);
	}
}

void ks_check_dns(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *config = IN(spec, "dnsConfig"), *servers = LIST(config, "nameservers"), *options = LIST(config, "options");
	struct ks_path at = ks_path_child(path, "dnsConfig"), servers_at = ks_path_child(&at, "nameservers"), options_at = ks_path_child(&at, "options");

	if (ks_str_is(TEXT(spec, "dnsPolicy"), "None")) {
		if (!config)
			ks_err_required(c, &at, NULL, "must provide `dnsConfig` when `dnsPolicy` is None");
		else if (!ks_value_count(servers))
			ks_err_required(c, &servers_at, NULL, "must provide at least one DNS nameserver when `dnsPolicy` is None");
		if (!ks_value_count(servers))
			return;
	}
	if (!config)
		return;
	if (ks_value_count(servers) > 3)
		ks_err_invalid(c, &servers_at, NULL, servers, "must not have more than 3 nameservers");
	EACH(i, servers) {
		struct ks_path item = ks_path_index(&servers_at, i);

		ks_check_ip(c, &item, NULL, ks_value_str(&servers->items[i]), true);
	}
	check_searches(c, &at, LIST(config, "searches"));
	EACH(i, options) {
		struct ks_path item = ks_path_index(&options_at, i);

		if (!TEXT(&options->items[i], "name").n)
			ks_err_required(c, &item, NULL, "must not be empty");
	}
}

static void check_gates(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *ready = LIST(spec, "readinessGates"), *gates = LIST(spec, "schedulingGates");
	struct ks_path ready_at = ks_path_child(path, "readinessGates"), gates_at = ks_path_child(path, "schedulingGates");
	struct ks_seen seen = {.n = 0};

	EACH(i, ready) {
		struct ks_path item = ks_path_index(&ready_at, i);

		ks_check_name(c, &item, "conditionType", KS_NAME_LABEL_KEY, TEXT(&ready->items[i], "conditionType"));
	}
	EACH(i, gates) {
		struct ks_path item = ks_path_index(&gates_at, i);
		struct ks_str name = TEXT(&gates->items[i], "name");

		ks_check_name(c, &item, NULL, KS_NAME_LABEL_KEY, name);
		if (!ks_seen_add(c, &seen, name))
			ks_err_duplicate_text(c, &item, NULL, name);
	}
}

static void check_aliases(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	EACH(i, list) {
		const struct ks_value *names = LIST(&list->items[i], "hostnames");
		struct ks_path item = ks_path_index(path, i), names_at = ks_path_child(&item, "hostnames");

		ks_check_ip(c, &item, "ip", TEXT(&list->items[i], "ip"), true);
		EACH(k, names) {
			struct ks_path name = ks_path_index(&names_at, k);

			ks_check_name(c, &name, NULL, KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(&names->items[k]));
		}
	}
}

static void check_host_users(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	static const char why[] = "when `hostUsers` is false";

	if (ks_pod_of(c)->host_users)
		return;
	if (IS_TRUE(spec, "hostNetwork"))
		ks_err_forbidden(c, path, "hostNetwork", why);
	if (IS_TRUE(spec, "hostPID"))
		ks_err_forbidden(c, path, "HostPID", why);
	if (IS_TRUE(spec, "hostIPC"))
		ks_err_forbidden(c, path, "HostIPC", why);
}

static void check_when_said(struct ks_check *c, const struct ks_path *path, const char *name, enum ks_name_form form, struct ks_str value)
{
	if (value.n)
		ks_check_name(c, path, name, form, value);
}

static void check_override(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *name = IN(spec, "hostnameOverride");

	if (!name)
		return;
	if (name->n > 64)
		ks_err_too_long(c, path, "hostnameOverride", 64);
	if (IS_TRUE(spec, "hostNetwork"))
		ks_err_forbidden(c, path, "hostnameOverride", "may not be set when hostNetwork is true");
	if (IS_TRUE(spec, "setHostnameAsFQDN"))
		ks_err_forbidden(c, path, "hostnameOverride", "may not be set when setHostnameAsFQDN is true");
	ks_check_name(c, path, "hostnameOverride", KS_NAME_DNS1123_SUBDOMAIN, ks_value_str(name));
}

static void check_names(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *deadline = IN(spec, "activeDeadlineSeconds");

	check_when_said(c, path, "serviceAccountName", KS_NAME_DNS1123_SUBDOMAIN, TEXT(spec, "serviceAccountName"));
	check_when_said(c, path, "nodeName", KS_NAME_DNS1123_SUBDOMAIN, TEXT(spec, "nodeName"));
	if (deadline)
		ks_check_range(c, path, "activeDeadlineSeconds", ks_value_int_or(deadline, 0), 1, INT32_MAX);
	check_when_said(c, path, "hostname", KS_NAME_DNS1123_LABEL, TEXT(spec, "hostname"));
	check_when_said(c, path, "subdomain", KS_NAME_DNS1123_LABEL, TEXT(spec, "subdomain"));
	check_override(c, path, spec);
}

/* -- the whole -------------------------------------------------------------------------------------------------------- */

static void check_ends(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct ks_path tolerations = ks_path_child(path, "tolerations"), aliases = ks_path_child(path, "hostAliases"), overhead = ks_path_child(path, "overhead");
	const struct ks_value *preemption = IN(spec, "preemptionPolicy"), *extra = MAP(spec, "overhead");

	ks_check_tolerations(c, &tolerations, LIST(spec, "tolerations"));
	check_aliases(c, &aliases, LIST(spec, "hostAliases"));
	check_when_said(c, path, "priorityClassName", KS_NAME_DNS1123_SUBDOMAIN, TEXT(spec, "priorityClassName"));
	if (IN(spec, "runtimeClassName"))
		ks_check_name(c, path, "runtimeClassName", KS_NAME_DNS1123_SUBDOMAIN, TEXT(spec, "runtimeClassName"));
	if (preemption)
		check_choice(c, path, "preemptionPolicy", ks_value_str(preemption), preemption_policies);
	EACH(i, extra) {
		struct ks_path limits = ks_path_child(&overhead, "limits"), key = ks_path_key(&limits, extra->members[i].key);

		ks_check_resource_name(c, &key, extra->members[i].key, false);
		ks_check_quantity_nonnegative(c, &key, NULL, ks_value_str(&extra->members[i].value));
	}
	ks_check_os(c, path, spec);
}

static void check_parts(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	struct ks_path volumes = ks_path_child(path, "volumes"), claims = ks_path_child(path, "resourceClaims");
	struct ks_path containers = ks_path_child(path, "containers"), init = ks_path_child(path, "initContainers");
	struct ks_path ephemeral = ks_path_child(path, "ephemeralContainers"), affinity = ks_path_child(path, "affinity");
	struct ks_path spread = ks_path_child(path, "topologySpreadConstraints");

	ks_check_volumes(c, &volumes, LIST(spec, "volumes"));
	check_claims(c, &claims, LIST(spec, "resourceClaims"));
	ks_check_containers(c, &containers, LIST(spec, "containers"));
	ks_check_init_containers(c, &init, LIST(spec, "initContainers"));
	ks_check_ephemeral_containers(c, &ephemeral, LIST(spec, "ephemeralContainers"));
	ks_check_pod_resources(c, path, spec);
	check_host_network(c, path, spec);
	check_choice(c, path, "restartPolicy", TEXT(spec, "restartPolicy"), restart_policies);
	check_choice(c, path, "dnsPolicy", TEXT(spec, "dnsPolicy"), dns_policies);
	ks_check_labels(c, path, "nodeSelector", MAP(spec, "nodeSelector"));
	ks_check_pod_security(c, path, spec);
	ks_check_affinity(c, &affinity, IN(spec, "affinity"));
	ks_check_dns(c, path, spec);
	check_gates(c, path, spec);
	ks_check_spread(c, &spread, LIST(spec, "topologySpreadConstraints"));
	ks_check_host_process(c, path, spec);
	check_host_users(c, path, spec);
}

/* What was wrong before an update may stay wrong in a few places. */
static void allow_old(struct ks_check *c, struct ks_pod_check *pod, const struct ks_value *old)
{
	struct ks_status scratch = {.code = 0};
	struct ks_check again = {.schema = c->schema, .arena = c->arena, .status = &scratch, .user = pod};
	struct ks_path root = ks_path_root("");

	ks_check_spread(&again, &root, LIST(old, "topologySpreadConstraints"));
	pod->any_spread_selector = scratch.causes != NULL;
	scratch = (struct ks_status){.code = 0};
	ks_check_affinity(&again, &root, IN(old, "affinity"));
	pod->any_node_values = scratch.causes != NULL;
	pod->selector_flags = scratch.causes ? KS_SELECTOR_VALUES_FREE : 0;
}

void ks_check_pod_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old_spec, struct ks_str name, bool is_pod)
{
	const struct ks_value *users = IN(spec, "hostUsers");
	struct ks_pod_check pod = {.spec = spec, .old_spec = old_spec, .name = name, .is_pod = is_pod, .grace = IN(spec, "terminationGracePeriodSeconds")};
	void *before = c->user;

	pod.host_users = !users || users->boolean;
	c->user = &pod;
	if (old_spec && (IN(old_spec, "affinity") || IN(old_spec, "topologySpreadConstraints")))
		allow_old(c, &pod, old_spec);
	if (!pod.grace)
		ks_err_required(c, path, "terminationGracePeriodSeconds", "");
	check_parts(c, path, spec);
	check_names(c, path, spec);
	check_ends(c, path, spec);
	c->user = before;
}
