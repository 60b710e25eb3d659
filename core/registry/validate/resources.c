/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Resources that containers ask for. */
#include <stdlib.h>

#include "core/api/quantity.h"
#include "core/registry/validate/pod.h"

static const char *const standard[] = {"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage", "limits.cpu",
	"limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
	"persistentvolumeclaims", "storage", "requests.storage", "services.nodeports", "services.loadbalancers", NULL};
static const char *const of_containers[] = {"cpu", "memory", "ephemeral-storage", NULL};
static const char *const of_pods[] = {"cpu", "hugepages-", "memory", NULL};
static const char *const integers[] = {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
	"services.nodeports", "services.loadbalancers", NULL};

static bool is_huge(struct ks_str name)
{
	return ks_str_starts(name, KS_STR_LIT("hugepages-"));
}

static bool is_native(struct ks_str name)
{
	return !ks_text_has(name, '/') || memmem(name.p, name.n, "kubernetes.io/", 14);
}

static bool is_extended(struct ks_str name)
{
	if (is_native(name) || ks_str_starts(name, KS_STR_LIT("requests.")))
		return false;
	return name.n + 9 <= 317; /* "requests." before it is a qualified name, too */
}

static bool check_standard(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	if (!ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, name))
		return false;
	if (ks_text_has(name, '/') || ks_str_in(name, standard) || is_huge(name) || ks_str_starts(name, KS_STR_LIT("requests.hugepages-")))
		return true;
	ks_err_invalid_text(c, path, NULL, name, "must be a standard resource type or fully qualified");
	return false;
}

void ks_check_resource_name(struct ks_check *c, const struct ks_path *path, struct ks_str name, bool of_pod)
{
	bool good = check_standard(c, path, name);

	if (of_pod) {
		if (good && !ks_str_is(name, "cpu") && !ks_str_is(name, "memory") && !is_huge(name))
			ks_err_not_supported(c, path, NULL, name, of_pods);
	} else if (!ks_text_has(name, '/')) {
		if (!ks_str_in(name, of_containers) && !is_huge(name))
			ks_err_invalid_text(c, path, NULL, name, "must be a standard resource for containers");
	} else if (!is_native(name) && !is_extended(name)) {
		ks_err_invalid_text(c, path, NULL, name, "doesn't follow extended resource name standard");
	}
}

static bool may_overcommit(struct ks_str name)
{
	return is_native(name) && !is_huge(name);
}

static void check_amount(struct ks_check *c, const struct ks_path *path, struct ks_str name, struct ks_str amount)
{
	struct ks_quantity q;
	const char *message;

	ks_check_quantity_nonnegative(c, path, NULL, amount);
	if (!ks_str_in(name, integers) && !(ks_text_has(name, '/') && is_extended(name)))
		return;
	if (!ks_quantity_parse(amount, &q, &message) && q.nano % 1000000000)
		ks_err_invalid_text(c, path, NULL, amount, "must be an integer");
}

/* A multiple of the page's size, which is the end of the name. */
static void check_pages(struct ks_check *c, const struct ks_path *path, struct ks_str name, struct ks_str amount)
{
	struct ks_quantity q, page;
	const char *message;

	if (ks_quantity_parse(ks_str_of(name.p + 10, name.n - 10), &page, &message) || ks_quantity_parse(amount, &q, &message))
		return;
	if (ks_quantity_sign(&page) > 0 && ks_quantity_sign(&q) > 0 && q.nano % page.nano == 0)
		return;
	if (ks_quantity_sign(&page) > 0 && ks_quantity_sign(&q) == 0)
		return;
	ks_err_invalid_text(c, path, NULL, amount,
		ks_err_detail(c, "%.*s is not positive integer multiple of %.*s", (int)amount.n, amount.p, (int)name.n, name.p));
}

struct kinds {
	bool basic, huge; /* cpu or memory; pages */
};

static void check_one(struct ks_check *c, const struct ks_path *path, const struct ks_member *m, bool of_pod, struct kinds *kinds)
{
	struct ks_path at = ks_path_key(path, m->key);
	struct ks_str amount = ks_value_str(&m->value);

	ks_check_resource_name(c, &at, m->key, of_pod);
	check_amount(c, &at, m->key, amount);
	if (ks_str_is(m->key, "cpu") || ks_str_is(m->key, "memory"))
		kinds->basic = true;
}

static void check_request(struct ks_check *c, const struct ks_path *limits_path, const struct ks_path *path, const struct ks_member *m, struct ks_index *limits)
{
	const struct ks_value *limit = ks_index_find(c, limits, m->key);
	struct ks_str asked = ks_value_str(&m->value), most = ks_value_str(limit);
	int order;

	if (!limit) {
		if (!may_overcommit(m->key))
			ks_err_required(c, limits_path, NULL, "Limit must be set for non overcommitable resources");
		return;
	}
	order = ks_quantity_cmp_text(asked, most);
	if (order && !may_overcommit(m->key))
		ks_err_invalid_text(c, path, NULL, asked,
			ks_err_detail(c, "must be equal to %.*s limit of %.*s", (int)m->key.n, m->key.p, (int)most.n, most.p));
	else if (order > 0)
		ks_err_invalid_text(c, path, NULL, asked,
			ks_err_detail(c, "must be less than or equal to %.*s limit of %.*s", (int)m->key.n, m->key.p, (int)most.n, most.p));
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

/* " which is empty" or ": a, b". */
static const char *claim_names(struct ks_check *c)
{
	const struct ks_value *claims = LIST(ks_pod_of(c)->spec, "resourceClaims");
	struct ks_str *names = ks_arena_zalloc(c->arena, ks_value_count(claims) + 1, sizeof(*names));
	const char *text = "must be one of the names in pod.spec.resourceClaims";
	uint32_t n = 0;

	EACH(i, claims)
		if (names && TEXT(&claims->items[i], "name").n)
			names[n++] = TEXT(&claims->items[i], "name");
	if (!n)
		return ks_err_detail(c, "%s which is empty", text);
	qsort(names, n, sizeof(*names), by_text);
	for (uint32_t i = 0; i < n; i++)
		if (!i || !ks_str_eq(names[i], names[i - 1]))
			text = ks_err_detail(c, "%s%s %.*s", text, i ? "," : ":", (int)names[i].n, names[i].p);
	return text;
}

/* A request of a claim can't be named twice, nor beside the claim as a whole. */
static void check_claim_twice(struct ks_check *c, const struct ks_path *item, struct ks_str name, struct ks_str request, struct ks_seen *whole, struct ks_seen *parts,
	struct ks_seen *any)
{
	struct ks_str key = name;

	if (ks_seen_has(whole, name)) {
		ks_err_duplicate_text(c, item, NULL, name);
		return;
	}
	if (request.n) {
		ks_check_name(c, item, "request", KS_NAME_DNS1123_LABEL, request);
		key = ks_str_from(ks_err_detail(c, "%.*s/%.*s", (int)name.n, name.p, (int)request.n, request.p));
		if (!ks_seen_add(c, parts, key))
			ks_err_duplicate_text(c, item, NULL, key);
	} else {
		if (ks_seen_has(any, name))
			ks_err_duplicate_text(c, item, NULL, name);
		ks_seen_add(c, whole, name);
	}
	ks_seen_add(c, any, name);
}

static void check_claims(struct ks_check *c, const struct ks_path *path, const struct ks_value *claims)
{
	struct ks_pod_check *pod = ks_pod_of(c);
	struct ks_path at = ks_path_child(path, "claims");
	struct ks_seen whole = {.n = 0}, parts = {.n = 0}, any = {.n = 0};

	EACH(i, claims) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str name = TEXT(&claims->items[i], "name");

		if (!name.n) {
			ks_err_required(c, &item, NULL, "");
			continue;
		}
		check_claim_twice(c, &item, name, TEXT(&claims->items[i], "request"), &whole, &parts, &any);
		if (ks_seen_has(&pod->claim_names, name))
			continue;
		if (!pod->claim_text)
			pod->claim_text = claim_names(c);
		ks_err_not_found(c, &item, NULL, name, pod->claim_text);
	}
}

void ks_check_resources(struct ks_check *c, const struct ks_path *path, const struct ks_value *resources, bool of_pod)
{
	const struct ks_value *limits = MAP(resources, "limits"), *requests = MAP(resources, "requests");
	struct ks_path limits_at = ks_path_child(path, "limits"), requests_at = ks_path_child(path, "requests");
	struct ks_index index = {.map = limits};
	struct kinds kinds = {.basic = false};

	if (!resources)
		return;
	EACH(i, limits) {
		check_one(c, &limits_at, &limits->members[i], of_pod, &kinds);
		if (is_huge(limits->members[i].key)) {
			struct ks_path at = ks_path_key(&limits_at, limits->members[i].key);

			kinds.huge = true;
			check_pages(c, &at, limits->members[i].key, ks_value_str(&limits->members[i].value));
		}
	}
	EACH(i, requests) {
		check_one(c, &requests_at, &requests->members[i], of_pod, &kinds);
		check_request(c, &limits_at, &requests_at, &requests->members[i], &index);
		if (is_huge(requests->members[i].key)) {
			struct ks_path at = ks_path_key(&requests_at, requests->members[i].key);

			kinds.huge = true;
			check_pages(c, &at, requests->members[i].key, ks_value_str(&requests->members[i].value));
		}
	}
	if (kinds.huge && !kinds.basic)
		ks_err_forbidden(c, path, NULL, "HugePages require cpu or memory");
	check_claims(c, path, LIST(resources, "claims"));
}

/* -- resources of a whole pod ------------------------------------------------------------------------------------------ */

static bool counts_for_pods(struct ks_str name)
{
	return ks_str_is(name, "cpu") || ks_str_is(name, "memory") || is_huge(name);
}

static void add_requests(struct ks_check *c, const struct ks_value *container, struct ks_str name, struct ks_quantity *sum)
{
	const struct ks_value *requests = MAP(IN(container, "resources"), "requests");
	const struct ks_value *amount = requests ? ks_value_get_str(c->schema, requests, name) : NULL;
	struct ks_quantity q;
	const char *message;

	if (amount && !ks_quantity_parse(ks_value_str(amount), &q, &message))
		ks_quantity_add(sum, &q);
}

/* All containers and sidecars together; an init container more than that counts alone, with the sidecars before it. */
static void sum_requests(struct ks_check *c, const struct ks_value *spec, struct ks_str name, struct ks_quantity *sum_r)
{
	const struct ks_value *list = LIST(spec, "containers"), *init = LIST(spec, "initContainers");
	struct ks_quantity sidecars = {0}, most = {0};

	*sum_r = (struct ks_quantity){0};
	EACH(i, list)
		add_requests(c, &list->items[i], name, sum_r);
	EACH(i, init) {
		struct ks_quantity own = sidecars;

		add_requests(c, &init->items[i], name, &own);
		if (ks_str_is(TEXT(&init->items[i], "restartPolicy"), "Always")) {
			sidecars = own;
			add_requests(c, &init->items[i], name, sum_r);
		}
		if (ks_quantity_cmp(&own, &most) > 0)
			most = own;
	}
	if (ks_quantity_cmp(&most, sum_r) > 0)
		*sum_r = most;
}

static void check_sum(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, struct ks_str name)
{
	const struct ks_value *requests = MAP(IN(spec, "resources"), "requests");
	struct ks_str own = ks_value_str(requests ? ks_value_get_str(c->schema, requests, name) : NULL);
	struct ks_path at = ks_path_key(path, name);
	struct ks_quantity sum, asked = {0};
	char text[KS_QUANTITY_TEXT];
	const char *message;

	sum_requests(c, spec, name, &sum);
	if (own.n && ks_quantity_parse(own, &asked, &message))
		return;
	if (ks_quantity_cmp(&sum, &asked) <= 0)
		return;
	ks_quantity_print(&sum, text);
	ks_err_invalid_text(c, &at, NULL, own.n ? own : KS_STR_LIT("0"),
		ks_err_detail(c, "must be greater than or equal to aggregate container requests of %s", text));
}

static void sum_names(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *list, struct ks_seen *done)
{
	EACH(i, list) {
		const struct ks_value *requests = MAP(IN(&list->items[i], "resources"), "requests");

		EACH(k, requests)
			if (counts_for_pods(requests->members[k].key) && ks_seen_add(c, done, requests->members[k].key))
				check_sum(c, path, spec, requests->members[k].key);
	}
}

static void check_container_limits(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *list = LIST(spec, "containers"), *own = MAP(IN(spec, "resources"), "limits");
	struct ks_path at = ks_path_child(path, "containers");

	EACH(i, list) {
		const struct ks_value *limits = MAP(IN(&list->items[i], "resources"), "limits");
		struct ks_path item = ks_path_index(&at, i);

		EACH(k, limits) {
			struct ks_str most = ks_value_str(own ? ks_value_get_str(c->schema, own, limits->members[k].key) : NULL);
			struct ks_path key = ks_path_key(&item, limits->members[k].key);

			if (most.n && ks_quantity_cmp_text(ks_value_str(&limits->members[k].value), most) > 0)
				ks_err_invalid_text(c, &key, "limits", ks_value_str(&limits->members[k].value),
					ks_err_detail(c, "must be less than or equal to pod limits of %.*s", (int)most.n, most.p));
		}
	}
}

void ks_check_pod_resources(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec)
{
	const struct ks_value *resources = IN(spec, "resources");
	struct ks_path at = ks_path_child(path, "resources"), requests = ks_path_child(&at, "requests");
	struct ks_seen done = {.n = 0};

	if (!resources)
		return;
	if (IN(resources, "claims"))
		ks_err_forbidden(c, &at, "claims", "claims may not be set for Resources at pod-level");
	ks_check_resources(c, &at, resources, true);
	if (!IN(resources, "limits") && !IN(resources, "requests"))
		return;
	sum_names(c, &requests, spec, LIST(spec, "containers"), &done);
	sum_names(c, &requests, spec, LIST(spec, "initContainers"), &done);
	check_container_limits(c, &at, spec);
}
