/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

#include <stdio.h>

extern const struct ks_plugin ks_plugin_podsecurity;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_podsecurity, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

#define POD(spec) "{\"metadata\":{\"name\":\"p\"},\"spec\":{" spec "}}"
#define GOOD                                                                                                                                       \
	"\"securityContext\":{\"allowPrivilegeEscalation\":false,\"capabilities\":{\"drop\":[\"ALL\"]},\"runAsNonRoot\":true,\"seccompProfile\":{" \
	"\"type\":"                                                                                                                                \
	"\"RuntimeDefault\"}}"

static void set_namespace(struct admission_fixture *f, const char *labels)
{
	char json[512];

	snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"ns\",\"labels\":{%s}}}", labels);
	assert_int_equal(ks_fake_object_set(f->fake, "", "namespaces", json), 0);
}

static const char *check_pod(struct admission_fixture *f, const char *pod)
{
	return admission_validate(f, (struct admission_question){"pods", pod, NULL, NULL});
}

static void without_labels_all_is_allowed(void **state)
{
	set_namespace(*state, "");
	assert_string_equal(check_pod(*state, POD("\"hostNetwork\":true,\"containers\":[{\"name\":\"c\"}]")), "");
}

static void baseline_keeps_pods_off_the_host(void **state)
{
	set_namespace(*state, "\"pod-security.kubernetes.io/enforce\":\"baseline\"");
	assert_string_equal(check_pod(*state, POD("\"containers\":[{\"name\":\"c\"}]")), "");
	assert_string_equal(
		check_pod(*state,
			POD("\"hostNetwork\":true,\"hostPID\":true,\"containers\":[{\"name\":\"c\",\"securityContext\":{\"privileged\":true}}]")),
		"violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true, hostPID=true), privileged (container \"c\" must not "
		"set "
		"securityContext.privileged=true)");
	assert_string_equal(
		check_pod(*state,
			POD("\"volumes\":[{\"name\":\"a\",\"hostPath\":{}}],\"containers\":[{\"name\":\"c\",\"ports\":[{\"hostPort\":80}]}]")),
		"violates PodSecurity \"baseline:latest\": hostPath volumes (volume \"a\"), hostPort (container \"c\" uses hostPort 80)");
}

static void restricted_asks_for_more(void **state)
{
	set_namespace(*state, "\"pod-security.kubernetes.io/enforce\":\"restricted\"");
	assert_string_equal(check_pod(*state, POD("\"containers\":[{\"name\":\"c\"," GOOD "}]")), "");
	assert_string_equal(check_pod(*state, POD("\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]")),
		"violates PodSecurity \"restricted:latest\": allowPrivilegeEscalation != false (containers \"a\", \"b\" must set "
		"securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (containers \"a\", \"b\" must set "
		"securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or containers \"a\", \"b\" must set "
		"securityContext.runAsNonRoot=true), seccompProfile (pod or containers \"a\", \"b\" must set securityContext.seccompProfile.type to "
		"\"RuntimeDefault\" or \"Localhost\")");
	assert_string_equal(check_pod(*state, POD("\"volumes\":[{\"name\":\"v\",\"hostPath\":{}}],\"containers\":[{\"name\":\"c\"," GOOD "}]")),
		"violates PodSecurity \"restricted:latest\": restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")");
}

static void an_old_version_asks_for_less(void **state)
{
	set_namespace(*state, "\"pod-security.kubernetes.io/enforce\":\"restricted\",\"pod-security.kubernetes.io/enforce-version\":\"v1.0\"");
	assert_string_equal(check_pod(*state, POD("\"containers\":[{\"name\":\"c\",\"securityContext\":{\"runAsNonRoot\":true}}]")), "");
	assert_has(check_pod(*state, POD("\"containers\":[{\"name\":\"c\"}]")), "\"restricted:v1.0\": runAsNonRoot");
}

static void what_makes_pods_is_warned_of(void **state)
{
	struct admission_fixture *f = *state;

	set_namespace(f, "\"pod-security.kubernetes.io/enforce\":\"baseline\",\"pod-security.kubernetes.io/warn\":\"baseline\"");
	assert_string_equal(admission_validate(f,
				    (struct admission_question){"apps/deployments",
					    "{\"spec\":{\"template\":{\"spec\":{\"hostIPC\":true,\"containers\":[]}}}}", NULL, NULL}),
		"");
	assert_int_equal(f->result.n_warnings, 1);
	assert_memory_equal(
		f->result.warnings[0].p, "would violate PodSecurity \"baseline:latest\": host namespaces (hostIPC=true)", f->result.warnings[0].n);
}

static void an_update_that_changes_nothing_of_it_is_let_go(void **state)
{
	static const char pod[] = POD("\"hostIPC\":true,\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]");
	static const char other[] = POD("\"hostIPC\":true,\"containers\":[{\"name\":\"c\",\"image\":\"b\"}]");

	set_namespace(*state, "\"pod-security.kubernetes.io/enforce\":\"baseline\"");
	assert_string_equal(admission_validate(*state, (struct admission_question){"pods", pod, pod, NULL}), "");
	assert_has(admission_validate(*state, (struct admission_question){"pods", other, pod, NULL}), "host namespaces");
}

static void labels_must_be_right(void **state)
{
	struct admission_fixture *f = *state;
	static const char bad[] = "{\"metadata\":{\"name\":\"ns\",\"labels\":{\"pod-security.kubernetes.io/warn-version\":\"v01\"}}}";

	admission_validate(f, (struct admission_question){"namespaces", bad, NULL, ""});
	assert_int_equal(f->result.code, 422);
	assert_int_equal(f->result.n_causes, 1);
	assert_memory_equal(f->result.causes[0].message.p, "Invalid value: \"v01\": must be \"latest\" or \"v1.x\"", f->result.causes[0].message.n);
	assert_string_equal(admission_validate(f, (struct admission_question){"namespaces", bad, bad, ""}), "");
	assert_int_equal(f->result.allowed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(without_labels_all_is_allowed, setup, teardown),
		cmocka_unit_test_setup_teardown(baseline_keeps_pods_off_the_host, setup, teardown),
		cmocka_unit_test_setup_teardown(restricted_asks_for_more, setup, teardown),
		cmocka_unit_test_setup_teardown(an_old_version_asks_for_less, setup, teardown),
		cmocka_unit_test_setup_teardown(what_makes_pods_is_warned_of, setup, teardown),
		cmocka_unit_test_setup_teardown(an_update_that_changes_nothing_of_it_is_let_go, setup, teardown),
		cmocka_unit_test_setup_teardown(labels_must_be_right, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
