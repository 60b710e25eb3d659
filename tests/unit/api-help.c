/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "api-help.h"

#include <stdlib.h>
#include <string.h>

int ks_test_arena_new(void **state)
{
	struct ks_arena *arena = malloc(sizeof(*arena));

	if (!arena)
		return -1;
	ks_arena_init(arena, 0);
	*state = arena;
	return 0;
}

int ks_test_arena_free(void **state)
{
	ks_arena_fini(*state);
	free(*state);
	return 0;
}

uint16_t ks_test_type(struct ks_arena *arena, const char *json)
{
	struct ks_str api_version, kind, group = {0}, version;
	const struct ks_kind *found;
	const char *message, *slash;

	assert_int_equal(ks_json_peek_kind(arena, json, strlen(json), &api_version, &kind, &message), 0);
	slash = api_version.n ? memchr(api_version.p, '/', api_version.n) : NULL;
	version = api_version;
	if (slash) {
		group = ks_str_of(api_version.p, (size_t)(slash - api_version.p));
		version = ks_str_of(slash + 1, api_version.n - group.n - 1);
	}
	found = ks_schema_find_kind(&ks_schema_builtin, group, version, kind);
	assert_non_null(found);
	return found->type;
}

struct ks_value ks_test_free(struct ks_arena *arena, const char *json)
{
	struct ks_value v;
	const char *message;

	assert_int_equal(ks_json_decode(arena, NULL, 0, 0, json, strlen(json), &v, NULL, &message), 0);
	return v;
}

const char *ks_test_json(struct ks_arena *arena, const struct ks_value *v)
{
	struct ks_buf out;
	const char *copy;

	ks_buf_init(&out);
	ks_json_encode(&ks_schema_builtin, v, &out);
	assert_false(out.failed);
	copy = ks_arena_dup(arena, out.data, out.len);
	ks_buf_fini(&out);
	assert_non_null(copy);
	return copy;
}

const char *ks_test_decode(struct ks_arena *arena, const char *json, struct ks_value *out, struct ks_strict_errors *strict)
{
	const char *message = NULL;
	int r = ks_json_decode(
		arena, &ks_schema_builtin, ks_test_type(arena, json), strict ? KS_DECODE_STRICT : 0, json, strlen(json), out, strict, &message);

	assert_true(r == 0 || r == -22);
	return r == 0 ? NULL : message;
}

const char *ks_test_strict(struct ks_arena *arena, const struct ks_strict_errors *strict)
{
	const char *text = "";

	for (uint32_t i = 0; i < strict->n; i++) {
		text = ks_arena_printf(arena, "%s%s%.*s", text, i ? "; " : "", (int)strict->items[i].n, strict->items[i].p);
		assert_non_null(text);
	}
	return text;
}
