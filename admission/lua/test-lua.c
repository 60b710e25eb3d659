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

#include <keelson/admission.h>

#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_lua;

struct fixture {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	char path[64];
	struct ks_op *op;
	struct ks_admission_request request;
	struct ks_admission_result result;
};

static struct ks_view view(const char *s)
{
	return (struct ks_view){s, strlen(s)};
}

static void write_policy(struct fixture *f, const char *text)
{
	FILE *file = fopen(f->path, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int load(struct fixture *f, const char *text)
{
	char config_text[128];
	const char *const config[] = {config_text, "instructions=300000", "memory=1Mi", "timeout=2s", NULL};
	int fd;

	memset(f, 0, sizeof(*f));
	strcpy(f->path, "/tmp/test-lua-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	write_policy(f, text);
	snprintf(config_text, sizeof(config_text), "policies=%s", f->path);
	f->fake = ks_fake_host_new("lua");
	f->iface = ks_fake_interface(&ks_plugin_lua, KS_KIND_ADMISSION);
	f->op = ks_fake_op_new(f->fake);
	return ks_fake_start(f->fake, f->iface, config, &f->self);
}

static void unload(struct fixture *f)
{
	ks_fake_op_free(&f->op);
	ks_fake_stop(f->fake, f->iface, f->self);
	ks_fake_host_free(&f->fake);
	unlink(f->path);
}

/* A policy file around the body of one function; matches pods of the core group. */
static int load_body(struct fixture *f, const char *body, const char *failure_policy)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"policy { name = 'p', match = { resources = {'pods'} }, failurePolicy = '%s',\nvalidate = function(object, old, request)\n%s\nend }",
		failure_policy, body);
	return load(f, text);
}

static uint32_t ask_about(struct fixture *f, uint32_t operation, const char *resource, const char *ns, const char *object, const char *old)
{
	const struct ks_admission_ops *ops = f->iface->ops;
	int result;

	ks_fake_op_reset(f->op);
	f->request = (struct ks_admission_request){
		.size = sizeof(f->request), .operation = operation, .version = view("v1"), .resource = view(resource), .namespace_ = view(ns), .name = view("x")};
	if (object)
		f->request.object = ks_fake_value(f->op, object);
	if (old)
		f->request.old_object = ks_fake_value(f->op, old);
	f->result = (struct ks_admission_result){.size = sizeof(f->result)};
	result = ops->validate(f->self, f->op, &f->request, &f->result);
	if (result == KS_PENDING)
		ks_fake_timers_run(f->fake, 0);
	assert_int_equal(ks_fake_op_wait(f->op, result), KS_DONE);
	return f->result.allowed;
}

static uint32_t ask(struct fixture *f, const char *object)
{
	return ask_about(f, KS_OPERATION_CREATE, "pods", "default", object, NULL);
}

static void assert_message(struct fixture *f, const char *words)
{
	char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)f->result.message.n, f->result.message.p);
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in \"%s\"", words, text);
}

static void a_policy_denies_with_message_and_reason(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f, "for i, c in ipairs(object.spec.containers) do\n"
		"if c.image:endswith(':latest') then deny('container ' .. i .. ': ' .. c.image, 'Invalid', 422) end end", "Fail"), KS_DONE);
	assert_int_equal(ask(&f, "{\"spec\":{\"containers\":[{\"image\":\"a:1\"}]}}"), 1);
	assert_int_equal(ask(&f, "{\"spec\":{\"containers\":[{\"image\":\"a:1\"},{\"image\":\"b:latest\"}]}}"), 0);
	assert_message(&f, "container 2: b:latest");
	assert_memory_equal(f.result.reason.p, "Invalid", 7);
	assert_int_equal(f.result.code, 422);
	unload(&f);
}

static void warnings_are_given_whether_allowed_or_not(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f, "warn('one') warn('two') if object.bad then deny('no') end", "Fail"), KS_DONE);
	assert_int_equal(ask(&f, "{}"), 1);
	assert_int_equal(f.result.n_warnings, 2);
	assert_memory_equal(f.result.warnings[1].p, "two", 3);
	assert_int_equal(ask(&f, "{\"bad\":true}"), 0);
	assert_int_equal(f.result.n_warnings, 2);
	unload(&f);
}

static void it_sees_old_object_and_request(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f, "if request.operation == 'UPDATE' and old.n ~= object.n then deny(request.namespace .. '/' .. request.name) end\n"
		"if request.operation == 'DELETE' and object ~= nil then deny('object') end", "Fail"), KS_DONE);
	assert_int_equal(ask_about(&f, KS_OPERATION_UPDATE, "pods", "ns", "{\"n\":1}", "{\"n\":1}"), 1);
	assert_int_equal(ask_about(&f, KS_OPERATION_UPDATE, "pods", "ns", "{\"n\":1}", "{\"n\":2}"), 0);
	assert_message(&f, "ns/x");
	assert_int_equal(ask_about(&f, KS_OPERATION_DELETE, "pods", "ns", NULL, "{\"n\":2}"), 1);
	unload(&f);
}

static void it_is_asked_only_about_what_matches(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load(&f, "policy { name = 'p', match = { operations = {'CREATE'}, groups = {''}, versions = {'v1'}, resources = {'pods', 'nodes/*'},\n"
		"namespaces = {'a', 'b'}, exceptNamespaces = {'b'}, labels = { app = 'x' } }, validate = function() deny('no') end }"), KS_DONE);
	assert_int_equal(ask_about(&f, KS_OPERATION_CREATE, "pods", "a", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}", NULL), 0);
	assert_int_equal(ask_about(&f, KS_OPERATION_CREATE, "pods", "a", "{\"metadata\":{\"labels\":{\"app\":\"y\"}}}", NULL), 1);
	assert_int_equal(ask_about(&f, KS_OPERATION_CREATE, "pods", "b", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}", NULL), 1);
	assert_int_equal(ask_about(&f, KS_OPERATION_CREATE, "pods", "c", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}", NULL), 1);
	assert_int_equal(ask_about(&f, KS_OPERATION_UPDATE, "pods", "a", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}", "{}"), 1);
	assert_int_equal(ask_about(&f, KS_OPERATION_CREATE, "secrets", "a", "{\"metadata\":{\"labels\":{\"app\":\"x\"}}}", NULL), 1);
	unload(&f);
}

static void an_error_means_what_the_failure_policy_says(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f, "local x = object.missing.field", "Fail"), KS_DONE);
	assert_int_equal(ask(&f, "{}"), 0);
	assert_message(&f, "policy \"p\" could not be evaluated: ");
	unload(&f);
	assert_int_equal(load_body(&f, "local x = object.missing.field", "Ignore"), KS_DONE);
	assert_int_equal(ask(&f, "{}"), 1);
	assert_non_null(strstr(ks_fake_log(f.fake), "policy \"p\" failed"));
	unload(&f);
}

static void bounds_hold_and_no_pcall_catches_them(void **state)
{
	static const struct { const char *body, *words; } greedy[] = {
		{"while true do end", "too many instructions"},
		{"pcall(function() while true do end end)", "too many instructions"},
		{"local t = {} for i = 1, 1e9 do t[i] = 'x' .. i end", "too much memory"},
		{"pcall(function() local s = ('x'):rep(1 << 30) end)", "too much memory"},
		{"pcall(deny, 'caught')", "caught"},
		{"table.sort({3, 2, 1, 5, 4}, function() while true do end end)", "too many instructions"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(greedy) / sizeof(greedy[0]); i++) {
		struct fixture f;

		assert_int_equal(load_body(&f, greedy[i].body, "Fail"), KS_DONE);
		for (int round = 0; round < 3; round++) {
			assert_int_equal(ask(&f, "{}"), 0);
			assert_message(&f, greedy[i].words);
		}
		unload(&f);
	}
}

static void a_long_evaluation_goes_on_elsewhere(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f, "local n = 0 for i = 1, 20000 do n = n + #object.list end\n"
		"local ok, words = pcall(function() for i = 1, 10000 do n = n + 1 end error('kept') end)\n"
		"if not ok and words:contains('kept') and n == 50000 then deny('all of it ran') end", "Fail"), KS_DONE);
	assert_int_equal(ask(&f, "{\"list\":[1,2]}"), 0);
	assert_message(&f, "all of it ran");
	unload(&f);
}

static void the_sandbox_has_no_way_out(void **state)
{
	static const char *const tries[] = {
		"io.open('/etc/passwd')", "os.execute('true')", "load('x=1')()", "require('x')", "dofile('/x')", "debug.getinfo(1)",
		"string.dump(print)", "('x'):find('x')", "('x'):gsub('x', 'y')", "setmetatable({}, {})", "coroutine.create(deny)", "collectgarbage()",
		"rawset(_G, 'x', 1)", "x = 1", "string.len = nil", "object.spec = 1", "table.move({}, 1, 2, 3)", "getmetatable('').__index = nil",
		"object.a.b = 2", "('x'):matches('(')",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct fixture f;

		assert_int_equal(load_body(&f, tries[i], "Fail"), KS_DONE);
		if (ask(&f, "{\"a\":{}}"))
			fail_msg("allowed: %s", tries[i]);
		assert_message(&f, "could not be evaluated");
		unload(&f);
	}
}

static void a_value_of_an_earlier_request_is_refused(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load(&f, "local kept\npolicy { name = 'p', match = { resources = {'pods'} }, validate = function(object)\n"
		"if kept then local x = kept.a end kept = object end }"), KS_DONE);
	assert_int_equal(ask(&f, "{\"a\":1}"), 1);
	assert_int_equal(ask(&f, "{\"a\":1}"), 0);
	assert_message(&f, "earlier request");
	unload(&f);
}

static void a_bad_file_is_named_with_its_line(void **state)
{
	static const struct { const char *text, *words; } bad[] = {
		{"policy {\n name = ", ":2: unexpected symbol near <eof>"},
		{"\nplicy {}", ":2: attempt to call a nil value (global 'plicy')"},
		{"policy { name = 'p', match = {}, validat = 1 }", ":1: policy has no key 'validat'"},
		{"policy { name = 'p', match = { resource = {} } }", ":1: match has no key 'resource'"},
		{"policy { name = 'p', match = { operations = {'PATCH'} } }", "'PATCH' is none of CREATE"},
		{"policy { name = 'p', validate = function() end }", "policy needs match"},
		{"policy { name = 'p', match = {} }", "policy 'p' needs validate"},
		{"policy { name = 1, match = {} }", "name: a string is expected, not number"},
		{"policy { name = 'p', match = {}, failurePolicy = 'Maybe' }", "Fail or Ignore"},
		{"while true do end", "runs for too long"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fixture f;

		assert_int_equal(load(&f, bad[i].text), KS_ERR_CONFIG);
		if (!strstr(ks_fake_error(f.fake), bad[i].words) || !strstr(ks_fake_error(f.fake), f.path))
			fail_msg("%s", ks_fake_error(f.fake));
		ks_fake_op_free(&f.op);
		ks_fake_host_free(&f.fake);
		unlink(f.path);
	}
}

static void reload_takes_the_new_file_or_keeps_the_old_policies(void **state)
{
	struct ks_plugin_error error = {{0}};
	const struct ks_admission_ops *ops;
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f, "deny('old')", "Fail"), KS_DONE);
	ops = f.iface->ops;
	write_policy(&f, "policy {");
	assert_int_equal(ops->reload(f.self, &error), KS_ERR_CONFIG);
	assert_int_equal(ask(&f, "{}"), 0);
	assert_message(&f, "old");
	write_policy(&f, "policy { name = 'q', match = { resources = {'pods'} }, validate = function() deny('new') end }");
	assert_int_equal(ops->reload(f.self, &error), KS_DONE);
	assert_int_equal(ask(&f, "{}"), 0);
	assert_message(&f, "new");
	unload(&f);
}

static void values_look_like_tables(void **state)
{
	struct fixture f;

	(void)state;
	assert_int_equal(load_body(&f,
		"local keys = {} for k, v in pairs(object.map) do keys[#keys + 1] = k .. '=' .. v end table.sort(keys)\n"
		"local sum = 0 for i, v in pairs(object.list) do sum = sum + i * v end\n"
		"deny(table.concat(keys, ',') .. ' ' .. sum .. ' ' .. #object.list .. ' ' .. tostring(object.none) .. ' ' .. tostring(object.flag) ..\n"
		"' ' .. object.float .. ' ' .. tostring(object.list[4]) .. ' ' .. table.concat(('a.b.c'):split('.'), '/'))", "Fail"), KS_DONE);
	assert_int_equal(ask(&f, "{\"map\":{\"b\":\"2\",\"a\":\"1\"},\"list\":[10,20,30],\"flag\":false,\"float\":1.5}"), 0);
	assert_message(&f, "a=1,b=2 140 3 nil false 1.5 nil a/b/c");
	unload(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_denies_with_message_and_reason),
		cmocka_unit_test(warnings_are_given_whether_allowed_or_not),
		cmocka_unit_test(it_sees_old_object_and_request),
		cmocka_unit_test(it_is_asked_only_about_what_matches),
		cmocka_unit_test(an_error_means_what_the_failure_policy_says),
		cmocka_unit_test(bounds_hold_and_no_pcall_catches_them),
		cmocka_unit_test(a_long_evaluation_goes_on_elsewhere),
		cmocka_unit_test(the_sandbox_has_no_way_out),
		cmocka_unit_test(a_value_of_an_earlier_request_is_refused),
		cmocka_unit_test(a_bad_file_is_named_with_its_line),
		cmocka_unit_test(reload_takes_the_new_file_or_keeps_the_old_policies),
		cmocka_unit_test(values_look_like_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
