/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline without network and plugins: streams that keep their answer, and plugins that are
 * functions of the test. For one thread.
 */
#ifndef TESTS_UNIT_FAKE_PIPELINE_H
#define TESTS_UNIT_FAKE_PIPELINE_H

#include "core/pipeline/server.h"
#include "plugins/host/host.h"

struct fake_answer {
	int code;               /* 0: none yet */
	char headers[16384];    /* "name: value\n" */
	char body[1024 * 1024];
	size_t body_n;
	bool ended, reset;
};

/* A plugin: which stage it stands in, and what it says. */
struct ks_instance {
	const char *name;
	enum ks_stage stage;
	uint32_t flags;
	int (*authenticate)(struct ks_instance *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result);
	int (*authorize)(struct ks_instance *self, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result);
	int (*admit)(struct ks_instance *self, struct ks_op *op, struct ks_admission_call *call);
	bool mutates, validates;
	const char *group, *resource, *subresource; /* admission: what it wants; resource NULL: everything */
	unsigned calls;
};

/* The plugins of the next requests. */
extern struct ks_instance *fake_instances[16];
extern size_t fake_n_instances;

struct fake {
	struct ks_server_state server;
	struct ks_loop *loop;
	struct ks_config config;
};

/* A server with everybody allowed: one authenticator (token "good": user alice in group dev) and one authorizer. */
void fake_start(struct fake *fake);
void fake_stop(struct fake *fake);

struct fake_stream;
/* `headers`: pairs of name and value, ended by NULL. */
struct ks_stream *fake_open(struct fake *fake, const char *method, const char *target, const char *const *headers, const char *body);
/* The client goes away. */
void fake_hang_up(struct ks_stream *stream);
struct fake_answer *fake_answer_of(struct ks_stream *stream);
void fake_free_stream(struct ks_stream *stream);
/* Runs the loop until `*flag` (or for two seconds). */
void fake_run_until(struct fake *fake, bool (*done)(void *arg), void *arg);
void fake_run_until_answered(struct fake *fake, struct ks_stream *stream);

/* One request from beginning to end; the answer is valid until the next one. */
const struct fake_answer *fake_request(struct fake *fake, const char *method, const char *target, const char *const *headers, const char *body);
/* GET with the token "good". */
const struct fake_answer *fake_get(struct fake *fake, const char *target);

/* What ks_resource_handle does; NULL: it answers {"handled":true}. */
extern enum ks_stage_result (*fake_resource_handler)(struct ks_request *request);

#endif
