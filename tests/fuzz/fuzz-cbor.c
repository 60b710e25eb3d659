/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR: an item as the object that it says it is, or else (the first byte says which) as some type or none. What can be
 * decoded is written, and from then on stays the same.
 */
#include <assert.h>
#include <string.h>

#include "core/api/cbor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 64 << 20 };

static uint16_t type_of(uint8_t choice)
{
	static const char *const names[] = {"", "io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Secret", "io.k8s.api.core.v1.ResourceQuota",
		"io.k8s.api.coordination.v1.Lease", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
		"io.k8s.api.apps.v1.Deployment", "io.k8s.api.apps.v1.ControllerRevision", "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
		"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
		"io.k8s.api.core.v1.Service"};
	const char *name = names[choice % (sizeof(names) / sizeof(names[0]))];

	return *name ? ks_schema_find_type(&ks_schema_builtin, name) : 0;
}

static uint16_t named_type(struct ks_str api_version, struct ks_str name)
{
	const char *slash = api_version.n ? memchr(api_version.p, '/', api_version.n) : NULL;
	struct ks_str group = {0}, version = api_version;
	const struct ks_kind *kind;

	if (slash) {
		group = ks_str_of(version.p, (size_t)(slash - version.p));
		version = ks_str_of(slash + 1, version.n - group.n - 1);
	}
	kind = ks_schema_find_kind(&ks_schema_builtin, group, version, name);
	return kind ? kind->type : 0;
}

/* What was read is written, read again, and written again the same. */
static void check(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	struct ks_buf first, second, json;
	const char *message = NULL;
	struct ks_value again;

	ks_buf_init(&first);
	ks_buf_init(&second);
	ks_buf_init(&json);
	ks_cbor_encode_object(&ks_schema_builtin, v, &first);
	assert(!first.failed);
	assert(ks_cbor_decode(arena, &ks_schema_builtin, type, 0, ks_buf_str(&first), &again, NULL, &message) == 0);
	ks_cbor_encode_object(&ks_schema_builtin, &again, &second);
	assert(ks_str_eq(ks_buf_str(&first), ks_buf_str(&second)));
	ks_json_encode(&ks_schema_builtin, v, &json);
	assert(!json.failed);
	ks_buf_fini(&first);
	ks_buf_fini(&second);
	ks_buf_fini(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_str input = ks_str_of((const char *)data, size), api_version = {0}, kind = {0};
	struct ks_strict_errors strict = {0};
	const char *message = NULL;
	struct ks_arena arena;
	struct ks_value v;
	uint16_t type = 0;
	int r;

	if (size == 0)
		return 0;
	ks_arena_init(&arena, LIMIT);
	r = ks_cbor_peek_kind(&arena, input, &api_version, &kind, &message);
	assert(r == 0 || (r == -22 && message) || r == -12);
	if (r == 0)
		type = named_type(api_version, kind);
	if (!type) {
		type = type_of(data[0]);
		input = ks_str_of(input.p + 1, input.n - 1);
	}
	r = ks_cbor_decode(&arena, &ks_schema_builtin, type, KS_DECODE_STRICT | KS_DECODE_BORROW, input, &v, &strict, &message);
	assert(r == 0 || (r == -22 && message) || r == -12);
	if (r == 0)
		check(&arena, type, &v);
	ks_arena_fini(&arena);
	return 0;
}
