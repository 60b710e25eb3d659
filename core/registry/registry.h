/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * What is special about one resource: hooks that the generic handlers call on the
 * working tree. A resource without an entry takes the defaults of every hook.
 *
 * Hooks see a whole object of the served version. They don't block and don't write, but for `allocate` and `release`.
 *
 * The order on a create:
 *   decode, ks_registry_default, ks_registry_begin_create, mutating admission,
 *   ks_registry_default, ks_registry_before_create, validating admission,
 *   store, ks_registry_committed or ks_registry_rollback
 * and on an update (in every round of the loop):
 *   change, ks_registry_default, mutating admission, ks_registry_default,
 *   ks_registry_before_update, validating admission, store, ...
 */
#ifndef KS_REGISTRY_REGISTRY_H
#define KS_REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/api/schema.h"
#include "core/api/status.h"
#include "core/api/value.h"
#include "core/cache/cache.h"
#include "core/config/config.h"

struct ks_strategy;

enum ks_delete_step {
	KS_DELETE_REMOVE,          /* take it out of the store */
	KS_DELETE_UPDATE,          /* `object` was changed: write it back, it stays */
	KS_DELETE_UPDATE_REMOVE,   /* changed as if written back, then removed */
	KS_DELETE_PENDING,         /* it is being deleted already: nothing to do */
};

/* Something outside the object (an address, a port) that a write has taken; given back when the write fails. */
struct ks_allocation {
	struct ks_allocation *next;
	void (*give_back)(struct ks_allocation *allocation);
};

/* What a hook answers that waits for something outside: ctx->resume is called, then the same function is called again. */
enum { KS_REGISTRY_WAIT = -1 };

struct ks_pools; /* core/registry/allocate/pools.h */

struct ks_registry_context {
	const struct ks_schema *schema;
	const struct ks_strategy *strategy;
	struct ks_arena *arena;
	struct ks_cache *cache;     /* may be NULL: nothing can be looked up */
	const struct ks_config *config;
	uint16_t resource;          /* index of the main resource in the version that is served */
	struct ks_str subresource;  /* "status", "scale"; empty for the resource itself */
	struct ks_str ns, name;     /* of the URL; name empty on create */
	struct ks_str user, user_uid; /* who asks */
	const struct ks_str *groups;
	size_t n_groups;
	bool dry_run;
	void (*warn)(void *arg, struct ks_str text); /* may be NULL */
	void *warn_arg;
	uint64_t now_ms;            /* unix */
	struct ks_allocation *taken;
	/* What lies outside the object. */
	struct ks_pools *pools;     /* may be NULL: nothing is allocated */
	struct ks_loop *loop;       /* where it is waited */
	void (*resume)(void *arg);  /* on the loop, once nothing is pending any more */
	void *resume_arg;
	unsigned pending;           /* operations under way; the context must stay until there is none */
	uint64_t outside_revision;  /* of the last change outside that the answer waits for */
	void *plan;                 /* the strategy's, of this round */
};

enum ks_strategy_flag {
	KS_STRATEGY_CREATE_ON_UPDATE = 1 << 0,       /* PUT of an object that isn't there makes it */
	KS_STRATEGY_NEEDS_REVISION = 1 << 1,         /* an update must name a resourceVersion */
	KS_STRATEGY_KEEPS_STATUS = 1 << 2,           /* a create doesn't clear status */
	KS_STRATEGY_STATUS_KEEPS_LABELS = 1 << 3,  /* an update of /status leaves labels as they are */
	KS_STRATEGY_RETURNS_DELETED = 1 << 4,        /* DELETE answers the object, not a Status */
	KS_STRATEGY_NO_COLLECTION = 1 << 5,          /* garbage collection's finalizers are never set */
	KS_STRATEGY_ORPHANS = 1 << 6,                /* a delete without a policy orphans dependents */
	KS_STRATEGY_VALIDATES_METADATA_AGAIN = 1 << 7, /* the kind's update validation runs the create validation too (causes come twice) */
	KS_STRATEGY_STATUS_KEEPS_METADATA = 1 << 9,  /* and annotations, finalizers and owners, too */
	KS_STRATEGY_DECLARED_NAMES = 1 << 8,         /* names are only checked by the declared rules (no second check) */
};

enum ks_name_rule {
	KS_NAME_SUBDOMAIN, KS_NAME_LABEL, KS_NAME_LABEL_1035, KS_NAME_PATH, /* any path segment */
};

/* What raises metadata.generation, beside the first deletion. */
enum ks_generation_rule {
	KS_GENERATION_NONE,        /* it is what the client said on create (mostly nothing) */
	KS_GENERATION_SPEC,        /* a change of spec */
	KS_GENERATION_ANNOTATIONS, /* a change of spec or of annotations */
	KS_GENERATION_CONTENT,     /* a change of anything but metadata and status */
	KS_GENERATION_LABELS,      /* the same, or a change of labels */
	KS_GENERATION_ONCE,        /* nothing: it stays 1 */
};

enum ks_delete_decision {
	KS_DELETE_NOW,       /* no graceful deletion: finalizers alone decide */
	KS_DELETE_GRACEFUL,  /* `*grace_seconds` is set: mark, or remove when it is 0 */
};

struct ks_strategy {
	const char *group, *resource;
	uint32_t flags;            /* enum ks_strategy_flag */
	uint8_t names;             /* enum ks_name_rule */
	uint8_t generation;        /* enum ks_generation_rule */
	/* Fills what the constants of the tables can't: values that depend on other fields. Also when an object was read from a patch. */
	bool (*defaults)(struct ks_registry_context *ctx, struct ks_value *object);
	/* Fields that the server sets or clears on create. Status has been cleared where the resource has /status. */
	void (*prepare_create)(struct ks_registry_context *ctx, struct ks_value *object);
	/* Fields that an update can't change are taken from `old`. Spec and status have been kept apart where the resource has /status. */
	void (*prepare_update)(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old);
	/* Add causes to `status` (made by ks_status_invalid). `old` is NULL on create. */
	void (*validate)(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status);
	/* Warnings of this object (deprecated fields and so on). */
	void (*warnings)(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old);
	/* Takes resources outside the object (an IP) before validation; what is taken is put on ctx->taken. 0, the code set in `status`, or
	 * KS_REGISTRY_WAIT. */
	int (*allocate)(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old, struct ks_status *status);
	/* After the commit: gives back what `old` had and `object` (NULL: deleted) doesn't have. What takes time is held with ks_registry_hold. */
	void (*release)(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *object);
	/* May a client delete it at all? 0 or the code set in `status`. */
	int (*refuse_delete)(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status);
	/* Graceful deletion (pods). `*grace_seconds` is what the client asked for, -1 when it said nothing. */
	enum ks_delete_decision (*begin_delete)(struct ks_registry_context *ctx, const struct ks_value *object, int64_t *grace_seconds);
	/* Deletion that goes its own way: true when it decided (and edited `object`). */
	bool (*delete_)(struct ks_registry_context *ctx, struct ks_value *object, enum ks_delete_step *step_r);
	/* When no finalizer is left and deletion was asked for: may the object go now? NULL: yes. */
	bool (*may_go)(struct ks_registry_context *ctx, const struct ks_value *object);
};

/* Never NULL: the default strategy when there is nothing special. */
const struct ks_strategy *ks_registry_find(const struct ks_schema *schema, uint16_t resource);

/* Defaults of a decoded object: constants of the tables, then what depends on other fields. False when out of memory. */
bool ks_registry_default(struct ks_registry_context *ctx, struct ks_value *object) __attribute__((warn_unused_result));
/* The constants alone, of any value. */
bool ks_default_constants(struct ks_arena *arena, const struct ks_schema *schema, struct ks_value *value) __attribute__((warn_unused_result));

/* An object that says a namespace says the request's; one that says none gets it. 0 or the code set in `status`. */
int ks_registry_match_namespace(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status);
/* Forgets what a client can't choose, checks the namespace, drops duplicate owner references (with a warning). 0 or the code set in `status`. */
int ks_registry_begin_create(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status);
/* The same checks for an object that came with PUT or out of a patch. */
int ks_registry_begin_update(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status);
/* Duplicate owner references: dropped after every change, a warning the first time. */
void ks_registry_dedup_owners(struct ks_registry_context *ctx, struct ks_value *object, bool after_admission);
/* uid, creationTimestamp, generateName, generation, the strategy's fields, validation of metadata and of the kind. 0, the code set in `status`, or
 * KS_REGISTRY_WAIT. */
int ks_registry_before_create(struct ks_registry_context *ctx, struct ks_value *object, struct ks_status *status);
/* Generation, immutable metadata, deletion fields, spec or status taken from `old`, validation. The same answers. */
int ks_registry_before_update(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_value *old, struct ks_status *status);

/* The write failed, or was a dry run. */
void ks_registry_rollback(struct ks_registry_context *ctx);
/* The write was done. Either may be NULL. True: something is still given back; ctx->resume will be called, and ctx->outside_revision says what
 * the cache has to have seen then. */
bool ks_registry_committed(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *object);
/* An operation outside begins, and ends (with the revision of what it has changed, or 0). */
static inline void ks_registry_hold(struct ks_registry_context *ctx) { ctx->pending++; }
void ks_registry_let(struct ks_registry_context *ctx, uint64_t revision);

/* -- deletion -------------------------------------------------------------------------------------------------- */

struct ks_delete_policy {
	int64_t grace_seconds;     /* -1: not said */
	int8_t orphan_dependents;  /* -1: not said */
	char propagation;          /* 'F', 'B', 'O'; 0: not said */
};
/* Some objects are not for clients to delete. 0 or the code set in `status`. */
int ks_registry_may_delete(struct ks_registry_context *ctx, const struct ks_value *object, struct ks_status *status);
/* Decides and edits `object` (deletionTimestamp, grace, finalizers). */
enum ks_delete_step ks_registry_delete(struct ks_registry_context *ctx, struct ks_value *object, const struct ks_delete_policy *policy);
/* An update took the last finalizer of an object that is being deleted: it goes. */
bool ks_registry_gone_by_update(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old);

/* -- versions -------------------------------------------------------------------------------------------------- */

/* Conversion between the served versions of a group, for ks_object_set_converter and for write paths. 0 or negative. */
int ks_registry_convert(struct ks_arena *arena, const struct ks_schema *schema, uint16_t from_resource, uint16_t to_resource, struct ks_value *root);

/* -- start ----------------------------------------------------------------------------------------------------- */

/* Objects that exist after start: namespaces, the kubernetes Service, ... as JSON; create if absent. `port` is where the server listens.
 * Main, once; lives until the end of the process. NULL when the configuration's service range is not usable. */
struct ks_bootstrap_object {
	const char *collection;            /* path to post it to */
	const char *group, *resource, *ns, *name;
	const char *json;
	bool kept;                         /* made again when somebody takes it away */
};
const struct ks_bootstrap_object *ks_registry_bootstrap(const struct ks_config *config, unsigned port, size_t *n_r);

#endif
