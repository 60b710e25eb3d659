/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* YAML: what can be decoded is written as JSON, which is read again equal, by both decoders. */
#include <assert.h>

#include "core/api/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_strict_errors strict = {0};
	struct ks_arena arena;
	struct ks_value v, again;
	struct ks_buf json;
	const char *message = NULL;
	int r;

	ks_arena_init(&arena, LIMIT);
	r = ks_yaml_decode(&arena, (const char *)data, size, &v, &strict, &message);
	assert(r == 0 || (r == -22 && message) || r == -12);
	if (r == 0) {
		ks_buf_init(&json);
		ks_json_encode(NULL, &v, &json);
		assert(!json.failed);
		assert(ks_json_decode(&arena, NULL, 0, 0, json.data, json.len, &again, NULL, &message) == 0);
		/* A !!binary text is any bytes, which JSON shows as U+FFFD where they are no UTF-8. */
		if (!memmem(data, size, "!", 1))
			assert(ks_value_equal_json(&v, &again));
		ks_buf_fini(&json);
	}
	ks_arena_fini(&arena);
	return 0;
}
