/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/cause.h"

#include "core/api/json.h"
#include "core/api/quote.h"

/* Never NULL. */
static const char *quoted(struct ks_arena *arena, struct ks_str text)
{
	const char *q = ks_quote(arena, text);

	return q ? q : "\"?\"";
}

void ks_cause_invalid(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str value, const char *message)
{
	ks_status_cause(status, arena, "FieldValueInvalid", field, "Invalid value: %s: %s", quoted(arena, value), message);
}

void ks_cause_invalid_int(struct ks_status *status, struct ks_arena *arena, const char *field, int64_t value, const char *message)
{
	ks_status_cause(status, arena, "FieldValueInvalid", field, "Invalid value: %lld: %s", (long long)value, message);
}

void ks_cause_invalid_value(struct ks_status *status, struct ks_arena *arena, const struct ks_schema *schema, const char *field,
	const struct ks_value *value, const char *message)
{
	struct ks_buf json;

	ks_buf_init(&json);
	if (ks_value_present(value))
		ks_json_encode(schema, value, &json);
	else
		ks_buf_add_str(&json, "null");
	ks_status_cause(status, arena, "FieldValueInvalid", field, "Invalid value: %.*s: %s", json.failed ? 0 : (int)json.len, json.data, message);
	ks_buf_fini(&json);
}

void ks_cause_required(struct ks_status *status, struct ks_arena *arena, const char *field, const char *message)
{
	ks_status_cause(status, arena, "FieldValueRequired", field, message[0] ? "Required value: %s" : "Required value%s", message);
}

void ks_cause_forbidden(struct ks_status *status, struct ks_arena *arena, const char *field, const char *message)
{
	ks_status_cause(status, arena, "FieldValueForbidden", field, message[0] ? "Forbidden: %s" : "Forbidden%s", message);
}

void ks_cause_duplicate(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str value)
{
	ks_status_cause(status, arena, "FieldValueDuplicate", field, "Duplicate value: %s", quoted(arena, value));
}

void ks_cause_unsupported(struct ks_status *status, struct ks_arena *arena, const char *field, struct ks_str value, const char *const *supported)
{
	struct ks_buf list;

	ks_buf_init(&list);
	for (size_t i = 0; supported[i]; i++)
		ks_buf_printf(&list, "%s\"%s\"", i ? ", " : "", supported[i]);
	ks_status_cause(status, arena, "FieldValueNotSupported", field, "Unsupported value: %s: supported values: %.*s", quoted(arena, value),
		list.failed ? 0 : (int)list.len, list.data ? list.data : "");
	ks_buf_fini(&list);
}
