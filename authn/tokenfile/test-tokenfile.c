/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <keelson/authn.h>

#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_tokenfile;

struct fixture {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	char path[64], config[96];
};

static int load(struct fixture *f, const char *text)
{
	const char *const config[] = {f->config, NULL};
	int fd;

	strcpy(f->path, "/tmp/test-tokenfile-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(f->config, sizeof(f->config), "file=%s", f->path);
	f->fake = ks_fake_host_new("tokenfile");
	f->iface = ks_fake_interface(&ks_plugin_tokenfile, KS_KIND_AUTHENTICATOR);
	f->self = NULL;
	return ks_fake_start(f->fake, f->iface, config, &f->self);
}

static void unload(struct fixture *f)
{
	ks_fake_stop(f->fake, f->iface, f->self);
	ks_fake_host_free(&f->fake);
	unlink(f->path);
}

static struct ks_authn_result ask(struct fixture *f, const char *token)
{
	const struct ks_authn_ops *ops = f->iface->ops;
	struct ks_authn_request request = {.size = sizeof(request), .token = {token, strlen(token)}};
	struct ks_authn_result result = {.size = sizeof(result)};
	struct ks_op *op = ks_fake_op_new(f->fake);

	assert_int_equal(ks_fake_op_wait(op, ops->authenticate(f->self, op, &request, &result)), KS_DONE);
	ks_fake_op_free(&op);
	return result;
}

static void a_listed_token_names_its_user(void **state)
{
	struct fixture f;
	struct ks_authn_result result;

	(void)state;
	assert_int_equal(load(&f, "# comment\n\nsecret,admin,admin-uid,\"system:masters, dev\"\nother,\"o,\"\"x\"\"\",2\n"), KS_DONE);
	result = ask(&f, "secret");
	assert_int_equal(result.decision, KS_AUTHN_AUTHENTICATED);
	assert_int_equal(result.name.n, 5);
	assert_memory_equal(result.uid.p, "admin-uid", result.uid.n);
	assert_int_equal(result.n_groups, 2);
	assert_memory_equal(result.groups[1].p, "dev", 3);
	result = ask(&f, "other");
	assert_memory_equal(result.name.p, "o,\"x\"", 5);
	assert_int_equal(result.n_groups, 0);
	unload(&f);
}

static void other_tokens_are_left_to_others(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load(&f, "secret,admin,1\n"), KS_DONE);
	assert_int_equal(ask(&f, "secre").decision, KS_AUTHN_NOT_MINE);
	assert_int_equal(ask(&f, "secret2").decision, KS_AUTHN_NOT_MINE);
	assert_int_equal(ask(&f, "").decision, KS_AUTHN_NOT_MINE);
	unload(&f);
}

static void a_bad_file_is_refused_with_its_line(void **state)
{
	static const struct { const char *text, *words; } bad[] = {
		{"ok,a,1\nsecret,admin\n", ":2: at least token, user name and user uid"},
		{",admin,1\n", ":1: the token is empty"},
		{"x,,1\n", ":1: the user name is empty"},
		{"x,\"admin,1\n", ":1: a quote is not closed"},
		{"x,a\"b\",1\n", ":1: a quote is not closed or stands inside"},
		{"same,a,1\nsame,b,2\n", "the same token is given to two lines"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fixture f;

		assert_int_equal(load(&f, bad[i].text), KS_ERR_CONFIG);
		if (!strstr(ks_fake_error(f.fake), bad[i].words))
			fail_msg("%s", ks_fake_error(f.fake));
		ks_fake_host_free(&f.fake);
		unlink(f.path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listed_token_names_its_user),
		cmocka_unit_test(other_tokens_are_left_to_others),
		cmocka_unit_test(a_bad_file_is_refused_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
