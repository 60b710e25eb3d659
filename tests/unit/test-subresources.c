/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Bindings, evictions and their budgets, as changes of trees. */
#include <stdio.h>
#include <string.h>

#include "core/registry/subresources.h"
#include "tests/unit/registry-help.h"

#define BINDING "{'metadata':{'name':'p','labels':{'zone':'x'},'annotations':{'why':'room'}},'target':{'kind':'Node','name':'n1'}}"

static struct ks_value binding(struct registry_test *t, const char *json)
{
	struct registry_test other;
	struct ks_value value, copy;

	registry_open(&other, "", "v1", "bindings");
	value = registry_object(&other, json);
	assert_true(ks_value_copy(&t->arena, &value, &copy));
	registry_close(&other);
	return copy;
}

/* -- bindings ----------------------------------------------------------------------------------------------------- */

static void test_binding_gives_node_labels_and_condition(void **state)
{
	struct registry_test t;
	struct ks_value order;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	order = binding(&t, BINDING);
	t.object = registry_object(&t, "{'metadata':{'name':'p','labels':{'zone':'old','keep':'1'}},'spec':{'containers':[]}}");
	assert_null(ks_pod_bind(&t.ctx, &t.object, &order));
	assert_string_equal(registry_text(&t, &t.object, "spec.nodeName"), "n1");
	assert_string_equal(registry_text(&t, &t.object, "metadata.labels.zone"), "x");
	assert_string_equal(registry_text(&t, &t.object, "metadata.labels.keep"), "1");
	assert_string_equal(registry_text(&t, &t.object, "metadata.annotations.why"), "room");
	assert_non_null(strstr(registry_json(&t, &t.object), "'type':'PodScheduled','status':'True'"));
	registry_close(&t);
}

static void test_binding_refuses_a_pod_that_has_a_node(void **state)
{
	struct registry_test t;
	struct ks_value order;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	order = binding(&t, BINDING);
	t.object = registry_object(&t, "{'metadata':{'name':'p'},'spec':{'nodeName':'n0'}}");
	assert_string_equal(ks_pod_bind(&t.ctx, &t.object, &order), "pod p is already assigned to node \"n0\"");
	registry_close(&t);
}

static void test_binding_refuses_a_gated_pod(void **state)
{
	struct registry_test t;
	struct ks_value order;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	order = binding(&t, BINDING);
	t.object = registry_object(&t, "{'metadata':{'name':'p'},'spec':{'schedulingGates':[{'name':'g'}]}}");
	assert_string_equal(ks_pod_bind(&t.ctx, &t.object, &order), "pod p has non-empty .spec.schedulingGates");
	registry_close(&t);
}

static void test_binding_names_a_node(void **state)
{
	struct registry_test t;
	struct ks_value order;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	order = binding(&t, "{'metadata':{'name':'p'},'target':{'kind':'Shelf'}}");
	assert_int_equal(ks_binding_validate(&t.ctx, &order, &t.status), 500);
	assert_string_equal(t.status.message,
		"[target.kind: Unsupported value: \"Shelf\": supported values: \"Node\", \"<empty>\", target.name: Required value]");
	registry_close(&t);
}

/* -- budgets ------------------------------------------------------------------------------------------------------ */

static int take(struct registry_test *t, const char *status)
{
	char json[512];

	snprintf(json, sizeof(json), "{'metadata':{'name':'b','generation':1},'status':%s}", status);
	memset(&t->status, 0, sizeof(t->status));
	t->object = registry_object(t, json);
	return ks_budget_take(&t->ctx, &t->object, KS_STR_LIT("p"), &t->status);
}

static void test_budget_is_used_up(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "policy", "v1", "poddisruptionbudgets");
	assert_int_equal(take(&t, "{'observedGeneration':1,'disruptionsAllowed':1,'currentHealthy':2,'desiredHealthy':1}"), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'disruptionsAllowed':0"));
	assert_non_null(strstr(registry_json(&t, &t.object), "'disruptedPods':{'p':'"));
	assert_non_null(strstr(registry_json(&t, &t.object), "'reason':'InsufficientPods'"));
	registry_close(&t);
}

static void test_budget_that_is_empty_refuses(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "policy", "v1", "poddisruptionbudgets");
	assert_int_equal(take(&t, "{'observedGeneration':1,'disruptionsAllowed':0,'currentHealthy':1,'desiredHealthy':1}"), 429);
	assert_string_equal(t.status.causes->message, "The disruption budget b needs 1 healthy pods and has 1 currently");
	assert_int_equal(t.status.retry_after_seconds, 0);
	registry_close(&t);
}

static void test_budget_that_nobody_has_looked_at_refuses(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "policy", "v1", "poddisruptionbudgets");
	assert_int_equal(take(&t, "{'observedGeneration':0,'disruptionsAllowed':5,'currentHealthy':6,'desiredHealthy':1}"), 429);
	assert_string_equal(t.status.causes->message, "The disruption budget b is still being processed by the server.");
	assert_int_equal(t.status.retry_after_seconds, 10);
	registry_close(&t);
}

static void test_budget_covers_by_its_selector(void **state)
{
	static const struct ks_label web = {KS_STR_LIT("app"), KS_STR_LIT("web")}, db = {KS_STR_LIT("app"), KS_STR_LIT("db")};
	struct registry_test t;

	(void)state;
	registry_open(&t, "policy", "v1", "poddisruptionbudgets");
	t.object = registry_object(&t, "{'spec':{'selector':{'matchLabels':{'app':'web'}}}}");
	assert_true(ks_budget_covers(&t.ctx, &t.object, &web, 1));
	assert_false(ks_budget_covers(&t.ctx, &t.object, &db, 1));
	t.object = registry_object(&t, "{'spec':{'selector':{}}}");
	assert_false(ks_budget_covers(&t.ctx, &t.object, &web, 1));
	registry_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binding_gives_node_labels_and_condition),
		cmocka_unit_test(test_binding_refuses_a_pod_that_has_a_node),
		cmocka_unit_test(test_binding_refuses_a_gated_pod),
		cmocka_unit_test(test_binding_names_a_node),
		cmocka_unit_test(test_budget_is_used_up),
		cmocka_unit_test(test_budget_that_is_empty_refuses),
		cmocka_unit_test(test_budget_that_nobody_has_looked_at_refuses),
		cmocka_unit_test(test_budget_covers_by_its_selector),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
