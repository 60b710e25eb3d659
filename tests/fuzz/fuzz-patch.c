/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Patches: a JSON list of an object and a patch behind a byte that says of which type. The patch stays as it is; what comes out can be written. */
#include <assert.h>

#include "core/api/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 64 << 20 };

static int apply(struct ks_arena *arena, uint8_t how, struct ks_value *object, const struct ks_value *patch, const char **message)
{
	static const char *const names[] = {"io.k8s.api.apps.v1.Deployment", "io.k8s.api.core.v1.Pod", "io.k8s.api.core.v1.Node"};

	if (how % 4 == 0)
		return ks_patch_json(arena, object, patch, message);
	if (how % 4 == 1)
		return ks_patch_merge(arena, object, patch, message);
	return ks_patch_strategic(arena, &ks_schema_builtin, ks_schema_find_type(&ks_schema_builtin, names[how / 4 % 3]), object, patch, message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_arena arena;
	struct ks_value v, before;
	struct ks_buf json;
	const char *message = NULL;
	int r;

	if (size == 0)
		return 0;
	ks_arena_init(&arena, LIMIT);
	r = ks_json_decode(&arena, NULL, 0, 0, (const char *)data + 1, size - 1, &v, NULL, &message);
	if (r == 0 && v.kind == KS_LIST && v.n == 2 && v.items[0].kind == KS_MAP) {
		if (!ks_value_copy(&arena, &v.items[1], &before))
			goto done;
		message = NULL;
		r = apply(&arena, data[0], &v.items[0], &v.items[1], &message);
		assert(r == 0 || r == -12 || message);
		assert(ks_value_equal_json(&before, &v.items[1]));
		ks_buf_init(&json);
		ks_json_encode(NULL, &v.items[0], &json);
		ks_buf_fini(&json);
	}
done:
	ks_arena_fini(&arena);
	return 0;
}
