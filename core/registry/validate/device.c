/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/validate/device.h"

#include "core/api/json.h"

static struct ks_str key_of(struct ks_check *c, const struct ks_value *item, const char *key)
{
	return ks_value_str(key[0] ? ks_value_get(c->schema, item, key) : item);
}

void ks_device_list(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *list, int64_t most, const char *key,
	ks_device_check *check, const void *arg)
{
	struct ks_path at = ks_path_child(path, name);

	if (most >= 0 && ks_value_count(list) > most) {
		ks_err_too_many(c, &at, NULL, list->n, most);
		return;
	}
	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);

		check(c, &item, &list->items[i], arg);
	}
	for (uint32_t i = 1; key && i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&at, i);
		struct ks_str own = key_of(c, &list->items[i], key);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_str_eq(own, key_of(c, &list->items[k], key));
		if (seen)
			ks_err_duplicate_text(c, &item, NULL, own);
	}
}

void ks_device_pool_name(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str pool)
{
	if (!pool.n) {
		ks_err_required(c, path, name, "");
		return;
	}
	if (pool.n > 253)
		ks_err_too_long(c, path, name, 253);
	for (size_t i = 0; i <= pool.n;) {
		size_t end = i;

		while (end < pool.n && pool.p[end] != '/')
			end++;
		ks_check_name(c, path, name, KS_NAME_DNS1123_SUBDOMAIN, ks_str_of(pool.p + i, end - i));
		i = end + 1;
	}
}

static void check_identifier(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str text)
{
	if (text.n > KS_DEVICE_ID_BYTES)
		ks_err_too_long(c, path, name, KS_DEVICE_ID_BYTES);
	ks_check_name(c, path, name, KS_NAME_C_IDENTIFIER, text);
}

void ks_device_qualified_name(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str text, bool full)
{
	const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
	struct ks_str domain = slash ? ks_str_of(text.p, (size_t)(slash - text.p)) : (struct ks_str){0};
	struct ks_str id = slash ? ks_str_of(slash + 1, text.n - domain.n - 1) : text;

	if (!slash) {
		check_identifier(c, path, name, id);
	} else if (!id.n || !memchr(id.p, '/', id.n)) {
		if (!domain.n)
			ks_err_invalid_text(c, path, name, domain, "the domain must not be empty");
		else
			ks_check_csi_driver_name(c, path, name, domain);
		if (!id.n)
			ks_err_invalid_text(c, path, name, id, "the name must not be empty");
		else
			check_identifier(c, path, name, id);
	}
	if (full && !slash)
		ks_err_invalid_text(c, path, name, text, "a fully qualified name must be a domain and a name separated by a slash");
}

/* -- requests ----------------------------------------------------------------------------------------------------- */

static bool has_request(struct ks_check *c, const struct ks_value *claim, struct ks_str name, struct ks_str below)
{
	const struct ks_value *requests = KS_IN_LIST(c, claim, "requests");
	bool found = false;

	for (uint32_t i = 0; i < ks_value_count(requests); i++) {
		const struct ks_value *list = KS_IN_LIST(c, &requests->items[i], "firstAvailable");

		if (!ks_str_eq(name, KS_IN_TEXT(c, &requests->items[i], "name")))
			continue;
		found = !below.p;
		for (uint32_t k = 0; below.p && k < ks_value_count(list); k++)
			found |= ks_str_eq(below, KS_IN_TEXT(c, &list->items[k], "name"));
	}
	return found;
}

void ks_device_request_reference(struct ks_check *c, const struct ks_path *path, struct ks_str name, const struct ks_value *claim)
{
	static const char words[] = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
	const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
	struct ks_str first = slash ? ks_str_of(name.p, (size_t)(slash - name.p)) : name;
	struct ks_str second = slash ? ks_str_of(slash + 1, name.n - first.n - 1) : (struct ks_str){0};

	if (second.n && memchr(second.p, '/', second.n)) {
		ks_err_invalid_text(c, path, NULL, name, words);
		return;
	}
	ks_check_name(c, path, NULL, KS_NAME_DNS1123_LABEL, first);
	if (slash)
		ks_check_name(c, path, NULL, KS_NAME_DNS1123_LABEL, second);
	if (!has_request(c, claim, first, second))
		ks_err_invalid_text(c, path, NULL, name, words);
}

static void check_reference_item(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	ks_device_request_reference(c, path, ks_value_str(item), arg);
}

void ks_device_request_references(struct ks_check *c, const struct ks_path *path, const struct ks_value *owner, const struct ks_value *claim)
{
	ks_device_list(c, path, "requests", KS_IN_LIST(c, owner, "requests"), KS_DEVICE_REQUESTS_MOST, "", check_reference_item, claim);
}

/* -- configuration ------------------------------------------------------------------------------------------------ */

void ks_device_raw(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *raw, bool stored, int64_t bytes)
{
	struct ks_buf json;

	if (!raw || raw->kind <= KS_NULL) {
		ks_err_required(c, path, name, "");
		return;
	}
	ks_buf_init(&json);
	if (!stored)
		ks_json_encode(c->schema, raw, &json);
	if (!stored && !json.failed && (int64_t)json.len > bytes)
		ks_err_too_long(c, path, name, bytes);
	else if (raw->kind != KS_MAP)
		ks_err_invalid_text(c, path, name, KS_STR_LIT("<value omitted>"), "must be a valid JSON object");
	ks_buf_fini(&json);
}

void ks_device_configuration(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, bool stored)
{
	const struct ks_value *opaque = KS_IN(c, v, "opaque");
	struct ks_path at = ks_path_child(path, "opaque");

	if (!opaque) {
		ks_err_required(c, &at, NULL, "");
		return;
	}
	ks_check_csi_driver_name(c, &at, "driver", KS_IN_TEXT(c, opaque, "driver"));
	ks_device_raw(c, &at, "parameters", KS_IN(c, opaque, "parameters"), stored, KS_DEVICE_PARAMETERS_BYTES);
}

static void check_selector(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	const struct ks_value *cel = KS_IN(c, item, "cel");

	(void)arg;
	if (!cel)
		ks_err_required(c, path, "cel", "");
	else if (KS_IN_TEXT(c, cel, "expression").n > KS_DEVICE_EXPRESSION_BYTES)
		ks_err_too_long(c, path, "cel.expression", KS_DEVICE_EXPRESSION_BYTES);
}

void ks_device_selectors(struct ks_check *c, const struct ks_path *path, const struct ks_value *owner)
{
	ks_device_list(c, path, "selectors", KS_IN_LIST(c, owner, "selectors"), KS_DEVICE_SELECTORS_MOST, NULL, check_selector, NULL);
}

/* -- conditions of binding ---------------------------------------------------------------------------------------- */

static void check_label_key(struct ks_check *c, const struct ks_path *path, const struct ks_value *item, const void *arg)
{
	(void)arg;
	ks_check_name(c, path, NULL, KS_NAME_LABEL_KEY, ks_value_str(item));
}

static bool is_repeated(const struct ks_value *list, uint32_t at)
{
	for (uint32_t k = 0; k < at; k++)
		if (ks_value_equal(&list->items[at], &list->items[k]))
			return true;
	return false;
}

void ks_device_binding_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *owner)
{
	const struct ks_value *good = KS_IN_LIST(c, owner, "bindingConditions"), *bad = KS_IN_LIST(c, owner, "bindingFailureConditions");
	struct ks_path at_good = ks_path_child(path, "bindingConditions"), at_bad = ks_path_child(path, "bindingFailureConditions");

	ks_device_list(c, path, "bindingConditions", good, KS_DEVICE_CONDITIONS_MOST, NULL, check_label_key, NULL);
	ks_device_list(c, path, "bindingFailureConditions", bad, KS_DEVICE_CONDITIONS_MOST, NULL, check_label_key, NULL);
	for (uint32_t i = 0; i < ks_value_count(good); i++) {
		struct ks_path item = ks_path_index(&at_good, i);

		if (is_repeated(good, i))
			ks_err_duplicate(c, &item, NULL, &good->items[i]);
	}
	for (uint32_t i = 0; i < ks_value_count(bad); i++) {
		struct ks_path item = ks_path_index(&at_bad, i);

		if (is_repeated(bad, i))
			ks_err_duplicate(c, &item, NULL, &bad->items[i]);
		if (ks_list_has(good, ks_value_str(&bad->items[i])))
			ks_err_invalid(c, &item, NULL, &bad->items[i], "bindingFailureConditions must not overlap with bindingConditions");
	}
	if (!ks_value_count(good) && ks_value_count(bad))
		ks_err_invalid_slot(c, &at_good, NULL, owner, "bindingConditions", "bindingConditions are required to use bindingFailureConditions");
	if (!ks_value_count(bad) && ks_value_count(good))
		ks_err_invalid_slot(c, &at_bad, NULL, owner, "bindingFailureConditions", "bindingFailureConditions are required to use bindingConditions");
}
