/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What tests of the registry share: objects out of JSON, a context for a resource. */
#ifndef KS_TESTS_REGISTRY_HELP_H
#define KS_TESTS_REGISTRY_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/api/json.h"
#include "core/registry/registry.h"

struct registry_test {
	struct ks_arena arena;
	struct ks_config config;
	struct ks_registry_context ctx;
	struct ks_status status;
	struct ks_value object, old;
	char warning[512];
};

/* For `resource` ("deployments") of a group and version, in namespace "n". */
void registry_open(struct registry_test *t, const char *group, const char *version, const char *resource);
void registry_close(struct registry_test *t);
/* Decodes with the resource's type; single quotes stand for double ones. */
struct ks_value registry_object(struct registry_test *t, const char *json);
/* The object as JSON, single quotes for double ones. Valid until the arena goes. */
const char *registry_json(struct registry_test *t, const struct ks_value *v);
/* The text at a dotted path; "" when absent. */
const char *registry_text(struct registry_test *t, const struct ks_value *v, const char *path);
/* Defaults, begin_create and before_create of `object`. Returns the code. */
int registry_create(struct registry_test *t, const char *json);

#endif
