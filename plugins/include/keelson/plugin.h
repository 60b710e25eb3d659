/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson/plugin.h: what every plugin has in common.
 *
 * A plugin is a shared library that exports one constant symbol, `ks_plugin`, a
 * struct ks_plugin that lists the interfaces it implements: authenticator
 * (keelson/authn.h), authorizer (keelson/authz.h), admission controller
 * (keelson/admission.h), store (keelson/storage.h). It imports no symbol of the
 * server: what it needs comes in the host's table (keelson/host.h).
 *
 * Life of an instance (one for each entry in the configuration):
 *
 *     create ---> start ---> worker_attach (once per worker) ---> serving
 *       |                                                            |
 *       |                              drain <-----------------------+
 *       v                                |
 *     destroy <--- stop <--- worker_detach (once per worker)
 *
 * `create` only parses and checks: it is what `keelson check-config` runs. Nothing
 * is opened, started or written before `start`.
 *
 * The zero value of every decision is the safe one. A number that the host does
 * not know is an error, never a yes.
 *
 * Compatibility: ABI 0.x matches exactly (major and minor). From 1.0 on, structs
 * only grow at their end, `size` tells how much of one is there.
 */
#ifndef KEELSON_PLUGIN_H
#define KEELSON_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KS_PLUGIN_MAGIC 0x4b53504cu /* "KSPL" */
#define KS_ABI_MAJOR 0
#define KS_ABI_MINOR 1

/* Results of calls. Positive and zero: fine. Negative: the call failed, whatever the result struct holds. */
enum ks_result {
	KS_DONE = 0,
	KS_PENDING = 1,       /* exactly one host->complete follows, from any thread, after the call returned or while it still runs */
	KS_ERR = -1,          /* host->op_error says what */
	KS_ERR_NOMEM = -2,
	KS_ERR_CONFIG = -3,   /* create: the configuration is wrong */
	KS_ERR_UNAVAILABLE = -4, /* what it depends on can't be reached: 503 or 500 */
	KS_ERR_TIMEOUT = -5,
	KS_ERR_UNCERTAIN = -6, /* a store: the write may or may not have happened; the host reads again */
	KS_ERR_COMPACTED = -7, /* a store: that revision is gone */
	KS_ERR_FUTURE = -8,    /* a store: that revision has not been reached */
	KS_ERR_LIMIT = -9      /* a bound was passed: too many edits, nesting, bytes */
};

/* A view; not NUL-terminated. p may be NULL when n is 0. */
struct ks_view {
	const char *p;
	size_t n;
};

struct ks_host;  /* keelson/host.h */
struct ks_op;    /* one call; keelson/host.h has what can be asked of it */

/* Where `create` and `start` say in words why they refuse. The host puts plugin and place in the configuration before it. */
struct ks_plugin_error {
	char text[512]; /* NUL-terminated */
};

/* -- configuration ---------------------------------------------------------------------------------------------- */

enum ks_config_type {
	KS_CONFIG_STRING = 1, /* const char *, NUL-terminated */
	KS_CONFIG_PATH,       /* const char *; a relative path is taken from the configuration's stateDirectory, by default the file's folder.
	                       * On a reload an instance is made anew when a file that it names has changed (a store is not) */
	KS_CONFIG_BOOL,       /* uint8_t: 0 or 1 */
	KS_CONFIG_INT,        /* int64_t, within min and max */
	KS_CONFIG_DURATION,   /* int64_t, milliseconds; written 500ms, 10s, 5m, 1h */
	KS_CONFIG_SIZE,       /* int64_t, bytes; written 64Ki, 3Mi, 1Gi or plain */
	KS_CONFIG_ENUM,       /* int32_t, index into `names` */
	KS_CONFIG_STRINGS,    /* struct ks_config_list of const char * */
	KS_CONFIG_PATHS       /* the same, of paths */
};

enum ks_config_flag {
	KS_CONFIG_REQUIRED = 1 << 0,
	KS_CONFIG_SECRET = 1 << 1   /* never shown or logged */
};

struct ks_config_list {
	const char *const *items;
	size_t n;
};

/* One key of the instance's configuration. The host parses and checks (with file:line:column) and fills the struct that `create` gets. */
struct ks_config_key {
	const char *name;
	uint32_t type;          /* enum ks_config_type */
	uint32_t flags;         /* enum ks_config_flag */
	size_t offset;          /* into the configuration struct */
	const char *default_text; /* as it would be written, a list's items separated by commas; NULL: zero, an empty list */
	int64_t min, max;       /* INT, DURATION, SIZE; both 0: any */
	const char *const *names; /* ENUM; ends with NULL */
	const char *help;       /* one sentence, for `keelson plugins --help NAME` */
};

/* -- interfaces ------------------------------------------------------------------------------------------------- */

enum ks_plugin_kind {
	KS_KIND_AUTHENTICATOR = 1,
	KS_KIND_AUTHORIZER = 2,
	KS_KIND_ADMISSION = 3,
	KS_KIND_STORE = 4
};

/* From which threads the host calls one instance. */
enum ks_threads {
	KS_THREADS_CONCURRENT = 0, /* any worker, at the same time */
	KS_THREADS_SERIAL = 1      /* one call at a time: the next begins when the answer has come */
};

/* What a call may do to the calling thread. */
enum ks_blocking {
	KS_CALLS_INLINE = 0,   /* returns in microseconds; may answer KS_PENDING */
	KS_CALLS_BLOCKING = 1  /* may block: the host calls it on its blocking pool; must not answer KS_PENDING */
};

/* The part of every interface that is about its life. Unneeded callbacks are NULL. All run on the main thread, but for worker_*. */
struct ks_lifecycle {
	uint32_t size;
	/* Makes an instance. `config` (the filled struct, or NULL when the plugin declares no keys) and `host` live as long as the instance.
	 * KS_DONE with *self set, or KS_ERR_CONFIG or KS_ERR_NOMEM with `error` worded. May not block for long; opens nothing but files it must
	 * check. */
	int (*create)(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error);
	/* Opens, connects, subscribes. KS_DONE, or an error: the server then does not start. May block. */
	int (*start)(void *self, struct ks_plugin_error *error);
	/* On the worker's thread, before the first and after the last call from it. */
	int (*worker_attach)(void *self, uint32_t worker);
	void (*worker_detach)(void *self, uint32_t worker);
	/* No new calls will come from outside; finish or give up what is pending within `deadline_ms`. */
	void (*drain)(void *self, uint64_t deadline_ms);
	/* Undoes start. No call is pending any more. */
	void (*stop)(void *self);
	/* Frees the instance. */
	void (*destroy)(void *self);
};

struct ks_interface {
	uint32_t size;
	uint32_t kind;          /* enum ks_plugin_kind */
	uint32_t version;       /* of that kind's ops: KS_AUTHN_VERSION, ... */
	uint32_t threads;       /* enum ks_threads */
	uint32_t blocking;      /* enum ks_blocking */
	uint32_t flags;         /* of that kind, such as KS_AUTHN_TOKEN */
	const char *name;       /* the name in the configuration: "x509" */
	const struct ks_lifecycle *lifecycle;
	const void *ops;        /* struct ks_authn_ops, ks_authz_ops, ks_admission_ops or ks_store_ops */
	const struct ks_config_key *config_keys;
	size_t n_config_keys;
	size_t config_size;     /* of the struct that the keys fill */
	size_t scratch_size;    /* zeroed memory that each call gets (host->op_scratch); at most 64 KiB */
};

struct ks_plugin {
	uint32_t magic;         /* KS_PLUGIN_MAGIC */
	uint16_t abi_major, abi_minor;
	uint32_t size;          /* sizeof(struct ks_plugin) */
	uint32_t n_interfaces;
	const struct ks_interface *interfaces;
	const char *version;    /* of the plugin, for people */
	const char *description; /* one sentence */
};

/*
 * Declares the one exported symbol:
 *
 *     KS_PLUGIN(x509) = { KS_PLUGIN_HEADER, .n_interfaces = 1, .interfaces = &interface, ... };
 *
 * In a plugin that is linked into the server (for sanitizers and fuzzers) the symbol is ks_plugin_x509.
 */
#if defined(KS_PLUGIN_STATIC)
#define KS_PLUGIN(plugin_name) extern const struct ks_plugin ks_plugin_##plugin_name; const struct ks_plugin ks_plugin_##plugin_name
#else
#define KS_PLUGIN(plugin_name) \
	extern const struct ks_plugin ks_plugin; \
	__attribute__((visibility("default"))) const struct ks_plugin ks_plugin
#endif
#define KS_PLUGIN_HEADER \
	.magic = KS_PLUGIN_MAGIC, .abi_major = KS_ABI_MAJOR, .abi_minor = KS_ABI_MINOR, .size = sizeof(struct ks_plugin)

#ifdef __cplusplus
}
#endif

#endif
