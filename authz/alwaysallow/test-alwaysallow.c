/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <keelson/authz.h>

#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_alwaysallow;

static void everything_is_allowed_and_the_log_warns(void **state)
{
	struct ks_fake_host *fake = ks_fake_host_new("alwaysallow");
	const struct ks_interface *iface = ks_fake_interface(&ks_plugin_alwaysallow, KS_KIND_AUTHORIZER);
	const struct ks_authz_ops *ops = iface->ops;
	const char *const config[] = {NULL};
	struct ks_user nobody = {.size = sizeof(nobody)};
	struct ks_authz_attributes attributes = {.size = sizeof(attributes), .user = &nobody, .verb = {"delete", 6}};
	struct ks_authz_result result = {.size = sizeof(result)};
	struct ks_authz_rules rules = {.size = sizeof(rules)};
	struct ks_op *op = ks_fake_op_new(fake);
	void *self = NULL;

	(void)state;
	assert_int_equal(ks_fake_start(fake, iface, config, &self), KS_DONE);
	assert_non_null(strstr(ks_fake_log(fake), "warn every authenticated request will be allowed"));
	assert_int_equal(ks_fake_op_wait(op, ops->authorize(self, op, &attributes, &result)), KS_DONE);
	assert_int_equal(result.decision, KS_AUTHZ_ALLOW);
	assert_int_equal(ks_fake_op_wait(op, ops->rules(self, op, &nobody, (struct ks_view){0}, &rules)), KS_DONE);
	assert_int_equal(rules.n_rules, 2);
	assert_int_equal(rules.incomplete, 0);
	ks_fake_op_free(&op);
	ks_fake_stop(fake, iface, self);
	ks_fake_host_free(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(everything_is_allowed_and_the_log_warns)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
