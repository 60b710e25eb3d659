/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with pods and workloads. */
#include "registry-help.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define POD(spec) "{'metadata':{'name':'p'},'spec':{" spec "}}"
#define CONTAINER "'name':'c','image':'i:1'"
#define TEMPLATE "'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{" CONTAINER "}]}}"

/* The causes of a create: "field" of each, with spaces between them. */
static const char *fields_of(const char *group, const char *resource, const char *json)
{
	static char text[1024];
	struct registry_test t;
	size_t n = 0;

	text[0] = 0;
	registry_open(&t, group, "v1", resource);
	registry_create(&t, json);
	for (const struct ks_status_cause *c = t.status.causes; c; c = c->next)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", c->field);
	registry_close(&t);
	return text;
}

static void test_a_good_pod(void **state)
{
	(void)state;
	assert_string_equal(fields_of("", "pods", POD("'containers':[{" CONTAINER "}]")), "");
}

static void test_a_pod_without_containers(void **state)
{
	(void)state;
	assert_string_equal(fields_of("", "pods", POD("")), "spec.containers");
}

static void test_causes_of_a_container_in_order(void **state)
{
	(void)state;
	assert_string_equal(fields_of("", "pods", POD("'containers':[{'name':'-','env':[{'name':''}],'ports':[{}],'imagePullPolicy':'x'}]")),
		"spec.containers[0].name spec.containers[0].image spec.containers[0].ports[0].containerPort spec.containers[0].env[0].name "
		"spec.containers[0].imagePullPolicy");
}

static void test_a_mount_without_its_volume(void **state)
{
	(void)state;
	assert_string_equal(fields_of("", "pods", POD("'volumes':[{'name':'v','hostPath':{}}],'containers':[{" CONTAINER ",'volumeMounts':[{'name':'v','mountPath':'/x'}]}]")),
		"spec.volumes[0].hostPath.path spec.containers[0].volumeMounts[0].name");
}

static void test_names_are_unique_across_lists(void **state)
{
	(void)state;
	assert_string_equal(fields_of("", "pods", POD("'containers':[{" CONTAINER "}],'initContainers':[{" CONTAINER "}]")), "spec.initContainers[0].name");
}

static void test_a_selector_that_misses_its_template(void **state)
{
	(void)state;
	assert_string_equal(fields_of("apps", "deployments", "{'metadata':{'name':'d'},'spec':{" TEMPLATE "}}"), "");
	assert_string_equal(fields_of("apps", "deployments", "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'x'}},'template':{'metadata':{'labels':{"
							     "'a':'b'}},'spec':{'containers':[{" CONTAINER "}]}}}}"),
		"spec.template.metadata.labels");
}

static void test_pods_of_a_set_have_its_claims(void **state)
{
	(void)state;
	assert_string_equal(fields_of("apps", "statefulsets",
				    "{'metadata':{'name':'s'},'spec':{'serviceName':'s','selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}},"
				    "'spec':{'containers':[{" CONTAINER ",'volumeMounts':[{'name':'data','mountPath':'/x'}]}]}},'volumeClaimTemplates':[{'metadata':{"
				    "'name':'data'},'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}]}}"),
		"");
}

static const char *schedule(const char *text)
{
	char json[512];

	snprintf(json, sizeof(json),
		"{'metadata':{'name':'c'},'spec':{'schedule':'%s','jobTemplate':{'spec':{'template':{'spec':{'restartPolicy':'Never','containers':[{" CONTAINER
		"}]}}}}}}",
		text);
	return fields_of("batch", "cronjobs", json);
}

static void test_schedules(void **state)
{
	(void)state;
	assert_string_equal(schedule("*/5 0-4,8 ? jan-mar MON"), "");
	assert_string_equal(schedule("@hourly"), "");
	assert_string_equal(schedule("* * * *"), "spec.schedule");
	assert_string_equal(schedule("60 * * * *"), "spec.schedule");
	assert_string_equal(schedule("5-1 * * * *"), "spec.schedule");
	assert_string_equal(schedule("*/0 * * * *"), "spec.schedule");
	assert_string_equal(schedule("1-2-3 * * * *"), "spec.schedule");
	assert_string_equal(schedule("@reboot"), "spec.schedule");
}

static void test_a_long_list_takes_linear_time(void **state)
{
	enum { N = 20000 };
	static char json[N * 48 + 256];
	size_t n;
	clock_t start;

	(void)state;
	n = (size_t)snprintf(json, sizeof(json), "{'metadata':{'name':'p'},'spec':{'containers':[{" CONTAINER ",'ports':[");
	for (int i = 0; i < N; i++)
		n += (size_t)snprintf(json + n, sizeof(json) - n, "%s{'name':'p%d','containerPort':1}", i ? "," : "", i);
	snprintf(json + n, sizeof(json) - n, "]}]}}");
	start = clock();
	assert_string_equal(fields_of("", "pods", json), "");
	assert_true((clock() - start) / CLOCKS_PER_SEC < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_good_pod),
		cmocka_unit_test(test_a_pod_without_containers),
		cmocka_unit_test(test_causes_of_a_container_in_order),
		cmocka_unit_test(test_a_mount_without_its_volume),
		cmocka_unit_test(test_names_are_unique_across_lists),
		cmocka_unit_test(test_a_selector_that_misses_its_template),
		cmocka_unit_test(test_pods_of_a_set_have_its_claims),
		cmocka_unit_test(test_schedules),
		cmocka_unit_test(test_a_long_list_takes_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
