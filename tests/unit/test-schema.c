/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/api/schema.h"
#include "tests/unit/golden.h"

static const struct ks_schema *const s = &ks_schema_builtin;

static struct ks_str member(struct json_object *o, const char *name)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, name, &value))
		fail_msg("no %s in %s", name, json_object_to_json_string(o));
	return ks_str_of(json_object_get_string(value), (size_t)json_object_get_string_len(value));
}

static uint16_t verbs_of(struct json_object *o)
{
	static const struct { const char *name; uint16_t bit;
	} verbs[] = {
		{"get", KS_VERB_GET},
		{"list", KS_VERB_LIST},
		{"watch", KS_VERB_WATCH},
		{"create", KS_VERB_CREATE},
		{"update", KS_VERB_UPDATE},
		{"patch", KS_VERB_PATCH},
		{"delete", KS_VERB_DELETE},
		{"deletecollection", KS_VERB_DELETECOLLECTION},
	};
	struct json_object *list = json_object_object_get(o, "verbs");
	uint16_t bits = 0;

	for (size_t i = 0; i < json_object_array_length(list); i++) {
		for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++) {
			if (strcmp(json_object_get_string(json_object_array_get_idx(list, i)), verbs[v].name) == 0)
				bits |= verbs[v].bit;
		}
	}
	return bits;
}

static void assert_texts(struct json_object *list, uint16_t first, uint16_t n)
{
	assert_int_equal(json_object_array_length(list), n);
	for (uint16_t i = 0; i < n; i++)
		assert_string_equal(
			json_object_get_string(json_object_array_get_idx(list, i)), ks_schema_text(s, s->lists[first + i]));
}

static const char *text_of(uint32_t offset)
{
	return ks_schema_text(s, offset);
}

static void check_subresources(struct json_object *kind, const struct ks_resource *parent)
{
	struct json_object *subs = json_object_object_get(kind, "subresources");

	for (size_t i = 0; i < json_object_array_length(subs); i++) {
		struct json_object *sub = json_object_array_get_idx(subs, i);
		char name[128];
		uint16_t index;

		snprintf(name, sizeof(name), "%s/%s", text_of(parent->resource), member(sub, "name").p);
		index = ks_schema_find_resource(s, member(kind, "group"), member(kind, "version"), ks_str_from(name));
		assert_int_not_equal(index, KS_NO_RESOURCE);
		assert_int_equal(s->resources[index].verbs, verbs_of(sub));
		assert_true(s->resources[index].is_subresource);
		assert_ptr_equal(&s->resources[s->resources[index].parent], parent);
		assert_string_equal(text_of(s->resources[index].kind), member(sub, "kind").p);
		assert_true(s->resources[index].type != 0);
	}
}

static void test_every_recorded_kind_is_there(void **state)
{
	struct json_object *kinds = golden_read("discovery/kinds.json");

	(void)state;
	for (size_t i = 0; i < json_object_array_length(kinds); i++) {
		struct json_object *k = json_object_array_get_idx(kinds, i);
		uint16_t index = ks_schema_find_resource(s, member(k, "group"), member(k, "version"), member(k, "resource"));
		const struct ks_resource *r;

		if (index == KS_NO_RESOURCE)
			fail_msg("%s is missing", member(k, "resource").p);
		r = &s->resources[index];
		assert_string_equal(text_of(r->kind), member(k, "kind").p);
		assert_string_equal(text_of(r->singular), member(k, "singular").p);
		assert_int_equal(
			r->scope, ks_str_is(member(k, "scope"), "Namespaced") ? KS_SCOPE_NAMESPACED : KS_SCOPE_CLUSTER);
		assert_int_equal(r->verbs, verbs_of(k));
		assert_texts(json_object_object_get(k, "shortNames"), r->first_short_name, r->n_short_names);
		assert_texts(json_object_object_get(k, "categories"), r->first_category, r->n_categories);
		assert_true(!(r->verbs & KS_VERB_LIST) || r->list_type != 0);
		check_subresources(k, r);
	}
	json_object_put(kinds);
}

static void test_every_field_has_its_slot(void **state)
{
	(void)state;
	for (uint32_t t = 1; t < s->n_types; t++) {
		const struct ks_type *type = &s->types[t];

		for (uint16_t slot = 0; slot < type->n_fields; slot++) {
			const struct ks_field *f = ks_schema_field(s, (uint16_t)t, slot);

			assert_int_equal(strlen(text_of(f->name)), f->name_n);
			assert_int_equal(ks_schema_slot(s, (uint16_t)t, text_of(f->name), f->name_n), slot);
		}
	}
}

static uint16_t type_named(const char *name)
{
	uint16_t type = ks_schema_find_type(s, name);

	if (!type)
		fail_msg("no type %s", name);
	return type;
}

static const struct ks_field *field_named(const char *type, const char *name)
{
	uint16_t t = type_named(type);
	uint16_t slot = ks_schema_slot(s, t, name, strlen(name));

	if (slot == KS_NO_SLOT)
		fail_msg("%s has no %s", type, name);
	return ks_schema_field(s, t, slot);
}

static void test_unknown_fields_have_no_slot(void **state)
{
	uint16_t pod = type_named("io.k8s.api.core.v1.Pod");

	(void)state;
	assert_int_equal(ks_schema_slot(s, pod, "specs", 5), KS_NO_SLOT);
	assert_int_equal(ks_schema_slot(s, pod, "spe", 3), KS_NO_SLOT);
	assert_int_equal(ks_schema_slot(s, pod, "spec\0", 5), KS_NO_SLOT);
	assert_int_equal(ks_schema_slot(s, pod, "", 0), KS_NO_SLOT);
	assert_int_equal(ks_schema_slot(s, pod, "Spec", 4), KS_NO_SLOT);
	assert_int_equal(ks_schema_slot(s, 0, "spec", 4), KS_NO_SLOT);
}

static void test_fold_ignores_case(void **state)
{
	uint16_t pod = type_named("io.k8s.api.core.v1.Pod");

	(void)state;
	assert_int_equal(ks_schema_slot_fold(s, pod, "SPEC", 4), ks_schema_slot(s, pod, "spec", 4));
	assert_int_equal(ks_schema_slot_fold(s, pod, "SPECK", 5), KS_NO_SLOT);
}

static void test_embedded_structs_are_flat(void **state)
{
	const struct ks_field *secret = field_named("io.k8s.api.core.v1.Volume", "secret");
	const struct ks_field *kind = field_named("io.k8s.api.core.v1.Pod", "kind");
	const struct ks_field *groups =
		field_named("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations", "apiGroups");

	(void)state;
	assert_int_equal(secret->proto, 6);
	assert_int_equal(secret->proto_parent, 2);
	assert_true(kind->flags & KS_FIELD_PROTO_NONE);
	assert_int_equal(groups->proto_parent, 2 << 8 | 2);
}

static void test_lists_know_their_keys(void **state)
{
	const struct ks_field *ports = field_named("io.k8s.api.core.v1.Container", "ports");

	(void)state;
	assert_int_equal(ports->list_kind, KS_LIST_MAP);
	assert_int_equal(ports->n_list_keys, 2);
	assert_string_equal(text_of(s->list_keys[ports->first_list_key]), "containerPort");
	assert_string_equal(text_of(s->list_keys[ports->first_list_key + 1]), "protocol");
	assert_string_equal(text_of(ports->patch_merge_key), "containerPort");
	assert_true(ports->flags & KS_FIELD_PATCH_MERGE);
	assert_int_equal(s->types[ports->type].class_, KS_TYPE_LIST);
	assert_int_equal(s->types[s->types[ports->type].element].class_, KS_TYPE_STRUCT);
}

static void test_special_scalars(void **state)
{
	(void)state;
	assert_int_equal(
		s->types[field_named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp")->type].class_,
		KS_TYPE_TIME);
	assert_int_equal(
		s->types[field_named("io.k8s.api.coordination.v1.LeaseSpec", "renewTime")->type].class_, KS_TYPE_MICRO_TIME);
	assert_int_equal(
		s->types[field_named("io.k8s.api.core.v1.ServicePort", "targetPort")->type].class_, KS_TYPE_INT_OR_STRING);
	assert_int_equal(s->types[field_named("io.k8s.api.apps.v1.ControllerRevision", "data")->type].class_, KS_TYPE_RAW);
	assert_int_equal(
		s->types[s->types[field_named("io.k8s.api.core.v1.Secret", "data")->type].element].class_, KS_TYPE_BYTES);
	assert_int_equal(
		s->types[s->types[field_named("io.k8s.api.core.v1.ResourceRequirements", "limits")->type].element].class_,
		KS_TYPE_QUANTITY);
	assert_true(s->types[field_named("io.k8s.apimachinery.pkg.apis.meta.v1.APIResource", "verbs")->type].proto_message);
}

static void test_enums(void **state)
{
	const struct ks_field *protocol = field_named("io.k8s.api.core.v1.ContainerPort", "protocol");

	(void)state;
	assert_int_equal(protocol->n_enum, 3);
	assert_string_equal(text_of(s->enums[protocol->enum_first]), "SCTP");
	assert_string_equal(text_of(protocol->default_value), "\"TCP\"");
}

static const struct ks_resource *resource_named(const char *group, const char *version, const char *resource)
{
	uint16_t index = ks_schema_find_resource(s, ks_str_from(group), ks_str_from(version), ks_str_from(resource));

	assert_int_not_equal(index, KS_NO_RESOURCE);
	return &s->resources[index];
}

static void test_storage(void **state)
{
	const struct ks_resource *event = resource_named("events.k8s.io", "v1", "events");
	const struct ks_resource *scaler = resource_named("autoscaling", "v1", "horizontalpodautoscalers");

	(void)state;
	assert_string_equal(text_of(resource_named("", "v1", "nodes")->storage_prefix), "minions");
	assert_string_equal(text_of(resource_named("", "v1", "services/status")->storage_prefix), "services/specs");
	assert_string_equal(text_of(resource_named("", "v1", "bindings")->storage_prefix), "");
	assert_ptr_equal(&s->resources[event->storage], resource_named("", "v1", "events"));
	assert_string_equal(text_of(event->storage_prefix), "events");
	assert_ptr_equal(&s->resources[scaler->storage], resource_named("autoscaling", "v2", "horizontalpodautoscalers"));
	assert_true(resource_named("", "v1", "pods")->flags & KS_RESOURCE_RETURNS_DELETED);
	assert_false(resource_named("", "v1", "configmaps")->flags & KS_RESOURCE_RETURNS_DELETED);
}

static void test_unknown_resources(void **state)
{
	(void)state;
	assert_int_equal(
		ks_schema_find_resource(s, KS_STR_LIT(""), KS_STR_LIT("v1"), KS_STR_LIT("deployments")), KS_NO_RESOURCE);
	assert_int_equal(
		ks_schema_find_resource(s, KS_STR_LIT("apps"), KS_STR_LIT("v1"), KS_STR_LIT("deployment")), KS_NO_RESOURCE);
	assert_int_equal(
		ks_schema_find_resource(s, KS_STR_LIT("a"), KS_STR_LIT("pps/v1"), KS_STR_LIT("deployments")), KS_NO_RESOURCE);
	assert_int_equal(ks_schema_find_resource(s, KS_STR_LIT(""), KS_STR_LIT(""), KS_STR_LIT("")), KS_NO_RESOURCE);
}

static void test_find_kind(void **state)
{
	const struct ks_kind *scale =
		ks_schema_find_kind(s, KS_STR_LIT("autoscaling"), KS_STR_LIT("v1"), KS_STR_LIT("Scale"));
	const struct ks_kind *pod = ks_schema_find_kind(s, KS_STR_LIT(""), KS_STR_LIT("v1"), KS_STR_LIT("Pod"));

	(void)state;
	assert_non_null(scale);
	assert_int_equal(scale->resource, KS_NO_RESOURCE);
	assert_non_null(pod);
	assert_ptr_equal(&s->resources[pod->resource], resource_named("", "v1", "pods"));
	assert_string_equal(text_of(s->types[pod->type].name), "io.k8s.api.core.v1.Pod");
	assert_non_null(ks_schema_find_kind(s, KS_STR_LIT("policy"), KS_STR_LIT("v1"), KS_STR_LIT("DeleteOptions")));
	assert_non_null(ks_schema_find_kind(s, KS_STR_LIT("meta.k8s.io"), KS_STR_LIT("v1"), KS_STR_LIT("Table")));
	assert_non_null(ks_schema_find_kind(s, KS_STR_LIT(""), KS_STR_LIT("v1"), KS_STR_LIT("Status")));
	assert_null(ks_schema_find_kind(s, KS_STR_LIT("apps"), KS_STR_LIT("v1"), KS_STR_LIT("Pod")));
	assert_null(ks_schema_find_kind(s, KS_STR_LIT(""), KS_STR_LIT(""), KS_STR_LIT("")));
}

static void test_every_kind_is_found(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < s->n_kinds; i++) {
		const struct ks_kind *k = &s->kinds[i];

		assert_ptr_equal(ks_schema_find_kind(s, ks_str_from(text_of(k->group)), ks_str_from(text_of(k->version)),
							 ks_str_from(text_of(k->kind))),
			k);
	}
}

static void test_tables_stay_in_bounds(void **state)
{
	(void)state;
	assert_int_equal(s->strings[s->strings_size - 1], '\0');
	for (uint32_t i = 0; i < s->n_fields; i++)
		assert_true(s->fields[i].type < s->n_types && s->fields[i].name < s->strings_size);
	for (uint32_t i = 0; i < s->n_types; i++) {
		assert_true(s->types[i].element < s->n_types);
		assert_true(s->types[i].first_field + s->types[i].n_fields <= s->n_fields);
		assert_true(s->types[i].name_table + s->types[i].name_table_size <= s->n_slots);
	}
	for (uint32_t i = 0; i < s->n_resources; i++)
		assert_true(s->resources[i].first_column + s->resources[i].n_columns <= s->n_columns);
}

static void test_hash_fill_makes_tables_at_run_time(void **state)
{
	const uint32_t hashes[] = {7, 7, 0, 15};
	uint16_t table[8];

	(void)state;
	assert_true(ks_schema_hash_fill(table, 8, hashes, 4));
	assert_int_equal(table[7], 0);
	assert_int_equal(table[0], 1);
	assert_int_equal(table[1], 2);
	assert_int_equal(table[2], 3);
	assert_int_equal(table[3], KS_NO_SLOT);
	assert_false(ks_schema_hash_fill(table, 4, hashes, 4));
	assert_false(ks_schema_hash_fill(table, 6, hashes, 1));
}

static void test_schema_without_resource_table(void **state)
{
	struct ks_schema plain = *s;

	(void)state;
	plain.resource_table_size = 0;
	assert_int_equal(ks_schema_find_resource(&plain, KS_STR_LIT("apps"), KS_STR_LIT("v1"), KS_STR_LIT("deployments")),
		ks_schema_find_resource(s, KS_STR_LIT("apps"), KS_STR_LIT("v1"), KS_STR_LIT("deployments")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_recorded_kind_is_there),
		cmocka_unit_test(test_every_field_has_its_slot),
		cmocka_unit_test(test_unknown_fields_have_no_slot),
		cmocka_unit_test(test_fold_ignores_case),
		cmocka_unit_test(test_embedded_structs_are_flat),
		cmocka_unit_test(test_lists_know_their_keys),
		cmocka_unit_test(test_special_scalars),
		cmocka_unit_test(test_enums),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_unknown_resources),
		cmocka_unit_test(test_find_kind),
		cmocka_unit_test(test_every_kind_is_found),
		cmocka_unit_test(test_tables_stay_in_bounds),
		cmocka_unit_test(test_hash_fill_makes_tables_at_run_time),
		cmocka_unit_test(test_schema_without_resource_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
