/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A pod's spec, in a pod and in every template: defaults that depend on other fields. */
#include "core/registry/kit.h"

/* Letters and digits, with single dots and underscores, two underscores, or dashes between them. */
static bool is_path_component(struct ks_str s)
{
	size_t i = 0;

	while (i < s.n) {
		size_t start = i, marks;

		while (i < s.n && ((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9')))
			i++;
		if (i == start)
			return false;
		if (i == s.n)
			return true;
		marks = i;
		while (i < s.n && s.p[i] == s.p[marks] && strchr("._-", s.p[i]))
			i++;
		if (i == marks || (s.p[marks] == '.' && i - marks > 1) || (s.p[marks] == '_' && i - marks > 2))
			return false;
	}
	return false;
}

static bool is_domain(struct ks_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || strchr(".-:[]", s.p[i])))
			return false;
	return s.n && s.p[0] != '.' && s.p[0] != '-';
}

/* The first part is a host when it looks like one. */
static bool names_host(struct ks_str s)
{
	if (ks_str_is(s, "localhost"))
		return true;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '.' || s.p[i] == ':' || (s.p[i] >= 'A' && s.p[i] <= 'Z'))
			return true;
	return false;
}

static bool is_repository(struct ks_str name)
{
	const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
	struct ks_str first = slash ? ks_str_of(name.p, (size_t)(slash - name.p)) : name;

	if (name.n > 255)
		return false;
	if (slash && names_host(first)) {
		if (!is_domain(first))
			return false;
		name = ks_str_of(slash + 1, name.n - first.n - 1);
	}
	for (;;) {
		slash = name.n ? memchr(name.p, '/', name.n) : NULL;
		first = slash ? ks_str_of(name.p, (size_t)(slash - name.p)) : name;
		if (!is_path_component(first))
			return false;
		if (!slash)
			return true;
		name = ks_str_of(slash + 1, name.n - first.n - 1);
	}
}

static bool is_tag(struct ks_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '_' || (i && strchr(".-", s.p[i]))))
			return false;
	return s.n > 0 && s.n <= 128;
}

/* A proper name with no tag and no digest, or with the tag "latest": pulled always. */
static bool pulled_always(struct ks_str image)
{
	const char *slash, *colon;
	struct ks_str last, tag = {0};

	if (!image.n || memchr(image.p, '@', image.n))
		return false;
	slash = memrchr(image.p, '/', image.n);
	last = slash ? ks_str_of(slash + 1, image.n - (size_t)(slash + 1 - image.p)) : image;
	colon = last.n ? memchr(last.p, ':', last.n) : NULL;
	if (colon) {
		tag = ks_str_of(colon + 1, last.n - (size_t)(colon + 1 - last.p));
		image.n -= tag.n + 1;
		if (!is_tag(tag))
			return false;
	}
	return (!colon || ks_str_is(tag, "latest")) && is_repository(image);
}

static bool container_defaults(struct ks_registry_context *ctx, struct ks_value *spec, const char *list_name)
{
	struct ks_value *list = ks_kit_list(ctx, spec, list_name);

	for (uint32_t i = 0; list && i < list->n; i++) {
		const char *policy = pulled_always(ks_kit_text(ctx, &list->items[i], "image")) ? "Always" : "IfNotPresent";

		if (!ks_kit_default_text(ctx, &list->items[i], "imagePullPolicy", policy))
			return false;
	}
	return true;
}

static bool image_defaults(struct ks_registry_context *ctx, struct ks_value *volume)
{
	if (!ks_kit_at(ctx, volume, "image"))
		return true;
	return ks_kit_default_text(ctx, volume, "image.pullPolicy", pulled_always(ks_kit_text(ctx, volume, "image.reference")) ? "Always" : "IfNotPresent");
}

/* A volume that names no source is an empty directory. */
static bool volume_defaults(struct ks_registry_context *ctx, struct ks_value *spec)
{
	struct ks_value *list = ks_kit_list(ctx, spec, "volumes");

	for (uint32_t i = 0; list && i < list->n; i++) {
		struct ks_value *volume = &list->items[i];
		bool has_source = false;

		for (uint32_t k = 0; volume->kind == KS_STRUCT && k < volume->n && !has_source; k++)
			has_source = ks_value_present(&volume->items[k]) &&
				strcmp(ks_schema_text(ctx->schema, ks_schema_field(ctx->schema, volume->type, (uint16_t)k)->name), "name");
		if (!has_source && !ks_kit_struct(ctx, volume, "emptyDir"))
			return false;
		if (!image_defaults(ctx, volume))
			return false;
	}
	return true;
}

bool ks_pod_spec_defaults(struct ks_registry_context *ctx, struct ks_value *spec)
{
	struct ks_str account;

	if (!ks_value_present(spec))
		return true;
	if (!container_defaults(ctx, spec, "containers") || !container_defaults(ctx, spec, "initContainers") ||
		!container_defaults(ctx, spec, "ephemeralContainers") || !volume_defaults(ctx, spec))
		return false;
	/* The old name of serviceAccountName says the same. */
	account = ks_kit_text(ctx, spec, "serviceAccountName");
	if (!account.n)
		account = ks_kit_text(ctx, spec, "serviceAccount");
	if (!account.n)
		return true;
	return ks_kit_set(ctx, spec, "serviceAccountName", ks_value_from_str(account)) &&
		ks_kit_set(ctx, spec, "serviceAccount", ks_value_from_str(account));
}
