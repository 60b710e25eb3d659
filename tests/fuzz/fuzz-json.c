/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as any of some types (the first byte says which). What can be decoded is
 * written, read again equal, and written again byte for byte.
 */
#include <assert.h>
#include <string.h>

#include "core/api/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 64 << 20 };

static uint16_t type_of(uint8_t choice)
{
	static const char *const names[] = {NULL, "io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Secret", "io.k8s.api.core.v1.ResourceQuota",
		"io.k8s.api.coordination.v1.Lease", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
		"io.k8s.api.apps.v1.Deployment", "io.k8s.api.apps.v1.ControllerRevision"};
	const char *name = names[choice % (sizeof(names) / sizeof(names[0]))];

	return name ? ks_schema_find_type(&ks_schema_builtin, name) : 0;
}

/* Writes the value and reads it again. */
static void write_and_read(struct ks_arena *arena, uint16_t type, const struct ks_value *v, struct ks_buf *json, struct ks_value *again)
{
	const char *message;

	ks_buf_init(json);
	ks_json_encode(&ks_schema_builtin, v, json);
	assert(!json->failed);
	assert(ks_json_decode(arena, &ks_schema_builtin, type, 0, json->data, json->len, again, NULL, &message) == 0);
	assert(ks_value_equal_json(v, again)); /* 1e3 comes back as 1000 */
}

static void check_written(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	struct ks_buf first, second, third;
	struct ks_value again, once_more;

	write_and_read(arena, type, v, &first, &again);
	write_and_read(arena, type, &again, &second, &once_more); /* -0.0 became 0 */
	write_and_read(arena, type, &once_more, &third, &again);
	assert(ks_str_eq(ks_buf_str(&second), ks_buf_str(&third)));
	ks_buf_fini(&first);
	ks_buf_fini(&second);
	ks_buf_fini(&third);
}

static void check_converted(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	struct ks_value free_form, again;
	struct ks_strict_errors strict = {0};
	const char *message;

	if (!type)
		return;
	assert(ks_value_to_free(arena, &ks_schema_builtin, v, &free_form));
	assert(ks_value_convert(arena, &ks_schema_builtin, type, KS_DECODE_STRICT | KS_CONVERT_UNSTRUCTURED, &free_form, &again, &strict, &message) ==
		0);
	assert(strict.n == 0);
	assert(ks_value_equal_json(v, &again)); /* 1e3 comes back as 1000 */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_strict_errors strict = {0};
	struct ks_str api_version, kind;
	struct ks_arena arena;
	struct ks_value v;
	const char *message = NULL;
	const char *json = (const char *)data + 1;
	uint16_t type;
	int r;

	if (size == 0)
		return 0;
	ks_arena_init(&arena, LIMIT);
	type = type_of(data[0]);
	r = ks_json_decode(&arena, &ks_schema_builtin, type, KS_DECODE_STRICT, json, size - 1, &v, &strict, &message);
	assert(r == 0 || (r == -22 && message) || r == -12);
	if (r == 0) {
		check_written(&arena, type, &v);
		check_converted(&arena, type, &v);
	}
	r = ks_json_peek_kind(&arena, json, size - 1, &api_version, &kind, &message);
	assert(r == 0 || r == -22 || r == -12);
	ks_arena_fini(&arena);
	return 0;
}
