/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "authz/rbac/bootstrap.h"
#include "authz/rbac/escalation.h"
#include "authz/rbac/reconcile.h"
#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_rbac;

#define GROUP "rbac.authorization.k8s.io"

struct fixture {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	char reason[512];
};

static struct ks_view view(const char *s)
{
	return (struct ks_view){s, strlen(s)};
}

static void set(struct fixture *f, const char *resource, const char *json)
{
	assert_int_equal(ks_fake_object_set(f->fake, GROUP, resource, json), 0);
}

static int setup_with(void **state, const char *bootstrap)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *const config[] = {bootstrap, NULL};

	f->fake = ks_fake_host_new("rbac");
	f->iface = ks_fake_interface(&ks_plugin_rbac, KS_KIND_AUTHORIZER);
	assert_int_equal(ks_fake_start(f->fake, f->iface, config, &f->self), KS_DONE);
	*state = f;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, "bootstrap=false");
}

static int setup_bootstrapping(void **state)
{
	return setup_with(state, "bootstrap=true");
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ks_fake_stop(f->fake, f->iface, f->self);
	ks_fake_host_free(&f->fake);
	free(f);
	return 0;
}

/* What was set since is delivered and indexed. */
static void settle(struct fixture *f)
{
	ks_fake_sync(f->fake);
	ks_fake_timers_run(f->fake, 10);
}

static uint32_t decide(struct fixture *f, struct ks_authz_attributes attributes, const char *name, const char *group)
{
	const struct ks_authz_ops *ops = f->iface->ops;
	struct ks_view groups[] = {view(group)};
	struct ks_user user = {.size = sizeof(user), .name = view(name), .groups = groups, .n_groups = 1};
	struct ks_authz_result result = {.size = sizeof(result)};
	struct ks_op *op = ks_fake_op_new(f->fake);

	attributes.size = sizeof(attributes);
	attributes.user = &user;
	assert_int_equal(ks_fake_op_wait(op, ops->authorize(f->self, op, &attributes, &result)), KS_DONE);
	snprintf(f->reason, sizeof(f->reason), "%.*s", (int)result.reason.n, result.reason.p ? result.reason.p : "");
	ks_fake_op_free(&op);
	return result.decision;
}

static uint32_t may(struct fixture *f, const char *user, const char *group, const char *verb, const char *resource, const char *sub, const char *ns,
	const char *name)
{
	return decide(f, (struct ks_authz_attributes){.verb = view(verb), .is_resource = 1, .resource = view(resource), .subresource = view(sub),
		.namespace_ = view(ns), .name = view(name)}, user, group);
}

static uint32_t may_path(struct fixture *f, const char *user, const char *verb, const char *path)
{
	return decide(f, (struct ks_authz_attributes){.verb = view(verb), .path = view(path)}, user, "none");
}

static void bindings_give_what_their_role_says(void **state)
{
	struct fixture *f = *state;

	set(f, "roles", "{\"metadata\":{\"namespace\":\"a\",\"name\":\"reader\"},\"rules\":["
		"{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"*/scale\"]},"
		"{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"resourceNames\":[\"one\"]}]}");
	set(f, "rolebindings", "{\"metadata\":{\"namespace\":\"a\",\"name\":\"readers\"},\"roleRef\":{\"kind\":\"Role\",\"name\":\"reader\"},\"subjects\":["
		"{\"kind\":\"User\",\"name\":\"jane\"},{\"kind\":\"Group\",\"name\":\"dev\"},{\"kind\":\"ServiceAccount\",\"name\":\"robot\"}]}");
	settle(f);
	assert_int_equal(may(f, "jane", "x", "get", "pods", "", "a", "p"), KS_AUTHZ_ALLOW);
	assert_string_equal(f->reason, "RBAC: allowed by RoleBinding \"readers/a\" of Role \"reader\" to User \"jane\"");
	assert_int_equal(may(f, "joe", "dev", "list", "pods", "", "a", ""), KS_AUTHZ_ALLOW);
	assert_int_equal(may(f, "system:serviceaccount:a:robot", "x", "list", "pods", "", "a", ""), KS_AUTHZ_ALLOW);
	assert_string_equal(f->reason, "RBAC: allowed by RoleBinding \"readers/a\" of Role \"reader\" to ServiceAccount \"robot/a\"");
	assert_int_equal(may(f, "jane", "x", "get", "pods", "", "b", "p"), KS_AUTHZ_NO_OPINION);
	assert_int_equal(may(f, "jane", "x", "delete", "pods", "", "a", "p"), KS_AUTHZ_NO_OPINION);
	assert_int_equal(may(f, "jane", "x", "get", "pods", "log", "a", "p"), KS_AUTHZ_NO_OPINION);
	assert_int_equal(may(f, "jane", "x", "get", "deployments", "scale", "a", "p"), KS_AUTHZ_ALLOW);
	assert_int_equal(may(f, "jane", "x", "get", "configmaps", "", "a", "one"), KS_AUTHZ_ALLOW);
	assert_int_equal(may(f, "jane", "x", "get", "configmaps", "", "a", "two"), KS_AUTHZ_NO_OPINION);
}

static void cluster_bindings_hold_everywhere(void **state)
{
	struct fixture *f = *state;

	set(f, "clusterroles", "{\"metadata\":{\"name\":\"all\"},\"rules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]},"
		"{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/metrics\",\"/logs/*\"]}]}");
	set(f, "clusterrolebindings", "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"all\"},\"subjects\":["
		"{\"kind\":\"User\",\"name\":\"root\"}]}");
	settle(f);
	assert_int_equal(may(f, "root", "x", "delete", "nodes", "", "", "n"), KS_AUTHZ_ALLOW);
	assert_string_equal(f->reason, "RBAC: allowed by ClusterRoleBinding \"b\" of ClusterRole \"all\" to User \"root\"");
	assert_int_equal(may(f, "root", "x", "get", "pods", "log", "any", "n"), KS_AUTHZ_ALLOW);
	assert_int_equal(may_path(f, "root", "get", "/metrics"), KS_AUTHZ_ALLOW);
	assert_int_equal(may_path(f, "root", "get", "/logs/x/y"), KS_AUTHZ_ALLOW);
	assert_int_equal(may_path(f, "root", "get", "/version"), KS_AUTHZ_NO_OPINION);
	assert_int_equal(may_path(f, "root", "post", "/metrics"), KS_AUTHZ_NO_OPINION);
}

static void aggregated_roles_hold_what_they_select(void **state)
{
	struct fixture *f = *state;

	set(f, "clusterroles", "{\"metadata\":{\"name\":\"outer\"},\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"to\":\"outer\"}}]}}");
	set(f, "clusterroles", "{\"metadata\":{\"name\":\"inner\",\"labels\":{\"to\":\"outer\"}},"
		"\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchExpressions\":[{\"key\":\"part\",\"operator\":\"Exists\"}]}]}}");
	set(f, "clusterroles", "{\"metadata\":{\"name\":\"leaf\",\"labels\":{\"part\":\"1\"}},"
		"\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}");
	set(f, "clusterrolebindings", "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"outer\"},\"subjects\":["
		"{\"kind\":\"User\",\"name\":\"jane\"}]}");
	settle(f);
	assert_int_equal(may(f, "jane", "x", "get", "pods", "", "a", "p"), KS_AUTHZ_ALLOW);
	assert_int_equal(may(f, "jane", "x", "list", "pods", "", "a", "p"), KS_AUTHZ_NO_OPINION);
}

static void changes_take_effect(void **state)
{
	struct fixture *f = *state;

	set(f, "clusterroles", "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]}");
	settle(f);
	assert_int_equal(may(f, "jane", "x", "get", "pods", "", "a", "p"), KS_AUTHZ_NO_OPINION);
	set(f, "clusterrolebindings", "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"},\"subjects\":["
		"{\"kind\":\"User\",\"name\":\"jane\"}]}");
	settle(f);
	assert_int_equal(may(f, "jane", "x", "get", "pods", "", "a", "p"), KS_AUTHZ_ALLOW);
	assert_int_equal(ks_fake_object_delete(f->fake, GROUP, "clusterroles", "", "r"), 0);
	settle(f);
	assert_int_equal(may(f, "jane", "x", "get", "pods", "", "a", "p"), KS_AUTHZ_NO_OPINION);
	assert_string_equal(f->reason, "RBAC: clusterrole.rbac.authorization.k8s.io \"r\" not found");
}

static void privileged_groups_need_no_binding(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(may(f, "root", "system:masters", "delete", "nodes", "", "", "n"), KS_AUTHZ_ALLOW);
}

static int fail_first_write(void *arg, const struct ks_write *write, const char **body_r)
{
	int *n = arg;

	(void)write;
	*body_r = "{}";
	return (*n)++ == 0 ? 404 : 201;
}

/* A write that ends lets the next one begin. */
static size_t all_writes_run(struct fixture *f)
{
	size_t n = 0, more;

	while ((more = ks_fake_writes_run(f->fake)))
		n += more;
	return n;
}

static void defaults_are_written_once_the_rest_is_known(void **state)
{
	struct fixture *f = *state;
	int n = 0;

	ks_fake_on_write(f->fake, fail_first_write, &n);
	/* An operator's own. */
	set(f, "clusterroles", "{\"metadata\":{\"name\":\"admin\",\"annotations\":{\"rbac.authorization.kubernetes.io/autoupdate\":\"false\"}}}");
	settle(f);
	assert_int_equal(ks_fake_ready(f->fake), 0);
	assert_int_equal(all_writes_run(f), ks_rbac_n_defaults - 1);
	assert_int_equal(ks_fake_ready(f->fake), 0);
	ks_fake_timers_run(f->fake, 1000);
	assert_int_equal(ks_fake_writes_run(f->fake), 1);
	assert_int_equal(ks_fake_ready(f->fake), 1);
}

/* -- escalation -------------------------------------------------------------------------- */

struct escalation_fixture {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	char message[1024];
	int32_t code;
};

static void setup_escalation(struct escalation_fixture *f)
{
	const char *const config[] = {NULL};

	f->fake = ks_fake_host_new("rbac");
	f->iface = ks_fake_interface(&ks_plugin_rbac, KS_KIND_ADMISSION);
	f->self = NULL;
	assert_int_equal(ks_fake_start(f->fake, f->iface, config, &f->self), KS_DONE);
	assert_int_equal(ks_fake_object_set(f->fake, GROUP, "clusterroles", "{\"metadata\":{\"name\":\"r\"},\"rules\":["
		"{\"verbs\":[\"get\",\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"configmaps\",\"*/scale\"]},"
		"{\"verbs\":[\"escalate\"],\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"roles\"],\"resourceNames\":[\"any\"]},"
		"{\"verbs\":[\"bind\"],\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"clusterroles\"],\"resourceNames\":[\"big\"]},"
		"{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/logs/*\"]}]}"), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(ks_fake_object_set(f->fake, GROUP, "clusterroles", i ?
			"{\"metadata\":{\"name\":\"big\"},\"rules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]}" :
			"{\"metadata\":{\"name\":\"other\"},\"rules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]}"), 0);
	assert_int_equal(ks_fake_object_set(f->fake, GROUP, "clusterrolebindings", "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":"
		"\"ClusterRole\",\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"jane\"}]}"), 0);
	ks_fake_sync(f->fake);
	ks_fake_timers_run(f->fake, 10);
}

static void teardown_escalation(struct escalation_fixture *f)
{
	ks_fake_stop(f->fake, f->iface, f->self);
	ks_fake_host_free(&f->fake);
}

static uint32_t give(struct escalation_fixture *f, const char *user, const char *group, const char *resource, const char *name, const char *object)
{
	const struct ks_admission_ops *ops = f->iface->ops;
	struct ks_view groups[] = {view(group)};
	struct ks_user who = {.size = sizeof(who), .name = view(user), .groups = groups, .n_groups = 1};
	struct ks_admission_result result = {.size = sizeof(result)};
	struct ks_op *op = ks_fake_op_new(f->fake);
	struct ks_admission_request request = {.size = sizeof(request), .operation = KS_OPERATION_CREATE, .user = &who, .group = view(GROUP),
		.version = view("v1"), .resource = view(resource), .namespace_ = view("a"), .name = view(name), .object = ks_fake_value(op, object)};

	assert_int_equal(ks_fake_op_wait(op, ops->validate(f->self, op, &request, &result)), KS_DONE);
	snprintf(f->message, sizeof(f->message), "%.*s", (int)result.message.n, result.message.p ? result.message.p : "");
	f->code = result.code;
	ks_fake_op_free(&op);
	return result.allowed;
}

static void a_role_can_hold_what_its_author_holds(void **state)
{
	struct escalation_fixture f;

	(void)state;
	setup_escalation(&f);
	assert_int_equal(give(&f, "jane", "g", "roles", "x", "{\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],"
		"\"resourceNames\":[\"one\"]},{\"verbs\":[\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"x/scale\"]},"
		"{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/logs/a\"]}]}"), 1);
	assert_int_equal(give(&f, "jane", "g", "roles", "x", "{\"rules\":[{\"verbs\":[\"get\",\"watch\",\"list\"],\"apiGroups\":[\"\"],"
		"\"resources\":[\"secrets\",\"configmaps\"]},{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/metrics\"]}]}"), 0);
	assert_string_equal(f.message, "user \"jane\" (groups=[\"g\"]) is attempting to grant RBAC permissions not currently held:\n"
		"{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"watch\"]}\n"
		"{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"watch\" \"list\"]}\n"
		"{NonResourceURLs:[\"/metrics\"], Verbs:[\"get\"]}");
	teardown_escalation(&f);
}

static void escalate_and_privilege_lift_the_rule(void **state)
{
	static const char everything[] = "{\"rules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]}";
	struct escalation_fixture f;

	(void)state;
	setup_escalation(&f);
	assert_int_equal(give(&f, "jane", "g", "roles", "any", everything), 1);
	assert_int_equal(give(&f, "jane", "g", "roles", "one", everything), 0);
	assert_int_equal(give(&f, "root", "system:masters", "roles", "one", everything), 1);
	assert_int_equal(give(&f, "jane", "g", "clusterroles", "x", "{\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"a\":\"b\"}}]}}"), 0);
	assert_string_equal(f.message, "must have cluster-admin privileges to use the aggregationRule");
	teardown_escalation(&f);
}

static void a_binding_needs_its_roles_rights_or_bind(void **state)
{
	struct escalation_fixture f;

	(void)state;
	setup_escalation(&f);
	assert_int_equal(give(&f, "jane", "g", "rolebindings", "x", "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"}}"), 1);
	assert_int_equal(give(&f, "jane", "g", "rolebindings", "x", "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"big\"}}"), 1);
	assert_int_equal(give(&f, "jane", "g", "rolebindings", "x", "{\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"other\"}}"), 0);
	assert_int_equal(give(&f, "jane", "g", "rolebindings", "x", "{\"roleRef\":{\"kind\":\"Role\",\"name\":\"none\"}}"), 0);
	assert_int_equal(f.code, 404);
	teardown_escalation(&f);
}

/* -- defaults that a cluster has from before ------------------------------------------------------------------------ */

static const struct rbac_default *default_named(enum rbac_kind kind, const char *name)
{
	for (size_t i = 0; i < ks_rbac_n_defaults; i++)
		if (ks_rbac_defaults[i].kind == kind && strcmp(ks_rbac_defaults[i].name, name) == 0)
			return &ks_rbac_defaults[i];
	fail_msg("no default %s", name);
	return NULL;
}

/* What is to be done about a default that looks like this; the patch, or a word for everything else. */
static const char *mended_from(struct fixture *f, const struct rbac_default *wanted, const char *json)
{
	static char text[1024];
	static const char *const words[] = {[RBAC_LEAVE] = "leave", [RBAC_CREATE] = "create", [RBAC_MAKE_ANEW] = "anew", [RBAC_NO_MEMORY] = "memory"};
	const struct ks_host *host = ks_fake_host_table(f->fake);
	struct ks_op *op = ks_fake_op_new(f->fake);
	struct ks_pool *pool = ks_pool_new();
	struct rbac_object *there = ks_rbac_object_read(host->values, wanted->kind, view(wanted->ns), view(wanted->name), ks_fake_value(op, json));
	struct ks_view patch = {0};
	enum rbac_reconcile how;

	assert_non_null(there);
	how = ks_rbac_reconcile(pool, wanted, there, &patch);
	snprintf(text, sizeof(text), "%.*s", how == RBAC_MEND ? (int)patch.n : (int)strlen(words[how]), how == RBAC_MEND ? patch.p : words[how]);
	ks_rbac_object_unref(there);
	ks_pool_free(pool);
	ks_fake_op_free(&op);
	return text;
}

static const char *mended(struct fixture *f, enum rbac_kind kind, const char *name, const char *json)
{
	return mended_from(f, default_named(kind, name), json);
}

#define META(update) \
	"\"metadata\":{\"labels\":{\"kubernetes.io/bootstrapping\":\"rbac-defaults\"},\"annotations\":{\"rbac.authorization.kubernetes.io/autoupdate\":\"" update "\"}}"

static void defaults_that_are_whole_are_left_alone(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < ks_rbac_n_defaults; i++)
		assert_string_equal(mended_from(f, &ks_rbac_defaults[i], ks_rbac_defaults[i].json), "leave");
}

static void defaults_get_what_they_lack(void **state)
{
	struct fixture *f = *state;

	/* An annotation that says nothing is there all the same. */
	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE_BINDING, "cluster-admin", "{" META("") ",\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},"
		"\"subjects\":[{\"kind\":\"Group\",\"name\":\"system:masters\"}]}"), "leave");
	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE, "system:node-bootstrapper", "{" META("true") "}"),
		"[{\"op\":\"add\",\"path\":\"/rules\",\"value\":[{\"apiGroups\":[\"certificates.k8s.io\"],\"resources\":[\"certificatesigningrequests\"],"
		"\"verbs\":[\"create\",\"get\",\"list\",\"watch\"]}]}]");
	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE, "cluster-admin", "{" META("true") ",\"rules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]}"),
		"[{\"op\":\"add\",\"path\":\"/rules/-\",\"value\":{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}}]");
	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE, "view", "{\"metadata\":{\"labels\":{\"kubernetes.io/bootstrapping\":\"mine\"}}}"),
		"[{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"rbac.authorization.kubernetes.io/autoupdate\":\"true\"}},"
		"{\"op\":\"add\",\"path\":\"/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-edit\",\"value\":\"true\"},"
		"{\"op\":\"add\",\"path\":\"/aggregationRule\",\"value\":{\"clusterRoleSelectors\":[{\"matchLabels\":{"
		"\"rbac.authorization.k8s.io/aggregate-to-view\":\"true\"}}]}}]");
	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE_BINDING, "cluster-admin", "{" META("true") ",\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"cluster-admin\"},"
		"\"subjects\":[{\"kind\":\"Group\",\"name\":\"others\"}]}"),
		"[{\"op\":\"add\",\"path\":\"/subjects/-\",\"value\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Group\",\"name\":\"system:masters\"}}]");
}

static void defaults_of_an_operator_are_his(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE, "cluster-admin", "{" META("false") "}"), "leave");
	assert_string_equal(mended(f, RBAC_CLUSTER_ROLE_BINDING, "cluster-admin", "{" META("true") ",\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"view\"}}"), "anew");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bindings_give_what_their_role_says, setup, teardown),
		cmocka_unit_test_setup_teardown(cluster_bindings_hold_everywhere, setup, teardown),
		cmocka_unit_test_setup_teardown(aggregated_roles_hold_what_they_select, setup, teardown),
		cmocka_unit_test_setup_teardown(changes_take_effect, setup, teardown),
		cmocka_unit_test_setup_teardown(privileged_groups_need_no_binding, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults_are_written_once_the_rest_is_known, setup_bootstrapping, teardown),
		cmocka_unit_test_setup_teardown(defaults_that_are_whole_are_left_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults_get_what_they_lack, setup, teardown),
		cmocka_unit_test_setup_teardown(defaults_of_an_operator_are_his, setup, teardown),
		cmocka_unit_test(a_role_can_hold_what_its_author_holds),
		cmocka_unit_test(escalate_and_privilege_lift_the_rule),
		cmocka_unit_test(a_binding_needs_its_roles_rights_or_bind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
