/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Secrets and config maps. */
#include "core/api/base64.h"
#include "core/registry/kit.h"
#include "core/registry/strategies.h"

enum { SIZE_LIMIT = 1024 * 1024 };

/* A key of data is a file name: letters, digits, '-', '_' and '.'. */
static void validate_key(struct ks_registry_context *ctx, const char *map, struct ks_str key, struct ks_status *status)
{
	const char *field = ks_kit_path(ctx, "%s[%.*s]", map, (int)key.n, key.p);
	bool good = key.n > 0;

	if (key.n > 253)
		ks_cause_invalid(status, ctx->arena, field, key, "must be no more than 253 characters");
	for (size_t i = 0; good && i < key.n; i++) {
		char c = key.p[i];

		good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
	}
	if (!good)
		ks_cause_invalid(status, ctx->arena, field, key, "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  "
			"or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')");
	else if (ks_str_is(key, ".") || ks_str_is(key, ".."))
		ks_cause_invalid(status, ctx->arena, field, key, ks_kit_path(ctx, "must not be '%.*s'", (int)key.n, key.p));
	else if (key.n > 2 && key.p[0] == '.' && key.p[1] == '.')
		ks_cause_invalid(status, ctx->arena, field, key, "must not start with '..'");
}

/* Checks the keys and returns the size of the values; those of `encoded` maps are base64. */
static size_t validate_map(struct ks_registry_context *ctx, const struct ks_value *object, const char *map, const char *other, bool encoded,
	struct ks_status *status)
{
	const struct ks_value *data = ks_kit_map(ctx, object, map), *binary = other ? ks_kit_map(ctx, object, other) : NULL;
	size_t total = 0;

	for (uint32_t i = 0; data && i < data->n; i++) {
		struct ks_str key = data->members[i].key;
		size_t n = ks_value_str(&data->members[i].value).n;

		validate_key(ctx, map, key, status);
		if (binary && ks_value_get_str(ctx->schema, binary, key))
			ks_cause_invalid(status, ctx->arena, ks_kit_path(ctx, "%s[%.*s]", map, (int)key.n, key.p), key,
				ks_kit_path(ctx, "duplicate of key present in %s", other));
		total += encoded ? n / 4 * 3 : n;
	}
	return total;
}

/* stringData is a convenience for writers: it ends up in data. */
static bool secret_defaults(struct ks_registry_context *ctx, struct ks_value *secret)
{
	const struct ks_value *texts = ks_kit_map(ctx, secret, "stringData");
	struct ks_value *data;

	if (!texts)
		return true;
	data = ks_value_put(ctx->arena, ctx->schema, secret, KS_STR_LIT("data"));
	if (!data)
		return false;
	if (data->kind != KS_MAP)
		*data = (struct ks_value){.kind = KS_MAP};
	for (uint32_t i = 0; i < texts->n; i++) {
		struct ks_str text = ks_value_str(&texts->members[i].value);
		char *encoded = ks_arena_alloc(ctx->arena, ks_base64_length(text.n) + 1);
		struct ks_value *place = ks_value_put(ctx->arena, ctx->schema, data, texts->members[i].key);

		if (!encoded || !place)
			return false;
		ks_base64_encode((const unsigned char *)text.p, text.n, encoded);
		*place = ks_value_from_str(ks_str_of(encoded, ks_base64_length(text.n)));
	}
	ks_value_remove(ctx->schema, secret, KS_STR_LIT("stringData"));
	return true;
}

static void validate_frozen(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, const char *other,
	struct ks_status *status)
{
	static const char words[] = "field is immutable when `immutable` is set";

	if (!old || !ks_kit_true(ctx, old, "immutable"))
		return;
	if (!ks_kit_true(ctx, object, "immutable"))
		ks_cause_forbidden(status, ctx->arena, "immutable", words);
	if (!ks_kit_same(ctx, object, old, "data"))
		ks_cause_forbidden(status, ctx->arena, "data", words);
	if (other && !ks_kit_same(ctx, object, old, other))
		ks_cause_forbidden(status, ctx->arena, other, words);
}

static void secret_validate(struct ks_registry_context *ctx, const struct ks_value *secret, const struct ks_value *old, struct ks_status *status)
{
	size_t total = validate_map(ctx, secret, "data", NULL, true, status);

	if (total > SIZE_LIMIT)
		ks_status_cause(status, ctx->arena, "FieldValueTooLong", "data", "Too long: may not be more than %d bytes", SIZE_LIMIT);
	if (old && !ks_kit_same(ctx, secret, old, "type"))
		ks_cause_invalid(status, ctx->arena, "type", ks_kit_text(ctx, secret, "type"), "field is immutable");
	validate_frozen(ctx, secret, old, NULL, status);
}

static void configmap_validate(struct ks_registry_context *ctx, const struct ks_value *map, const struct ks_value *old, struct ks_status *status)
{
	size_t total = validate_map(ctx, map, "data", "binaryData", false, status);

	total += validate_map(ctx, map, "binaryData", NULL, true, status);
	if (total > SIZE_LIMIT)
		ks_status_cause(status, ctx->arena, "FieldValueTooLong", "", "Too long: may not be more than %d bytes", SIZE_LIMIT);
	validate_frozen(ctx, map, old, "binaryData", status);
}

const struct ks_strategy ks_strategy_secrets = {
	.group = "", .resource = "secrets",
	.flags = KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.defaults = secret_defaults,
	.validate = secret_validate,
};

const struct ks_strategy ks_strategy_configmaps = {
	.group = "", .resource = "configmaps",
	.flags = KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.validate = configmap_validate,
};
