/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Secrets, config maps, events and leases. */
#include "core/api/json.h"
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"

enum { DATA_BYTES = 1024 * 1024 };

/* How many bytes a base64 text stands for. */
static size_t decoded_size(struct ks_str text)
{
	size_t n = text.n / 4 * 3;

	if (text.n && text.p[text.n - 1] == '=')
		n--;
	if (text.n > 1 && text.p[text.n - 2] == '=')
		n--;
	return n;
}

static size_t check_keys(struct ks_check *c, const struct ks_path *path, const struct ks_value *map, const struct ks_value *other, bool bytes)
{
	size_t total = 0;

	for (uint32_t i = 0; i < ks_value_count(map); i++) {
		struct ks_path item = ks_path_key(path, map->members[i].key);
		struct ks_str value = ks_value_str(&map->members[i].value);

		ks_check_name(c, &item, NULL, KS_NAME_CONFIG_KEY, map->members[i].key);
		if (other && ks_value_get_str(c->schema, other, map->members[i].key))
			ks_err_invalid_text(c, &item, NULL, map->members[i].key, "duplicate of key present in binaryData");
		total += bytes ? decoded_size(value) : value.n;
	}
	return total;
}

/* What was marked immutable stays so, and its data stay. */
static void check_frozen(struct ks_check *c, const struct ks_value *object, const struct ks_value *old, const char *const *fields)
{
	static const char frozen[] = "field is immutable when `immutable` is set";
	struct ks_path path = ks_path_root("immutable");

	if (!old || !KS_IN_TRUE(c, old, "immutable"))
		return;
	if (!KS_IN_TRUE(c, object, "immutable"))
		ks_err_forbidden(c, &path, NULL, frozen);
	for (size_t i = 0; fields[i]; i++) {
		path = ks_path_root(fields[i]);
		if (!ks_value_same(ks_value_get(c->schema, object, fields[i]), ks_value_get(c->schema, old, fields[i])))
			ks_err_forbidden(c, &path, NULL, frozen);
	}
}

void ks_validate_configmap(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const fields[] = {"data", "binaryData", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path data_path = ks_path_root("data"), binary_path = ks_path_root("binaryData"), whole = ks_path_root("");
	const struct ks_value *data = KS_IN_MAP(&c, object, "data"), *binary = KS_IN_MAP(&c, object, "binaryData");
	size_t total;

	check_frozen(&c, object, old, fields);
	total = check_keys(&c, &data_path, data, binary, false);
	total += check_keys(&c, &binary_path, binary, NULL, true);
	if (total > DATA_BYTES)
		ks_err_too_long(&c, &whole, NULL, DATA_BYTES);
}

/* -- secrets ------------------------------------------------------------------------------------------------------ */

struct secret {
	struct ks_check *c;
	const struct ks_value *object, *data;
	struct ks_path path;
};

static const struct ks_value *entry(const struct secret *s, const char *key)
{
	return s->data ? ks_value_get_str(s->c->schema, s->data, ks_str_from(key)) : NULL;
}

static bool check_entry(const struct secret *s, const char *key)
{
	struct ks_path at = ks_path_key(&s->path, ks_str_from(key));

	if (entry(s, key))
		return true;
	ks_err_required(s->c, &at, NULL, "");
	return false;
}

/* The entry holds a JSON object. */
static void check_json_entry(const struct secret *s, const char *key)
{
	struct ks_path at = ks_path_key(&s->path, ks_str_from(key));
	struct ks_str text;
	struct ks_value tree;
	const char *message = NULL;
	struct ks_buf json;

	if (!check_entry(s, key))
		return;
	text = ks_value_str(entry(s, key));
	ks_buf_init(&json);
	if (ks_bytes_of(text, &json)) {
		int code = ks_json_decode(s->c->arena, NULL, 0, 0, json.data, json.len, &tree, NULL, &message);

		if (!code && tree.kind != KS_MAP && tree.kind != KS_NULL)
			message = ks_err_detail(s->c, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
				tree.kind == KS_LIST ? "array" : tree.kind == KS_STRING ? "string" : tree.kind == KS_BOOL ? "bool" : "number");
		else if (!code)
			message = NULL;
	}
	ks_buf_fini(&json);
	if (message)
		ks_err_invalid_text(s->c, &at, NULL, KS_STR_LIT("<secret contents redacted>"), message);
}

static void check_account(const struct secret *s)
{
	const struct ks_value *notes = KS_IN(s->c, KS_IN(s->c, s->object, "metadata"), "annotations");
	const struct ks_value *name = notes ? ks_value_get_str(s->c->schema, notes, KS_STR_LIT("kubernetes.io/service-account.name")) : NULL;
	struct ks_path path = ks_path_root("metadata.annotations[kubernetes.io/service-account.name]");

	if (!ks_value_str(name).n)
		ks_err_required(s->c, &path, NULL, "");
}

static void check_of_type(const struct secret *s, struct ks_str type)
{
	if (ks_str_is(type, "kubernetes.io/service-account-token")) {
		check_account(s);
	} else if (ks_str_is(type, "kubernetes.io/dockercfg")) {
		check_json_entry(s, ".dockercfg");
	} else if (ks_str_is(type, "kubernetes.io/dockerconfigjson")) {
		check_json_entry(s, ".dockerconfigjson");
	} else if (ks_str_is(type, "kubernetes.io/basic-auth")) {
		if (!entry(s, "username") && !entry(s, "password")) {
			check_entry(s, "username");
			check_entry(s, "password");
		}
	} else if (ks_str_is(type, "kubernetes.io/ssh-auth")) {
		struct ks_path at = ks_path_key(&s->path, KS_STR_LIT("ssh-privatekey"));

		if (!ks_value_str(entry(s, "ssh-privatekey")).n)
			ks_err_required(s->c, &at, NULL, "");
	} else if (ks_str_is(type, "kubernetes.io/tls")) {
		check_entry(s, "tls.crt");
		check_entry(s, "tls.key");
	}
}

void ks_validate_secret(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	static const char *const fields[] = {"data", NULL};
	struct ks_check c = ks_check_begin(ctx, status);
	struct secret s = {.c = &c, .object = object, .data = KS_IN_MAP(&c, object, "data"), .path = ks_path_root("data")};
	struct ks_path type_path = ks_path_root("type");
	struct ks_str type = KS_IN_TEXT(&c, object, "type");

	if (old && !ks_str_eq(type, KS_IN_TEXT(&c, old, "type")))
		ks_err_invalid_text(&c, &type_path, NULL, type, "field is immutable");
	check_frozen(&c, object, old, fields);
	if (check_keys(&c, &s.path, s.data, NULL, true) > DATA_BYTES)
		ks_err_too_long(&c, &s.path, NULL, DATA_BYTES);
	check_of_type(&s, type);
}

/* -- events ------------------------------------------------------------------------------------------------------- */

/* Names of fields in the two groups that serve events. */
struct event_names {
	const char *object, *message, *source, *first, *last, *count, *controller;
	bool strict;
};

static const struct event_names core_names = {"involvedObject", "message", "source", "firstTimestamp", "lastTimestamp", "count",
	"reportingComponent", false};
static const struct event_names new_names = {"regarding", "note", "deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
	"deprecatedCount", "reportingController", true};

static void check_short(struct ks_check *c, const char *name, struct ks_str text)
{
	struct ks_path path = ks_path_root(name);

	if (!text.n)
		ks_err_required(c, &path, NULL, "");
	if (text.n > 128)
		ks_err_invalid_text(c, &path, NULL, (struct ks_str){0}, "can have at most 128 characters");
}

/* Events with a time of their own say who reports what. */
static void check_report(struct ks_check *c, const struct ks_value *object, const struct event_names *names)
{
	struct ks_path path = ks_path_root(names->controller), message = ks_path_root("message");
	struct ks_str controller = ks_value_str(ks_value_get(c->schema, object, names->controller));

	if (!controller.n)
		ks_err_required(c, &path, NULL, "");
	ks_check_name(c, &path, NULL, KS_NAME_LABEL_KEY, controller);
	check_short(c, "reportingInstance", KS_IN_TEXT(c, object, "reportingInstance"));
	check_short(c, "action", KS_IN_TEXT(c, object, "action"));
	check_short(c, "reason", KS_IN_TEXT(c, object, "reason"));
	if (ks_value_str(ks_value_get(c->schema, object, names->message)).n > 1024)
		ks_err_invalid_text(c, &message, NULL, (struct ks_str){0}, "can have at most 1024 characters");
}

/* Where an event may stand about an object of namespace `of`. One with a time of its own may stand anywhere when its object has a namespace. */
static bool is_place_of_event(struct ks_str ns, struct ks_str of, bool timed)
{
	if (of.n)
		return timed || ks_str_eq(of, ns);
	return !ns.n || ks_str_is(ns, "default") || (timed && ks_str_is(ns, "kube-system"));
}

static void check_any_event(struct ks_check *c, const struct ks_value *object, const struct event_names *names)
{
	struct ks_path path = ks_path_root("involvedObject.namespace"), ns_path = ks_path_root("namespace");
	struct ks_str ns = KS_IN_TEXT(c, KS_IN(c, object, "metadata"), "namespace");
	struct ks_str of = KS_IN_TEXT(c, ks_value_get(c->schema, object, names->object), "namespace");
	bool timed = KS_IN(c, object, "eventTime");

	if (!is_place_of_event(ns, of, timed))
		ks_err_invalid_text(c, &path, NULL, of, "does not match event.namespace");
	if (timed)
		check_report(c, object, names);
	ks_check_name(c, &ns_path, NULL, KS_NAME_DNS1123_SUBDOMAIN, ns);
}

static void check_series(struct ks_check *c, const struct ks_value *series)
{
	struct ks_path count = ks_path_root("series.count"), time = ks_path_root("series.lastObservedTime");

	if (!series)
		return;
	if (KS_IN_INT(c, series, "count", 0) < 2)
		ks_err_invalid_text(c, &count, NULL, (struct ks_str){0}, "should be at least 2");
	if (!KS_IN(c, series, "lastObservedTime"))
		ks_err_required(c, &time, NULL, "");
}

static void check_unset(struct ks_check *c, const char *name, bool set)
{
	struct ks_path path = ks_path_root(name);

	if (set)
		ks_err_invalid_text(c, &path, NULL, (struct ks_str){0}, "needs to be unset");
}

static void check_new_event(struct ks_check *c, const struct ks_value *object, const struct event_names *names)
{
	struct ks_path time = ks_path_root("eventTime"), type_path = ks_path_root("type");
	struct ks_str type = KS_IN_TEXT(c, object, "type");
	const struct ks_value *source = ks_value_get(c->schema, object, names->source);

	check_series(c, KS_IN(c, object, "series"));
	if (!KS_IN(c, object, "eventTime"))
		ks_err_required(c, &time, NULL, "");
	if (!ks_str_is(type, "Normal") && !ks_str_is(type, "Warning"))
		ks_err_invalid_text(c, &type_path, NULL, (struct ks_str){0}, ks_err_detail(c, "has invalid value: %.*s", (int)type.n, type.p ? type.p : ""));
	check_unset(c, "firstTimestamp", ks_value_present(ks_value_get(c->schema, object, names->first)));
	check_unset(c, "lastTimestamp", ks_value_present(ks_value_get(c->schema, object, names->last)));
	check_unset(c, "count", ks_value_int_or(ks_value_get(c->schema, object, names->count), 0) != 0);
	check_unset(c, "source", KS_IN_TEXT(c, source, "component").n || KS_IN_TEXT(c, source, "host").n);
}

/* All but the series stays. */
static void check_event_update(struct ks_check *c, const struct ks_value *object, const struct ks_value *old, const struct event_names *names)
{
	const struct {
		const char *field, *shown;
	} fixed[] = {
		{names->object, "involvedObject"}, {"reason", "reason"}, {names->message, "message"}, {names->source, "source"},
		{names->first, "firstTimestamp"}, {names->last, "lastTimestamp"}, {names->count, "count"}, {"reason", "reason"}, {"type", "type"},
		{"eventTime", "eventTime"}, {"action", "action"}, {"related", "related"}, {names->controller, "reportingController"},
		{"reportingInstance", "reportingInstance"},
	};

	if (!ks_value_same(KS_IN(c, object, "series"), KS_IN(c, old, "series")))
		check_series(c, KS_IN(c, object, "series"));
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct ks_path path = ks_path_root(fixed[i].shown);

		ks_check_slot_immutable(c, &path, NULL, object, old, fixed[i].field);
	}
}

void ks_validate_event(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	const struct event_names *names = ks_schema_text(ctx->schema, ctx->schema->resources[ctx->resource].group)[0] ? &new_names : &core_names;

	check_any_event(&c, object, names);
	if (!names->strict)
		return;
	if (old)
		check_event_update(&c, object, old, names);
	else
		check_new_event(&c, object, names);
}

/* -- leases ------------------------------------------------------------------------------------------------------- */

void ks_validate_lease(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct ks_path path = ks_path_root("spec");
	const struct ks_value *spec = KS_IN(&c, object, "spec");
	int64_t seconds = KS_IN_INT(&c, spec, "leaseDurationSeconds", 1), transitions = KS_IN_INT(&c, spec, "leaseTransitions", 0);

	(void)old;
	if (seconds <= 0)
		ks_err_invalid_int(&c, &path, "leaseDurationSeconds", seconds, "must be greater than 0");
	ks_check_nonnegative(&c, &path, "leaseTransitions", transitions);
	if (KS_IN_TEXT(&c, spec, "strategy").n)
		ks_check_name(&c, &path, "strategy", KS_NAME_LABEL_KEY, KS_IN_TEXT(&c, spec, "strategy"));
}
