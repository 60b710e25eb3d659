/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for unit tests of plugins: one instance of one plugin, no server.
 *
 *     struct ks_fake_host *fake = ks_fake_host_new("test");
 *     const struct ks_interface *iface = ks_fake_interface(&ks_plugin_x509, KS_KIND_AUTHENTICATOR);
 *     const char *const config[] = {"ca=/tmp/ca.pem", NULL};
 *     void *self = NULL;
 *     assert_int_equal(ks_fake_start(fake, iface, config, &self), KS_DONE);
 *     struct ks_op *op = ks_fake_op_new(fake);
 *     int result = ks_fake_op_wait(op, ops->authenticate(self, op, ...));
 *     ...
 *     ks_fake_op_free(&op);
 *     ks_fake_stop(fake, iface, self);
 *     ks_fake_host_free(&fake);
 *
 * Objects are JSON. Informers, timers and writes run only when the test says so, on the
 * test's thread: no test has to sleep.
 */
#ifndef KS_TESTS_FAKE_HOST_H
#define KS_TESTS_FAKE_HOST_H

#include <keelson/host.h>

struct ks_fake_host;

struct ks_fake_host *ks_fake_host_new(const char *instance);
/* The operations must have been freed before. */
void ks_fake_host_free(struct ks_fake_host **fake);
const struct ks_host *ks_fake_host_table(struct ks_fake_host *fake);

/* The plugin's interface of that kind, or NULL. */
const struct ks_interface *ks_fake_interface(const struct ks_plugin *plugin, uint32_t kind);
/* create, start and worker_attach(0); `config` is a list "key=value" ended by NULL, a list's items are separated by commas. The error's words go to the log. */
int ks_fake_start(struct ks_fake_host *fake, const struct ks_interface *iface, const char *const *config, void **self_r);
/* Only `create`. */
int ks_fake_create(struct ks_fake_host *fake, const struct ks_interface *iface, const char *const *config, void **self_r);
/* worker_detach, drain, stop, destroy. NULL is fine. */
void ks_fake_stop(struct ks_fake_host *fake, const struct ks_interface *iface, void *self);
/* The last error text of create or start; "" when none. */
const char *ks_fake_error(const struct ks_fake_host *fake);
/* What the instance said last by set_ready; 0 before. */
int ks_fake_ready(const struct ks_fake_host *fake);
/* Everything logged so far, lines "LEVEL text\n". */
const char *ks_fake_log(struct ks_fake_host *fake);
/* Lines go to standard error too. */
void ks_fake_log_show(struct ks_fake_host *fake, int on);

/* -- operations ------------------------------------------------------------------------------------------------- */

/* The deadline is 60 s away, the worker 0, scratch memory 64 KiB at most. NULL when out of memory. */
struct ks_op *ks_fake_op_new(struct ks_fake_host *fake);
/* Ready for the next call: memory, error and result are gone. */
void ks_fake_op_reset(struct ks_op *op);
void ks_fake_op_free(struct ks_op **op);
/* `returned` is what the call gave: when KS_PENDING, waits for `complete` (at most 30 s, then KS_ERR_TIMEOUT) and gives its result. */
int ks_fake_op_wait(struct ks_op *op, int returned);
/* 1 when `complete` was called. */
int ks_fake_op_done(struct ks_op *op);
/* `complete` calls this (on the completing thread) instead of waking ks_fake_op_wait; the operation may be reset or freed in it. */
void ks_fake_op_on_complete(struct ks_op *op, void (*done)(struct ks_op *op, int result, void *arg), void *arg);
const char *ks_fake_op_error(const struct ks_op *op);
void ks_fake_op_cancel(struct ks_op *op);
void ks_fake_op_set_deadline(struct ks_op *op, uint64_t deadline_ns);
void ks_fake_op_set_worker(struct ks_op *op, uint32_t worker);

/* -- values ----------------------------------------------------------------------------------------------------- */

/* A value from JSON text, in the operation's memory; absent when the text is bad. */
struct ks_val ks_fake_value(struct ks_op *op, const char *json);
/* The object under review for edit_set, edit_remove and edited; a copy is edited. */
void ks_fake_op_review(struct ks_op *op, struct ks_val object);

/* -- the cache: informers and cached_get -------------------------------------------------------------------------- */

/* Adds or replaces an object and tells the informers of the resource. `ns` and `name` come from its metadata. 0, or -1 when the JSON is bad. */
int ks_fake_object_set(struct ks_fake_host *fake, const char *group, const char *resource, const char *json);
int ks_fake_object_delete(struct ks_fake_host *fake, const char *group, const char *resource, const char *ns, const char *name);
/* Tells every informer that it has synced, after the objects known so far: once. Informers made later sync at once. */
void ks_fake_sync(struct ks_fake_host *fake);

/* -- timers and writes --------------------------------------------------------------------------------------------- */

/* Moves the timers' clock and fires what is due. */
void ks_fake_timers_run(struct ks_fake_host *fake, uint64_t milliseconds);

/* Answers writes: returns the HTTP status, *body_r (static text) the answer. Without one: 201 for a create, 200 otherwise, the body echoed. */
typedef int (*ks_fake_write_fn)(void *arg, const struct ks_write *write, const char **body_r);
void ks_fake_on_write(struct ks_fake_host *fake, ks_fake_write_fn fn, void *arg);
/* Plays the writes asked for since the last call, `done` included; returns how many. */
size_t ks_fake_writes_run(struct ks_fake_host *fake);

/* The value of a metric; NAN when there is none. */
double ks_fake_metric(struct ks_fake_host *fake, const char *name);

#endif
