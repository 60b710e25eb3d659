/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/admission-fixture.h"

#include <stdio.h>

struct admission_fixture *admission_fixture_new(const struct ks_plugin *plugin, const char *const *config)
{
	static const char *const none[] = {NULL};
	struct admission_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fake = ks_fake_host_new("test");
	f->iface = ks_fake_interface(plugin, KS_KIND_ADMISSION);
	assert_non_null(f->iface);
	assert_int_equal(ks_fake_start(f->fake, f->iface, config ? config : none, &f->self), KS_DONE);
	ks_fake_sync(f->fake);
	f->op = ks_fake_op_new(f->fake);
	return f;
}

void admission_fixture_free(struct admission_fixture **f)
{
	ks_fake_op_free(&(*f)->op);
	ks_fake_stop((*f)->fake, (*f)->iface, (*f)->self);
	ks_fake_host_free(&(*f)->fake);
	free(*f);
	*f = NULL;
}

static struct ks_view view(const char *s)
{
	return (struct ks_view){s, s ? strlen(s) : 0};
}

/* "group/resource/subresource", "resource" or "resource//subresource". */
static void name_resource(struct ks_admission_request *request, const char *text)
{
	const char *sub = strstr(text, "//"), *slash = strchr(text, '/');

	request->resource = view(text);
	request->group = view("");
	if (sub) {
		request->resource.n = (size_t)(sub - text);
		request->subresource = view(sub + 2);
	} else if (slash) {
		request->group = (struct ks_view){text, (size_t)(slash - text)};
		request->resource = view(slash + 1);
	}
}

static struct ks_admission_request *make_request(struct admission_fixture *f, const struct admission_question *question)
{
	struct ks_admission_request *request;

	ks_fake_op_reset(f->op);
	f->result = (struct ks_admission_result){.size = sizeof(f->result)};
	request = ks_fake_host_table(f->fake)->op_alloc(f->op, sizeof(*request));
	assert_non_null(request);
	*request = (struct ks_admission_request){
		.size = sizeof(*request),
		.operation = question->old ? KS_OPERATION_UPDATE : KS_OPERATION_CREATE,
		.version = view("v1"),
		.namespace_ = view(question->ns ? question->ns : "ns"),
		.object = ks_fake_value(f->op, question->object),
	};
	if (question->old)
		request->old_object = ks_fake_value(f->op, question->old);
	name_resource(request, question->resource);
	return request;
}

/* As C text; it lives as long as the operation. */
static const char *text_of(struct admission_fixture *f, struct ks_view v)
{
	char *copy = ks_fake_host_table(f->fake)->op_alloc(f->op, v.n + 1);

	if (v.n)
		memcpy(copy, v.p, v.n);
	return copy;
}

const char *admission_answer(struct admission_fixture *f, int returned)
{
	const struct ks_value_ops *values = ks_fake_host_table(f->fake)->values;

	if (ks_fake_op_wait(f->op, returned) != KS_DONE)
		fail_msg("it failed: %s", ks_fake_op_error(f->op));
	if (f->result.allowed)
		return text_of(f, values->to_json(f->op, values->edited(f->op)));
	return text_of(f, f->result.message);
}

int admission_begin(struct admission_fixture *f, struct admission_question question)
{
	const struct ks_admission_ops *ops = f->iface->ops;
	struct ks_admission_request *request = make_request(f, &question);

	ks_fake_op_review(f->op, request->object);
	return ops->mutate(f->self, f->op, request, &f->result);
}

const char *admission_mutate(struct admission_fixture *f, struct admission_question question)
{
	return admission_answer(f, admission_begin(f, question));
}

int admission_begin_validate(struct admission_fixture *f, struct admission_question question)
{
	const struct ks_admission_ops *ops = f->iface->ops;

	return ops->validate(f->self, f->op, make_request(f, &question), &f->result);
}

const char *admission_verdict(struct admission_fixture *f, int returned)
{
	if (ks_fake_op_wait(f->op, returned) != KS_DONE)
		fail_msg("it failed: %s", ks_fake_op_error(f->op));
	return f->result.allowed ? "" : text_of(f, f->result.message);
}

const char *admission_validate(struct admission_fixture *f, struct admission_question question)
{
	return admission_verdict(f, admission_begin_validate(f, question));
}
