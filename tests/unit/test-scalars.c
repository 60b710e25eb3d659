/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Quantities, times, durations, base64, uids and names. */
#include "api-help.h"

#include <string.h>

#include "core/api/base64.h"
#include "core/api/name.h"
#include "core/api/quantity.h"
#include "core/api/time.h"
#include "core/api/uid.h"

/* ---- quantities ---- */

static void test_canonical_quantities(void **state)
{
	static const char *const pairs[][2] = {
		{"0", "0"},
		{"0.0", "0"},
		{"0Mi", "0"},
		{"1000m", "1"},
		{"0.5", "500m"},
		{"1024", "1024"},
		{"1024Ki", "1Mi"},
		{"1023Ki", "1023Ki"},
		{"1.5Gi", "1536Mi"},
		{"0.5Mi", "512Ki"},
		{"0.0001Ki", "102400u"},
		{"100", "100"},
		{"1000", "1k"},
		{"1500", "1500"},
		{"1e3", "1e3"},
		{"12e2", "1200"},
		{"1E-3", "1E-3"},
		{"0.1n", "1n"},
		{"1.23456789012", "1234567891n"},
		{"-1.1n", "-2n"},
		{"+5", "+5"},
		{"1.500", "1.500"},
		{"5.", "5."},
		{".5", "500m"},
		{"100Ei", "9223372036854775807"},
		{"8Ki", "8Ki"},
		{"1Ki", "1Ki"},
		{"512Mi", "512Mi"},
		{"1048576Ki", "1Gi"},
		{"10000000000000000000000000000000000000000e3", "10000000000000000000000000000000000000000e3"},
		{"3M", "3M"},
		{"1000000k", "1G"},
		{"00012", "00012"},
		{"1e-9", "1e-9"},
		{"1m", "1m"},
		{"1536Ki", "1536Ki"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct ks_str out;
		const char *message;

		assert_int_equal(ks_quantity_canonical(*state, ks_str_from(pairs[i][0]), &out, &message), 0);
		assert_string_equal(ks_arena_dup(*state, out.p, out.n), pairs[i][1]);
	}
}

static void test_what_is_no_quantity(void **state)
{
	static const char *const bad[] = {"", "x", "1x", "1 ", "--1", "1.2.3", "1e", "1Kib", "1ee3", "0x10", "1e1.5"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct ks_quantity q;
		const char *message = NULL;

		assert_int_equal(ks_quantity_parse(ks_str_from(bad[i]), &q, &message), -22);
		assert_non_null(message);
	}
}

static struct ks_quantity quantity(const char *text)
{
	struct ks_quantity q = {0};
	const char *message;

	assert_int_equal(ks_quantity_parse(ks_str_from(text), &q, &message), 0);
	return q;
}

static void test_quantity_arithmetic(void **state)
{
	struct ks_quantity a = quantity("1Gi"), b = quantity("512Mi"), zero = {0};
	char text[KS_QUANTITY_TEXT];

	(void)state;
	assert_true(ks_quantity_cmp(&a, &b) > 0);
	ks_quantity_sub(&a, &b);
	ks_quantity_print(&a, text);
	assert_string_equal(text, "512Mi");
	ks_quantity_add(&zero, &a);
	ks_quantity_print(&zero, text);
	assert_string_equal(text, "512Mi");
	a = quantity("1500m");
	assert_int_equal(ks_quantity_value(&a), 2);
	assert_int_equal(ks_quantity_milli(&a), 1500);
	a = quantity("-1500m");
	assert_int_equal(ks_quantity_value(&a), -2);
	assert_int_equal(ks_quantity_sign(&a), -1);
	assert_int_equal(ks_quantity_cmp_text(KS_STR_LIT("1Mi"), KS_STR_LIT("1024Ki")), 0);
}

/* ---- times ---- */

static void test_times_round_trip(void **state)
{
	static const char *const pairs[][2] = {
		{"1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
		{"2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"},
		{"2026-01-02T03:04:05+05:30", "2026-01-01T21:34:05Z"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		{"9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59Z"},
		{"2026-01-02T3:04:05Z", "2026-01-02T03:04:05Z"},
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char text[KS_TIME_TEXT];
		struct ks_time time;
		const char *message;

		assert_int_equal(ks_time_parse(*state, ks_str_from(pairs[i][0]), false, &time, &message), 0);
		ks_time_print(time, false, text);
		assert_string_equal(text, pairs[i][1]);
	}
}

static void test_times_are_refused_in_go_s_words(void **state)
{
	static const struct {
		const char *text;
		bool micro;
		const char *message;
	} cases[] = {
		{"", false, "parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""},
		{"1999-01-02 03:04:05", false,
			"parsing time \"1999-01-02 03:04:05\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \" 03:04:05\" as \"T\""},
		{"1999-13-02T03:04:05Z", false, "parsing time \"1999-13-02T03:04:05Z\": month out of range"},
		{"1999-02-29T03:04:05Z", false, "parsing time \"1999-02-29T03:04:05Z\": day out of range"},
		{"1999-02-20T24:04:05Z", false, "parsing time \"1999-02-20T24:04:05Z\": hour out of range"},
		{"1999-02-20T03:04:05Zx", false, "parsing time \"1999-02-20T03:04:05Zx\": extra text: \"x\""},
		{"1999-01-02T03:04:05.123Z", true,
			"parsing time \"1999-01-02T03:04:05.123Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \".123Z\" as \".000000\""},
		{"1999-01-02T03:04:05Z", true,
			"parsing time \"1999-01-02T03:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"Z\" as \".000000\""},
		{"1999-01-02T03:04:05.123456789Z", true,
			"parsing time \"1999-01-02T03:04:05.123456789Z\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"789Z\" as "
			"\"Z07:00\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_time time;
		const char *message = "";

		assert_int_equal(ks_time_parse(*state, ks_str_from(cases[i].text), cases[i].micro, &time, &message), -22);
		assert_string_equal(message, cases[i].message);
	}
}

static void test_durations(void **state)
{
	static const char *const pairs[][2] = {
		{"0", "0s"},
		{"1h30m", "1h30m0s"},
		{"1.5s", "1.5s"},
		{"100ms", "100ms"},
		{"-1.5h", "-1h30m0s"},
		{"90s", "1m30s"},
		{"3us", "3\xc2\xb5s"},
		{"7ns", "7ns"},
		{"1h0m0.001s", "1h0m0.001s"},
	};
	const char *message;
	int64_t n;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char text[KS_DURATION_TEXT];

		assert_int_equal(ks_duration_parse(*state, ks_str_from(pairs[i][0]), &n, &message), 0);
		ks_duration_print(n, text);
		assert_string_equal(text, pairs[i][1]);
	}
	assert_int_equal(ks_duration_parse(*state, KS_STR_LIT("5"), &n, &message), -22);
	assert_string_equal(message, "time: missing unit in duration \"5\"");
	assert_int_equal(ks_duration_parse(*state, KS_STR_LIT("5x"), &n, &message), -22);
	assert_string_equal(message, "time: unknown unit \"x\" in duration \"5x\"");
	assert_int_equal(ks_duration_parse(*state, KS_STR_LIT(""), &n, &message), -22);
	assert_string_equal(message, "time: invalid duration \"\"");
	assert_int_equal(ks_duration_parse(*state, KS_STR_LIT("9999999999h"), &n, &message), -22);
}

/* ---- base64 ---- */

static void test_base64(void **state)
{
	static const struct {
		const char *text;
		int bad; /* -1: good */
	} cases[] = {{"", -1}, {"YQ==", -1}, {"YWI=", -1}, {"YWJj", -1}, {"YW\nJj", -1}, {"@@@", 0}, {"other", 4}, {"Not Valid!", 3}, {"YQ=", 3},
		{"YQ==x", 4}, {"Y", 0}, {"=", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t bytes, bad;
		bool canonical;
		bool good = ks_base64_check(ks_str_from(cases[i].text), &bytes, &canonical, &bad);

		assert_int_equal(good, cases[i].bad < 0);
		if (!good)
			assert_int_equal(bad, cases[i].bad);
	}
}

static void test_base64_round_trip(void **state)
{
	unsigned char in[64], out[64];
	char text[100];

	(void)state;
	for (size_t n = 0; n < sizeof(in); n++) {
		size_t bytes, bad;
		bool canonical;

		in[n] = (unsigned char)(n * 37 + 11);
		ks_base64_encode(in, n, text);
		assert_true(ks_base64_check(ks_str_of(text, ks_base64_length(n)), &bytes, &canonical, &bad));
		assert_true(canonical);
		assert_int_equal(bytes, n);
		ks_base64_decode(ks_str_of(text, ks_base64_length(n)), out);
		assert_memory_equal(in, out, n);
	}
}

/* ---- names ---- */

static void test_forms_of_names(void **state)
{
	static const struct {
		enum ks_name_form form;
		const char *text;
		const char *message; /* the beginning of the first; NULL: good */
	} cases[] = {
		{KS_NAME_DNS1123_LABEL, "my-name", NULL},
		{KS_NAME_DNS1123_LABEL, "a.b", "must not contain dots"},
		{KS_NAME_DNS1123_LABEL, "-a", "a lowercase RFC 1123 label must"},
		{KS_NAME_DNS1123_LABEL, "", "a lowercase RFC 1123 label must"},
		{KS_NAME_DNS1123_SUBDOMAIN, "a.b-c.d1", NULL},
		{KS_NAME_DNS1123_SUBDOMAIN, "a..b", "a lowercase RFC 1123 subdomain must"},
		{KS_NAME_DNS1123_SUBDOMAIN, "A", "a lowercase RFC 1123 subdomain must"},
		{KS_NAME_DNS1035_LABEL, "1a", "a DNS-1035 label must"},
		{KS_NAME_DNS1035_LABEL, "a1", NULL},
		{KS_NAME_LABEL_KEY, "example.com/My_Name.x", NULL},
		{KS_NAME_LABEL_KEY, "/x", "prefix part must be non-empty"},
		{KS_NAME_LABEL_KEY, "a/b/c", "a valid label key must consist of"},
		{KS_NAME_LABEL_KEY, "a/", "name part must be non-empty"},
		{KS_NAME_LABEL_VALUE, "", NULL},
		{KS_NAME_LABEL_VALUE, "-x", "a valid label must be"},
		{KS_NAME_PATH_SEGMENT, "system:x", NULL},
		{KS_NAME_PATH_SEGMENT, "a/b", "may not contain '/'"},
		{KS_NAME_PATH_SEGMENT, "..", "may not be '..'"},
		{KS_NAME_CONFIG_KEY, "a.b_c", NULL},
		{KS_NAME_CONFIG_KEY, "..a", "must not start with '..'"},
		{KS_NAME_PORT, "http", NULL},
		{KS_NAME_PORT, "8080", "must contain at least one letter"},
		{KS_NAME_PORT, "a--b", "must not contain consecutive hyphens"},
		{KS_NAME_C_IDENTIFIER, "_a1", NULL},
		{KS_NAME_C_IDENTIFIER, "1a", "a valid C identifier must"},
		{KS_NAME_ENVIRONMENT, "A.b-c", NULL},
		{KS_NAME_ENVIRONMENT, "a=b", "a valid environment variable name must consist only"},
		{KS_NAME_PERCENT, "25%", NULL},
		{KS_NAME_PERCENT, "%", "a valid percent string"},
		{KS_NAME_WILDCARD_SUBDOMAIN, "*.a.b", NULL},
		{KS_NAME_WILDCARD_SUBDOMAIN, "*a.b", "a wildcard DNS-1123 subdomain"},
		{KS_NAME_HTTP_HEADER, "X-A", NULL},
		{KS_NAME_HTTP_HEADER, "X_A", "a valid HTTP header"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ks_name_errors errors;

		assert_int_equal(ks_name_check(cases[i].form, ks_str_from(cases[i].text), &errors), cases[i].message == NULL);
		if (cases[i].message)
			assert_memory_equal(errors.text[0], cases[i].message, strlen(cases[i].message));
	}
}

static void test_lengths_of_names(void **state)
{
	char text[300];
	struct ks_name_errors errors;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_true(ks_name_check(KS_NAME_DNS1123_LABEL, ks_str_of(text, 63), NULL));
	assert_false(ks_name_check(KS_NAME_DNS1123_LABEL, ks_str_of(text, 64), &errors));
	assert_string_equal(errors.text[0], "must be no more than 63 characters");
	assert_false(ks_name_check(KS_NAME_LABEL_VALUE, ks_str_of(text, 64), &errors));
	assert_string_equal(errors.text[0], "must be no more than 63 bytes");
	assert_false(ks_name_check(KS_NAME_LABEL_KEY, ks_str_of(text, 64), &errors));
	assert_string_equal(errors.text[0], "name part must be no more than 63 bytes");
	assert_true(ks_name_check_prefix(KS_NAME_DNS1123_LABEL, KS_STR_LIT("web-"), NULL));
	assert_false(ks_name_check_prefix(KS_NAME_DNS1123_LABEL, KS_STR_LIT("-"), NULL));
}

static void test_a_whole_message(void **state)
{
	struct ks_name_errors errors;

	(void)state;
	assert_false(ks_name_check(KS_NAME_LABEL_VALUE, KS_STR_LIT("-1"), &errors));
	assert_string_equal(errors.text[0],
		"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
		"an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
		"'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
}

static void test_generated_names(void **state)
{
	char base[80];
	struct ks_str name = ks_name_generate(*state, KS_STR_LIT("web-"));

	assert_int_equal(name.n, 9);
	assert_memory_equal(name.p, "web-", 4);
	assert_int_equal(strspn(name.p + 4, "bcdfghjklmnpqrstvwxz2456789"), 5);
	memset(base, 'a', sizeof(base));
	assert_int_equal(ks_name_generate(*state, ks_str_of(base, sizeof(base))).n, 63);
}

static void test_uids(void **state)
{
	char a[KS_UID_TEXT], b[KS_UID_TEXT];

	(void)state;
	assert_int_equal(ks_uid_new(a), 0);
	assert_int_equal(ks_uid_new(b), 0);
	assert_int_equal(strlen(a), 36);
	assert_string_not_equal(a, b);
	assert_int_equal(a[14], '4');
	assert_non_null(strchr("89ab", a[19]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KS_TEST(test_canonical_quantities),
		KS_TEST(test_what_is_no_quantity),
		KS_TEST(test_quantity_arithmetic),
		KS_TEST(test_times_round_trip),
		KS_TEST(test_times_are_refused_in_go_s_words),
		KS_TEST(test_durations),
		KS_TEST(test_base64),
		KS_TEST(test_base64_round_trip),
		KS_TEST(test_forms_of_names),
		KS_TEST(test_lengths_of_names),
		KS_TEST(test_a_whole_message),
		KS_TEST(test_generated_names),
		KS_TEST(test_uids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
