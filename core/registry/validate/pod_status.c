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

static const struct ks_value *named(struct ks_check *c, const struct ks_value *list, struct ks_str name)
{
	EACH(i, list)
		if (ks_str_eq(TEXT(&list->items[i], "name"), name))
			return &list->items[i];
	return NULL;
}

/* Does a rule of the container start it again after it ended so? */
static bool has_rule_for(struct ks_check *c, const struct ks_value *container, int64_t code)
{
	const struct ks_value *rules = LIST(container, "restartPolicyRules");

	EACH(i, rules) {
		const struct ks_value *exits = IN(&rules->items[i], "exitCodes"), *values = LIST(exits, "values");
		bool found = false;

		EACH(k, values)
			found |= ks_value_int_or(&values->items[k], -1) == code;
		if (exits && found == ks_str_is(TEXT(exits, "operator"), "In"))
			return ks_str_is(TEXT(&rules->items[i], "action"), "Restart");
	}
	return false;
}

/* The policy of a container comes before that of its pod. */
static bool starts_again(struct ks_check *c, const struct ks_value *container, struct ks_str policy, int64_t code)
{
	struct ks_str own = TEXT(container, "restartPolicy");

	if (own.n && has_rule_for(c, container, code))
		return true;
	if (own.n)
		policy = own;
	return ks_str_is(policy, "OnFailure") ? code != 0 : !ks_str_is(policy, "Never");
}

/* What has ended for good doesn't run again. */
static void check_transitions(struct ks_check *c, const char *field, const struct ks_value *status, const struct ks_value *old,
	const struct ks_value *containers, struct ks_str policy)
{
	const struct ks_value *now = ks_value_get(c->schema, status, field), *before = ks_value_get(c->schema, old, field);
	struct ks_path root = ks_path_root("status"), at = ks_path_child(&root, field);

	EACH(i, before) {
		const struct ks_value *ended = IN(IN(&before->items[i], "state"), "terminated");
		struct ks_str name = TEXT(&before->items[i], "name");
		struct ks_path item = ks_path_index(&at, i);

		if (!ended || starts_again(c, named(c, containers, name), policy, INT(ended, "exitCode")))
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

/* -- resources ------------------------------------------------------------------------------------------------------------ */

static bool asks_for(struct ks_check *c, const struct ks_value *container, struct ks_str resource)
{
	const struct ks_value *requests = MAP(IN(container, "resources"), "requests");

	return requests && ks_value_get_str(c->schema, requests, resource);
}

/* Is it "claim:NAME" or "claim:NAME/REQUEST" of a claim of the container? */
static bool has_claim(struct ks_check *c, const struct ks_value *container, struct ks_str text)
{
	const struct ks_value *claims = LIST(IN(container, "resources"), "claims");

	EACH(i, claims) {
		struct ks_str name = TEXT(&claims->items[i], "name"), request = TEXT(&claims->items[i], "request");
		const char *whole = ks_err_detail(c, "claim:%.*s%s%.*s", (int)name.n, name.p, request.n ? "/" : "", (int)request.n, request.p);

		if (ks_str_is(text, whole))
			return true;
	}
	return false;
}

static void check_health(struct ks_check *c, const struct ks_path *path, const struct ks_value *list)
{
	static const char *const known[] = {"Healthy", "Unhealthy", "Unknown", NULL};
	struct ks_path at = ks_path_child(path, "resources");
	struct ks_seen seen = {.n = 0};

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str id = TEXT(&list->items[i], "resourceID");

		ks_check_one_of(c, &item, "health", TEXT(&list->items[i], "health"), known);
		if (!ks_seen_add(c, &seen, id))
			ks_err_duplicate_text(c, &item, "resourceID", id);
	}
}

static void check_allocated(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, const struct ks_value *container)
{
	struct ks_path at = ks_path_child(path, "allocatedResourcesStatus");

	EACH(i, list) {
		struct ks_str name = TEXT(&list->items[i], "name");
		struct ks_path item = ks_path_index(&at, i);
		bool claim = ks_str_starts_with(name, "claim:");

		if (container && !(claim ? has_claim(c, container, name) : asks_for(c, container, name)))
			ks_err_invalid_text(c, &item, "name", name, claim ? "must match one of the container's resource claims in a format "
				"'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty" : "must match one of the container's resource requests");
		check_health(c, &item, LIST(&list->items[i], "resources"));
	}
}

static void check_all_allocated(struct ks_check *c, const char *field, const struct ks_value *status, const struct ks_value *containers)
{
	const struct ks_value *list = ks_value_get(c->schema, status, field);
	struct ks_path root = ks_path_root("status"), at = ks_path_child(&root, field);

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		check_allocated(c, &item, LIST(&list->items[i], "allocatedResourcesStatus"), named(c, containers, TEXT(&list->items[i], "name")));
	}
}

static void check_none_allocated(struct ks_check *c, const struct ks_value *list)
{
	struct ks_path at = ks_path_root("status.ephemeralContainerStatuses");

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		if (ks_value_count(LIST(&list->items[i], "allocatedResourcesStatus")))
			ks_err_forbidden(c, &item, "allocatedResourcesStatus", "must not be specified in container status");
	}
}

static void check_mapping(struct ks_check *c, const struct ks_path *path, const struct ks_path *item, const struct ks_value *v, const struct ks_value *spec)
{
	struct ks_str name = TEXT(v, "containerName"), resource = TEXT(v, "resourceName");
	const struct ks_value *container = named(c, LIST(spec, "containers"), name);

	if (!container)
		container = named(c, LIST(spec, "initContainers"), name);
	if (!container)
		ks_err_invalid_text(c, item, "containerName", name, "must match the name of an entry in spec.initContainers.name or spec.containers.name");
	else if (!asks_for(c, container, resource))
		ks_err_invalid_text(c, item, "resourceName", resource, "must match the extended resource name of an entry in "
			"spec.initContainers.resources.requests or spec.containers.resources.requests");
	ks_check_name(c, path, "requestName", KS_NAME_DNS1123_LABEL, TEXT(v, "requestName"));
}

/* The claim that stands for extended resources. */
static void check_extended_claim(struct ks_check *c, const struct ks_value *v, const struct ks_value *spec)
{
	static const char *const parts[] = {"containerName", "resourceName", "requestName"};
	struct ks_path path = ks_path_root("status.extendedResourceClaimStatus"), at = ks_path_child(&path, "requestMappings");
	const struct ks_value *list = LIST(v, "requestMappings");

	if (!v)
		return;
	if (!ks_value_count(list))
		ks_err_required(c, &at, NULL, "at least one request mapping is required");
	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);
		bool seen = false;

		check_mapping(c, &path, &item, &list->items[i], spec);
		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_value_same(&list->items[i], &list->items[k]);
		for (size_t k = 0; seen && k < 3; k++)
			ks_err_duplicate_text(c, &item, parts[k], ks_value_str(ks_value_get(c->schema, &list->items[i], parts[k])));
	}
	ks_check_required_name(c, &path, "resourceClaimName", KS_NAME_DNS1123_SUBDOMAIN, TEXT(v, "resourceClaimName"));
}

/* -- all of it ------------------------------------------------------------------------------------------------------------ */

static void check_conditions(struct ks_check *c, const struct ks_value *list)
{
	static const char *const known[] = {"PodScheduled", "Ready", "Initialized", NULL};
	struct ks_path at = ks_path_root("status.conditions");

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);
		int64_t generation = INT(&list->items[i], "observedGeneration");

		if (generation < 0)
			ks_err_invalid_int(c, &item, "observedGeneration", generation, "must be a non-negative integer");
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
	check_transitions(c, "containerStatuses", &status, &before, LIST(&spec, "containers"), policy);
	check_transitions(c, "initContainerStatuses", &status, &before, LIST(&spec, "initContainers"), policy);
	check_transitions(c, "ephemeralContainerStatuses", &status, &before, NULL, KS_STR_LIT("Never"));
	check_claim_statuses(c, &status, &spec);
	check_extended_claim(c, IN(&status, "extendedResourceClaimStatus"), &spec);
	check_ips(c, &status);
	for (size_t i = 0; i < 3; i++)
		check_users(c, lists[i], &status, ks_str_is(TEXT(IN(&spec, "os"), "name"), "windows"));
	check_all_allocated(c, "containerStatuses", &status, LIST(&spec, "containers"));
	check_all_allocated(c, "initContainerStatuses", &status, LIST(&spec, "initContainers"));
	check_none_allocated(c, LIST(&status, "ephemeralContainerStatuses"));
}
