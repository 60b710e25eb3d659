/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "registry-help.h"

#include <stdio.h>
#include <string.h>

#include "core/registry/flowcontrol.h"

/* What a deployment can't be without. */
#define REST \
	"'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c','image':'i:1'}]}}"

/* -- create ------------------------------------------------------------------------------------------------------- */

static void test_create_fills_what_the_server_says(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'a','uid':'mine','creationTimestamp':'2020-01-01T00:00:00Z'}}"), 0);
	assert_string_equal(registry_text(&t, &t.object, "metadata.creationTimestamp"), "2023-11-14T22:13:20Z");
	assert_int_equal(strlen(registry_text(&t, &t.object, "metadata.uid")), 36);
	assert_string_equal(registry_text(&t, &t.object, "metadata.namespace"), "n");
	registry_close(&t);
}

static void test_create_makes_a_name(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(registry_create(&t, "{'metadata':{'generateName':'web-'}}"), 0);
	assert_int_equal(strlen(registry_text(&t, &t.object, "metadata.name")), 9);
	assert_memory_equal(registry_text(&t, &t.object, "metadata.name"), "web-", 4);
	registry_close(&t);
}

static void test_create_needs_a_name(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(registry_create(&t, "{}"), 422);
	assert_string_equal(t.status.message, "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
	registry_close(&t);
}

static void test_create_refuses_another_namespace(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'a','namespace':'other'}}"), 400);
	registry_close(&t);
}

static void test_create_drops_status_and_counts_from_one(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "apps", "v1", "deployments");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'a','generation':7},'spec':{" REST "},'status':{'replicas':3}}"), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'generation':1,"));
	assert_non_null(strstr(registry_json(&t, &t.object), "'status':{}"));
	registry_close(&t);
}

static void test_duplicate_owners_are_dropped_with_a_warning(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'K','name':'o','uid':'u'},"
		"{'apiVersion':'v1','kind':'K','name':'o','uid':'u'}]}}"), 0);
	assert_int_equal(ks_value_at(t.ctx.schema, &t.object, "metadata.ownerReferences")->n, 1);
	assert_non_null(strstr(t.warning, "duplicate UID(s) observed: u"));
	registry_close(&t);
}

/* -- metadata ----------------------------------------------------------------------------------------------------- */

static void test_metadata_is_validated(void **state)
{
	static const struct { const char *metadata, *message; } cases[] = {
		{"'name':'A'", "metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"},
		{"'name':'a','labels':{'a b':'c'}", "metadata.labels: Invalid value: \"a b\": name part must consist of"},
		{"'name':'a','labels':{'a':'c d'}", "metadata.labels: Invalid value: \"c d\": a valid label must be an empty string"},
		{"'name':'a','finalizers':['x']", "metadata.finalizers[0]: Invalid value: \"x\": name is neither a standard finalizer name"},
		{"'name':'a','finalizers':['orphan','foregroundDeletion']", "finalizer orphan and foregroundDeletion cannot be both set"},
		{"'name':'a','ownerReferences':[{'apiVersion':'v1','kind':'K','name':'','uid':'u'}]", "ownerReferences.name: Invalid value: \"\": must not be"},
		{"'name':'a','generation':-1", "metadata.generation: Invalid value: -1: must be greater than or equal to 0"},
	};
	struct registry_test t;
	char json[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		registry_open(&t, "", "v1", "configmaps");
		snprintf(json, sizeof(json), "{'metadata':{%s}}", cases[i].metadata);
		assert_int_equal(registry_create(&t, json), 422);
		if (!strstr(t.status.message, cases[i].message))
			fail_msg("%s: %s", cases[i].metadata, t.status.message);
		registry_close(&t);
	}
}

static void test_names_follow_the_rule_of_their_kind(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "services");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'a.b'},'spec':{'ports':[{'port':80}]}}"), 422);
	registry_close(&t);
	registry_open(&t, "rbac.authorization.k8s.io", "v1", "clusterroles");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'system:Some_Role'}}"), 0);
	registry_close(&t);
}

/* -- update ------------------------------------------------------------------------------------------------------- */

static int update(struct registry_test *t, const char *old, const char *now)
{
	t->old = registry_object(t, old);
	t->object = registry_object(t, now);
	memset(&t->status, 0, sizeof(t->status));
	assert_true(ks_registry_default(&t->ctx, &t->old));
	assert_true(ks_registry_default(&t->ctx, &t->object));
	return ks_registry_before_update(&t->ctx, &t->object, &t->old, &t->status);
}

static void test_update_keeps_what_is_not_said(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(update(&t, "{'metadata':{'name':'a','namespace':'n','uid':'u','resourceVersion':'5','creationTimestamp':'2020-01-01T00:00:00Z'}}",
		"{'metadata':{'name':'a','namespace':'n','resourceVersion':'5'},'data':{'k':'v'}}"), 0);
	assert_string_equal(registry_text(&t, &t.object, "metadata.uid"), "u");
	assert_string_equal(registry_text(&t, &t.object, "metadata.creationTimestamp"), "2020-01-01T00:00:00Z");
	registry_close(&t);
}

static void test_update_refuses_what_is_immutable(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(update(&t, "{'metadata':{'name':'a','namespace':'n','uid':'u','resourceVersion':'5'}}",
		"{'metadata':{'name':'a','namespace':'n','uid':'v','resourceVersion':'5'}}"), 422);
	assert_string_equal(t.status.message, "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"v\": field is immutable");
	registry_close(&t);
}

#define MANAGED(rest) "{'metadata':{'name':'a','managedFields':[{'apiVersion':'v1'," rest "}]}}"

static void test_managers_of_fields_are_held_to_their_limits(void **state)
{
	static const struct {
		const char *object, *message;
	} bad[] = {
		{MANAGED("'manager':'m','operation':'Make','fieldsType':'FieldsV1'"),
			"operation: Invalid value: \"Make\": must be `Apply` or `Update`"},
		{MANAGED("'manager':'m','operation':'Apply','fieldsType':'FieldsV2'"), "fieldsType: Invalid value: \"FieldsV2\": must be `FieldsV1`"},
		{MANAGED("'manager':'a\\u0007','operation':'Apply'"),
			"manager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"},
		{MANAGED("'manager':'a\\u00a0','operation':'Apply'"),
			"manager: Invalid value: \"a\\u00a0\": invalid character U+00A0 (at position 1)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct registry_test t;
		char message[256];

		registry_open(&t, "", "v1", "configmaps");
		assert_int_equal(registry_create(&t, bad[i].object), 422);
		snprintf(message, sizeof(message), "ConfigMap \"a\" is invalid: metadata.managedFields[0].%s", bad[i].message);
		assert_string_equal(t.status.message, message);
		registry_close(&t);
	}
}

static void test_managers_of_fields_have_short_names(void **state)
{
	struct registry_test t;
	char object[700], name[300];

	(void)state;
	for (int long_ = 0; long_ < 2; long_++) {
		memset(name, 'x', sizeof(name));
		snprintf(object, sizeof(object), MANAGED("'operation':'Update','manager':'%.*s','subresource':'%.*s'"), 128 + long_, name, 256 + long_, name);
		registry_open(&t, "", "v1", "configmaps");
		assert_int_equal(registry_create(&t, object), long_ ? 422 : 0);
		if (long_)
			assert_string_equal(t.status.message, "ConfigMap \"a\" is invalid: [metadata.managedFields[0].manager: Too long: may not be more "
				"than 128 bytes, metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes]");
		registry_close(&t);
	}
}

static void test_generation_counts_changes_of_spec(void **state)
{
	static const char old[] = "{'metadata':{'name':'a','namespace':'n','uid':'u','resourceVersion':'5','generation':3},'spec':{'replicas':1," REST "}}";
	struct registry_test t;

	(void)state;
	registry_open(&t, "apps", "v1", "deployments");
	assert_int_equal(update(&t, old, "{'metadata':{'name':'a','namespace':'n','resourceVersion':'5','labels':{'x':'y'}},'spec':{'replicas':1," REST "}}"), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'generation':3,"));
	assert_int_equal(update(&t, old, "{'metadata':{'name':'a','namespace':'n','resourceVersion':'5'},'spec':{'replicas':2," REST "}}"), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'generation':4"));
	registry_close(&t);
}

static void test_status_and_spec_are_written_apart(void **state)
{
	static const char old[] = "{'metadata':{'name':'a','namespace':'n','uid':'u','resourceVersion':'5','generation':1},"
		"'spec':{'replicas':1," REST "},'status':{'replicas':1}}";
	static const char now[] = "{'metadata':{'name':'a','namespace':'n','resourceVersion':'5'},'spec':{'replicas':9," REST "},'status':{'replicas':8}}";
	struct registry_test t;

	(void)state;
	registry_open(&t, "apps", "v1", "deployments");
	assert_int_equal(update(&t, old, now), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'status':{'replicas':1}"));
	t.ctx.subresource = KS_STR_LIT("status");
	assert_int_equal(update(&t, old, now), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'spec':{'replicas':1,"));
	assert_non_null(strstr(registry_json(&t, &t.object), "'status':{'replicas':8}"));
	registry_close(&t);
}

/* -- defaults ----------------------------------------------------------------------------------------------------- */

static void test_constants_reach_into_templates(void **state)
{
	struct registry_test t;
	const char *json;

	(void)state;
	registry_open(&t, "apps", "v1", "deployments");
	t.object = registry_object(&t, "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'i:1','ports':[{'containerPort':1}]}]}}}}");
	assert_true(ks_registry_default(&t.ctx, &t.object));
	json = registry_json(&t, &t.object);
	assert_non_null(strstr(json, "'restartPolicy':'Always'"));
	assert_non_null(strstr(json, "'imagePullPolicy':'IfNotPresent'"));
	assert_non_null(strstr(json, "'protocol':'TCP'"));
	assert_non_null(strstr(json, "'rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}"));
	assert_null(strstr(json, "enableServiceLinks"));
	registry_close(&t);
}

static void test_structs_that_are_always_there_have_defaults(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "storage.k8s.io", "v1", "csidrivers");
	t.object = registry_object(&t, "{'metadata':{'name':'d'},'spec':{}}");
	assert_true(ks_registry_default(&t.ctx, &t.object));
	assert_non_null(strstr(registry_json(&t, &t.object), "'attachRequired':true"));
	registry_close(&t);
}

static void test_string_data_becomes_data(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "secrets");
	t.object = registry_object(&t, "{'metadata':{'name':'s'},'stringData':{'k':'value'}}");
	assert_true(ks_registry_default(&t.ctx, &t.object));
	assert_string_equal(registry_text(&t, &t.object, "data.k"), "dmFsdWU=");
	assert_string_equal(registry_text(&t, &t.object, "type"), "Opaque");
	assert_null(strstr(registry_json(&t, &t.object), "stringData"));
	registry_close(&t);
}

/* -- services ----------------------------------------------------------------------------------------------------- */

static void test_headless_services_have_no_address(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "services");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'a'},'spec':{'clusterIP':'None','selector':{'a':'b'},'ports':[{'port':80}]}}"), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'clusterIPs':['None']"));
	assert_null(t.ctx.taken);
	registry_close(&t);
}

/* -- deletion ----------------------------------------------------------------------------------------------------- */

static enum ks_delete_step delete_object(struct registry_test *t, const char *json, int64_t grace, char propagation)
{
	struct ks_delete_policy policy = {.grace_seconds = grace, .orphan_dependents = -1, .propagation = propagation};

	t->object = registry_object(t, json);
	return ks_registry_delete(&t->ctx, &t->object, &policy);
}

static void test_finalizers_decide(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a'}}", -1, 0), KS_DELETE_REMOVE);
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a','finalizers':['x.y/z']}}", -1, 0), KS_DELETE_UPDATE);
	assert_string_equal(registry_text(&t, &t.object, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a'}}", -1, 'F'), KS_DELETE_UPDATE);
	assert_non_null(strstr(registry_json(&t, &t.object), "'finalizers':['foregroundDeletion']"));
	registry_close(&t);
}

static void test_pods_are_deleted_gracefully(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a'},'spec':{'terminationGracePeriodSeconds':30}}", -1, 0), KS_DELETE_UPDATE_REMOVE);
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a'},'spec':{'nodeName':'x','terminationGracePeriodSeconds':30}}", -1, 0), KS_DELETE_UPDATE);
	assert_string_equal(registry_text(&t, &t.object, "metadata.deletionTimestamp"), "2023-11-14T22:13:50Z");
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:50Z','deletionGracePeriodSeconds':30},"
		"'spec':{'nodeName':'x'}}", 40, 0), KS_DELETE_PENDING);
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:50Z','deletionGracePeriodSeconds':30},"
		"'spec':{'nodeName':'x'}}", 0, 0), KS_DELETE_UPDATE_REMOVE);
	registry_close(&t);
}

static void test_a_namespace_ends_in_two_steps(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "namespaces");
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a'},'spec':{'finalizers':['kubernetes']}}", -1, 0), KS_DELETE_UPDATE);
	assert_string_equal(registry_text(&t, &t.object, "status.phase"), "Terminating");
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:50Z'},'spec':{'finalizers':['kubernetes']}}", -1, 0),
		KS_DELETE_PENDING);
	assert_int_equal(delete_object(&t, "{'metadata':{'name':'a','deletionTimestamp':'2023-11-14T22:13:50Z'}}", -1, 0), KS_DELETE_REMOVE);
	registry_close(&t);
}

/* -- versions and start ------------------------------------------------------------------------------------------- */

/* Of an object in namespace `of`, in namespace "n", by name and with a time or without. */
static int create_event(const char *group, const char *name, const char *of, bool timed)
{
	struct registry_test t;
	char json[512];
	int code;

	registry_open(&t, group, "v1", "events");
	snprintf(json, sizeof(json), "{'metadata':{'generateName':'%s'},'%s':{'kind':'Pod','name':'p'%s%s%s},'reason':'r','type':'Normal','action':'a',"
		"'reportingInstance':'i','%s':'c'%s}", name, *group ? "regarding" : "involvedObject", *of ? ",'namespace':'" : "", of, *of ? "'" : "",
		*group ? "reportingController" : "reportingComponent", timed ? ",'eventTime':'2026-11-30T00:00:00.000000Z'" : "");
	code = registry_create(&t, json);
	registry_close(&t);
	return code;
}

static void test_events_of_the_core_group_are_called_anything(void **state)
{
	(void)state;
	assert_int_equal(create_event("", "p.", "n", false), 0);
	assert_int_equal(create_event("", "Not_A_Domain", "n", false), 0);
	assert_int_equal(create_event("", "a/b", "n", false), 422);
	assert_int_equal(create_event("events.k8s.io", "p.", "n", true), 422);
	assert_int_equal(create_event("events.k8s.io", "p-", "n", true), 0);
}

static void test_events_stand_where_their_objects_are(void **state)
{
	(void)state;
	assert_int_equal(create_event("", "p-", "other", false), 422);
	assert_int_equal(create_event("", "p-", "", false), 422);
	assert_int_equal(create_event("", "p-", "other", true), 0);
	assert_int_equal(create_event("events.k8s.io", "p-", "other", true), 0);
	assert_int_equal(create_event("events.k8s.io", "p-", "", true), 422);
}

static void test_events_are_one_thing_in_two_groups(void **state)
{
	struct registry_test t;
	uint16_t other;

	(void)state;
	registry_open(&t, "", "v1", "events");
	other = ks_schema_find_resource(t.ctx.schema, KS_STR_LIT("events.k8s.io"), KS_STR_LIT("v1"), KS_STR_LIT("events"));
	t.object = registry_object(&t, "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','name':'p'},'message':'m','count':3,'type':'Normal'}");
	assert_int_equal(ks_registry_convert(&t.arena, t.ctx.schema, t.ctx.resource, other, &t.object), 0);
	assert_string_equal(registry_text(&t, &t.object, "regarding.name"), "p");
	assert_string_equal(registry_text(&t, &t.object, "note"), "m");
	assert_string_equal(registry_text(&t, &t.object, "apiVersion"), "events.k8s.io/v1");
	assert_int_equal(ks_registry_convert(&t.arena, t.ctx.schema, other, t.ctx.resource, &t.object), 0);
	assert_string_equal(registry_text(&t, &t.object, "involvedObject.kind"), "Pod");
	assert_string_equal(registry_text(&t, &t.object, "message"), "m");
	registry_close(&t);
}

static void test_bootstrap_objects_are_valid(void **state)
{
	struct ks_config config = {.service_cluster_ip_range = "10.9.0.0/16", .advertise_address = "192.0.2.1"};
	const struct ks_bootstrap_object *objects;
	size_t n = 0;

	(void)state;
	objects = ks_registry_bootstrap(&config, 6443, &n);
	assert_non_null(objects);
	assert_true(n >= 8);
	for (size_t i = 0; i < n; i++) {
		struct ks_arena arena;
		struct ks_value v;
		const char *message;

		ks_arena_init(&arena, 0);
		assert_int_equal(ks_json_decode(&arena, &ks_schema_builtin, 0, 0, objects[i].json, strlen(objects[i].json), &v, NULL, &message), 0);
		assert_true(ks_str_is(ks_value_str(ks_value_at(&ks_schema_builtin, &v, "metadata.name")), objects[i].name));
		ks_arena_fini(&arena);
	}
	config.service_cluster_ip_range = "nonsense";
	assert_null(ks_registry_bootstrap(&config, 6443, &n));
}

/* -- flow control -------------------------------------------------------------------------------------------------- */

#define LEVEL(annotations, generation, shares) \
	"{'metadata':{'name':'x'" annotations ",'generation':" generation "},'spec':{'type':'Limited','limited':{'nominalConcurrencyShares':" shares "}}}"
#define SAYS(what) ",'annotations':{'apf.kubernetes.io/autoupdate-spec':'" what "'}"

/* What becomes of `current` when the release says 5: "shares annotation", or "" when it is left alone. */
static const char *revised(struct registry_test *t, bool mandatory, const char *current)
{
	static char text[64];
	struct ks_value wanted = registry_object(t, LEVEL("", "1", "5")), object = registry_object(t, current);
	int result = ks_flowcontrol_revise(&t->arena, t->ctx.schema, mandatory, &wanted, &object);
	const struct ks_value *shares = ks_value_at(t->ctx.schema, &object, "spec.limited.nominalConcurrencyShares");
	const struct ks_value *annotations = ks_value_at(t->ctx.schema, &object, "metadata.annotations");
	struct ks_str says = annotations ? ks_value_str(ks_value_get_str(t->ctx.schema, annotations, KS_STR_LIT(KS_FLOW_AUTOUPDATE))) : (struct ks_str){0};

	assert_true(result >= 0);
	snprintf(text, sizeof(text), "%d %.*s", (int)shares->integer, (int)says.n, says.n ? says.p : "");
	return result ? text : "";
}

static void test_flow_control_follows_the_release(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations");
	assert_string_equal(revised(&t, false, LEVEL(SAYS("true"), "4", "5")), "");
	assert_string_equal(revised(&t, false, LEVEL(SAYS("true"), "4", "7")), "5 true");
	assert_string_equal(revised(&t, false, LEVEL(SAYS("T"), "4", "5")), "");
	assert_string_equal(revised(&t, true, LEVEL(SAYS("false"), "4", "7")), "5 true");
	registry_close(&t);
}

static void test_flow_control_is_left_to_operators(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations");
	assert_string_equal(revised(&t, false, LEVEL(SAYS("false"), "4", "7")), "");
	assert_string_equal(revised(&t, false, LEVEL("", "4", "7")), "7 false");
	assert_string_equal(revised(&t, false, LEVEL(SAYS("perhaps"), "4", "7")), "7 false");
	/* Nobody has changed it since it was made. */
	assert_string_equal(revised(&t, false, LEVEL("", "1", "7")), "5 true");
	registry_close(&t);
}

static void test_flow_control_knows_what_is_left_over(void **state)
{
	struct registry_test t;
	struct ks_value old, mine;
	struct ks_str levels = KS_STR_LIT("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations");
	size_t n;
	const struct ks_flow_default *defaults = ks_flowcontrol_defaults(&n);

	(void)state;
	registry_open(&t, "flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations");
	old = registry_object(&t, LEVEL(SAYS("true"), "1", "7"));
	mine = registry_object(&t, LEVEL(SAYS("false"), "1", "7"));
	assert_true(ks_flowcontrol_is_left_over(t.ctx.schema, &old, levels));
	assert_false(ks_flowcontrol_is_left_over(t.ctx.schema, &mine, levels));
	for (size_t i = 0; i < n; i++) {
		struct ks_value object = registry_object(&t, defaults[i].json);

		assert_false(ks_flowcontrol_is_left_over(t.ctx.schema, &object, ks_str_from(defaults[i].collection)));
	}
	registry_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow_control_follows_the_release),
		cmocka_unit_test(test_flow_control_is_left_to_operators),
		cmocka_unit_test(test_flow_control_knows_what_is_left_over),
		cmocka_unit_test(test_create_fills_what_the_server_says),
		cmocka_unit_test(test_create_makes_a_name),
		cmocka_unit_test(test_create_needs_a_name),
		cmocka_unit_test(test_create_refuses_another_namespace),
		cmocka_unit_test(test_create_drops_status_and_counts_from_one),
		cmocka_unit_test(test_duplicate_owners_are_dropped_with_a_warning),
		cmocka_unit_test(test_metadata_is_validated),
		cmocka_unit_test(test_names_follow_the_rule_of_their_kind),
		cmocka_unit_test(test_update_keeps_what_is_not_said),
		cmocka_unit_test(test_managers_of_fields_are_held_to_their_limits),
		cmocka_unit_test(test_managers_of_fields_have_short_names),
		cmocka_unit_test(test_update_refuses_what_is_immutable),
		cmocka_unit_test(test_generation_counts_changes_of_spec),
		cmocka_unit_test(test_status_and_spec_are_written_apart),
		cmocka_unit_test(test_constants_reach_into_templates),
		cmocka_unit_test(test_structs_that_are_always_there_have_defaults),
		cmocka_unit_test(test_string_data_becomes_data),
		cmocka_unit_test(test_headless_services_have_no_address),
		cmocka_unit_test(test_finalizers_decide),
		cmocka_unit_test(test_pods_are_deleted_gracefully),
		cmocka_unit_test(test_a_namespace_ends_in_two_steps),
		cmocka_unit_test(test_events_of_the_core_group_are_called_anything),
		cmocka_unit_test(test_events_stand_where_their_objects_are),
		cmocka_unit_test(test_events_are_one_thing_in_two_groups),
		cmocka_unit_test(test_bootstrap_objects_are_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
