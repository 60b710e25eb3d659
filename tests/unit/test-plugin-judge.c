/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says of itself is judged before anything in it is called: each way to be wrong gets its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <keelson/admission.h>
#include <keelson/storage.h>

#include "plugins/host/library.h"

static int authenticate(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	(void)self;
	(void)op;
	(void)request;
	(void)result;
	return KS_DONE;
}

/* A plugin that is right, to be made wrong in one place. */
struct subject {
	struct ks_config_key keys[2];
	struct ks_lifecycle lifecycle;
	struct ks_authn_ops ops;
	struct ks_interface interface;
	struct ks_plugin plugin;
};

static void make(struct subject *s)
{
	*s = (struct subject){
		.keys = {
			{.name = "text", .type = KS_CONFIG_STRING, .offset = 0, .help = "A text."},
			{.name = "number", .type = KS_CONFIG_INT, .offset = 8, .help = "A number."},
		},
		.lifecycle = {.size = sizeof(struct ks_lifecycle)},
		.ops = {.size = sizeof(struct ks_authn_ops), .authenticate = authenticate},
		.interface = {
			.size = sizeof(struct ks_interface), .kind = KS_KIND_AUTHENTICATOR, .version = KS_AUTHN_VERSION, .name = "it",
			.n_config_keys = 2, .config_size = 16,
		},
		.plugin = {KS_PLUGIN_HEADER, .n_interfaces = 1},
	};
	s->interface.config_keys = s->keys;
	s->interface.lifecycle = &s->lifecycle;
	s->interface.ops = &s->ops;
	s->plugin.interfaces = &s->interface;
}

static void assert_wrong(const struct subject *s, const char *words)
{
	struct ks_error err = {""};

	assert_true(ks_plugin_judge(&s->plugin, &err) < 0);
	if (!strstr(err.text, words))
		fail_msg("wanted \"%s\" in: %s", words, err.text);
}

/* WRONG(change, words): with this one change the plugin is refused with these words. */
#define WRONG(change, words) \
	do { \
		struct subject s; \
		make(&s); \
		s.change; \
		assert_wrong(&s, words); \
	} while (0)

static void a_right_one_is_accepted(void **state)
{
	struct ks_error err;
	struct subject s;

	(void)state;
	make(&s);
	assert_int_equal(ks_plugin_judge(&s.plugin, &err), 0);
}

static void the_head_must_be_ours(void **state)
{
	(void)state;
	WRONG(plugin.magic = 1, "magic 00000001");
	WRONG(plugin.abi_major = 8, "plugin ABI 8.");
	WRONG(plugin.abi_minor = 77, ".77, this server has");
	WRONG(plugin.size = 8, "has 8 bytes");
	WRONG(plugin.n_interfaces = 0, "it has no interface");
	WRONG(plugin.n_interfaces = 1000000, "it has no interface");
	WRONG(plugin.interfaces = NULL, "it has no interface");
}

static void an_interface_must_be_known(void **state)
{
	(void)state;
	WRONG(interface.size = 1, "an interface has 1 bytes");
	WRONG(interface.name = NULL, "has no name");
	WRONG(interface.name = "", "has no name");
	WRONG(interface.kind = 0, "unknown kind 0");
	WRONG(interface.kind = 99, "unknown kind 99");
	WRONG(interface.version = 9, "version 9 of an authenticator");
	WRONG(interface.threads = 9, "doesn't know");
	WRONG(interface.blocking = 9, "doesn't know");
	WRONG(interface.flags = 1u << 31, "doesn't know");
	WRONG(interface.scratch_size = 1 << 20, "scratch memory");
}

static void functions_must_be_there(void **state)
{
	(void)state;
	WRONG(interface.ops = NULL, "it has no functions");
	WRONG(interface.lifecycle = NULL, "it has no functions");
	WRONG(ops.size = 4, "other sizes");
	WRONG(lifecycle.size = 4, "other sizes");
	WRONG(ops.authenticate = NULL, "a function that every authenticator needs is missing");
}

static void keys_must_lie_in_their_struct(void **state)
{
	(void)state;
	WRONG(keys[0].name = NULL, "lacks name or help");
	WRONG(keys[0].help = NULL, "lacks name or help");
	WRONG(keys[0].type = 0, "unknown type or flag");
	WRONG(keys[0].type = 99, "unknown type or flag");
	WRONG(keys[0].flags = 1 << 9, "unknown type or flag");
	WRONG(keys[1].offset = 9, "lies outside of its struct");
	WRONG(keys[1].offset = 16, "lies outside of its struct");
	WRONG(keys[1].offset = SIZE_MAX - 3, "lies outside of its struct");
	WRONG(keys[1].name = "text", "declared twice");
	WRONG(keys[1].type = KS_CONFIG_ENUM, "no names to choose from");
	WRONG(interface.config_keys = NULL, "not usable");
	WRONG(interface.n_config_keys = 1 << 20, "not usable");
}

static void an_admission_controller_says_what_it_matches(void **state)
{
	struct ks_admission_ops ops = {.size = sizeof(ops)};
	struct ks_admission_match match = {KS_OPERATION_CREATE, "", NULL};
	struct subject s;

	(void)state;
	make(&s);
	s.interface.kind = KS_KIND_ADMISSION;
	s.interface.version = KS_ADMISSION_VERSION;
	s.interface.ops = &ops;
	assert_wrong(&s, "every admission controller needs");
	ops.validate = (int (*)(void *, struct ks_op *, const struct ks_admission_request *, struct ks_admission_result *))(void (*)(void))authenticate;
	assert_wrong(&s, "every admission controller needs");
	ops.matches = &match;
	ops.n_matches = 1;
	assert_wrong(&s, "every admission controller needs");
	match.resource = "pods";
	assert_int_equal(ks_plugin_judge(&s.plugin, NULL), 0);
}

static void a_store_needs_all_of_its_functions(void **state)
{
	struct ks_store_ops ops = {.size = sizeof(ops)};
	struct subject s;

	(void)state;
	make(&s);
	s.interface.kind = KS_KIND_STORE;
	s.interface.version = KS_STORE_VERSION;
	s.interface.ops = &ops;
	assert_wrong(&s, "a function that every store needs is missing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_right_one_is_accepted),
		cmocka_unit_test(the_head_must_be_ours),
		cmocka_unit_test(an_interface_must_be_known),
		cmocka_unit_test(functions_must_be_there),
		cmocka_unit_test(keys_must_lie_in_their_struct),
		cmocka_unit_test(an_admission_controller_says_what_it_matches),
		cmocka_unit_test(a_store_needs_all_of_its_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
