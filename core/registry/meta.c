/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/meta.h"

#include <stdio.h>

#include "core/api/time.h"

struct ks_value *ks_meta_get(const struct ks_schema *schema, const struct ks_value *object, const char *name)
{
	struct ks_value *v = ks_value_get(schema, ks_value_get(schema, object, "metadata"), name);

	return ks_value_present(v) ? v : NULL;
}

struct ks_str ks_meta_text(const struct ks_schema *schema, const struct ks_value *object, const char *name)
{
	return ks_value_str(ks_meta_get(schema, object, name));
}

int64_t ks_meta_int(const struct ks_schema *schema, const struct ks_value *object, const char *name, int64_t otherwise)
{
	const struct ks_value *v = ks_meta_get(schema, object, name);

	return v && v->kind == KS_INT ? v->integer : otherwise;
}

static struct ks_value *meta_put(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "metadata.%s", name);
	return ks_value_put_at(arena, schema, object, path);
}

void ks_meta_remove(const struct ks_schema *schema, struct ks_value *object, const char *name)
{
	struct ks_value *meta = ks_value_get(schema, object, "metadata");

	if (meta)
		ks_value_remove(schema, meta, ks_str_from(name));
}

bool ks_meta_set_text(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const char *name, struct ks_str text)
{
	struct ks_value *v;

	if (!text.n) {
		ks_meta_remove(schema, object, name);
		return true;
	}
	v = meta_put(arena, schema, object, name);
	if (!v)
		return false;
	*v = ks_value_from_str(text);
	return true;
}

bool ks_meta_set_int(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const char *name, int64_t value)
{
	struct ks_value *v = meta_put(arena, schema, object, name);

	if (!v)
		return false;
	*v = ks_value_from_int(value);
	return true;
}

bool ks_meta_take(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *object, const struct ks_value *from, const char *name)
{
	const struct ks_value *theirs = ks_meta_get(schema, from, name);
	struct ks_value *v;

	if (!theirs) {
		ks_meta_remove(schema, object, name);
		return true;
	}
	v = meta_put(arena, schema, object, name);
	if (!v)
		return false;
	*v = *theirs;
	return true;
}

struct ks_str ks_time_text(struct ks_arena *arena, uint64_t unix_ms)
{
	struct ks_time time = {.seconds = (int64_t)(unix_ms / 1000)};
	char text[KS_TIME_TEXT];
	size_t n = ks_time_print(time, false, text);
	char *copy = ks_arena_dup(arena, text, n);

	return ks_str_of(copy, copy ? n : 0);
}
