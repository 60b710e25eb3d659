/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <keelson/admission.h>

#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_namespacelifecycle;

struct fixture {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	struct ks_op *op;
	struct ks_admission_result result;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *const config[] = {NULL};

	f->fake = ks_fake_host_new("namespacelifecycle");
	f->iface = ks_fake_interface(&ks_plugin_namespacelifecycle, KS_KIND_ADMISSION);
	assert_int_equal(ks_fake_start(f->fake, f->iface, config, &f->self), KS_DONE);
	ks_fake_object_set(f->fake, "", "namespaces", "{\"metadata\":{\"name\":\"alive\"},\"status\":{\"phase\":\"Active\"}}");
	ks_fake_object_set(f->fake, "", "namespaces", "{\"metadata\":{\"name\":\"dying\"},\"status\":{\"phase\":\"Terminating\"}}");
	f->op = ks_fake_op_new(f->fake);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ks_fake_op_free(&f->op);
	ks_fake_stop(f->fake, f->iface, f->self);
	ks_fake_host_free(&f->fake);
	free(f);
	return 0;
}

static struct ks_view view(const char *s)
{
	return (struct ks_view){s, strlen(s)};
}

static uint32_t ask(struct fixture *f, uint32_t operation, const char *group, const char *resource, const char *ns, const char *name)
{
	const struct ks_admission_ops *ops = f->iface->ops;
	struct ks_admission_request request = {
		.size = sizeof(request), .operation = operation, .group = view(group), .version = view("v1"), .resource = view(resource),
		.namespace_ = view(ns), .name = view(name)};

	f->result = (struct ks_admission_result){.size = sizeof(f->result)};
	assert_int_equal(ks_fake_op_wait(f->op, ops->mutate(f->self, f->op, &request, &f->result)), KS_DONE);
	return f->result.allowed;
}

static void objects_need_a_namespace_that_exists(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, KS_OPERATION_CREATE, "", "pods", "alive", "a"), 1);
	assert_int_equal(ask(f, KS_OPERATION_CREATE, "", "pods", "missing", "a"), 0);
	assert_int_equal(f->result.code, 404);
	assert_memory_equal(f->result.about_resource.p, "namespaces", 10);
	assert_memory_equal(f->result.about_name.p, "missing", 7);
	assert_int_equal(ask(f, KS_OPERATION_UPDATE, "", "pods", "missing", "a"), 0);
}

static void a_terminating_namespace_takes_nothing_new(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, KS_OPERATION_CREATE, "apps", "deployments", "dying", "a"), 0);
	assert_int_equal(f->result.n_causes, 1);
	assert_memory_equal(f->result.causes[0].reason.p, "NamespaceTerminating", 20);
	assert_memory_equal(f->result.causes[0].message.p, "namespace dying is being terminated", 35);
	assert_int_equal(ask(f, KS_OPERATION_UPDATE, "apps", "deployments", "dying", "a"), 1);
	assert_int_equal(ask(f, KS_OPERATION_DELETE, "apps", "deployments", "dying", "a"), 1);
	assert_int_equal(ask(f, KS_OPERATION_CREATE, "authorization.k8s.io", "localsubjectaccessreviews", "dying", ""), 1);
}

static void the_systems_namespaces_stay(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, KS_OPERATION_DELETE, "", "namespaces", "", "kube-system"), 0);
	assert_memory_equal(f->result.message.p, "this namespace may not be deleted", 33);
	assert_int_equal(ask(f, KS_OPERATION_DELETE, "", "namespaces", "", "alive"), 1);
	assert_int_equal(ask(f, KS_OPERATION_CREATE, "", "namespaces", "", "new"), 1);
	assert_int_equal(ask(f, KS_OPERATION_CREATE, "", "nodes", "", "n"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(objects_need_a_namespace_that_exists, setup, teardown),
		cmocka_unit_test_setup_teardown(a_terminating_namespace_takes_nothing_new, setup, teardown),
		cmocka_unit_test_setup_teardown(the_systems_namespaces_stay, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
