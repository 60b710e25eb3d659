/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf: an object in its envelope, or (the first byte says which) the message of some type. What can be decoded is
 * written, and from then on stays the same.
 */
#include <assert.h>
#include <string.h>

#include "core/api/json.h"
#include "core/api/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 64 << 20 };

static uint16_t type_of(uint8_t choice)
{
	static const char *const names[] = {"io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Secret", "io.k8s.api.core.v1.ResourceQuota",
		"io.k8s.api.coordination.v1.Lease", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
		"io.k8s.api.apps.v1.Deployment", "io.k8s.api.apps.v1.ControllerRevision", "io.k8s.apimachinery.pkg.apis.meta.v1.Status",
		"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "io.k8s.apimachinery.pkg.apis.meta.v1.APIResourceList",
		"io.k8s.api.authentication.v1.TokenReview", "io.k8s.api.core.v1.Service"};

	return ks_schema_find_type(&ks_schema_builtin, names[choice % (sizeof(names) / sizeof(names[0]))]);
}

static uint16_t enveloped_type(const struct ks_proto_envelope *envelope)
{
	struct ks_str group = {0}, version = envelope->api_version;
	const char *slash = version.n ? memchr(version.p, '/', version.n) : NULL;
	const struct ks_kind *kind;

	if (slash) {
		group = ks_str_of(version.p, (size_t)(slash - version.p));
		version = ks_str_of(slash + 1, version.n - group.n - 1);
	}
	kind = ks_schema_find_kind(&ks_schema_builtin, group, version, envelope->kind);
	return kind ? kind->type : 0;
}

/* What was read is written, read again, and written again the same. */
static void check(struct ks_arena *arena, uint16_t type, const struct ks_value *v)
{
	struct ks_buf first, second, json;
	struct ks_value again;
	const char *message = NULL;

	ks_buf_init(&first);
	ks_buf_init(&second);
	ks_buf_init(&json);
	ks_proto_encode(&ks_schema_builtin, v, &first);
	assert(!first.failed);
	assert(ks_proto_decode(arena, &ks_schema_builtin, type, 0, ks_buf_str(&first), &again, &message) == 0);
	ks_proto_encode(&ks_schema_builtin, &again, &second);
	assert(ks_str_eq(ks_buf_str(&first), ks_buf_str(&second)));
	ks_json_encode(&ks_schema_builtin, v, &json);
	assert(!json.failed);
	ks_buf_fini(&first);
	ks_buf_fini(&second);
	ks_buf_fini(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_str input = ks_str_of((const char *)data, size);
	struct ks_proto_envelope envelope = {0};
	const char *message = NULL;
	struct ks_arena arena;
	struct ks_value v;
	uint16_t type;
	int r;

	if (size == 0)
		return 0;
	ks_arena_init(&arena, LIMIT);
	r = ks_proto_open(&arena, input, &envelope, &message);
	assert(r == 0 || (r == -22 && message));
	type = r == 0 ? enveloped_type(&envelope) : type_of(data[0]);
	if (r != 0)
		envelope.raw = ks_str_of(input.p + 1, input.n - 1);
	r = type ? ks_proto_decode(&arena, &ks_schema_builtin, type, 0, envelope.raw, &v, &message) : -22;
	assert(r == 0 || (r == -22 && (message || !type)) || r == -12);
	if (r == 0)
		check(&arena, type, &v);
	ks_arena_fini(&arena);
	return 0;
}
