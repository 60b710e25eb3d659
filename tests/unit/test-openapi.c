/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/api/openapi.h"
#include "tests/unit/golden.h"

static const struct ks_schema *const builtin[] = {&ks_schema_builtin};
static const struct ks_discovery served = {.schemas = builtin, .n_schemas = 1};
static const struct ks_openapi api = {.served = &served, .version = "1.36", .issuer = true};

static struct json_object *parse(struct ks_bytes *bytes)
{
	struct json_object *o = golden_parse(bytes->data, bytes->len);

	ks_bytes_unref(bytes);
	return o;
}

static struct json_object *index_paths(struct json_object **root_r)
{
	struct json_object *paths;
	struct ks_bytes *bytes;

	assert_int_equal(ks_openapi_v3_index(&api, &bytes), 0);
	*root_r = parse(bytes);
	assert_true(json_object_object_get_ex(*root_r, "paths", &paths));
	return paths;
}

static int compare_parameters(const void *a, const void *b)
{
	struct json_object *x = *(struct json_object *const *)a, *y = *(struct json_object *const *)b;
	int c = strcmp(json_object_get_string(json_object_object_get(x, "name")),
		json_object_get_string(json_object_object_get(y, "name")));

	return c ? c
			 : strcmp(json_object_get_string(json_object_object_get(x, "in")),
				   json_object_get_string(json_object_object_get(y, "in")));
}

/* {"allOf": [{"$ref": ...}]} and nothing else is what {"$ref": ...} is: with a description it was the former. */
static struct json_object *bare_reference(struct json_object *o)
{
	struct json_object *all_of;

	if (json_object_object_length(o) != 1 || !json_object_object_get_ex(o, "allOf", &all_of) ||
		json_object_array_length(all_of) != 1)
		return NULL;
	return json_object_get(json_object_array_get_idx(all_of, 0));
}

/* Takes out what the recorded documents don't have (descriptions) and what has no order or two spellings. Returns the
 * normal form. */
static struct json_object *normal(struct json_object *o, bool names)
{
	struct json_object *out, *reference;

	if (json_object_is_type(o, json_type_array)) {
		out = json_object_new_array();
		for (size_t i = 0; i < json_object_array_length(o); i++)
			json_object_array_add(out, normal(json_object_array_get_idx(o, i), false));
		return out;
	}
	if (!json_object_is_type(o, json_type_object))
		return json_object_get(o);
	out = json_object_new_object();
	json_object_object_foreach(o, key, value)
	{
		struct json_object *inner;

		if (!names && strcmp(key, "description") == 0)
			continue;
		inner = normal(value, strcmp(key, "properties") == 0);
		if (!names && strcmp(key, "parameters") == 0)
			json_object_array_sort(inner, compare_parameters);
		json_object_object_add(out, key, inner);
	}
	reference = names ? NULL : bare_reference(out);
	if (!reference)
		return out;
	json_object_put(out);
	return reference;
}

static struct json_object *recorded(const char *path)
{
	char name[256] = "openapi/";
	size_t n = strlen(name);

	for (const char *p = *path == '.' ? path + 1 : path; *p && n < sizeof(name) - 16; p++) {
		if (*p == '/')
			name[n++] = '_', name[n++] = '_';
		else
			name[n++] = *p;
	}
	strcpy(name + n, ".json.gz");
	return golden_read(name);
}

static void test_every_v3_document_is_as_recorded(void **state)
{
	struct json_object *root, *paths = index_paths(&root);
	size_t differences = 0;

	(void)state;
	assert_int_equal(json_object_object_length(paths), 47);
	json_object_object_foreach(paths, path, unused)
	{
		struct json_object *theirs = recorded(path), *ours, *a, *b;
		struct ks_bytes *bytes;

		(void)unused;
		assert_int_equal(ks_openapi_v3_document(&api, ks_str_from(path), &bytes), 0);
		ours = parse(bytes);
		a = normal(ours, false);
		b = normal(theirs, false);
		if (!json_object_object_get_ex(json_object_object_get(b, "components"), "schemas", NULL))
			json_object_object_del(json_object_object_get(a, "components"), "schemas");
		differences += golden_differences(a, b, path);
		json_object_put(a);
		json_object_put(b);
		json_object_put(ours);
		json_object_put(theirs);
	}
	json_object_put(root);
	assert_int_equal(differences, 0);
}

static void test_index_has_the_hash_of_each_document(void **state)
{
	struct json_object *root, *paths = index_paths(&root), *entry;
	char hash[KS_DOCUMENT_HASH_SIZE], url[512];

	(void)state;
	assert_true(json_object_object_get_ex(paths, "apis/apps/v1", &entry));
	assert_int_equal(ks_openapi_v3_hash(&api, KS_STR_LIT("apis/apps/v1"), hash), 0);
	snprintf(url, sizeof(url), "/openapi/v3/apis/apps/v1?hash=%s", hash);
	assert_string_equal(json_object_get_string(json_object_object_get(entry, "serverRelativeURL")), url);
	json_object_put(root);
}

static void test_hash_depends_on_path_and_version(void **state)
{
	char a[KS_DOCUMENT_HASH_SIZE], b[KS_DOCUMENT_HASH_SIZE];
	struct ks_openapi other = api;

	(void)state;
	other.version = "1.37";
	assert_int_equal(ks_openapi_v3_hash(&api, KS_STR_LIT("api/v1"), a), 0);
	assert_int_equal(ks_openapi_v3_hash(&api, KS_STR_LIT("api"), b), 0);
	assert_string_not_equal(a, b);
	assert_int_equal(ks_openapi_v3_hash(&other, KS_STR_LIT("api/v1"), b), 0);
	assert_string_not_equal(a, b);
	other = api;
	other.cbor = true;
	assert_int_equal(ks_openapi_v3_hash(&other, KS_STR_LIT("api/v1"), b), 0);
	assert_string_not_equal(a, b);
}

static void test_unknown_documents_are_not_there(void **state)
{
	static const char *const paths[] = {"", "nosuch", "apis/nosuch/v1", "apis/apps/v2", "api/v1/"};
	char hash[KS_DOCUMENT_HASH_SIZE];
	struct ks_bytes *bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(ks_openapi_v3_document(&api, ks_str_from(paths[i]), &bytes), -ENOENT);
		assert_int_equal(ks_openapi_v3_hash(&api, ks_str_from(paths[i]), hash), -ENOENT);
	}
}

static void test_issuer_documents_are_optional(void **state)
{
	struct ks_openapi without = api;
	struct ks_bytes *bytes;

	(void)state;
	without.issuer = false;
	assert_int_equal(ks_openapi_v3_document(&without, KS_STR_LIT("openid/v1/jwks"), &bytes), -ENOENT);
}

static struct json_object *v2(void)
{
	struct ks_bytes *bytes;

	assert_int_equal(ks_openapi_v2_document(&api, &bytes), 0);
	return parse(bytes);
}

static struct json_object *at(struct json_object *o, const char *a, const char *b, const char *c)
{
	const char *const keys[] = {a, b, c};

	for (size_t i = 0; i < 3 && keys[i]; i++) {
		if (!json_object_object_get_ex(o, keys[i], &o))
			fail_msg("no %s", keys[i]);
	}
	return o;
}

static bool is_among(struct json_object *list, const char *text)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text) == 0)
			return true;
	return false;
}

static void test_cbor_is_told_where_it_is_served(void **state)
{
	struct ks_openapi with = api;

	(void)state;
	for (int cbor = 0; cbor < 2; cbor++) {
		struct json_object *doc, *pods;
		struct ks_bytes *bytes;

		with.cbor = cbor;
		assert_int_equal(ks_openapi_v2_document(&with, &bytes), 0);
		doc = parse(bytes);
		pods = at(doc, "paths", "/api/v1/namespaces/{namespace}/pods", "get");
		assert_int_equal(is_among(at(pods, "produces", NULL, NULL), "application/cbor"), cbor);
		assert_int_equal(is_among(at(pods, "produces", NULL, NULL), "application/cbor-seq"), cbor);
		pods = at(doc, "paths", "/api/v1/namespaces/{namespace}/pods/{name}", "patch");
		assert_int_equal(is_among(at(pods, "consumes", NULL, NULL), "application/apply-patch+cbor"), cbor);
		assert_int_equal(is_among(at(pods, "produces", NULL, NULL), "application/cbor-seq"), 0);
		json_object_put(doc);
	}
}

/* What a reference leads to; NULL when there is no such thing. */
static struct json_object *follow(struct json_object *doc, const char *reference)
{
	struct json_object *in = NULL, *found = NULL;
	const char *slash = strrchr(reference, '/');

	assert_non_null(slash);
	if (strncmp(reference, "#/definitions/", 14) == 0)
		json_object_object_get_ex(doc, "definitions", &in);
	else if (strncmp(reference, "#/parameters/", 13) == 0)
		json_object_object_get_ex(doc, "parameters", &in);
	if (in)
		json_object_object_get_ex(in, slash + 1, &found);
	return found;
}

static void check_references(struct json_object *o, struct json_object *doc)
{
	if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			check_references(json_object_array_get_idx(o, i), doc);
	} else if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, value)
		{
			if (strcmp(key, "$ref") == 0 && json_object_is_type(value, json_type_string))
				assert_non_null(follow(doc, json_object_get_string(value)));
			check_references(value, doc);
		}
	}
}

static void test_v2_is_closed(void **state)
{
	struct json_object *doc = v2(), *definitions = at(doc, "definitions", NULL, NULL);

	(void)state;
	assert_true(json_object_object_length(definitions) > 500);
	assert_string_equal(json_object_get_string(at(at(doc, "parameters", "name", "in"), NULL, NULL, NULL)), "path");
	check_references(doc, doc);
	json_object_put(doc);
}

static void test_v2_tells_how_to_patch(void **state)
{
	struct json_object *doc = v2(), *definitions = at(doc, "definitions", NULL, NULL), *containers;

	(void)state;
	containers = at(definitions, "io.k8s.api.core.v1.PodSpec", "properties", "containers");
	assert_string_equal(json_object_get_string(at(containers, "x-kubernetes-patch-strategy", NULL, NULL)), "merge");
	assert_string_equal(json_object_get_string(at(containers, "x-kubernetes-patch-merge-key", NULL, NULL)), "name");
	assert_string_equal(json_object_get_string(at(containers, "x-kubernetes-list-type", NULL, NULL)), "map");
	json_object_put(doc);
}

static void test_v2_tells_kinds(void **state)
{
	struct json_object *doc = v2(), *kinds;

	(void)state;
	kinds = at(
		at(doc, "definitions", NULL, NULL), "io.k8s.api.apps.v1.Deployment", "x-kubernetes-group-version-kind", NULL);
	assert_string_equal(json_object_to_json_string_ext(kinds, JSON_C_TO_STRING_PLAIN),
		"[{\"group\":\"apps\",\"kind\":\"Deployment\",\"version\":\"v1\"}]");
	json_object_put(doc);
}

/* The built-in tables with a description of everything. */
static void describe_all(struct ks_schema *s, struct ks_descriptions *d)
{
	uint32_t *all = calloc(s->n_fields + s->n_types + s->n_columns, sizeof(*all));

	assert_non_null(all);
	for (uint32_t i = 0; i < s->n_fields + s->n_types + s->n_columns; i++)
		all[i] = 1;
	*d = (struct ks_descriptions){.types = all, .fields = all, .columns = all, .texts = "\0said \"so\"", .hash = 7};
	*s = ks_schema_builtin;
	s->descriptions = d;
}

static void check_description(struct json_object *o, const char *reference)
{
	assert_string_equal(json_object_get_string(at(o, "description", NULL, NULL)), "said \"so\"");
	if (reference)
		assert_true(json_object_object_get_ex(o, reference, NULL));
}

/* A reference can't have a description beside it in v3. */
static void test_descriptions_are_shown(void **state)
{
	struct ks_schema schema = ks_schema_builtin;
	struct ks_descriptions descriptions;
	const struct ks_schema *schemas[] = {&schema};
	struct ks_discovery described = {.schemas = schemas, .n_schemas = 1};
	struct ks_openapi with = {.served = &described, .version = "1.36"};
	char hash[KS_DOCUMENT_HASH_SIZE], other[KS_DOCUMENT_HASH_SIZE];
	struct json_object *doc, *pod, *parameters;
	struct ks_bytes *bytes;

	(void)state;
	describe_all(&schema, &descriptions);
	assert_int_equal(ks_openapi_v3_document(&with, KS_STR_LIT("api/v1"), &bytes), 0);
	doc = parse(bytes);
	pod = at(doc, "components", "schemas", "io.k8s.api.core.v1.PodSpec");
	check_description(pod, NULL);
	check_description(at(pod, "properties", "affinity", NULL), "allOf");
	check_description(at(pod, "properties", "hostNetwork", NULL), NULL);
	parameters = at(at(doc, "paths", "/api/v1/pods", "parameters"), NULL, NULL, NULL);
	for (size_t i = 0; i < json_object_array_length(parameters); i++)
		assert_non_null(json_object_object_get(json_object_array_get_idx(parameters, i), "description"));
	json_object_put(doc);
	assert_int_equal(ks_openapi_v3_hash(&with, KS_STR_LIT("api/v1"), hash), 0);
	descriptions.hash++;
	assert_int_equal(ks_openapi_v3_hash(&with, KS_STR_LIT("api/v1"), other), 0);
	assert_string_not_equal(hash, other);
	free((void *)(uintptr_t)descriptions.types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptions_are_shown),
		cmocka_unit_test(test_every_v3_document_is_as_recorded),
		cmocka_unit_test(test_index_has_the_hash_of_each_document),
		cmocka_unit_test(test_hash_depends_on_path_and_version),
		cmocka_unit_test(test_cbor_is_told_where_it_is_served),
		cmocka_unit_test(test_unknown_documents_are_not_there),
		cmocka_unit_test(test_issuer_documents_are_optional),
		cmocka_unit_test(test_v2_is_closed),
		cmocka_unit_test(test_v2_tells_how_to_patch),
		cmocka_unit_test(test_v2_tells_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
