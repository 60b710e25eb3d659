/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What /status may say after what it said before, and fields of features that are off. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/registry-help.h"

/* The status of a write that turns one object into another; "" when it was taken. */
static const char *update(struct registry_test *t, const char *subresource, const char *before, const char *after)
{
	struct ks_value old = registry_object(t, before);

	t->object = registry_object(t, after);
	t->ctx.subresource = ks_str_from(subresource);
	memset(&t->status, 0, sizeof(t->status));
	if (!ks_registry_before_update(&t->ctx, &t->object, &old, &t->status))
		return "";
	return t->status.message;
}

#define JOB(spec, status) "{'metadata':{'name':'j','namespace':'n','uid':'u','resourceVersion':'1'},'spec':{" spec "},'status':{" status "}}"
#define INDEXED "'completionMode':'Indexed','completions':5,'parallelism':2,'backoffLimitPerIndex':1"

static void assert_job(const char *spec_and_before, const char *after, const char *why)
{
	struct registry_test t;
	const char *said;

	registry_open(&t, "batch", "v1", "jobs");
	said = update(&t, "status", spec_and_before, after);
	if (why ? !strstr(said, why) : *said)
		fail_msg("wanted %s, got %s", why ? why : "nothing", said);
	registry_close(&t);
}

static void job_ends_by_way_of_its_criteria(void **state)
{
	(void)state;
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'conditions':[{'type':'Complete','status':'True'}],'startTime':'2024-01-01T00:00:00Z','completionTime':'2024-01-01T00:00:01Z'"),
		"without the SuccessCriteriaMet=true condition");
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'conditions':[{'type':'SuccessCriteriaMet','status':'True'},{'type':'Complete','status':'True'}],"
		"'startTime':'2024-01-01T00:00:00Z','completionTime':'2024-01-01T00:00:01Z'"), NULL);
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'conditions':[{'type':'SuccessCriteriaMet','status':'True'},{'type':'Complete','status':'True'}],"
		"'startTime':'2024-01-01T00:00:02Z','completionTime':'2024-01-01T00:00:01Z'"), "completionTime cannot be set before startTime");
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'active':1,'conditions':[{'type':'FailureTarget','status':'True'},{'type':'Failed','status':'True'}],"
		"'startTime':'2024-01-01T00:00:00Z'"), "active>0 is invalid for finished job");
}

static void job_counts_do_not_go_back(void **state)
{
	(void)state;
	assert_job(JOB(INDEXED, "'failed':2"), JOB(INDEXED, "'failed':1"), "cannot decrease the failed counter");
	assert_job(JOB(INDEXED, "'succeeded':2"), JOB(INDEXED, "'succeeded':1"), "cannot decrease the succeeded counter");
	assert_job(JOB("'completionMode':'Indexed','completions':2,'parallelism':2", "'succeeded':2"),
		JOB("'completionMode':'Indexed','completions':2,'parallelism':2", "'succeeded':1"), NULL);
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'ready':2,'active':1"), "cannot set more ready pods than active");
	assert_job(JOB(INDEXED, "'conditions':[{'type':'FailureTarget','status':'True'}]"), JOB(INDEXED, ""),
		"cannot disable the terminal FailureTarget=True condition");
}

static void job_indexes_are_read(void **state)
{
	(void)state;
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'completedIndexes':'0,2-4'"), NULL);
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'completedIndexes':'3,1'"), "error parsing completedIndexes: non-increasing order, previous: 3, current: 1");
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'completedIndexes':'0-2','failedIndexes':'1,4'"), "overlap at index: 1");
	assert_job(JOB(INDEXED, ""), JOB(INDEXED, "'completedIndexes':'0-2','failedIndexes':'3-4'"), NULL);
	assert_job(JOB("'completions':5", ""), JOB("'completions':5", "'completedIndexes':'0'"), "when non-indexed completion mode");
	assert_job(JOB("'completions':5", ""), JOB("'completions':5", "'failedIndexes':''"), "when backoffLimitPerIndex is null");
	/* What was said before is nothing new. */
	assert_job(JOB(INDEXED, "'completedIndexes':'9'"), JOB(INDEXED, "'completedIndexes':'9','active':1"), NULL);
}

#define CLAIM(status) "{'metadata':{'name':'c','namespace':'n','uid':'u','resourceVersion':'1'},'spec':{'accessModes':['ReadWriteOnce']},'status':{" status "}}"

static void claim_sizes_are_of_storage(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "persistentvolumeclaims");
	assert_string_equal(update(&t, "status", CLAIM(""), CLAIM("'allocatedResources':{'storage':'1Gi','example.com/x':'2'},'capacity':{'storage':'1Gi'}")), "");
	assert_non_null(strstr(update(&t, "status", CLAIM(""), CLAIM("'allocatedResources':{'cpu':'1'}")), "status.allocatedResources: Unsupported value: \"cpu\""));
	assert_non_null(strstr(update(&t, "status", CLAIM(""), CLAIM("'capacity':{'storage':'-1'}")),
		"status.capacity[storage]: Invalid value: -1: must be a valid resource quantity"));
	assert_non_null(strstr(update(&t, "status", CLAIM(""), CLAIM("'allocatedResourceStatuses':{'storage':'Soon'}")), "status.allocatedResourceStatus"));
	registry_close(&t);
}

static void features_that_are_off_leave_nothing(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "coordination.k8s.io", "v1", "leases");
	assert_int_equal(registry_create(&t, "{'metadata':{'name':'l'},'spec':{'holderIdentity':'a','preferredHolder':'b','strategy':'OldestEmulationVersion'}}"), 0);
	assert_string_equal(registry_text(&t, &t.object, "spec.holderIdentity"), "a");
	assert_string_equal(registry_text(&t, &t.object, "spec.preferredHolder"), "");
	assert_string_equal(registry_text(&t, &t.object, "spec.strategy"), "");
	/* Where it stood already it may be changed. */
	update(&t, "", "{'metadata':{'name':'l','namespace':'n','resourceVersion':'1'},'spec':{'preferredHolder':'b'}}",
		"{'metadata':{'name':'l','namespace':'n','resourceVersion':'1'},'spec':{'preferredHolder':'c','strategy':'S'}}");
	assert_string_equal(registry_text(&t, &t.object, "spec.preferredHolder"), "c");
	assert_string_equal(registry_text(&t, &t.object, "spec.strategy"), "");
	registry_close(&t);
}

static void claims_drop_sources_that_nobody_serves(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "persistentvolumeclaims");
	registry_create(&t, "{'metadata':{'name':'c'},'spec':{'dataSource':{'apiGroup':'x.io','kind':'Y','name':'z'}}}");
	assert_null(strstr(registry_json(&t, &t.object), "dataSource"));
	registry_create(&t, "{'metadata':{'name':'c'},'spec':{'dataSourceRef':{'kind':'PersistentVolumeClaim','name':'z','namespace':'other'}}}");
	assert_null(strstr(registry_json(&t, &t.object), "dataSource"));
	registry_create(&t, "{'metadata':{'name':'c'},'spec':{'dataSourceRef':{'apiGroup':'x.io','kind':'Y','name':'z'}}}");
	assert_string_equal(registry_text(&t, &t.object, "spec.dataSource.kind"), "Y");
	registry_close(&t);
}

static void amounts_are_kept_in_thousandths(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "persistentvolumes");
	registry_create(&t, "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'0.0001','x.io/y':'1.5'}}}");
	assert_non_null(strstr(registry_json(&t, &t.object), "'capacity':{'storage':'1m','x.io/y':'1500m'}"));
	registry_close(&t);
}

static void taints_of_devices_hold_since_they_are_known(void **state)
{
	struct registry_test t;

	(void)state;
	registry_open(&t, "resource.k8s.io", "v1", "resourceslices");
	registry_create(&t, "{'metadata':{'name':'s'},'spec':{'devices':[{'name':'d','taints':[{'key':'k','effect':'NoExecute'},"
		"{'key':'l','effect':'NoExecute','timeAdded':'2020-01-01T00:00:00Z'}]}]}}");
	assert_non_null(strstr(registry_json(&t, &t.object), "{'key':'k','effect':'NoExecute','timeAdded':'2023-11-14T22:13:20Z'}"));
	assert_non_null(strstr(registry_json(&t, &t.object), "{'key':'l','effect':'NoExecute','timeAdded':'2020-01-01T00:00:00Z'}"));
	registry_close(&t);
}

/* What is said of an object that is new; "" when it is taken. */
static void assert_created(const char *group, const char *resource, const char *object, const char *why)
{
	struct registry_test t;
	const char *said;

	registry_open(&t, group, "v1", resource);
	said = registry_create(&t, object) ? t.status.message : "";
	if (why ? !strstr(said, why) : *said)
		fail_msg("wanted %s, got %s", why ? why : "nothing", said);
	registry_close(&t);
}

#define CSR(request) "{'metadata':{'name':'c'},'spec':{'signerName':'a.b/c','usages':['any'],'request':'" request "'}}"

static void requests_for_certificates_are_read(void **state)
{
	(void)state;
	assert_created("certificates.k8s.io", "certificatesigningrequests", CSR("bm9uZQ=="), "PEM block type must be CERTIFICATE REQUEST");
	/* "not a request" within a block */
	assert_created("certificates.k8s.io", "certificatesigningrequests",
		CSR("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KYm05MElHRWdjbVZ4ZFdWemRBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="),
		"asn1: structure error: tags don't match (16 vs {class:1 tag:14 length:111 isCompound:true})");
	/* a sequence that holds nothing */
	assert_created("certificates.k8s.io", "certificatesigningrequests",
		CSR("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFBPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"), "asn1: syntax error: sequence truncated");
	/* one whose sequence is longer than all there is */
	assert_created("certificates.k8s.io", "certificatesigningrequests",
		CSR("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUFVQgotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"), "asn1: syntax error: data truncated");
}

#define HOOK(url) \
	"{'metadata':{'name':'c'},'webhooks':[{'name':'a.b.c','sideEffects':'None','admissionReviewVersions':['v1'],'clientConfig':{'url':'" url "'}}]}"

static void urls_of_webhooks_are_read(void **state)
{
	static const struct {
		const char *object, *why;
	} cases[] = {
		{HOOK("https://h:80/p"), NULL},
		{HOOK("HTTPS://[::1]:80"), NULL},
		{HOOK("http://h"), "Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]"},
		{HOOK(":x"), "clientConfig.url: Required value: url must be a valid URL: parse \":x\": missing protocol scheme; desired format: https://host[/path]"},
		{HOOK("https://h:x/"), "parse \"https://h:x/\": invalid port \":x\" after host"},
		{HOOK("https://a b"), "parse \"https://a b\": invalid character \" \" in host name"},
		{HOOK("https://h/%zz#f"), "parse \"https://h/%zz\": invalid URL escape \"%zz\""},
		{HOOK("1:x"), "first path segment in URL cannot contain colon"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_created("admissionregistration.k8s.io", "validatingwebhookconfigurations", cases[i].object, cases[i].why);
}

static void controllers_are_paths_of_domains(void **state)
{
	(void)state;
	assert_created("networking.k8s.io", "ingressclasses", "{'metadata':{'name':'c'},'spec':{'controller':'a.b/c:d'}}", NULL);
	assert_created("networking.k8s.io", "ingressclasses", "{'metadata':{'name':'c'},'spec':{'controller':'a.b/c d'}}",
		"spec.controller: Invalid value: \"c d\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

#define ENDED(policy, container, code) "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'1'},'spec':{'restartPolicy':'" policy \
	"','containers':[{'name':'c','image':'i'" container "}]},'status':{'containerStatuses':[{'name':'c','state':{" code "}}]}}"
#define CODE(n) "'terminated':{'exitCode':" #n "}"
#define RULE ",'restartPolicy':'Never','restartPolicyRules':[{'action':'Restart','exitCodes':{'operator':'In','values':[42]}}]"

static void containers_start_again_by_their_rules(void **state)
{
	static const char refused[] = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state";
	static const struct {
		const char *before, *after, *why;
	} cases[] = {
		{ENDED("Always", "", CODE(0)), ENDED("Always", "", ""), ""},
		{ENDED("Never", "", CODE(1)), ENDED("Never", "", ""), refused},
		{ENDED("OnFailure", "", CODE(1)), ENDED("OnFailure", "", ""), ""},
		{ENDED("OnFailure", "", CODE(0)), ENDED("OnFailure", "", ""), refused},
		{ENDED("Never", ",'restartPolicy':'OnFailure'", CODE(1)), ENDED("Never", ",'restartPolicy':'OnFailure'", ""), ""},
		{ENDED("Always", ",'restartPolicy':'Never'", CODE(1)), ENDED("Always", ",'restartPolicy':'Never'", ""), refused},
		{ENDED("Always", RULE, CODE(42)), ENDED("Always", RULE, ""), ""},
		{ENDED("Always", RULE, CODE(41)), ENDED("Always", RULE, ""), refused},
	};
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *said = update(&t, "status", cases[i].before, cases[i].after);

		if (*cases[i].why ? !strstr(said, cases[i].why) : *said)
			fail_msg("case %zu: wanted '%s', got %s", i, cases[i].why, said);
	}
	registry_close(&t);
}

#define POD(status) "{'metadata':{'name':'p','namespace':'n','uid':'u','resourceVersion':'1'},'spec':{'restartPolicy':'Always','containers':" \
	"[{'name':'c','image':'i','resources':{'requests':{'a.b/r':'1'},'limits':{'a.b/r':'1'},'claims':[{'name':'k','request':'q'}]}}]}," \
	"'status':{" status "}}"
#define ALLOCATED(list) POD("'containerStatuses':[{'name':'c','image':'i','allocatedResourcesStatus':" list "}]")
#define MAPPED(name, mappings) POD("'extendedResourceClaimStatus':{'resourceClaimName':'" name "','requestMappings':" mappings "}")

static void pods_say_what_they_were_given(void **state)
{
	static const struct {
		const char *after, *why;
	} cases[] = {
		{ALLOCATED("[{'name':'a.b/r','resources':[{'resourceID':'1','health':'Healthy'}]},{'name':'claim:k/q'}]"), NULL},
		{ALLOCATED("[{'name':'a.b/s'}]"), "containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: \"a.b/s\": must match one of the container's resource requests"},
		{ALLOCATED("[{'name':'claim:k'}]"), "must match one of the container's resource claims in a format"},
		{ALLOCATED("[{'name':'a.b/r','resources':[{'resourceID':'1','health':'Ill'},{'resourceID':'2','health':'Unknown'}]}]"),
			"allocatedResourcesStatus[0].resources[0].health: Unsupported value: \"Ill\": supported values: \"Healthy\", \"Unhealthy\", \"Unknown\""},
		{ALLOCATED("[{'name':'a.b/r','resources':[{'resourceID':'1','health':'Healthy'},{'resourceID':'1','health':'Unknown'}]}]"),
			"resources[1].resourceID: Duplicate value: \"1\""},
		{POD("'ephemeralContainerStatuses':[{'name':'e','image':'i','allocatedResourcesStatus':[{'name':'a.b/r'}]}]"),
			"status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status"},
		{MAPPED("x", "[{'containerName':'c','resourceName':'a.b/r','requestName':'q'}]"), NULL},
		{MAPPED("x", "[]"), "requestMappings: Required value: at least one request mapping is required"},
		{MAPPED("", "[{'containerName':'c','resourceName':'a.b/r','requestName':'q'}]"), "resourceClaimName: Required value"},
		{MAPPED("x", "[{'containerName':'d','resourceName':'a.b/r','requestName':'q'}]"), "requestMappings[0].containerName: Invalid value: \"d\""},
		{MAPPED("x", "[{'containerName':'c','resourceName':'a.b/s','requestName':'q'}]"), "requestMappings[0].resourceName: Invalid value: \"a.b/s\""},
		{MAPPED("x", "[{'containerName':'c','resourceName':'a.b/r','requestName':'Q'}]"), "extendedResourceClaimStatus.requestName: Invalid value: \"Q\""},
		{POD("'conditions':[{'type':'Ready','status':'True','observedGeneration':-1}]"), "status.conditions[0].observedGeneration: Invalid value: -1"},
	};
	struct registry_test t;

	(void)state;
	registry_open(&t, "", "v1", "pods");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *said = update(&t, "status", POD(""), cases[i].after);

		if (cases[i].why ? !strstr(said, cases[i].why) : *said)
			fail_msg("wanted %s, got %s", cases[i].why ? cases[i].why : "nothing", said);
	}
	registry_close(&t);
}

#define NODE(status) "{'metadata':{'name':'n'},'status':{" status "}}"

static void nodes_declare_features_in_order(void **state)
{
	(void)state;
	assert_created("", "nodes", NODE("'declaredFeatures':['A','B/sub','C1']"), NULL);
	assert_created("", "nodes", NODE("'declaredFeatures':['B','A']"), "status.declaredFeatures[1]: Invalid value: \"A\": list must be sorted alphabetically");
	assert_created("", "nodes", NODE("'declaredFeatures':['A','A']"), "status.declaredFeatures[1]: Duplicate value: \"A\"");
	assert_created("", "nodes", NODE("'declaredFeatures':['a']"), "invalid feature name \"a\": must start with an UpperCamelCase segment");
	assert_created("", "nodes", NODE("'declaredFeatures':['A//b']"), "invalid feature name");
	assert_created("", "nodes", NODE("'nodeInfo':{'swap':{'capacity':0}}"), "metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(job_ends_by_way_of_its_criteria),
		cmocka_unit_test(job_counts_do_not_go_back),
		cmocka_unit_test(job_indexes_are_read),
		cmocka_unit_test(claim_sizes_are_of_storage),
		cmocka_unit_test(features_that_are_off_leave_nothing),
		cmocka_unit_test(claims_drop_sources_that_nobody_serves),
		cmocka_unit_test(amounts_are_kept_in_thousandths),
		cmocka_unit_test(taints_of_devices_hold_since_they_are_known),
		cmocka_unit_test(requests_for_certificates_are_read),
		cmocka_unit_test(urls_of_webhooks_are_read),
		cmocka_unit_test(controllers_are_paths_of_domains),
		cmocka_unit_test(containers_start_again_by_their_rules),
		cmocka_unit_test(pods_say_what_they_were_given),
		cmocka_unit_test(nodes_declare_features_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
