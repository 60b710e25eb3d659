/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What is allowed in a pod, but hardly wanted. */
#include "core/registry/validate/warnings.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/api/quantity.h"

#define SECCOMP_POD "seccomp.security.alpha.kubernetes.io/pod"

void ks_warn_at(struct ks_check *c, const struct ks_path *path, const char *name, const char *format, ...)
{
	struct ks_registry_context *ctx = c->user;
	struct ks_buf text;
	char detail[1024];
	va_list args;

	if (!ctx->warn)
		return;
	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	ks_buf_init(&text);
	if (path || name)
		ks_buf_printf(&text, "%s: ", ks_path_text(c->arena, path, name));
	ks_buf_add_str(&text, detail);
	if (!text.failed) {
		char *copy = ks_arena_dup(c->arena, text.data, text.len);

		if (copy)
			ctx->warn(ctx->warn_arg, ks_str_of(copy, text.len));
	}
	ks_buf_fini(&text);
}

/* -- labels of nodes that have new names -------------------------------------------------------------------------------- */

static const struct {
	const char *key, *message;
} old_labels[] = {
	{"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
	{"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
	{"failure-domain.beta.kubernetes.io/region", "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
	{"failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
	{"beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
};

static const char *old_label(struct ks_str key)
{
	for (size_t i = 0; i < sizeof(old_labels) / sizeof(old_labels[0]); i++)
		if (ks_str_is(key, old_labels[i].key))
			return old_labels[i].message;
	return NULL;
}

static void warn_term(struct ks_check *c, const struct ks_path *path, const struct ks_value *term)
{
	const struct ks_value *list = LIST(term, "matchExpressions");
	struct ks_path at = ks_path_child(path, "matchExpressions");

	EACH(i, list) {
		struct ks_str key = TEXT(&list->items[i], "key");
		struct ks_path item = ks_path_index(&at, i);

		if (old_label(key))
			ks_warn_at(c, &item, "key", "%.*s is %s", (int)key.n, key.p, old_label(key));
	}
}

static void warn_nodes(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	const struct ks_value *selector = MAP(spec, "nodeSelector"), *affinity = IN(IN(spec, "affinity"), "nodeAffinity");
	const struct ks_value *required = LIST(IN(affinity, "requiredDuringSchedulingIgnoredDuringExecution"), "nodeSelectorTerms");
	const struct ks_value *preferred = LIST(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
	struct ks_path selector_at = ks_path_child(spec_path, "nodeSelector"), affinity_at = ks_path_child(spec_path, "affinity.nodeAffinity");
	struct ks_path required_at = ks_path_child(&affinity_at, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
	struct ks_path preferred_at = ks_path_child(&affinity_at, "preferredDuringSchedulingIgnoredDuringExecution");

	EACH(i, selector) {
		struct ks_path key = ks_path_key(&selector_at, selector->members[i].key);

		if (old_label(selector->members[i].key))
			ks_warn_at(c, &key, NULL, "%s", old_label(selector->members[i].key));
	}
	EACH(i, required) {
		struct ks_path item = ks_path_index(&required_at, i);

		warn_term(c, &item, &required->items[i]);
	}
	EACH(i, preferred) {
		struct ks_path item = ks_path_index(&preferred_at, i), preference = ks_path_child(&item, "preference");

		warn_term(c, &preference, IN(&preferred->items[i], "preference"));
	}
}

static void warn_spread(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	const struct ks_value *list = LIST(spec, "topologySpreadConstraints");
	struct ks_path at = ks_path_child(spec_path, "topologySpreadConstraints");

	EACH(i, list) {
		struct ks_str key = TEXT(&list->items[i], "topologyKey");
		struct ks_path item = ks_path_index(&at, i);

		if (old_label(key))
			ks_warn_at(c, &item, "topologyKey", "%.*s is %s", (int)key.n, key.p, old_label(key));
		if (!IN(&list->items[i], "labelSelector"))
			ks_warn_at(c, &item, "labelSelector", "a null labelSelector results in matching no pod");
	}
}

/* -- annotations -------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *key, *message;
} old_annotations[] = {
	{"scheduler.alpha.kubernetes.io/critical-pod", "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
	{"security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
	{"security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"},
};

static void warn_annotations(struct ks_check *c, const struct ks_path *notes_path, const struct ks_value *annotations)
{
	for (size_t i = 0; annotations && i < sizeof(old_annotations) / sizeof(old_annotations[0]); i++) {
		struct ks_path key = ks_path_key(notes_path, ks_str_from(old_annotations[i].key));

		if (ks_value_get(c->schema, annotations, old_annotations[i].key))
			ks_warn_at(c, &key, NULL, "%s", old_annotations[i].message);
	}
}

/* -- lists of names ------------------------------------------------------------------------------------------------------- */

static void warn_twice(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec, const char *list_name, const char *field, const char *what)
{
	const struct ks_value *list = ks_value_get(c->schema, spec, list_name);
	struct ks_path at = ks_path_child(spec_path, list_name);
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; ks_value_count(list) > 1 && i < list->n; i++) {
		struct ks_str text = ks_value_str(ks_value_get(c->schema, &list->items[i], field));
		struct ks_path item = ks_path_index(&at, i);

		if (!ks_seen_add(c, &seen, text))
			ks_warn_at(c, &item, field, "duplicate %s \"%.*s\"", what, (int)text.n, text.p ? text.p : "");
	}
}

static void warn_pull_secrets(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	const struct ks_value *list = LIST(spec, "imagePullSecrets");
	struct ks_path at = ks_path_child(spec_path, "imagePullSecrets");

	warn_twice(c, spec_path, spec, "imagePullSecrets", "name", "name");
	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		if (!TEXT(&list->items[i], "name").n)
			ks_warn_at(c, &item, "name", "invalid empty name \"\"");
	}
}

void ks_warn_fraction(struct ks_check *c, const struct ks_path *path, const struct ks_value *amounts, struct ks_str name)
{
	struct ks_str amount = ks_value_str(amounts ? ks_value_get_str(c->schema, amounts, name) : NULL);
	struct ks_path key = ks_path_key(path, name);
	struct ks_quantity q;
	const char *message;

	if (amount.n && !ks_quantity_parse(amount, &q, &message) && q.nano % 1000000000)
		ks_warn_at(c, &key, NULL, "fractional byte value \"%.*s\" is invalid, must be an integer", (int)amount.n, amount.p);
}

/* -- containers ------------------------------------------------------------------------------------------------------------- */

struct around {
	const struct ks_value *annotations;
	const struct ks_path *notes;
	bool pod_apparmor, is_template, profiles; /* are there annotations that name profiles? */
};

static void warn_container_notes(struct ks_check *c, const struct ks_value *container, const struct around *a)
{
	static const char seccomp[] = "container.seccomp.security.alpha.kubernetes.io/", apparmor[] = "container.apparmor.security.beta.kubernetes.io/";
	const struct ks_value *context = IN(container, "securityContext");
	struct ks_str name = TEXT(container, "name"), key;
	struct ks_path at;

	if (!a->profiles)
		return;
	key = ks_str_from(ks_err_detail(c, "%s%.*s", seccomp, (int)name.n, name.p ? name.p : ""));
	at = ks_path_key(a->notes, key);
	if (!IN(context, "seccompProfile") && ks_value_get_str(c->schema, a->annotations, key))
		ks_warn_at(c, &at, NULL, "non-functional in v1.27+; use the \"seccompProfile\" field instead");
	key = ks_str_from(ks_err_detail(c, "%s%.*s", apparmor, (int)name.n, name.p ? name.p : ""));
	at = ks_path_key(a->notes, key);
	if (a->is_template && !a->pod_apparmor && !IN(context, "appArmorProfile") && ks_value_get_str(c->schema, a->annotations, key))
		ks_warn_at(c, &at, NULL, "deprecated since v1.30; use the \"appArmorProfile\" field instead");
}

/* Does a variable take the place of one of the same name without using it? */
static bool hides(struct ks_check *c, const struct ks_value *var, struct ks_str name)
{
	struct ks_str value = TEXT(var, "value");
	const char *ref = ks_err_detail(c, "$(%.*s)", (int)name.n, name.p ? name.p : "");

	return IN(var, "valueFrom") || ks_str_is(value, ref) || !value.n || !memmem(value.p, value.n, ref, strlen(ref));
}

static void warn_env(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	const struct ks_value *list = LIST(container, "env");
	struct ks_path at = ks_path_child(path, "env");
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; ks_value_count(list) > 1 && i < list->n; i++) {
		struct ks_str name = TEXT(&list->items[i], "name");
		struct ks_path item = ks_path_index(&at, i);

		if (!ks_seen_add(c, &seen, name) && hides(c, &list->items[i], name))
			ks_warn_at(c, &item, NULL, "hides previous definition of \"%.*s\", which may be dropped when using apply", (int)name.n, name.p ? name.p : "");
	}
}

static void warn_container(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	const struct ks_value *resources = IN(container, "resources"), *limits = MAP(resources, "limits"), *requests = MAP(resources, "requests");
	struct ks_path limits_at = ks_path_child(path, "resources.limits"), requests_at = ks_path_child(path, "resources.requests");

	warn_container_notes(c, container, arg);
	ks_warn_fraction(c, &limits_at, limits, KS_STR_LIT("memory"));
	ks_warn_fraction(c, &requests_at, requests, KS_STR_LIT("memory"));
	ks_warn_fraction(c, &limits_at, limits, KS_STR_LIT("ephemeral-storage"));
	ks_warn_fraction(c, &requests_at, requests, KS_STR_LIT("ephemeral-storage"));
	warn_env(c, path, container);
}

static void warn_affinity(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec, const char *kind)
{
	const struct ks_value *affinity = ks_value_get(c->schema, IN(spec, "affinity"), kind);
	const struct ks_value *required = LIST(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
	const struct ks_value *preferred = LIST(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
	struct ks_path affinity_at = ks_path_child(spec_path, "affinity"), kind_at = ks_path_child(&affinity_at, kind);
	struct ks_path required_at = ks_path_child(&kind_at, "requiredDuringSchedulingIgnoredDuringExecution");
	struct ks_path preferred_at = ks_path_child(&kind_at, "preferredDuringSchedulingIgnoredDuringExecution");

	EACH(i, required) {
		struct ks_path item = ks_path_index(&required_at, i);

		if (!IN(&required->items[i], "labelSelector"))
			ks_warn_at(c, &item, "labelSelector", "a null labelSelector results in matching no pod");
	}
	EACH(i, preferred) {
		struct ks_path item = ks_path_index(&preferred_at, i);

		if (!IN(IN(&preferred->items[i], "podAffinityTerm"), "labelSelector"))
			ks_warn_at(c, &item, "podAffinityTerm.labelSelector", "a null labelSelector results in matching no pod");
	}
}

static void warn_aliases(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *list)
{
	struct ks_path at = ks_path_child(spec_path, "hostAliases");

	EACH(i, list) {
		struct ks_path item = ks_path_index(&at, i);

		ks_warn_ip(c, &item, "ip", TEXT(&list->items[i], "ip"));
	}
}

void ks_warn_pod_parts(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *metadata)
{
	const struct ks_value *annotations = MAP(metadata, "annotations"), *context = IN(spec, "securityContext");
	struct ks_path spec_at = ks_path_child(path, "spec"), notes = ks_path_child(path, "metadata.annotations"), overhead = ks_path_child(&spec_at, "overhead");
	struct ks_path dns = ks_path_child(&spec_at, "dnsConfig"), seccomp = ks_path_key(&notes, KS_STR_LIT(SECCOMP_POD));
	struct around around = {.annotations = annotations, .notes = &notes, .pod_apparmor = IN(context, "appArmorProfile") != NULL, .is_template = path != NULL};

	if (!spec)
		return;
	EACH(i, annotations)
		around.profiles |= ks_str_starts(annotations->members[i].key, KS_STR_LIT("container."));
	warn_nodes(c, &spec_at, spec);
	warn_spread(c, &spec_at, spec);
	warn_annotations(c, &notes, annotations);
	ks_warn_volumes(c, &spec_at, LIST(spec, "volumes"));
	warn_twice(c, &spec_at, spec, "hostAliases", "ip", "ip");
	warn_aliases(c, &spec_at, LIST(spec, "hostAliases"));
	warn_pull_secrets(c, &spec_at, spec);
	ks_warn_fraction(c, &overhead, MAP(spec, "overhead"), KS_STR_LIT("memory"));
	ks_warn_fraction(c, &overhead, MAP(spec, "overhead"), KS_STR_LIT("ephemeral-storage"));
	if (annotations && !IN(context, "seccompProfile") && ks_value_get(c->schema, annotations, SECCOMP_POD))
		ks_warn_at(c, &seccomp, NULL, "non-functional in v1.27+; use the \"seccompProfile\" field instead");
	ks_pod_each_container(c, &spec_at, spec, warn_container, &around);
	ks_warn_ports(c, &spec_at, spec);
	if (INT(spec, "terminationGracePeriodSeconds") < 0)
		ks_warn_at(c, &spec_at, "terminationGracePeriodSeconds", "must be >= 0; negative values are invalid and will be treated as 1");
	warn_affinity(c, &spec_at, spec, "podAffinity");
	warn_affinity(c, &spec_at, spec, "podAntiAffinity");
	ks_warn_ips(c, &dns, "nameservers", LIST(IN(spec, "dnsConfig"), "nameservers"));
}
