/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fake host share; tests include fake-host.h. */
#ifndef KS_TESTS_FAKE_INTERNAL_H
#define KS_TESTS_FAKE_INTERNAL_H

#include <pthread.h>

#include "tests/unit/fake-host.h"

#define FAKE_SCRATCH_SIZE 65536

struct json_object;

struct ks_fake_memory {
	struct ks_fake_memory *next;
	max_align_t data[];
};

/* A JSON tree that lives as long as the operation. */
struct ks_fake_tree {
	struct ks_fake_tree *next;
	struct json_object *root;
};

struct ks_op {
	struct ks_fake_host *fake;
	struct ks_fake_memory *memory;
	struct ks_fake_tree *trees;
	struct json_object *review; /* the edited copy; in `trees` too */
	void *scratch;
	uint64_t deadline_ns;
	int cancelled;
	uint32_t worker;
	char error[512];
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int completions;
	int result;
	void (*on_complete)(struct ks_op *op, int result, void *arg);
	void *on_complete_arg;
};

struct ks_host_bytes {
	size_t refs;
	size_t n;
	char data[];
};

struct ks_metric {
	struct ks_metric *next;
	struct ks_fake_host *fake;
	char *name;
	int type;
	double value;
};

struct ks_fake_timer {
	struct ks_fake_timer *next;
	uint64_t due;
	void (*fire)(void *arg);
	void *arg;
};

struct ks_fake_object {
	struct ks_fake_object *next;
	char *group, *resource;
	struct json_object *object;
};

struct ks_informer {
	struct ks_informer *next;
	char *group, *resource;
	struct ks_informer_handler handler;
	int synced;
};

/* A copy of a write that waits for ks_fake_writes_run. */
struct ks_fake_queued {
	struct ks_fake_queued *next;
	struct ks_write write;
	char *text; /* what the views point into */
};

struct ks_fake_text {
	struct ks_fake_text *next;
	max_align_t data[];
};

struct ks_fake_host {
	int ready; /* what the plugin said last by set_ready */
	struct ks_host host;
	pthread_mutex_t lock;
	struct ks_plugin_error error;
	char *log;
	size_t log_n;
	int log_show;
	uint64_t now_ms;
	uint64_t revision;
	int synced;
	struct ks_fake_timer *timers;
	struct ks_metric *metrics;
	struct ks_fake_object *objects;
	struct ks_informer *informers;
	struct ks_fake_queued *writes;
	ks_fake_write_fn write_fn;
	void *write_arg;
	struct ks_fake_text *texts; /* configuration and paths: freed with the host */
};

extern const struct ks_value_ops ks_fake_values;

/* Memory that lives as long as the host, zeroed. */
void *ks_fake_alloc(struct ks_fake_host *fake, size_t n);
void ks_fake_op_drop_values(struct ks_op *op);
struct ks_val ks_fake_value_of(struct json_object *node);
void ks_fake_cache_free(struct ks_fake_host *fake);
struct ks_informer *ks_fake_informer(const struct ks_host *host, struct ks_view group, struct ks_view version, struct ks_view resource,
	const struct ks_informer_handler *handler);
int ks_fake_informer_synced(const struct ks_informer *informer);
int ks_fake_cached_get(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view ns, struct ks_view name,
	struct ks_val *object);
int ks_fake_cached_list(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view ns,
	int (*emit)(void *arg, struct ks_val object), void *arg);
int ks_fake_write(const struct ks_host *host, const struct ks_write *write);

#endif
