/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/api/schema.h"
#include "core/registry/reset_fields.h"

static const struct ks_schema *const schema = &ks_schema_builtin;

static bool is_of(const struct ks_resource *resource, const char *group, const char *name)
{
	return !strcmp(ks_schema_text(schema, resource->group), group) && !strcmp(ks_schema_text(schema, resource->resource), name);
}

static bool has_path(uint16_t type, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, ".");
		uint16_t slot = ks_schema_slot(schema, type, path, n);

		if (slot == KS_NO_SLOT)
			return false;
		type = ks_schema_field(schema, type, slot)->type;
		path += n + (path[n] == '.');
	}
	return true;
}

/* Every entry is a resource that we serve, and every path a field of its type, in each version. */
static void test_the_table_names_what_there_is(void **state)
{
	size_t n;
	const struct ks_reset_fields *all = ks_reset_fields_all(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		size_t found = 0;

		assert_non_null(all[i].paths[0]);
		for (uint32_t k = 0; k < schema->n_resources; k++) {
			if (!is_of(&schema->resources[k], all[i].group, all[i].resource))
				continue;
			found++;
			for (size_t p = 0; all[i].paths[p]; p++)
				if (!has_path(schema->resources[k].type, all[i].paths[p]))
					fail_msg("%s has no %s", all[i].resource, all[i].paths[p]);
		}
		if (!found)
			fail_msg("%s.%s is not served", all[i].resource, all[i].group);
	}
}

static void test_entries_are_unique(void **state)
{
	size_t n;
	const struct ks_reset_fields *all = ks_reset_fields_all(&n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(ks_reset_fields_find(ks_str_from(all[i].group), ks_str_from(all[i].resource)), &all[i]);
}

/* A new kind with a status must be thought of: only servicecidrs are known to reset nothing. */
static void test_every_status_is_in_the_table(void **state)
{
	(void)state;
	for (uint32_t k = 0; k < schema->n_resources; k++) {
		const struct ks_resource *resource = &schema->resources[k];
		const struct ks_resource *parent = &schema->resources[resource->parent];
		struct ks_str group = ks_str_from(ks_schema_text(schema, resource->group));
		const char *name = ks_schema_text(schema, resource->resource);
		size_t n = strlen(name);
		bool expected = !is_of(parent, "networking.k8s.io", "servicecidrs");

		if (!resource->is_subresource || n < 7 || strcmp(name + n - 7, "/status"))
			continue;
		if (!!ks_reset_fields_find(group, ks_str_from(name)) != expected)
			fail_msg("%s", name);
		if (!!ks_reset_fields_find(group, ks_str_from(ks_schema_text(schema, parent->resource))) != expected)
			fail_msg("the resource of %s", name);
	}
}

static void assert_paths(const char *group, const char *resource, const char *expected)
{
	const struct ks_reset_fields *reset = ks_reset_fields_find(ks_str_from(group), ks_str_from(resource));
	char text[256] = "";

	assert_non_null(reset);
	for (size_t i = 0; reset->paths[i]; i++) {
		strncat(text, i ? " " : "", sizeof(text) - strlen(text) - 1);
		strncat(text, reset->paths[i], sizeof(text) - strlen(text) - 1);
	}
	assert_string_equal(text, expected);
}

static void test_what_single_resources_reset(void **state)
{
	(void)state;
	assert_paths("", "pods", "status");
	assert_paths("", "pods/status", "spec metadata.deletionTimestamp metadata.ownerReferences");
	assert_paths("apps", "deployments/status", "spec metadata.labels");
	assert_paths("apps", "replicasets/status", "spec");
	assert_paths("", "namespaces/finalize", "status");
	assert_paths("certificates.k8s.io", "certificatesigningrequests", "spec status");
	assert_paths("certificates.k8s.io", "certificatesigningrequests/approval", "spec status.certificate");
	assert_paths("certificates.k8s.io", "certificatesigningrequests/status", "spec status.conditions");
	assert_paths("resource.k8s.io", "resourceclaims/status", "spec metadata");
	assert_paths("apiextensions.k8s.io", "customresourcedefinitions/status", "spec");
}

static void test_most_reset_nothing(void **state)
{
	static const char *const none[] = {
		"configmaps", "pods/resize", "pods/ephemeralcontainers", "pods/eviction", "replicationcontrollers/scale", "pod", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(ks_reset_fields_find(KS_STR_LIT(""), ks_str_from(none[i])));
	assert_null(ks_reset_fields_find(KS_STR_LIT("apps"), KS_STR_LIT("pods")));
	assert_null(ks_reset_fields_find(KS_STR_LIT("example.com"), KS_STR_LIT("widgets/status")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_table_names_what_there_is),
		cmocka_unit_test(test_entries_are_unique),
		cmocka_unit_test(test_every_status_is_in_the_table),
		cmocka_unit_test(test_what_single_resources_reset),
		cmocka_unit_test(test_most_reset_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
