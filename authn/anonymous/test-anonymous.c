/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <keelson/authn.h>

#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_anonymous;

static void ask(const char *const *config, const char *path, struct ks_authn_result *result)
{
	struct ks_fake_host *fake = ks_fake_host_new("anonymous");
	const struct ks_interface *iface = ks_fake_interface(&ks_plugin_anonymous, KS_KIND_AUTHENTICATOR);
	const struct ks_authn_ops *ops = iface->ops;
	struct ks_authn_request request = {.size = sizeof(request), .path = {path, __builtin_strlen(path)}};
	struct ks_op *op = ks_fake_op_new(fake);
	void *self = NULL;

	assert_int_equal(ks_fake_start(fake, iface, config, &self), KS_DONE);
	*result = (struct ks_authn_result){.size = sizeof(*result)};
	assert_int_equal(ks_fake_op_wait(op, ops->authenticate(self, op, &request, result)), KS_DONE);
	ks_fake_op_free(&op);
	ks_fake_stop(fake, iface, self);
	ks_fake_host_free(&fake);
}

static void anyone_is_system_anonymous(void **state)
{
	const char *const config[] = {NULL};
	struct ks_authn_result result;

	(void)state;
	ask(config, "/api/v1/pods", &result);
	assert_int_equal(result.decision, KS_AUTHN_AUTHENTICATED);
	assert_memory_equal(result.name.p, "system:anonymous", result.name.n);
	assert_int_equal(result.n_groups, 1);
	assert_memory_equal(result.groups[0].p, "system:unauthenticated", result.groups[0].n);
}

static void paths_limit_who_is_let_through(void **state)
{
	const char *const config[] = {"paths=/healthz,/readyz", NULL};
	struct ks_authn_result result;

	(void)state;
	ask(config, "/readyz", &result);
	assert_int_equal(result.decision, KS_AUTHN_AUTHENTICATED);
	ask(config, "/readyz/ping", &result);
	assert_int_equal(result.decision, KS_AUTHN_NOT_MINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anyone_is_system_anonymous),
		cmocka_unit_test(paths_limit_who_is_let_through),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
