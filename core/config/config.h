/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's configuration: one YAML file, read whole or refused whole.
 *
 * What a plugin's `config:` may hold is the plugin's to say: it is kept here as a
 * tree with places, and the plugin host checks it against the plugin's own table of keys.
 */
#ifndef KS_CONFIG_CONFIG_H
#define KS_CONFIG_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "core/config/features.h"
#include "core/config/problems.h"
#include "core/config/yaml_tree.h"

enum ks_stage { KS_STAGE_AUTHENTICATION, KS_STAGE_AUTHORIZATION, KS_STAGE_ADMISSION, KS_STAGE_STORAGE, KS_N_STAGES };

/* "authentication", "authorization", "admission", "storage": the names of the lists in the file. */
extern const char *const ks_stage_names[KS_N_STAGES];

/* One entry of one of the ordered lists. */
struct ks_config_entry {
	enum ks_stage stage;
	uint32_t index;                    /* in its list, from 0 */
	struct ks_place place;             /* of the entry in the file */
	const char *plugin;                /* short name, or absolute path of a .so */
	const char *name;                  /* of the instance; unique in its list; the plugin's short name by default */
	const char *interface;             /* which one of the library's; NULL: the only one of that kind */
	const struct ks_yaml_node *config; /* mapping, or NULL */
	const char *const *resources;      /* storage: "*", "events", "deployments.apps"; of the first entry {"*"} when not said */
	size_t n_resources;
};

struct ks_config_entries {
	const struct ks_config_entry *items;
	size_t n;
};

struct ks_config_server {
	const char *bind_address;          /* 127.0.0.1 */
	uint16_t port;                     /* 6443; 0: any free one */
	const char *certificate_file, *key_file; /* PEM; required to serve */
	const char *client_ca_file;        /* names offered to clients in the TLS handshake; NULL: none */
	uint32_t workers;                  /* 0: one per core */
	uint32_t max_connections;          /* 0: by the limit of descriptors */
	uint32_t max_streams;              /* of one HTTP/2 connection; 250 */
	uint32_t header_limit;             /* bytes; 1Mi */
	uint32_t body_limit;               /* bytes; 3Mi */
	uint32_t request_timeout_ms;       /* 60s */
	uint32_t watch_timeout_ms;         /* least time that a watch without timeoutSeconds is served; 30m */
	uint32_t idle_timeout_ms;          /* 90s */
	uint32_t handshake_timeout_ms;     /* 10s */
	uint32_t drain_timeout_ms;         /* time for requests in flight after SIGTERM; 30s */
};

struct ks_config {
	const char *file;                  /* as given */
	const char *state_directory;       /* absolute; relative paths in the file are taken from it. The file's folder by default */
	int log_level;                     /* enum ks_log_level */
	struct ks_features features;       /* read at start alone */
	struct ks_config_server server;
	const char *advertise_address;     /* of the `kubernetes` service's endpoint; the bind address by default, NULL when that is a wildcard */
	const char *service_cluster_ip_range; /* 10.0.0.0/16; or two of different families, separated by a comma: the first is the default */
	const char *service_node_port_range;  /* 30000-32767 */
	uint32_t event_ttl_ms;             /* how long Events are kept; 1h */
	const char *const *plugin_directories; /* searched in order; none: the built-in one */
	size_t n_plugin_directories;
	uint32_t history_events;           /* cache; 0: its default */
	uint64_t history_bytes;            /* of one resource; 0: its default */
	struct ks_config_entries stages[KS_N_STAGES];
	struct ks_arena arena;             /* owns all of the above */
};

/* Reads and checks a file. `state_directory` (may be NULL) overrides the file's, from the command line.
 * 0 and *out_r, or a negative errno with at least one problem; all problems found are told. */
int ks_config_load(const char *file, const char *state_directory, struct ks_config **out_r, struct ks_problems *problems)
	__attribute__((warn_unused_result));
/* NULL inside is safe. */
void ks_config_free(struct ks_config **config);

/* A path of the file: absolute, in the configuration's arena. NULL when out of memory. */
const char *ks_config_path(struct ks_config *config, struct ks_arena *arena, struct ks_str path);

#endif
