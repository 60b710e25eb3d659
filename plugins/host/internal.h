/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plugin host share. Private to plugins/host. */
#ifndef KS_PLUGINS_INTERNAL_H
#define KS_PLUGINS_INTERNAL_H

#include <pthread.h>

#include "plugins/host/executor.h"
#include "plugins/host/host.h"
#include "plugins/host/library.h"
#include "plugins/host/metrics.h"
#include "plugins/host/blocking.h"

enum { KS_HOST_WORKERS_MOST = 256, KS_WRITE_NESTING_MOST = 4 };

/* Calls of a SERIAL instance wait here for their turn. */
struct ks_serial {
	pthread_mutex_t lock;
	bool busy;
	struct ks_op *head, *tail;
};

struct ks_instance {
	struct ks_host host;          /* what the plugin was given */
	struct ks_plugins *plugins;
	const struct ks_library *library;
	const struct ks_interface *interface;
	enum ks_stage stage;
	const char *name;             /* the host's memory: whoever heard it may say it later */
	char *signature;              /* equal when library and configuration are */
	struct ks_place place;        /* in the file that it was made from */
	uint32_t index;
	void *config;                 /* struct of the plugin, filled by its keys */
	void *self;
	struct ks_arena arena;        /* names, configuration, compiled paths; under `lock` after create */
	pthread_mutex_t lock;
	bool created;
	bool started;                 /* under `lock` */
	bool serving;                 /* start has returned; main thread */
	uint32_t sets;                /* that hold it; main thread */
	struct ks_executor *executor; /* from start to stop */
	struct ks_informer *informers;
	struct ks_metric_use *metrics;
	struct ks_serial serial;
	struct ks_blocking_share pool;
	_Atomic uint8_t attached[KS_HOST_WORKERS_MOST]; /* each changed by its worker */
	_Atomic bool busy;            /* it said by set_ready(0) that it has something to finish first */
	struct ks_instance *next;     /* all there are; main thread */
};

/* A worker that has started. */
struct ks_worker_slot {
	struct ks_loop *loop;
	struct ks_plugin_set *set;    /* changed on the worker's thread alone */
};

struct ks_closed_executor {
	struct ks_closed_executor *next;
	struct ks_executor *executor;
};

struct ks_plugins {
	struct ks_plugins_options options;
	char *directories;
	char *file;                    /* of the configuration, for messages */
	struct ks_arena arena;         /* main thread */
	struct ks_library *libraries;
	struct ks_instance *instances; /* main thread */
	struct ks_plugin_set *sets;    /* that are not yet freed; main thread */
	struct ks_plugin_set *loaded;  /* main thread */
	struct ks_closed_executor *closed; /* main thread */
	struct ks_cache *cache;
	struct ks_blocking_pool *pool;
	struct ks_plugin_metrics metrics;
	int (*build)(void *arg, struct ks_plugin_set *set, void **chain_r, struct ks_error *err);
	void (*release)(void *chain);
	void *build_arg;
	void (*writer)(void *arg, struct ks_inner_write *write);
	void *writer_arg;
	pthread_mutex_t lock;          /* for what follows */
	struct ks_plugin_set *current;
	struct ks_worker_slot slots[KS_HOST_WORKERS_MOST];
	uint32_t next_slot;            /* for writes, in turn */
	struct write *early_writes;    /* that wait for the first worker */
};

struct ks_stage_list {
	struct ks_instance **items;
	size_t n;
};

struct ks_plugin_set {
	_Atomic uint32_t refs;
	struct ks_plugins *plugins;
	struct ks_stage_list stages[KS_N_STAGES];
	struct ks_router_entry *router_entries;
	void *chain;
	struct ks_arena arena;
	struct ks_task task;
	struct ks_plugin_set *next;
};

/* -- instance.c -- */

/* What an entry of the configuration is turned into an instance with. */
struct ks_build {
	struct ks_plugins *plugins;
	const struct ks_config *config;
	struct ks_problems *problems;
};
/* One line that names file, place, list and plugin; -EINVAL. */
int ks_build_problem(const struct ks_build *build, const struct ks_config_entry *entry, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Finds, checks and creates. 0, or negative with a problem told. */
int ks_instance_new(const struct ks_build *build, const struct ks_config_entry *entry, struct ks_instance **out_r)
	__attribute__((warn_unused_result));
/* Text that tells whether an instance would be the same; NULL when out of memory. For free(). */
char *ks_instance_signature(const struct ks_build *build, const struct ks_config_entry *entry, const struct ks_library *library,
	const struct ks_interface *interface);
int ks_instance_start(struct ks_instance *instance, struct ks_plugin_error *error) __attribute__((warn_unused_result));
void ks_instance_drain(struct ks_instance *instance, uint64_t deadline_ms);
/* Undoes start; no call is pending. */
void ks_instance_stop(struct ks_instance *instance);
/* After stop. Takes it out of plugins->instances. */
void ks_instance_free(struct ks_instance *instance);
/* On the worker's thread. 0, or negative. */
int ks_instance_attach(struct ks_instance *instance, uint32_t worker) __attribute__((warn_unused_result));
void ks_instance_detach(struct ks_instance *instance, uint32_t worker);
/* A reference; the executor is made if there is none yet. NULL when out of memory, before start, and after stop. Any thread. */
struct ks_executor *ks_instance_executor(struct ks_instance *instance);

/* -- services.c -- */
void ks_services_fill(struct ks_host *host, struct ks_instance *instance);
/* Gives back what the instance got (metrics). */
void ks_services_release(struct ks_instance *instance);
static inline struct ks_instance *ks_instance_of(const struct ks_host *host) { return host->context; }

/* -- values.c, edits.c -- */
extern const struct ks_value_ops ks_value_operations;
int ks_edit_set(struct ks_op *op, struct ks_view pointer, struct ks_view json);
int ks_edit_remove(struct ks_op *op, struct ks_view pointer);
struct ks_val ks_edit_current(struct ks_op *op);
/* The answer is KS_DONE: the edits take effect on `object`. */
void ks_edits_commit(struct ks_op *op, struct ks_value *object);

/* -- call.c -- */
/* The object that the running mutation may edit; NULL when it is no mutation. */
struct ks_value *ks_call_object(const struct ks_op *op);
/* The schema that its types are of; NULL when the call is about no object. */
const struct ks_schema *ks_call_schema(const struct ks_op *op);

/* -- informer.c, write.c -- */
struct ks_informer *ks_informer_add(const struct ks_host *host, struct ks_view group, struct ks_view version, struct ks_view resource,
	const struct ks_informer_handler *handler);
int ks_informer_is_synced(const struct ks_informer *informer);
/* Begins the informers that were added before the start. 0 or negative. */
int ks_informers_start(struct ks_instance *instance) __attribute__((warn_unused_result));
bool ks_informers_synced(struct ks_instance *instance);
/* The executor has ended: nothing follows the cache any more. */
void ks_informers_stop(struct ks_instance *instance);
/* The plugin has been destroyed. */
void ks_informers_free(struct ks_instance *instance);
int ks_write_start(const struct ks_host *host, const struct ks_write *write);
/* The writes that came before any worker did: to the first worker, or nowhere. */
void ks_early_writes_give(struct ks_plugins *plugins, struct ks_loop *loop);
void ks_early_writes_drop(struct ks_plugins *plugins);

/* Index of a resource that `schema` serves; an empty version is the preferred one. KS_NO_RESOURCE when there is none. */
uint16_t ks_find_resource(const struct ks_schema *schema, struct ks_view group, struct ks_view version, struct ks_view resource);
/* Calls the cache may only be asked from threads that have entered it. */
void ks_thread_enter_cache(void);

#endif
