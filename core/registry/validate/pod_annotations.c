/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Annotations of pods that mean something to the server. */
#include "core/registry/validate/pod.h"

#define SECCOMP_POD "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP_CONTAINER KS_STR_LIT("container.seccomp.security.alpha.kubernetes.io/")
#define APPARMOR KS_STR_LIT("container.apparmor.security.beta.kubernetes.io/")

static struct ks_str after(struct ks_str text, size_t n)
{
	return ks_str_of(text.p + n, text.n - n);
}

static void check_seccomp(struct ks_check *c, const struct ks_path *path, struct ks_str key, struct ks_str value)
{
	static const char *const known[] = {"runtime/default", "docker/default", "unconfined", NULL};
	struct ks_path at = {path, key.p, (uint32_t)key.n, false};

	if (ks_str_in(value, known))
		return;
	if (ks_str_starts(value, KS_STR_LIT("localhost/")))
		ks_check_descending_path(c, &at, NULL, after(value, 10));
	else
		ks_err_invalid_text(c, &at, NULL, value, "must be a valid seccomp profile");
}

struct wanted {
	struct ks_str name;
	bool found;
};

static void visit_name(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	struct wanted *w = arg;

	(void)path;
	w->found |= ks_str_eq(TEXT(container, "name"), w->name);
}

static void check_apparmor(struct ks_check *c, const struct ks_path *path, struct ks_str key, struct ks_str value, const struct ks_value *spec)
{
	static const char *const known[] = {"", "runtime/default", "unconfined", NULL};
	struct ks_path at = ks_path_key(path, key), root = ks_path_root("spec");
	struct wanted w = {.name = after(key, APPARMOR.n)};

	ks_pod_each_container(c, &root, spec, visit_name, &w);
	if (!w.found)
		ks_err_invalid_text(c, &at, NULL, w.name, "container not found");
	if (!ks_str_in(value, known) && !ks_str_starts(value, KS_STR_LIT("localhost/")))
		ks_err_invalid_text(c, &at, NULL, value, ks_err_detail(c, "invalid AppArmor profile name: \"%.*s\"", (int)value.n, value.p));
}

/* A 32 bit number, without a plus sign or leading zeros. */
static bool is_cost(struct ks_str s)
{
	bool minus = s.n && s.p[0] == '-';
	int64_t n = 0;

	if (minus)
		s = after(s, 1);
	if (!s.n || s.n > 10 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		n = n * 10 + (s.p[i] - '0');
	}
	return n <= INT32_MAX || (minus && n == (int64_t)INT32_MAX + 1);
}

void ks_check_pod_annotations(struct ks_check *c, const struct ks_path *path, const struct ks_value *annotations, const struct ks_value *spec, bool any_deletion_cost)
{
	struct ks_str mirror = KS_STR_LIT("kubernetes.io/config.mirror"), cost = KS_STR_LIT("controller.kubernetes.io/pod-deletion-cost"), value;
	struct ks_path mirror_at = ks_path_key(path, mirror), cost_at = ks_path_key(path, cost);

	if (!ks_value_count(annotations))
		return;
	if (ks_value_get_str(c->schema, annotations, mirror) && !TEXT(spec, "nodeName").n)
		ks_err_invalid_text(c, &mirror_at, NULL, ks_value_str(ks_value_get_str(c->schema, annotations, mirror)),
			"must set spec.nodeName if mirror pod annotation is set");
	value = ks_value_str(ks_value_get_str(c->schema, annotations, cost));
	if (!any_deletion_cost && ks_value_get_str(c->schema, annotations, cost) && !is_cost(value))
		ks_err_invalid_text(c, &cost_at, NULL, value, "must be a 32bit integer");
	EACH(i, annotations) {
		struct ks_str key = annotations->members[i].key;

		if (ks_str_is(key, SECCOMP_POD) || ks_str_starts(key, SECCOMP_CONTAINER))
			check_seccomp(c, path, key, ks_value_str(&annotations->members[i].value));
	}
	EACH(i, annotations)
		if (ks_str_starts(annotations->members[i].key, APPARMOR))
			check_apparmor(c, path, annotations->members[i].key, ks_value_str(&annotations->members[i].value), spec);
}

/* -- annotations beside fields ----------------------------------------------------------------------------------------- */

struct profile_words {
	const char *runtime_default, *also_default, *what;
};

/* Does the annotation say what the field says? */
static void check_match(struct ks_check *c, const struct ks_path *path, struct ks_str said, const struct ks_value *profile, const struct profile_words *words)
{
	struct ks_str type = TEXT(profile, "type"), local = TEXT(profile, "localhostProfile");
	bool good = true, localhost = ks_str_is(type, "Localhost");

	if (ks_str_is(type, "Unconfined"))
		good = ks_str_is(said, "unconfined");
	else if (ks_str_is(type, "RuntimeDefault"))
		good = ks_str_is(said, words->runtime_default) || (words->also_default && ks_str_is(said, words->also_default));
	else if (localhost)
		good = ks_str_starts(said, KS_STR_LIT("localhost/"));
	if (!good)
		ks_err_forbidden(c, path, "type", ks_err_detail(c, "%s type in annotation and field must match", words->what));
	else if (localhost && !ks_str_eq(after(said, 10), local))
		ks_err_forbidden(c, path, "localhostProfile", ks_err_detail(c, "%s profile in annotation and field must match", words->what));
}

static const struct profile_words seccomp_words = {"runtime/default", "docker/default", "seccomp"};
static const struct profile_words apparmor_words = {"runtime/default", NULL, "apparmor"};

struct profiles {
	const struct ks_value *annotations, *pod_apparmor;
};

static const struct ks_value *annotation_of(struct ks_check *c, const struct ks_value *annotations, struct ks_str prefix, struct ks_str name)
{
	EACH(i, annotations) {
		struct ks_str key = annotations->members[i].key;

		if (ks_str_starts(key, prefix) && ks_str_eq(after(key, prefix.n), name))
			return &annotations->members[i].value;
	}
	(void)c;
	return NULL;
}

static void visit_seccomp(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	const struct profiles *p = arg;
	const struct ks_value *field = IN(IN(container, "securityContext"), "seccompProfile");
	const struct ks_value *said = field ? annotation_of(c, p->annotations, SECCOMP_CONTAINER, TEXT(container, "name")) : NULL;
	struct ks_path at = ks_path_child(path, "securityContext.seccompProfile");

	if (said)
		check_match(c, &at, ks_value_str(said), field, &seccomp_words);
}

static void visit_apparmor(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	const struct profiles *p = arg;
	const struct ks_value *own = IN(IN(container, "securityContext"), "appArmorProfile"), *field = own ? own : p->pod_apparmor;
	const struct ks_value *said = field ? annotation_of(c, p->annotations, APPARMOR, TEXT(container, "name")) : NULL;
	struct ks_path at = ks_path_child(path, "securityContext.appArmorProfile");

	if (said)
		check_match(c, &at, ks_value_str(said), field, &apparmor_words);
}

void ks_check_pod_profiles(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *annotations, const struct ks_value *spec)
{
	const struct ks_value *context = IN(spec, "securityContext"), *seccomp = IN(context, "seccompProfile"), *said;
	struct profiles p = {.annotations = annotations, .pod_apparmor = IN(context, "appArmorProfile")};
	struct ks_path at = ks_path_child(spec_path, "securityContext.seccompProfile");

	if (!ks_value_count(annotations))
		return;
	said = ks_value_get(c->schema, annotations, SECCOMP_POD);
	if (seccomp && said)
		check_match(c, &at, ks_value_str(said), seccomp, &seccomp_words);
	ks_pod_each_container(c, spec_path, spec, visit_seccomp, &p);
	if (!ks_str_is(TEXT(IN(spec, "os"), "name"), "windows"))
		ks_pod_each_container(c, spec_path, spec, visit_apparmor, &p);
}
