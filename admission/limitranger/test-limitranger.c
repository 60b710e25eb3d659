/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

extern const struct ks_plugin ks_plugin_limitranger;

static int setup(void **state)
{
	*state = admission_fixture_new(&ks_plugin_limitranger, NULL);
	return 0;
}

static int teardown(void **state)
{
	admission_fixture_free((struct admission_fixture **)state);
	return 0;
}

#define RANGE(limits) "{\"metadata\":{\"name\":\"r\",\"namespace\":\"ns\"},\"spec\":{\"limits\":[" limits "]}}"
#define POD(resources) "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{" resources "}}]}}"

static void set_range(struct admission_fixture *f, const char *json)
{
	assert_int_equal(ks_fake_object_set(f->fake, "", "limitranges", json), 0);
}

static const char *check_pod(struct admission_fixture *f, const char *pod)
{
	return admission_validate(f, (struct admission_question){"pods", pod, NULL, NULL});
}

static void containers_get_what_they_dont_say(void **state)
{
	const char *pod;

	set_range(*state, RANGE("{\"type\":\"Container\",\"default\":{\"cpu\":\"1\",\"memory\":\"1Gi\"},\"defaultRequest\":{\"cpu\":\"500m\"}}"));
	pod = admission_mutate(*state, (struct admission_question){"pods", POD("\"limits\":{\"memory\":\"2Gi\"}"), NULL, NULL});
	assert_has(pod, "\"requests\":{\"cpu\":\"500m\"}");
	assert_has(pod, "\"limits\":{\"memory\":\"2Gi\",\"cpu\":\"1\"}");
	assert_has(pod, "\"kubernetes.io/limit-ranger\":\"LimitRanger plugin set: cpu request for container c; cpu limit for container c\"");
}

static void a_pod_in_bounds_is_allowed(void **state)
{
	assert_string_equal(check_pod(*state, POD("")), "");
	set_range(*state, RANGE("{\"type\":\"Container\",\"min\":{\"cpu\":\"100m\"},\"max\":{\"cpu\":\"1\"}}"));
	assert_string_equal(check_pod(*state, POD("\"requests\":{\"cpu\":\"0.1\"},\"limits\":{\"cpu\":\"1000m\"}")), "");
}

static void bounds_of_containers_are_kept(void **state)
{
	set_range(*state, RANGE("{\"type\":\"Container\",\"min\":{\"cpu\":\"100m\"},\"max\":{\"cpu\":\"1\"}}"));
	assert_string_equal(check_pod(*state, POD("\"requests\":{\"cpu\":\"50m\"},\"limits\":{\"cpu\":\"1\"}")),
		"minimum cpu usage per Container is 100m, but request is 50m");
	assert_string_equal(check_pod(*state, POD("\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}")),
		"maximum cpu usage per Container is 1, but limit is 2");
	assert_string_equal(check_pod(*state, POD("")),
		"[minimum cpu usage per Container is 100m.  No request is specified, maximum cpu usage per Container is 1.  No limit is specified]");
}

static void limits_stay_near_requests(void **state)
{
	set_range(*state, RANGE("{\"type\":\"Container\",\"maxLimitRequestRatio\":{\"cpu\":\"2\"}}"));
	assert_string_equal(check_pod(*state, POD("\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2\"}")), "");
	assert_string_equal(check_pod(*state, POD("\"requests\":{\"cpu\":\"1\"},\"limits\":{\"cpu\":\"2500m\"}")),
		"cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000");
	assert_string_equal(check_pod(*state, POD("\"limits\":{\"cpu\":\"2\"}")),
		"cpu max limit to request ratio per Container is 2, but no request is specified or request is 0");
}

static void a_pod_is_counted_as_a_whole(void **state)
{
	static const char pod[] =
		"{\"spec\":{\"containers\":[{\"name\":\"a\",\"resources\":{\"limits\":{\"cpu\":\"600m\"}}},{\"name\":\"b\",\"resources\":{\"limits\":"
		"{\"cpu\":\"600m\"}}}],\"initContainers\":[{\"name\":\"i\",\"resources\":{\"limits\":{\"cpu\":\"1100m\"}}}]}}";

	set_range(*state, RANGE("{\"type\":\"Pod\",\"max\":{\"cpu\":\"1\"}}"));
	assert_string_equal(check_pod(*state, pod), "maximum cpu usage per Pod is 1, but limit is 1200m");
}

static void claims_have_bounds_too(void **state)
{
	static const char claim[] = "{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}}}";

	set_range(*state, RANGE("{\"type\":\"PersistentVolumeClaim\",\"max\":{\"storage\":\"1Gi\"}}"));
	assert_string_equal(admission_validate(*state, (struct admission_question){"persistentvolumeclaims", claim, NULL, NULL}),
		"maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi");
	assert_string_equal(admission_validate(*state, (struct admission_question){"persistentvolumeclaims", claim, NULL, "other"}), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(containers_get_what_they_dont_say, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_in_bounds_is_allowed, setup, teardown),
		cmocka_unit_test_setup_teardown(bounds_of_containers_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_stay_near_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pod_is_counted_as_a_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(claims_have_bounds_too, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
