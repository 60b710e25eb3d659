/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One admission controller on a host without a server, asked about objects written as JSON. */
#ifndef KS_TESTS_ADMISSION_FIXTURE_H
#define KS_TESTS_ADMISSION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <keelson/admission.h>

#include "tests/unit/fake-host.h"

struct admission_fixture {
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	struct ks_op *op;
	struct ks_admission_result result;
};

struct admission_fixture *admission_fixture_new(const struct ks_plugin *plugin, const char *const *config);
void admission_fixture_free(struct admission_fixture **f);

/* What is asked: "pods", "storage.k8s.io/storageclasses" or "pods//status"; KS_OPERATION_CREATE, unless there is an old object. */
struct admission_question {
	const char *resource, *object, *old, *ns;
};
/* Calls `mutate`, and gives the object as JSON afterwards, or the refusal's message. In the operation's memory. */
const char *admission_mutate(struct admission_fixture *f, struct admission_question question);
/* Calls `mutate` and does not wait for the answer; `admission_answer` gives what it came to. */
int admission_begin(struct admission_fixture *f, struct admission_question question);
const char *admission_answer(struct admission_fixture *f, int returned);
/* Calls `validate`: "" when allowed, the refusal's message otherwise. */
const char *admission_validate(struct admission_fixture *f, struct admission_question question);

/* In two steps, for what answers later. */
int admission_begin_validate(struct admission_fixture *f, struct admission_question question);
const char *admission_verdict(struct admission_fixture *f, int returned);

#define assert_has(text, part)                                           \
	do {                                                             \
		const char *whole_ = (text);                             \
		if (!strstr(whole_, (part)))                             \
			fail_msg("\"%s\" is not in %s", (part), whole_); \
	} while (0)
#define assert_has_not(text, part)                                   \
	do {                                                         \
		const char *whole_ = (text);                         \
		if (strstr(whole_, (part)))                          \
			fail_msg("\"%s\" is in %s", (part), whole_); \
	} while (0)

#endif
