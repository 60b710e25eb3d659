/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_serviceaccount;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_serviceaccount, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

#define POD(spec) "{\"metadata\":{\"name\":\"p\"},\"spec\":{" spec "\"containers\":[{\"name\":\"a\"}]}}"

static void set_account(struct admission_fixture *f, const char *json)
{
	assert_int_equal(ks_fake_object_set(f->fake, "", "serviceaccounts", json), 0);
}

static const char *new_pod(struct admission_fixture *f, const char *pod)
{
	return admission_mutate(f, (struct admission_question){"pods", pod, NULL, NULL});
}

static void a_pod_runs_as_default_and_finds_its_token(void **state)
{
	const char *pod;

	set_account(*state, "{\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\"}}");
	pod = new_pod(*state, POD("\"initContainers\":[{\"name\":\"i\"}],"));
	assert_has(pod, "\"serviceAccountName\":\"default\"");
	assert_has(pod, "\"initContainers\":[{\"name\":\"i\",\"volumeMounts\":[{\"name\":\"kube-api-access-");
	assert_has(pod, "\"containers\":[{\"name\":\"a\",\"volumeMounts\":[{\"name\":\"kube-api-access-");
	assert_has(pod, "\"readOnly\":true,\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\"");
	assert_has(pod, "\"volumes\":[{\"name\":\"kube-api-access-");
	assert_has(pod, "\"serviceAccountToken\":{\"path\":\"token\",\"expirationSeconds\":3607}");
}

static void pod_and_account_can_do_without_the_token(void **state)
{
	set_account(*state, "{\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\"},\"automountServiceAccountToken\":false}");
	set_account(*state, "{\"metadata\":{\"name\":\"other\",\"namespace\":\"ns\"}}");
	assert_has_not(new_pod(*state, POD("")), "kube-api-access");
	assert_has(new_pod(*state, POD("\"automountServiceAccountToken\":true,")), "kube-api-access");
	assert_has_not(new_pod(*state, POD("\"serviceAccountName\":\"other\",\"automountServiceAccountToken\":false,")), "kube-api-access");
}

static void a_container_that_mounts_something_there_is_left_alone(void **state)
{
	static const char pod[] = "{\"spec\":{\"containers\":[{\"name\":\"a\",\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":"
				  "\"/var/run/secrets/kubernetes.io/serviceaccount\"}]}]}}";

	set_account(*state, "{\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\"}}");
	assert_has_not(new_pod(*state, pod), "kube-api-access");
}

static void a_volume_that_is_there_is_used(void **state)
{
	const char *pod;

	set_account(*state, "{\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\"}}");
	pod = new_pod(*state, POD("\"volumes\":[{\"name\":\"kube-api-access-mine\"}],"));
	assert_has(pod, "\"volumeMounts\":[{\"name\":\"kube-api-access-mine\"");
	assert_has_not(pod, "projected");
}

static void pull_secrets_come_from_the_account(void **state)
{
	set_account(*state, "{\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\"},\"imagePullSecrets\":[{\"name\":\"mine\"}]}");
	assert_has(new_pod(*state, POD("")), "\"imagePullSecrets\":[{\"name\":\"mine\"}]");
	assert_has_not(new_pod(*state, POD("\"imagePullSecrets\":[{\"name\":\"own\"}],")), "mine");
}

static void an_account_that_is_missing_is_told(void **state)
{
	assert_string_equal(new_pod(*state, POD("\"serviceAccountName\":\"ghost\",")),
		"error looking up service account ns/ghost: serviceaccount \"ghost\" not found");
}

static void the_default_account_is_waited_for(void **state)
{
	struct admission_fixture *f = *state;
	int returned = admission_begin(f, (struct admission_question){"pods", POD(""), NULL, NULL});

	assert_int_equal(returned, KS_PENDING);
	ks_fake_timers_run(f->fake, 300);
	assert_false(ks_fake_op_done(f->op));
	set_account(f, "{\"metadata\":{\"name\":\"default\",\"namespace\":\"ns\"}}");
	ks_fake_timers_run(f->fake, 100);
	assert_has(admission_answer(f, returned), "\"serviceAccountName\":\"default\"");
}

static void the_default_account_is_not_waited_for_for_ever(void **state)
{
	struct admission_fixture *f = *state;
	int returned = admission_begin(f, (struct admission_question){"pods", POD(""), NULL, NULL});

	ks_fake_timers_run(f->fake, 2000);
	assert_string_equal(admission_answer(f, returned), "error looking up service account ns/default: serviceaccount \"default\" not found");
}

static void an_account_may_limit_its_pods_to_its_secrets(void **state)
{
	set_account(*state,
		"{\"metadata\":{\"name\":\"strict\",\"namespace\":\"ns\",\"annotations\":{\"kubernetes.io/enforce-mountable-secrets\":"
		"\"true\"}},\"secrets\":[{\"name\":\"s\"}]}");
	assert_has(new_pod(*state, POD("\"serviceAccountName\":\"strict\",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"s\"}}],")),
		"kube-api");
	assert_string_equal(
		new_pod(*state, POD("\"serviceAccountName\":\"strict\",\"volumes\":[{\"name\":\"v\",\"secret\":{\"secretName\":\"t\"}}],")),
		"volume with secret.secretName=\"t\" is not allowed because service account strict does not reference that secret");
	assert_string_equal(new_pod(*state,
				    "{\"spec\":{\"serviceAccountName\":\"strict\",\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"E\","
				    "\"valueFrom\":{\"secretKeyRef\":{\"name\":\"t\"}}}]}]}}"),
		"container a with envVar E referencing secret.secretName=\"t\" is not allowed because service account strict does not reference that "
		"secret");
	assert_string_equal(new_pod(*state, POD("\"serviceAccountName\":\"strict\",\"imagePullSecrets\":[{\"name\":\"p\"}],")),
		"imagePullSecrets[0].name=\"p\" is not allowed because service account strict does not reference that imagePullSecret");
}

static void ephemeral_containers_are_limited_too(void **state)
{
	static const char pod[] = "{\"spec\":{\"serviceAccountName\":\"strict\",\"ephemeralContainers\":[{\"name\":\"e\",\"envFrom\":[{\"secretRef\":"
				  "{\"name\":\"t\"}}]}]}}";

	set_account(*state,
		"{\"metadata\":{\"name\":\"strict\",\"namespace\":\"ns\",\"annotations\":{\"kubernetes.io/enforce-mountable-secrets\":"
		"\"true\"}}}");
	assert_string_equal(admission_validate(*state, (struct admission_question){"pods//ephemeralcontainers", pod, pod, NULL}),
		"ephemeral container e with envFrom referencing secret.secretName=\"t\" is not allowed because service account strict does not "
		"reference that secret");
}

#define MIRROR(spec) "{\"metadata\":{\"annotations\":{\"kubernetes.io/config.mirror\":\"\"}},\"spec\":{" spec "}}"

static void a_mirror_pod_has_no_account_and_no_secret(void **state)
{
	assert_string_equal(new_pod(*state, MIRROR("")), MIRROR(""));
	assert_string_equal(new_pod(*state, MIRROR("\"serviceAccountName\":\"a\"")), "a mirror pod may not reference service accounts");
	assert_string_equal(new_pod(*state, MIRROR("\"volumes\":[{\"secret\":{\"secretName\":\"s\"}}]")), "a mirror pod may not reference secrets");
	assert_string_equal(new_pod(*state, MIRROR("\"volumes\":[{\"projected\":{\"sources\":[{\"serviceAccountToken\":{}}]}}]")),
		"a mirror pod may not use ServiceAccountToken volume projections");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pod_runs_as_default_and_finds_its_token, setup, teardown),
		cmocka_unit_test_setup_teardown(pod_and_account_can_do_without_the_token, setup, teardown),
		cmocka_unit_test_setup_teardown(a_container_that_mounts_something_there_is_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_volume_that_is_there_is_used, setup, teardown),
		cmocka_unit_test_setup_teardown(pull_secrets_come_from_the_account, setup, teardown),
		cmocka_unit_test_setup_teardown(an_account_that_is_missing_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(the_default_account_is_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(the_default_account_is_not_waited_for_for_ever, setup, teardown),
		cmocka_unit_test_setup_teardown(an_account_may_limit_its_pods_to_its_secrets, setup, teardown),
		cmocka_unit_test_setup_teardown(ephemeral_containers_are_limited_too, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mirror_pod_has_no_account_and_no_secret, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
