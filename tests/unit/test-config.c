/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/config.h"
#include "core/config/scalar.h"

#define HEAD "apiVersion: keelson.dev/v1alpha1\nkind: Configuration\n"
#define SERVER "server: {certificateFile: a.crt, keyFile: a.key}\n"
#define LISTS "authentication: [{plugin: x509}]\nauthorization: [{plugin: rbac}]\nstorage: [{plugin: memory}]\n"

struct loaded {
	char file[32];
	struct ks_config *config;
	struct ks_problems problems;
	int result;
};

static void load(struct loaded *l, const char *text)
{
	int fd;

	strcpy(l->file, "/tmp/ks-config-XXXXXX");
	fd = mkstemp(l->file);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	l->config = NULL;
	ks_problems_init(&l->problems);
	l->result = ks_config_load(l->file, NULL, &l->config, &l->problems);
	ks_buf_add_char(&l->problems.text, 0);
	unlink(l->file);
}

static void unload(struct loaded *l)
{
	ks_config_free(&l->config);
	ks_problems_fini(&l->problems);
}

/* The file must be refused with a line `FILE:PLACE: ... words ...`. */
static void assert_refused(const char *text, const char *place, const char *words)
{
	struct loaded l;
	char wanted[64];

	load(&l, text);
	assert_true(l.result < 0);
	assert_null(l.config);
	snprintf(wanted, sizeof(wanted), "%s%s: ", l.file, place);
	if (!strstr(l.problems.text.data, wanted) || !strstr(l.problems.text.data, words))
		fail_msg("wanted %s and \"%s\" in:\n%s", wanted, words, l.problems.text.data);
	unload(&l);
}

static void a_small_file_gets_defaults(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, HEAD SERVER LISTS);
	assert_int_equal(l.result, 0);
	assert_int_equal(l.config->server.port, 6443);
	assert_string_equal(l.config->server.bind_address, "127.0.0.1");
	assert_string_equal(l.config->advertise_address, "127.0.0.1");
	assert_int_equal(l.config->server.body_limit, 3 << 20);
	assert_int_equal(l.config->server.request_timeout_ms, 60000);
	assert_string_equal(l.config->service_cluster_ip_range, "10.0.0.0/16");
	assert_int_equal(l.config->event_ttl_ms, 3600000);
	unload(&l);
}

static void services_may_have_two_families(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, HEAD SERVER LISTS "serviceClusterIPRange: 10.0.0.0/16,fd00::/108\neventTTL: 10m\n");
	assert_int_equal(l.result, 0);
	assert_string_equal(l.config->service_cluster_ip_range, "10.0.0.0/16,fd00::/108");
	assert_int_equal(l.config->event_ttl_ms, 600000);
	unload(&l);
}

static void relative_paths_start_at_the_file(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, HEAD SERVER LISTS);
	assert_string_equal(l.config->state_directory, "/tmp");
	assert_string_equal(l.config->server.certificate_file, "/tmp/a.crt");
	unload(&l);
}

static void relative_paths_start_at_the_state_directory(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, HEAD "stateDirectory: /var/lib/keelson\n" SERVER LISTS);
	assert_string_equal(l.config->server.key_file, "/var/lib/keelson/a.key");
	unload(&l);
}

static void entries_keep_their_order_and_names(void **state)
{
	struct loaded l;
	const struct ks_config_entries *list;

	(void)state;
	load(&l, HEAD SERVER LISTS "admission:\n- plugin: lua\n  config: {policies: p}\n- {plugin: lua, name: lua-2}\n- plugin: /opt/v/quota.so\n");
	assert_int_equal(l.result, 0);
	list = &l.config->stages[KS_STAGE_ADMISSION];
	assert_int_equal(list->n, 3);
	assert_string_equal(list->items[0].name, "lua");
	assert_non_null(ks_yaml_get(list->items[0].config, "policies"));
	assert_string_equal(list->items[1].name, "lua-2");
	assert_string_equal(list->items[2].name, "quota");
	assert_int_equal(list->items[2].place.line, 11);
	assert_int_equal(list->items[2].place.column, 3);
	unload(&l);
}

static void the_first_store_takes_everything(void **state)
{
	struct loaded l;
	const struct ks_config_entry *items;

	(void)state;
	load(&l, HEAD SERVER "authentication: [{plugin: x509}]\nauthorization: [{plugin: rbac}]\n"
		"storage: [{plugin: sqlite}, {plugin: memory, resources: [events, leases.coordination.k8s.io]}]\n");
	assert_int_equal(l.result, 0);
	items = l.config->stages[KS_STAGE_STORAGE].items;
	assert_string_equal(items[0].resources[0], "*");
	assert_int_equal(items[1].n_resources, 2);
	assert_string_equal(items[1].resources[1], "leases.coordination.k8s.io");
	unload(&l);
}

static bool cbor_is_on(const char *gates)
{
	struct loaded l;
	char text[512];
	bool on;

	snprintf(text, sizeof(text), HEAD SERVER LISTS "featureGates: %s\n", gates);
	load(&l, text);
	if (l.result != 0)
		fail_msg("%s", l.problems.text.data);
	on = l.config->features.on[KS_FEATURE_CBOR];
	unload(&l);
	return on;
}

static void feature_gates_are_off_until_they_are_opened(void **state)
{
	(void)state;
	assert_false(cbor_is_on("{}"));
	assert_false(cbor_is_on("{CBORServingAndStorage: false}"));
	assert_false(cbor_is_on("{AllBeta: true}"));
	assert_false(cbor_is_on("{CBORServingAndStorage: false, AllAlpha: true}"));
	assert_string_equal(ks_feature_name(KS_FEATURE_CBOR), "CBORServingAndStorage");
	assert_string_equal(ks_feature_stage(KS_FEATURE_CBOR), "ALPHA");
#ifdef KS_HAVE_CBOR
	assert_true(cbor_is_on("{CBORServingAndStorage: true}"));
	assert_true(cbor_is_on("{AllAlpha: true}"));
#else
	assert_false(cbor_is_on("{AllAlpha: true}"));
	assert_refused(HEAD SERVER LISTS "featureGates: {CBORServingAndStorage: true}\n", ":7:16", "the server was built without libcbor");
#endif
}

static void feature_gates_are_checked(void **state)
{
	(void)state;
	assert_refused(HEAD SERVER LISTS "featureGates: {Cbor: true}\n", ":7:16", "unrecognized feature gate: Cbor");
	assert_refused(HEAD SERVER LISTS "featureGates: {CBORServingAndStorage: maybe}\n", ":7:39", "invalid value of CBORServingAndStorage");
	assert_refused(HEAD SERVER LISTS "featureGates: {AllAlpha: [true]}\n", ":7:26", "invalid value of AllAlpha");
	assert_refused(HEAD SERVER LISTS "featureGates: [CBORServingAndStorage]\n", ":7:15", "names and values are expected");
}

static void an_unknown_key_is_named_with_a_likely_one(void **state)
{
	(void)state;
	assert_refused(HEAD "server: {certificateFile: a, keyFile: b, bindAdress: 127.0.0.1}\n" LISTS, ":3:42", "did you mean \"bindAddress\"?");
	assert_refused(HEAD SERVER LISTS "admision: []\n", ":7:1", "did you mean \"admission\"?");
}

static void a_key_may_not_stand_twice(void **state)
{
	(void)state;
	assert_refused(HEAD SERVER LISTS "server: {}\n", ":7:1", "stands here twice, first in line 3");
}

static void numbers_are_checked(void **state)
{
	(void)state;
	assert_refused(HEAD "server: {certificateFile: a, keyFile: b, port: 65536}\n" LISTS, ":3:48", "not between 0 and 65535");
	assert_refused(HEAD "server: {certificateFile: a, keyFile: b, port: x}\n" LISTS, ":3:48", "not a whole number");
	assert_refused(HEAD "server: {certificateFile: a, keyFile: b, requestTimeout: 5}\n" LISTS, ":3:58", "not a duration");
	assert_refused(HEAD "server: {certificateFile: a, keyFile: b, bodyLimit: 3Zi}\n" LISTS, ":3:53", "not a size");
}

static void addresses_are_checked(void **state)
{
	(void)state;
	assert_refused(HEAD SERVER LISTS "advertiseAddress: here\n", ":7:19", "not an IP address");
	assert_refused(HEAD SERVER LISTS "serviceClusterIPRange: 10.0.0.0/33\n", ":7:24", "not a range of addresses");
	assert_refused(HEAD SERVER LISTS "serviceClusterIPRange: 10.0.0.0/16,10.1.0.0/16\n", ":7:24", "not a range of addresses");
	assert_refused(HEAD SERVER LISTS "serviceClusterIPRange: 10.0.0.0/16,\n", ":7:24", "not a range of addresses");
	assert_refused(HEAD SERVER LISTS "serviceClusterIPRange: fd00::/48\n", ":7:24", "not a range of addresses");
	assert_refused(HEAD SERVER LISTS "eventTTL: 0s\n", ":7:11", "not between 1000");
	assert_refused(HEAD SERVER LISTS "serviceNodePortRange: 5-3\n", ":7:23", "not a range of ports");
}

static void wrong_shapes_are_refused(void **state)
{
	(void)state;
	assert_refused(HEAD "server: 5\n" LISTS, ":3:9", "keys and values are expected");
	assert_refused(HEAD SERVER LISTS "admission: {plugin: lua}\n", ":7:12", "a list");
	assert_refused(HEAD SERVER LISTS "admission: [lua]\n", ":7:13", "admission[0]: keys and values are expected");
	assert_refused(HEAD SERVER LISTS "admission: [{name: x}]\n", ":7:13", "plugin is missing");
	assert_refused(HEAD SERVER LISTS "admission: [{plugin: ./x.so}]\n", ":7:22", "neither a short name");
	assert_refused(HEAD SERVER LISTS "admission: [{plugin: lua, config: 5}]\n", ":7:35", "keys and values are expected");
}

static void two_entries_may_not_share_a_name(void **state)
{
	(void)state;
	assert_refused(HEAD SERVER LISTS "admission: [{plugin: lua}, {plugin: lua}]\n", ":7:28", "also the name of entry 0");
}

static void every_list_but_admission_is_needed(void **state)
{
	(void)state;
	assert_refused(HEAD SERVER "authentication: [{plugin: x509}]\nauthorization: []\nstorage: [{plugin: memory}]\n", ":5:16",
		"authorization: at least one plugin is needed");
	assert_refused(HEAD SERVER "authentication: [{plugin: x509}]\nauthorization: [{plugin: rbac}]\n", ":1:1", "storage: at least one");
}

static void several_problems_are_told_at_once(void **state)
{
	struct loaded l;

	(void)state;
	load(&l, HEAD "server: {port: x, workers: y}\nfoo: 1\nauthentication: []\n");
	assert_true(l.result < 0);
	assert_int_equal(l.problems.n, 7);
	unload(&l);
}

static void version_and_kind_are_checked(void **state)
{
	(void)state;
	assert_refused("apiVersion: keelson.dev/v9\nkind: Configuration\n" SERVER LISTS, ":1:13", "only keelson.dev/v1alpha1 is known");
	assert_refused("apiVersion: keelson.dev/v1alpha1\n" SERVER LISTS, ":1:1", "kind: Configuration is missing");
}

static void hostile_yaml_is_bounded(void **state)
{
	char deep[200];

	(void)state;
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	assert_refused(deep, ":1:34", "nested too deeply");
	assert_refused("a: &x [1]\nb: *x\n", ":2:4", "aliases are not used here");
	assert_refused("a: !!binary xx\n", ":1:4", "tags are not used here");
	assert_refused("a: 1\n---\nb: 2\n", ":2:1", "one document");
	assert_refused("a: \"x\\0y\"\n", ":1:4", "NUL");
	assert_refused("? [1]\n: 2\n", ":1:3", "a key must be a plain text");
	assert_refused("a: [1\n", ":2:1", "");
	assert_refused("\xff\xfe\xff", "", "UTF-8");
	assert_refused("", "", "it holds no configuration");
}

static void a_missing_file_is_named(void **state)
{
	struct ks_config *config = NULL;
	struct ks_problems problems;

	(void)state;
	ks_problems_init(&problems);
	assert_true(ks_config_load("/nowhere/keelson.yaml", NULL, &config, &problems) < 0);
	ks_buf_add_char(&problems.text, 0);
	assert_string_equal(problems.text.data, "/nowhere/keelson.yaml: No such file or directory\n");
	ks_problems_fini(&problems);
}

static void durations_and_sizes_are_read(void **state)
{
	int64_t v = -1;

	(void)state;
	assert_int_equal(ks_scalar_duration(KS_STR_LIT("1h30m"), &v), 0);
	assert_int_equal(v, 5400000);
	assert_int_equal(ks_scalar_duration(KS_STR_LIT("500ms"), &v), 0);
	assert_int_equal(v, 500);
	assert_true(ks_scalar_duration(KS_STR_LIT(""), &v) < 0);
	assert_true(ks_scalar_duration(KS_STR_LIT("99999999999999999999h"), &v) < 0);
	assert_int_equal(ks_scalar_size(KS_STR_LIT("64Ki"), &v), 0);
	assert_int_equal(v, 65536);
	assert_true(ks_scalar_size(KS_STR_LIT("9223372036854775807Ki"), &v) < 0);
	assert_int_equal(v, 65536);
	assert_int_equal(ks_scalar_int(KS_STR_LIT("-12"), &v), 0);
	assert_int_equal(v, -12);
}

static bool same(const struct ks_yaml_node *a, const struct ks_yaml_node *b)
{
	struct ks_buf left, right;
	bool equal;

	ks_buf_init(&left);
	ks_buf_init(&right);
	ks_yaml_signature(a, &left);
	ks_yaml_signature(b, &right);
	equal = ks_str_eq(ks_buf_str(&left), ks_buf_str(&right));
	ks_buf_fini(&left);
	ks_buf_fini(&right);
	return equal;
}

static void trees_are_compared_without_their_places(void **state)
{
	struct ks_arena arena;
	struct ks_problems problems;
	struct ks_yaml_node *a, *b, *c;

	(void)state;
	ks_arena_init(&arena, 0);
	ks_problems_init(&problems);
	assert_int_equal(ks_yaml_tree_parse(&arena, "a", KS_STR_LIT("x: [1, two]\n"), &a, &problems), 0);
	assert_int_equal(ks_yaml_tree_parse(&arena, "b", KS_STR_LIT("\nx:\n- 1\n- two\n"), &b, &problems), 0);
	assert_int_equal(ks_yaml_tree_parse(&arena, "c", KS_STR_LIT("x: [1, \"two\"]\n"), &c, &problems), 0);
	assert_true(same(a, b));
	assert_false(same(a, c));
	ks_problems_fini(&problems);
	ks_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_file_gets_defaults),
		cmocka_unit_test(services_may_have_two_families),
		cmocka_unit_test(relative_paths_start_at_the_file),
		cmocka_unit_test(relative_paths_start_at_the_state_directory),
		cmocka_unit_test(entries_keep_their_order_and_names),
		cmocka_unit_test(the_first_store_takes_everything),
		cmocka_unit_test(feature_gates_are_off_until_they_are_opened),
		cmocka_unit_test(feature_gates_are_checked),
		cmocka_unit_test(an_unknown_key_is_named_with_a_likely_one),
		cmocka_unit_test(a_key_may_not_stand_twice),
		cmocka_unit_test(numbers_are_checked),
		cmocka_unit_test(addresses_are_checked),
		cmocka_unit_test(wrong_shapes_are_refused),
		cmocka_unit_test(two_entries_may_not_share_a_name),
		cmocka_unit_test(every_list_but_admission_is_needed),
		cmocka_unit_test(several_problems_are_told_at_once),
		cmocka_unit_test(version_and_kind_are_checked),
		cmocka_unit_test(hostile_yaml_is_bounded),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(durations_and_sizes_are_read),
		cmocka_unit_test(trees_are_compared_without_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
