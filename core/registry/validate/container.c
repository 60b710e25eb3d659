/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Containers of all three lists. */
#include <stdio.h>

#include "core/registry/validate/pod.h"

static const char *const protocols[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const pull_policies[] = {"Always", "IfNotPresent", "Never", NULL};
static const char *const message_policies[] = {"File", "FallbackToLogsOnError", NULL};

/* -- ports -------------------------------------------------------------------------------------------------------- */

static void check_port_name(struct ks_check *c, const struct ks_path *path, struct ks_str name, struct ks_seen *names)
{
	if (name.n && ks_check_name(c, path, "name", KS_NAME_PORT, name) && !ks_seen_add(c, names, name))
		ks_err_duplicate_text(c, path, "name", name);
}

static void check_ports(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	const struct ks_value *ports = LIST(container, "ports");
	struct ks_path at = ks_path_child(path, "ports");
	struct ks_seen names = {.n = 0};

	EACH(i, ports) {
		const struct ks_value *port = &ports->items[i];
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str protocol = TEXT(port, "protocol");

		check_port_name(c, &item, TEXT(port, "name"), &names);
		if (!INT(port, "containerPort"))
			ks_err_required(c, &item, "containerPort", "");
		else
			ks_check_port(c, &item, "containerPort", INT(port, "containerPort"));
		if (INT(port, "hostPort"))
			ks_check_port(c, &item, "hostPort", INT(port, "hostPort"));
		if (!protocol.n)
			ks_err_required(c, &item, "protocol", "");
		else if (!ks_str_in(protocol, protocols))
			ks_err_not_supported(c, &item, "protocol", protocol, protocols);
	}
}

/* Ports of the host can't be taken twice. */
static void check_host_ports(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, struct ks_seen *taken)
{
	const struct ks_value *ports = LIST(container, "ports");
	struct ks_path at = ks_path_child(path, "ports");

	EACH(i, ports) {
		const struct ks_value *port = &ports->items[i];
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str protocol = TEXT(port, "protocol"), ip = TEXT(port, "hostIP"), key;

		if (!INT(port, "hostPort"))
			continue;
		key = ks_str_from(ks_err_detail(c, "%.*s/%.*s/%lld", (int)protocol.n, protocol.p ? protocol.p : "", (int)ip.n, ip.p ? ip.p : "",
			(long long)INT(port, "hostPort")));
		if (!ks_seen_add(c, taken, key))
			ks_err_duplicate_text(c, &item, "hostPort", key);
	}
}

/* -- how it ends and starts again ------------------------------------------------------------------------------------ */

static void check_resize_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	static const char *const resources[] = {"cpu", "memory", NULL}, *const policies[] = {"NotRequired", "RestartContainer", NULL};
	const struct ks_value *list = LIST(container, "resizePolicy");
	struct ks_path at = ks_path_child(path, "resizePolicy");
	struct ks_seen seen = {.n = 0};

	EACH(i, list) {
		struct ks_str name = TEXT(&list->items[i], "resourceName"), policy = TEXT(&list->items[i], "restartPolicy");
		struct ks_path item = ks_path_index(&at, i);

		if (!ks_seen_add(c, &seen, name))
			ks_err_duplicate_text(c, &item, NULL, name);
		if (!name.n)
			ks_err_required(c, &at, NULL, "");
		else if (!ks_str_in(name, resources))
			ks_err_not_supported(c, &at, NULL, name, resources);
		if (!policy.n)
			ks_err_required(c, &at, NULL, "");
		else if (!ks_str_in(policy, policies))
			ks_err_not_supported(c, &at, NULL, policy, policies);
		if (ks_str_is(TEXT(ks_pod_of(c)->spec, "restartPolicy"), "Never") && !ks_str_is(policy, "NotRequired"))
			ks_err_invalid_text(c, &at, NULL, policy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
	}
}

static void check_restart_rule(struct ks_check *c, const struct ks_path *path, const struct ks_value *rule)
{
	static const char *const actions[] = {"Restart", "RestartAllContainers", NULL}, *const operators[] = {"In", "NotIn", NULL};
	const struct ks_value *codes = IN(rule, "exitCodes"), *values;
	struct ks_path at = ks_path_child(path, "exitCodes");
	struct ks_str action = TEXT(rule, "action");

	if (!ks_str_in(action, actions))
		ks_err_not_supported(c, path, "action", action, actions);
	if (!codes) {
		ks_err_required(c, &at, NULL, "must be specified");
		return;
	}
	if (!ks_str_in(TEXT(codes, "operator"), operators))
		ks_err_not_supported(c, &at, "operator", TEXT(codes, "operator"), operators);
	values = LIST(codes, "values");
	if (ks_value_count(values) > 255)
		ks_err_too_many(c, &at, "values", ks_value_count(values), 255);
}

static void check_restart_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	static const char *const policies[] = {"Always", "Never", "OnFailure", NULL};
	const struct ks_value *policy = IN(container, "restartPolicy"), *rules = LIST(container, "restartPolicyRules");
	struct ks_path at = ks_path_child(path, "restartPolicyRules");

	if (!policy && ks_value_count(rules))
		ks_err_required(c, path, "restartPolicy", "must specify restartPolicy when restart rules are used");
	if (policy && !ks_str_in(ks_value_str(policy), policies))
		ks_err_not_supported(c, path, "restartPolicy", ks_value_str(policy), policies);
	if (ks_value_count(rules) > 20)
		ks_err_too_many(c, &at, NULL, ks_value_count(rules), 20);
	EACH(i, rules) {
		struct ks_path item = ks_path_index(&at, i);

		check_restart_rule(c, &item, &rules->items[i]);
	}
}

/* -- what all have in common ------------------------------------------------------------------------------------------ */

static void check_choice(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *const *set)
{
	if (!value.n)
		ks_err_required(c, path, name, "");
	else if (!ks_str_in(value, set))
		ks_err_not_supported(c, path, name, value, set);
}

static void check_common(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	struct ks_str name = TEXT(v, "name");
	struct ks_path resources = ks_path_child(path, "resources");

	if (!name.n)
		ks_err_required(c, path, "name", "");
	else
		ks_check_name(c, path, "name", KS_NAME_DNS1123_LABEL, name);
	if (!TEXT(v, "image").n)
		ks_err_required(c, path, "image", "");
	check_choice(c, path, "terminationMessagePolicy", TEXT(v, "terminationMessagePolicy"), message_policies);
	check_ports(c, path, v);
	ks_check_env(c, path, v);
	ks_check_mounts(c, path, v);
	check_choice(c, path, "imagePullPolicy", TEXT(v, "imagePullPolicy"), pull_policies);
	ks_check_resources(c, &resources, IN(v, "resources"), false);
	check_resize_policy(c, path, v);
	ks_check_container_security(c, path, v);
}

void ks_check_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	struct ks_seen names = {.n = 0}, host_ports = {.n = 0};

	if (!ks_value_count(list)) {
		ks_err_required(c, path, NULL, "");
		return;
	}
	EACH(i, list) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);

		check_common(c, &item, v);
		if (!ks_seen_add(c, &names, TEXT(v, "name")))
			ks_err_duplicate_text(c, &item, "name", TEXT(v, "name"));
		ks_check_lifecycle(c, &item, v);
		ks_check_probes(c, &item, v);
		check_restart_policy(c, &item, v);
	}
	EACH(i, list) {
		struct ks_path item = ks_path_index(path, i);

		check_host_ports(c, &item, &list->items[i], &host_ports);
	}
}

static void forbid(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v, const char *why)
{
	if (v)
		ks_err_forbidden(c, path, name, why);
}

void ks_check_init_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	static const char why[] = "may not be set for init containers without restartPolicy=Always";
	const struct ks_value *regular = LIST(ks_pod_of(c)->spec, "containers");
	struct ks_seen names = {.n = 0};

	if (!ks_value_count(list))
		return;
	EACH(i, regular)
		ks_seen_add(c, &names, TEXT(&regular->items[i], "name"));
	EACH(i, list) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i), first = ks_path_index(path, 0);
		struct ks_seen host_ports = {.n = 0};
		struct ks_str name = TEXT(v, "name");

		check_common(c, &item, v);
		check_restart_policy(c, &item, v);
		if (ks_seen_has(&names, name))
			ks_err_duplicate_text(c, &item, "name", name);
		else if (name.n)
			ks_seen_add(c, &names, name);
		check_host_ports(c, &first, v, &host_ports);
		if (ks_str_is(TEXT(v, "restartPolicy"), "Always")) {
			ks_check_lifecycle(c, &item, v);
			ks_check_probes(c, &item, v);
			continue;
		}
		forbid(c, &item, "lifecycle", IN(v, "lifecycle"), why);
		forbid(c, &item, "livenessProbe", IN(v, "livenessProbe"), why);
		forbid(c, &item, "readinessProbe", IN(v, "readinessProbe"), why);
		forbid(c, &item, "startupProbe", IN(v, "startupProbe"), why);
	}
}

static void check_ephemeral_fields(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	static const char why[] = "cannot be set for an Ephemeral Container";
	const struct ks_value *mounts = LIST(v, "volumeMounts"), *resources = IN(v, "resources");
	struct ks_path at = ks_path_child(path, "volumeMounts");

	forbid(c, path, "ports", LIST(v, "ports"), why);
	if (resources && (IN(resources, "limits") || IN(resources, "requests") || IN(resources, "claims")))
		ks_err_forbidden(c, path, "resources", why);
	forbid(c, path, "resizePolicy", IN(v, "resizePolicy"), why);
	forbid(c, path, "restartPolicy", IN(v, "restartPolicy"), why);
	forbid(c, path, "restartPolicyRules", IN(v, "restartPolicyRules"), why);
	forbid(c, path, "livenessProbe", IN(v, "livenessProbe"), why);
	forbid(c, path, "readinessProbe", IN(v, "readinessProbe"), why);
	forbid(c, path, "startupProbe", IN(v, "startupProbe"), why);
	forbid(c, path, "lifecycle", IN(v, "lifecycle"), why);
	EACH(i, mounts) {
		struct ks_path item = ks_path_index(&at, i);

		if (TEXT(&mounts->items[i], "subPath").n)
			ks_err_forbidden(c, &item, "subPath", why);
		if (TEXT(&mounts->items[i], "subPathExpr").n)
			ks_err_forbidden(c, &item, "subPathExpr", why);
	}
}

void ks_check_ephemeral_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	const struct ks_value *spec = ks_pod_of(c)->spec, *regular = LIST(spec, "containers"), *init = LIST(spec, "initContainers");
	struct ks_seen others = {.n = 0}, names = {.n = 0};

	if (!ks_value_count(list))
		return;
	EACH(i, regular)
		ks_seen_add(c, &others, TEXT(&regular->items[i], "name"));
	EACH(i, init)
		ks_seen_add(c, &others, TEXT(&init->items[i], "name"));
	EACH(i, list) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(path, i);
		struct ks_str name = TEXT(v, "name"), target = TEXT(v, "targetContainerName");

		check_common(c, &item, v);
		ks_check_container_of_pod(c, &item, v);
		if (ks_seen_has(&others, name) || !ks_seen_add(c, &names, name))
			ks_err_duplicate_text(c, &item, "name", name);
		if (target.n && !ks_seen_has(&others, target))
			ks_err_not_found(c, &item, "targetContainerName", target, NULL);
		check_ephemeral_fields(c, &item, v);
	}
}

static bool is_space(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

void ks_check_container_of_pod(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	struct ks_str image = TEXT(container, "image");

	if (image.n && (is_space(image.p[0]) || is_space(image.p[image.n - 1])))
		ks_err_invalid_text(c, path, "image", image, "must not have leading or trailing whitespace");
}

void ks_pod_each_container(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec,
	void (*visit)(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg), void *arg)
{
	static const char *const names[] = {"initContainers", "containers", "ephemeralContainers"};
	static _Atomic uint32_t places[3];

	for (size_t k = 0; k < 3; k++) {
		const struct ks_value *list = ks_field_at(c, spec, names[k], &places[k]);
		struct ks_path at = ks_path_child(spec_path, names[k]);

		for (uint32_t i = 0; i < ks_value_count(list); i++) {
			struct ks_path item = ks_path_index(&at, i);

			visit(c, &item, &list->items[i], arg);
		}
	}
}
