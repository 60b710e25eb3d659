/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the status of a pod may say. */
#include "core/registry/validate/pod_status.h"

#include "core/registry/kit.h"

/* -- addresses ---------------------------------------------------------------------------------------------------------- */

static bool is_v6(struct ks_str ip)
{
	return ks_text_has(ip, ':');
}

static bool is_address(struct ks_check *c, struct ks_str ip)
{
	struct ks_status scratch = {.code = 0};
	struct ks_check quiet = {.schema = c->schema, .arena = c->arena, .status = &scratch};
	struct ks_path root = ks_path_root("");

	return ks_check_ip(&quiet, &root, NULL, ip, false);
}

/* At most one address of each family. `old_first`: duplicates are looked for before families. */
static void check_families(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	bool v4 = false, v6 = false;

	if (ks_value_count(list) < 2)
		return;
	EACH(i, list) {
		struct ks_str ip = TEXT(&list->items[i], "ip");

		if (!is_address(c, ip)) {
			ks_err_internal(c, path, NULL, ks_err_detail(c, "failed to check for dual stack with error:invalid IP[%u]: %.*s", i, (int)ip.n, ip.p));
			v4 = v6 = false;
			break;
		}
		if (is_v6(ip))
			v6 = true;
		else
			v4 = true;
	}
	if (!v4 || !v6 || list->n > 2)
		ks_err_invalid(c, path, NULL, list, "may specify no more than one IP for each IP family");
}

static void check_twice(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; ks_value_count(list) > 1 && i < list->n; i++) {
		struct ks_path item = ks_path_index(path, i);

		if (!ks_seen_add(c, &seen, TEXT(&list->items[i], "ip")))
			ks_err_duplicate(c, &item, NULL, &list->items[i]);
	}
}

static void check_each_ip(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	EACH(i, list) {
		struct ks_path item = ks_path_index(path, i);

		ks_check_ip(c, &item, NULL, TEXT(&list->items[i], "ip"), true);
	}
}

static void check_ips(struct ks_check *c, const struct ks_value *status)
{
	const struct ks_value *pods = LIST(status, "podIPs"), *hosts = LIST(status, "hostIPs");
	struct ks_path pods_at = ks_path_root("status.podIPs"), hosts_at = ks_path_root("status.hostIPs"), first = ks_path_index(&hosts_at, 0);

	check_each_ip(c, &pods_at, pods);
	check_families(c, &pods_at, pods);
	check_twice(c, &pods_at, pods);
	if (!ks_value_count(hosts))
		return;
	if (!ks_str_eq(TEXT(status, "hostIP"), TEXT(&hosts->items[0], "ip")))
		ks_err_invalid_text(c, &first, "ip", TEXT(&hosts->items[0], "ip"), "must be equal to `hostIP`");
	check_each_ip(c, &hosts_at, hosts);
	check_twice(c, &hosts_at, hosts);
	check_families(c, &hosts_at, hosts);
}

/* -- containers ----------------------------------------------------------------------------------------------------------- */

static bool is_sidecar(struct ks_check *c, const struct ks_value *spec, struct ks_str name)
{
	const struct ks_value *list = LIST(spec, "initContainers");

	EACH(i, list)
		if (ks_str_eq(TEXT(&list->items[i], "name"), name))
			return ks_str_is(TEXT(&list->items[i], "restartPolicy"), "Always");
	return false;
}

/* Own rules of a container say when it starts again. */
static bool has_own_policy(struct ks_check *c, const struct ks_value *spec, const char *list_name, struct ks_str name)
{
	const struct ks_value *list = ks_value_get(c->schema, spec, list_name);

	EACH(i, list)
		if (ks_str_eq(TEXT(&list->items[i], "name"), name))
			return IN(&list->items[i], "restartPolicy") && !ks_str_is(TEXT(&list->items[i], "restartPolicy"), "Never");
	return false;
}

/* What has ended for good doesn't run again. */
static void check_transitions(struct ks_check *c, const char *field, const struct ks_value *status, const struct ks_value *old, const struct ks_value *spec,
	struct ks_str policy, const char *containers)
{
	const struct ks_value *now = ks_value_get(c->schema, status, field), *before = ks_value_get(c->schema, old, field);
	struct ks_path root = ks_path_root("status"), at = ks_path_child(&root, field);

	if (ks_str_is(policy, "Always"))
		return;
	EACH(i, before) {
		const struct ks_value *ended = IN(IN(&before->items[i], "state"), "terminated");
		struct ks_str name = TEXT(&before->items[i], "name");
		struct ks_path item = ks_path_index(&at, i);

		if (!ended || (INT(ended, "exitCode") && ks_str_is(policy, "OnFailure")) || is_sidecar(c, spec, name))
			continue;
		if (containers && has_own_policy(c, spec, containers, name))
			continue;
		EACH(k, now)
			if (ks_str_eq(TEXT(&now->items[k], "name"), name) && !IN(IN(&now->items[k], "state"), "terminated"))
				ks_err_forbidden(c, &item, "state", "may not be transitioned to non-terminated state");
	}
}

static void check_claim_statuses(struct ks_check *c, const struct ks_value *status, const struct ks_value *spec)
{
	const struct ks_value *list = LIST(status, "resourceClaimStatuses"), *claims = LIST(spec, "resourceClaims");
	struct ks_path at = ks_path_root("status.resourceClaimStatuses");
	struct ks_seen seen = {.n = 0};

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str name = TEXT(&list->items[i], "name");
		bool known = false;

		EACH(k, claims)
			known |= ks_str_eq(TEXT(&claims->items[k], "name"), name);
		if (!known)
			ks_err_invalid_text(c, &item, "name", name, "must match the name of an entry in `spec.resourceClaims`");
		if (!ks_seen_add(c, &seen, name))
			ks_err_duplicate_text(c, &item, "name", name);
		if (IN(&list->items[i], "resourceClaimName"))
			ks_check_name(c, &item, "name", KS_NAME_DNS1123_SUBDOMAIN, TEXT(&list->items[i], "resourceClaimName"));
	}
}

static void check_id(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *id)
{
	if (id)
		ks_check_range(c, path, name, ks_value_int_or(id, 0), 0, INT32_MAX);
}

/* Who a container runs as, in the words of its system. */
static void check_users(struct ks_check *c, const char *field, const struct ks_value *status, bool windows)
{
	const struct ks_value *list = ks_value_get(c->schema, status, field);
	struct ks_path root = ks_path_root("status"), at = ks_path_child(&root, field);

	EACH(i, list) {
		const struct ks_value *user = IN(IN(&list->items[i], "user"), "linux"), *groups = LIST(user, "supplementalGroups");
		struct ks_path item = ks_path_index(&at, i), path = ks_path_child(&item, "linux"), groups_at = ks_path_child(&path, "supplementalGroups");

		if (!user)
			continue;
		if (windows) {
			ks_err_forbidden(c, &path, NULL, "cannot be set for a windows pod");
			continue;
		}
		check_id(c, &path, "uid", IN(user, "uid"));
		check_id(c, &path, "gid", IN(user, "gid"));
		EACH(k, groups) {
			struct ks_path group = ks_path_index(&groups_at, k);

			check_id(c, &group, NULL, &groups->items[k]);
		}
	}
}

static void check_conditions(struct ks_check *c, const struct ks_value *list)
{
	static const char *const known[] = {"PodScheduled", "Ready", "Initialized", NULL};
	struct ks_path at = ks_path_root("status.conditions");

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		if (!ks_str_in(TEXT(&list->items[i], "type"), known))
			ks_check_name(c, &item, "Type", KS_NAME_LABEL_KEY, TEXT(&list->items[i], "type"));
	}
}

void ks_check_pod_status(struct ks_check *c, const struct ks_value *pod, const struct ks_value *old)
{
	static const char *const lists[] = {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"};
	struct ks_value status = ks_struct_in(c, pod, "status"), before = ks_struct_in(c, old, "status"), spec = ks_struct_in(c, old, "spec");
	struct ks_str node = TEXT(&status, "nominatedNodeName"), policy = TEXT(&spec, "restartPolicy");
	struct ks_path path = ks_path_root("status");

	check_conditions(c, LIST(&status, "conditions"));
	if (INT(&status, "observedGeneration") < 0)
		ks_err_invalid_int(c, &path, "observedGeneration", INT(&status, "observedGeneration"), "must be a non-negative integer");
	if (node.n && !ks_str_eq(node, TEXT(&before, "nominatedNodeName")))
		ks_check_name(c, &path, "nominatedNodeName", KS_NAME_DNS1123_SUBDOMAIN, node);
	ks_check_immutable(c, &path, "qosClass", IN(&status, "qosClass"), IN(&before, "qosClass"));
	check_transitions(c, "containerStatuses", &status, &before, &spec, policy, "containers");
	check_transitions(c, "initContainerStatuses", &status, &before, &spec, policy, "initContainers");
	check_transitions(c, "ephemeralContainerStatuses", &status, &before, &spec, KS_STR_LIT("Never"), NULL);
	check_claim_statuses(c, &status, &spec);
	check_ips(c, &status);
	for (size_t i = 0; i < 3; i++)
		check_users(c, lists[i], &status, ks_str_is(TEXT(IN(&spec, "os"), "name"), "windows"));
}
