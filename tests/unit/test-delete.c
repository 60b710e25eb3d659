/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a deletion comes to, and what updates may do to an object that is being deleted, or to a part of it. */
#include "registry-help.h"

#include <stdio.h>
#include <string.h>

/* 22:13:20 is the tests' now. */
#define DELETING "'deletionTimestamp':'2023-11-14T22:13:50Z','deletionGracePeriodSeconds':30"

static enum ks_delete_step delete_with(struct registry_test *t, const char *json, struct ks_delete_policy policy)
{
	t->warning[0] = '\0';
	t->object = registry_object(t, json);
	return ks_registry_delete(&t->ctx, &t->object, &policy);
}

static enum ks_delete_step delete_in(struct registry_test *t, const char *json, int64_t grace)
{
	return delete_with(t, json, (struct ks_delete_policy){.grace_seconds = grace, .orphan_dependents = -1});
}

static int64_t number(struct registry_test *t, const char *path)
{
	const struct ks_value *v = ks_value_at(t->ctx.schema, &t->object, path);

	return ks_value_present(v) && v->kind == KS_INT ? v->integer : -1;
}

/* "a,b" of metadata.finalizers. */
static const char *finalizers(struct registry_test *t)
{
	static char text[256];
	const struct ks_value *list = ks_value_at(t->ctx.schema, &t->object, "metadata.finalizers");
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; ks_value_present(list) && i < list->n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s", i ? "," : "", (int)list->items[i].n, list->items[i].string);
	return text;
}

/* -- grace -------------------------------------------------------------------------------------------------------- */

static void test_time_is_given_where_a_node_needs_it(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_int_equal(delete_in(&t, "{'metadata':{'name':'a','generation':3},'spec':{'nodeName':'x','terminationGracePeriodSeconds':30}}", -1),
		KS_DELETE_UPDATE);
	assert_int_equal(number(&t, "metadata.deletionGracePeriodSeconds"), 30);
	assert_int_equal(number(&t, "metadata.generation"), 4);
	assert_int_equal(delete_in(&t, "{'metadata':{'name':'a'},'spec':{'nodeName':'x','terminationGracePeriodSeconds':30}}", 7), KS_DELETE_UPDATE);
	assert_string_equal(registry_text(&t, &t.object, "metadata.deletionTimestamp"), "2023-11-14T22:13:27Z");
	/* Less than no time is a second. */
	assert_int_equal(delete_in(&t, "{'metadata':{'name':'a'},'spec':{'nodeName':'x','terminationGracePeriodSeconds':-5}}", -1), KS_DELETE_UPDATE);
	assert_int_equal(number(&t, "metadata.deletionGracePeriodSeconds"), 1);
	registry_close(&t);
}

static void test_no_time_is_given_where_nobody_needs_it(void **state)
{
	static const char *const pods[] = {
		"{'metadata':{'name':'a'},'spec':{'terminationGracePeriodSeconds':30}}",
		"{'metadata':{'name':'a'},'spec':{'nodeName':'x','terminationGracePeriodSeconds':30},'status':{'phase':'Succeeded'}}",
		"{'metadata':{'name':'a'},'spec':{'nodeName':'x','terminationGracePeriodSeconds':30},'status':{'phase':'Failed'}}",
		"{'metadata':{'name':'a'},'spec':{'nodeName':'x','terminationGracePeriodSeconds':0}}",
	};
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	for (size_t i = 0; i < sizeof(pods) / sizeof(pods[0]); i++) {
		assert_int_equal(delete_in(&t, pods[i], -1), KS_DELETE_UPDATE_REMOVE);
		assert_int_equal(number(&t, "metadata.deletionGracePeriodSeconds"), 0);
	}
	registry_close(&t);
}

static void test_time_can_only_become_shorter(void **state)
{
	static const char pod[] = "{'metadata':{'name':'a','generation':4," DELETING "},'spec':{'nodeName':'x','terminationGracePeriodSeconds':30}}";
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_int_equal(delete_in(&t, pod, -1), KS_DELETE_PENDING);
	assert_int_equal(delete_in(&t, pod, 30), KS_DELETE_PENDING);
	assert_int_equal(delete_in(&t, pod, 10), KS_DELETE_UPDATE);
	assert_string_equal(registry_text(&t, &t.object, "metadata.deletionTimestamp"), "2023-11-14T22:13:30Z");
	assert_int_equal(number(&t, "metadata.generation"), 4);
	assert_int_equal(delete_in(&t, pod, 0), KS_DELETE_UPDATE_REMOVE);
	registry_close(&t);
}

static void test_finalizers_outlast_the_grace(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_int_equal(delete_in(&t, "{'metadata':{'name':'a','finalizers':['a.b/c']},'spec':{'nodeName':'x'}}", 0), KS_DELETE_UPDATE);
	assert_int_equal(number(&t, "metadata.deletionGracePeriodSeconds"), 0);
	registry_close(&t);
	registry_open(&t, "", "v1", "configmaps");
	assert_int_equal(delete_in(&t, "{'metadata':{'name':'a','finalizers':['a.b/c']}}", 30), KS_DELETE_UPDATE);
	assert_string_equal(registry_text(&t, &t.object, "metadata.deletionTimestamp"), "2023-11-14T22:13:20Z");
	assert_int_equal(number(&t, "metadata.deletionGracePeriodSeconds"), 0);
	registry_close(&t);
}

/* -- garbage collection ------------------------------------------------------------------------------------------- */

static const char *collected(struct registry_test *t, const char *held, char propagation, int8_t orphans)
{
	char json[256];

	snprintf(json, sizeof(json), "{'metadata':{'name':'a','finalizers':[%s]}}", held);
	delete_with(t, json, (struct ks_delete_policy){.grace_seconds = -1, .orphan_dependents = orphans, .propagation = propagation});
	return finalizers(t);
}

static void test_the_collector_is_asked_as_the_client_said(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "configmaps");
	assert_string_equal(collected(&t, "'a.b/c'", 'F', -1), "a.b/c,foregroundDeletion");
	assert_string_equal(collected(&t, "'a.b/c'", 'O', -1), "a.b/c,orphan");
	assert_string_equal(collected(&t, "'a.b/c','orphan'", 'B', -1), "a.b/c");
	assert_string_equal(collected(&t, "'orphan','a.b/c'", 'F', -1), "a.b/c,foregroundDeletion");
	assert_string_equal(collected(&t, "'foregroundDeletion'", 0, -1), "foregroundDeletion");
	assert_string_equal(collected(&t, "'a.b/c'", 0, 1), "a.b/c,orphan");
	assert_string_equal(collected(&t, "'a.b/c','foregroundDeletion'", 0, 0), "a.b/c");
	registry_close(&t);
}

static void test_kinds_have_habits_about_dependents(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "replicationcontrollers");
	assert_string_equal(collected(&t, "", 0, -1), "orphan");
	assert_string_equal(collected(&t, "", 'B', -1), "");
	registry_close(&t);
	registry_open(&t, "", "v1", "events");
	assert_string_equal(collected(&t, "", 'F', -1), "");
	registry_close(&t);
	registry_open(&t, "apps", "v1", "deployments");
	assert_string_equal(collected(&t, "", 0, -1), "");
	registry_close(&t);
	registry_open(&t, "batch", "v1", "jobs");
	assert_string_equal(collected(&t, "", 0, -1), "orphan");
	assert_memory_equal(t.warning, "child pods are preserved by default", 35);
	collected(&t, "", 'B', -1);
	assert_string_equal(t.warning, "");
	registry_close(&t);
}

/* -- the end of an update ----------------------------------------------------------------------------------------- */

static bool goes(struct registry_test *t, const char *old, const char *object)
{
	t->old = registry_object(t, old);
	t->object = registry_object(t, object);
	return ks_registry_gone_by_update(&t->ctx, &t->object, &t->old);
}

static void test_the_last_finalizer_lets_it_go(void **state)
{
	static const char held[] =
		"{'metadata':{'name':'a','finalizers':['x/y'],'deletionTimestamp':'2023-11-14T22:13:20Z','deletionGracePeriodSeconds':0}}";
	static const char waits[] = "{'metadata':{'name':'a','finalizers':['x/y']," DELETING "}}";
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_true(goes(&t, held, "{'metadata':{'name':'a'}}"));
	assert_false(goes(&t, held, "{'metadata':{'name':'a','finalizers':['x/z']}}"));
	/* Its grace is not over. */
	assert_false(goes(&t, waits, "{'metadata':{'name':'a'}}"));
	assert_false(goes(&t, "{'metadata':{'name':'a','finalizers':['x/y']}}", "{'metadata':{'name':'a'}}"));
	registry_close(&t);
}

static void test_a_namespace_has_finalizers_of_two_kinds(void **state)
{
	static const char held[] = "{'metadata':{'name':'a','finalizers':['x/y'],'deletionTimestamp':'2023-11-14T22:13:20Z'}}";
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "namespaces");
	assert_false(goes(&t, held, "{'metadata':{'name':'a'},'spec':{'finalizers':['kubernetes']}}"));
	assert_false(goes(&t, held, "{'metadata':{'name':'a','finalizers':['x/y']},'spec':{}}"));
	assert_true(goes(&t, held, "{'metadata':{'name':'a'},'spec':{}}"));
	registry_close(&t);
}

/* -- updates of parts --------------------------------------------------------------------------------------------- */

static int update_part(struct registry_test *t, const char *subresource, const char *old, const char *object)
{
	t->old = registry_object(t, old);
	t->object = registry_object(t, object);
	t->ctx.name = KS_STR_LIT("a");
	t->ctx.subresource = ks_str_from(subresource);
	memset(&t->status, 0, sizeof(t->status));
	assert_true(ks_registry_default(&t->ctx, &t->old));
	assert_true(ks_registry_default(&t->ctx, &t->object));
	return ks_registry_before_update(&t->ctx, &t->object, &t->old, &t->status);
}

static void test_status_updates_leave_metadata_alone_where_kinds_say_so(void **state)
{
	static const char old[] = "{'metadata':{'name':'a'%s,'resourceVersion':'1','labels':{'x':'old'},'annotations':{'x':'old'}}%s}";
	static const char now[] = "{'metadata':{'name':'a'%s,'resourceVersion':'1','labels':{'x':'new'},'annotations':{'x':'new'}}%s}";
	static const struct {
		const char *group, *resource, *rest, *labels, *annotations;
	} cases[] = {
		{"", "namespaces", ",'status':{'phase':'Active'}", "new", "new"},
		{"resource.k8s.io", "resourceclaims", ",'spec':{'devices':{'requests':[{'name':'r','exactly':{'deviceClassName':'c'}}]}}", "old",
			"old"},
		{"flowcontrol.apiserver.k8s.io", "flowschemas", ",'spec':{'matchingPrecedence':1,'priorityLevelConfiguration':{'name':'p'}}", "old",
			"old"},
		{"storage.k8s.io", "volumeattachments", ",'spec':{'attacher':'d','nodeName':'n','source':{'persistentVolumeName':'p'}}", "old",
			"old"},
	};
	struct registry_test t;
	char before[512], after[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		registry_open(&t, cases[i].group, "v1", cases[i].resource);
		snprintf(before, sizeof(before), old, t.ctx.ns.n ? ",'namespace':'n'" : "", cases[i].rest);
		snprintf(after, sizeof(after), now, t.ctx.ns.n ? ",'namespace':'n'" : "", cases[i].rest);
		if (update_part(&t, "status", before, after))
			fail_msg("%s: %s", cases[i].resource, t.status.message);
		assert_string_equal(registry_text(&t, &t.object, "metadata.labels.x"), cases[i].labels);
		assert_string_equal(registry_text(&t, &t.object, "metadata.annotations.x"), cases[i].annotations);
		registry_close(&t);
	}
}

#define CONTAINER(name, more) \
	"{'name':'" name "','image':'i:1','terminationMessagePolicy':'File','imagePullPolicy':'Always','resources':{'requests':{" more "}}}"
#define POD(containers, status)                                                                                           \
	"{'metadata':{'name':'a','namespace':'n','resourceVersion':'1','generation':1},'spec':{'containers':[" containers \
	"],'restartPolicy':'Always','dnsPolicy':'Default',"                                                               \
	"'terminationGracePeriodSeconds':1},'status':{'qosClass':'Burstable'" status "}}"

static void test_a_resize_changes_amounts_alone(void **state)
{
	static const char old[] = POD(CONTAINER("a", "'cpu':'1'") "," CONTAINER("b", "'cpu':'1'"), "");
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_int_equal(update_part(&t, "resize", old, POD(CONTAINER("a", "'cpu':'2'") "," CONTAINER("b", "'cpu':'1'"), "")), 0);
	assert_int_equal(number(&t, "metadata.generation"), 2);
	assert_int_equal(update_part(&t, "resize", old, POD(CONTAINER("b", "'cpu':'1'") "," CONTAINER("a", "'cpu':'1'"), "")), 422);
	assert_non_null(strstr(t.status.message, "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"));
	assert_int_equal(update_part(&t, "resize", old, POD(CONTAINER("a", "'cpu':'1'"), "")), 422);
	assert_string_equal(t.status.message, "Pod \"a\" is invalid: spec.containers: Forbidden: containers may not be added or removed on resize");
	assert_int_equal(
		update_part(&t, "resize", old, POD(CONTAINER("a", "'cpu':'1'") "," CONTAINER("b", "'cpu':'1','ephemeral-storage':'1'"), "")), 422);
	assert_string_equal(t.status.message, "Pod \"a\" is invalid: spec: Forbidden: only cpu and memory resources are mutable");
	registry_close(&t);
}

static void test_a_resize_needs_a_node_that_knows_of_it(void **state)
{
	static const char containers[] = CONTAINER("a", "'cpu':'1'");
	static const char running[] =
		",'containerStatuses':[{'name':'a','ready':true,'restartCount':0,'image':'i','imageID':'','state':{'running':{}}%s}]";
	char status[256], old[1024];
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	for (int i = 0; i < 2; i++) {
		snprintf(status, sizeof(status), running, i ? ",'resources':{}" : "");
		snprintf(old, sizeof(old),
			"{'metadata':{'name':'a','namespace':'n','resourceVersion':'1'},'spec':{'containers':[%s],'restartPolicy':'Always',"
			"'dnsPolicy':'Default','terminationGracePeriodSeconds':1},'status':{'qosClass':'Burstable'%s}}",
			containers, status);
		assert_int_equal(update_part(&t, "resize", old, POD(CONTAINER("a", "'cpu':'2'"), "")), i ? 0 : 422);
		if (!i)
			assert_string_equal(
				t.status.message, "Pod \"a\" is invalid: spec: Forbidden: Pod running on node without support for resize");
	}
	registry_close(&t);
}

static int64_t seen_at(struct registry_test *t, uint32_t condition)
{
	const struct ks_value *list = ks_value_at(t->ctx.schema, &t->object, "status.conditions");
	const struct ks_value *v = ks_value_get(t->ctx.schema, &list->items[condition], "observedGeneration");

	return ks_value_present(v) ? v->integer : -1;
}

static void test_observed_generations_are_not_forgotten(void **state)
{
	static const char old[] = POD(CONTAINER("a", "'cpu':'1'"),
		",'observedGeneration':5,'conditions':[{'type':'X','status':'True','observedGeneration':1},"
		"{'type':'Y','status':'True','observedGeneration':2},{'type':'X','status':'False','observedGeneration':3}]");
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	assert_int_equal(
		update_part(&t, "status", old,
			POD(CONTAINER("a", "'cpu':'1'"),
				",'conditions':[{'type':'X','status':'True'},"
				"{'type':'X','status':'True'},{'type':'Y','status':'False','observedGeneration':4},{'type':'Z','status':'True'}]")),
		0);
	assert_int_equal(number(&t, "status.observedGeneration"), 5);
	assert_int_equal(seen_at(&t, 0), 1);
	assert_int_equal(seen_at(&t, 1), 3);
	assert_int_equal(seen_at(&t, 2), 4);
	assert_int_equal(seen_at(&t, 3), -1);
	registry_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_is_given_where_a_node_needs_it),
		cmocka_unit_test(test_no_time_is_given_where_nobody_needs_it),
		cmocka_unit_test(test_time_can_only_become_shorter),
		cmocka_unit_test(test_finalizers_outlast_the_grace),
		cmocka_unit_test(test_the_collector_is_asked_as_the_client_said),
		cmocka_unit_test(test_kinds_have_habits_about_dependents),
		cmocka_unit_test(test_the_last_finalizer_lets_it_go),
		cmocka_unit_test(test_a_namespace_has_finalizers_of_two_kinds),
		cmocka_unit_test(test_status_updates_leave_metadata_alone_where_kinds_say_so),
		cmocka_unit_test(test_a_resize_changes_amounts_alone),
		cmocka_unit_test(test_a_resize_needs_a_node_that_knows_of_it),
		cmocka_unit_test(test_observed_generations_are_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
