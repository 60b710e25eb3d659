/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin host: loads libraries, keeps instances, calls them.
 *
 * ks_plugins    one in the process: libraries, workers, services. Main owns it.
 * ks_plugin_set the instances of one loaded configuration, in order, by stage. Immutable, shared by count. A request takes a
 *               reference when it begins and is answered by that set whatever is reloaded meanwhile.
 * ks_instance   one configured plugin. Kept by the sets that name it; a reload hands unchanged instances on.
 *
 * Start, in this order, on the main thread:
 *
 *     ks_plugins_new -> ks_plugins_load (create: all that check-config does) -> ks_plugins_start_stores
 *     -> router, cache -> ks_plugins_set_cache -> ks_plugins_start -> ks_plugins_publish
 *     -> the HTTP server's workers start and call ks_plugins_worker_started
 *
 * Stop: drain the server, ks_plugins_drain, ks_plugins_worker_stopped on each worker as its loop ends, ks_plugins_stop (all but stores), cache and
 * router, ks_plugins_free (stores, too).
 */
#ifndef KS_PLUGINS_HOST_H
#define KS_PLUGINS_HOST_H

#include <keelson/admission.h>
#include <keelson/authn.h>
#include <keelson/authz.h>
#include <keelson/storage.h>

#include "core/api/schema.h"
#include "core/api/value.h"
#include "core/config/config.h"
#include "core/store/store.h"
#include "core/util/error.h"
#include "plugins/host/op.h"

struct ks_cache;
struct ks_plugins;
struct ks_plugin_set;
struct ks_instance;
struct ks_inner_write;

/* -- the host ------------------------------------------------------------------------------------------------- */

struct ks_plugins_options {
	const struct ks_plugin *const *static_plugins; /* linked into the server, found by name; ends with NULL, or is NULL */
	const char *directories;        /* --plugin-dir or KEELSON_PLUGIN_DIR, separated by ':'; searched before the configuration's. NULL: none */
	const char *default_directory;  /* searched last; NULL: none */
	const struct ks_schema *schema; /* may be NULL: no informers, no values (keelson plugins) */
	struct ks_loop *main_loop;      /* where unused sets are taken apart; NULL for check-config */
};

/* 0 or -ENOMEM. */
int ks_plugins_new(const struct ks_plugins_options *options, struct ks_plugins **out_r) __attribute__((warn_unused_result));
void ks_plugins_free(struct ks_plugins **plugins);

/* Loads and creates everything that `config` names, as the next set. 0, or negative with problems. */
int ks_plugins_load(struct ks_plugins *plugins, const struct ks_config *config, struct ks_problems *problems) __attribute__((warn_unused_result));
int ks_plugins_start_stores(struct ks_plugins *plugins, struct ks_problems *problems) __attribute__((warn_unused_result));
void ks_plugins_set_cache(struct ks_plugins *plugins, struct ks_cache *cache);
int ks_plugins_start(struct ks_plugins *plugins, struct ks_problems *problems) __attribute__((warn_unused_result));

/* Makes the pipeline's own part of a set (its chain), before the set is used; 0 or negative with err. `release` is called with it when the
 * set goes, on the main thread. */
void ks_plugins_on_set(struct ks_plugins *plugins, int (*build)(void *arg, struct ks_plugin_set *set, void **chain_r, struct ks_error *err),
	void (*release)(void *chain), void *arg);
/* The loaded set is the one that requests get from now on. 0, or negative with problems when `build` failed. */
int ks_plugins_publish(struct ks_plugins *plugins, struct ks_problems *problems) __attribute__((warn_unused_result));

/* SIGHUP, main thread: builds a set of `config` and swaps. Stores are kept, and instances whose library, configuration and files (those that keys of
 * the types path and paths name) have not changed; kept admission instances are asked to read their folders again.
 * On failure nothing has changed. Notes for the log (a store that needs a restart) are logged. May take as long as `start` of new plugins does. */
int ks_plugins_reload(struct ks_plugins *plugins, const struct ks_config *config, struct ks_problems *problems) __attribute__((warn_unused_result));

/* On each worker's own thread, first and last (ks_server_config.worker_started and worker_stopped). 0, or negative with err when a plugin's
 * worker_attach failed: main ends the server. */
int ks_plugins_worker_started(struct ks_plugins *plugins, struct ks_loop *loop, struct ks_error *err);
void ks_plugins_worker_stopped(struct ks_plugins *plugins, struct ks_loop *loop);

/* The set in use on the calling worker. Borrowed: valid until the worker's current task ends; take a reference to keep it. Workers only. */
struct ks_plugin_set *ks_plugins_current(struct ks_plugins *plugins, const struct ks_loop *loop);

/* Have all informers of all instances delivered what was there at their start, and is no instance busy (host->set_ready)? 1, or 0 with the
 * name of one that has not. For /readyz. Any thread. */
int ks_plugins_synced(struct ks_plugins *plugins, const char **instance_r);
/* Appends the plugins' metrics in the text format of Prometheus. Any thread. */
void ks_plugins_metrics(struct ks_plugins *plugins, struct ks_buf *out);

void ks_plugins_drain(struct ks_plugins *plugins, uint64_t deadline_ms);
void ks_plugins_stop(struct ks_plugins *plugins);

/* -- sets ------------------------------------------------------------------------------------------------------ */

struct ks_plugin_set *ks_plugin_set_ref(struct ks_plugin_set *set);
/* Any thread; the last one has it taken apart on the main loop. NULL is safe. */
void ks_plugin_set_unref(struct ks_plugin_set *set);
size_t ks_plugin_set_count(const struct ks_plugin_set *set, enum ks_stage stage);
struct ks_instance *ks_plugin_set_at(const struct ks_plugin_set *set, enum ks_stage stage, size_t index);
/* What `build` made; NULL without. */
void *ks_plugin_set_chain(const struct ks_plugin_set *set);
/* The stores for ks_router_new, in order; the texts live as long as the host. */
const struct ks_router_entry *ks_plugin_set_router_entries(const struct ks_plugin_set *set, size_t *n_r);
/* The set that was loaded or published last; main thread. */
struct ks_plugin_set *ks_plugins_loaded(struct ks_plugins *plugins);

/* -- instances ------------------------------------------------------------------------------------------------- */

const char *ks_instance_name(const struct ks_instance *instance);
uint32_t ks_instance_flags(const struct ks_instance *instance); /* of its kind: KS_AUTHN_TOKEN, KS_ADMISSION_NEEDS_OLD, ... */
const struct ks_interface *ks_instance_interface(const struct ks_instance *instance);

/* -- calls ----------------------------------------------------------------------------------------------------- */
/*
 * On the op's worker. KS_DONE with the result filled, KS_PENDING (op->done follows on the worker), or negative with op->error in words.
 * The host zeroes the result and sets its size; answers that the contract doesn't know become KS_ERR. All structs live until the answer came.
 * Whatever the plugin declares (serial, blocking) is looked after here.
 */
int ks_authn_call(struct ks_instance *instance, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
	__attribute__((warn_unused_result));
int ks_authz_call(struct ks_instance *instance, struct ks_op *op, const struct ks_authz_attributes *attributes, struct ks_authz_result *result)
	__attribute__((warn_unused_result));
/* KS_ERR_UNAVAILABLE when the authorizer can't list rules (ks_authz_has_rules tells). */
bool ks_authz_has_rules(const struct ks_instance *instance);
int ks_authz_rules_call(struct ks_instance *instance, struct ks_op *op, const struct ks_user *user, struct ks_view namespace_,
	struct ks_authz_rules *rules)
	__attribute__((warn_unused_result));

/* One admission controller's word on one object. `request` is filled by the caller: object and old_object by ks_val_of. */
struct ks_admission_call {
	const struct ks_admission_request *request;
	struct ks_admission_result *result;
	struct ks_value *object;  /* mutate: the tree's root, the node of request->object. When the answer is KS_DONE, allowed, and op->edited, it has
	                           * been replaced by the edited copy, which is op->arena's. Not used by validate */
	bool mutate;
};
bool ks_admission_mutates(const struct ks_instance *instance);
bool ks_admission_validates(const struct ks_instance *instance);
/* Does it want to see this? `subresource` may be empty. */
bool ks_admission_matches(const struct ks_instance *instance, enum ks_operation operation, struct ks_str group, struct ks_str resource,
	struct ks_str subresource);
int ks_admission_call(struct ks_instance *instance, struct ks_op *op, struct ks_admission_call *call) __attribute__((warn_unused_result));

/* A tree as plugins see it. */
static inline struct ks_val ks_val_of(const struct ks_schema *schema, const struct ks_value *root)
{
	return (struct ks_val){root && root->kind != KS_ABSENT ? root : NULL, schema};
}
static inline struct ks_view ks_view_of(struct ks_str s) { return (struct ks_view){s.p, s.n}; }
static inline struct ks_str ks_str_of_view(struct ks_view v) { return (struct ks_str){v.p, v.n}; }

/* -- in-process writes ----------------------------------------------------------------------------------------- */

/* A plugin's write on its way through the pipeline. Everything in it lives until ks_inner_write_done. */
struct ks_inner_write {
	enum ks_write_verb verb;
	struct ks_str group, version, resource, subresource, ns, name;
	struct ks_str body;           /* JSON */
	const char *user;             /* system:keelson:plugin:NAME; group system:masters */
	const char *audit_id;         /* of what led to it, or "" */
	uint64_t deadline_ns;
	uint16_t nesting;             /* for the nesting of the operations that this write causes */
	struct ks_loop *loop;         /* the worker that it was given to */
};

/* The pipeline's way in: called on a worker's thread; must lead to exactly one ks_inner_write_done. Set before ks_plugins_start. */
void ks_plugins_set_writer(struct ks_plugins *plugins, void (*writer)(void *arg, struct ks_inner_write *write), void *arg);
/* `code`: HTTP status; `body`: the object or Status, copied. Any thread. The write is gone afterwards. */
void ks_inner_write_done(struct ks_inner_write *write, int code, struct ks_str body);

#endif
