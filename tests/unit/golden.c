/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define MAX_PRINTED 20

struct json_object *golden_parse(const char *json, size_t n)
{
	struct json_tokener *tokener = json_tokener_new_ex(256);
	struct json_object *o;

	assert_non_null(tokener);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
	o = json_tokener_parse_ex(tokener, json, (int)n);
	if (!o || json_tokener_get_error(tokener) != json_tokener_success)
		fail_msg("not JSON: %s", json_tokener_error_desc(json_tokener_get_error(tokener)));
	json_tokener_free(tokener);
	return o;
}

struct json_object *golden_read(const char *name)
{
	char path[1024];
	size_t cap = 1 << 22, n = 0;
	char *text = malloc(cap);
	struct json_object *o;
	gzFile file;
	int got;

	assert_non_null(text);
	snprintf(path, sizeof(path), KS_GOLDEN_DIR "/%s", name);
	file = gzopen(path, "rb"); /* reads plain files too */
	if (!file)
		fail_msg("%s: can't be opened", path);
	while ((got = gzread(file, text + n, (unsigned)(cap - n))) > 0)
		n += (size_t)got;
	gzclose(file);
	assert_int_equal(got, 0);
	assert_true(n < cap);
	o = golden_parse(text, n);
	free(text);
	return o;
}

static size_t report(size_t count, const char *path, const char *what, struct json_object *o)
{
	if (count < MAX_PRINTED)
		print_error("%s: %s: %.200s\n", path, what, json_object_to_json_string(o));
	return 1;
}

static size_t compare_objects(struct json_object *ours, struct json_object *theirs, const char *path)
{
	size_t count = 0;
	char inner[1024];

	json_object_object_foreach(theirs, key, value)
	{
		struct json_object *own;

		snprintf(inner, sizeof(inner), "%s.%s", path, key);
		if (!json_object_object_get_ex(ours, key, &own))
			count += report(count, inner, "missing", value);
		else
			count += golden_differences(own, value, inner);
	}
	json_object_object_foreach(ours, own_key, own_value)
	{
		snprintf(inner, sizeof(inner), "%s.%s", path, own_key);
		if (!json_object_object_get_ex(theirs, own_key, NULL))
			count += report(count, inner, "not wanted", own_value);
	}
	return count;
}

static size_t compare_lists(struct json_object *ours, struct json_object *theirs, const char *path)
{
	size_t count = 0, n = json_object_array_length(theirs);
	char inner[1024];

	if (json_object_array_length(ours) != n)
		return report(0, path, "other length than", theirs);
	for (size_t i = 0; i < n; i++) {
		snprintf(inner, sizeof(inner), "%s[%zu]", path, i);
		count += golden_differences(json_object_array_get_idx(ours, i), json_object_array_get_idx(theirs, i), inner);
	}
	return count;
}

size_t golden_differences(struct json_object *ours, struct json_object *theirs, const char *path)
{
	if (json_object_equal(ours, theirs))
		return 0;
	if (json_object_is_type(ours, json_type_object) && json_object_is_type(theirs, json_type_object))
		return compare_objects(ours, theirs, path);
	if (json_object_is_type(ours, json_type_array) && json_object_is_type(theirs, json_type_array))
		return compare_lists(ours, theirs, path);
	report(0, path, "ours", ours);
	return report(0, path, "wanted", theirs);
}
