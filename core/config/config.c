/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/entries.h"
#include "core/config/features_read.h"
#include "core/config/section.h"
#include "core/util/log.h"

#define SERVER(member) offsetof(struct ks_config_server, member)
#define TOP(member) offsetof(struct ks_config, member)

enum { DAY_MS = 86400000 };

static const struct ks_section_key server_keys[] = {
	{"bindAddress", KS_SECTION_TEXT, SERVER(bind_address), 0, 0},
	{"port", KS_SECTION_U16, SERVER(port), 0, UINT16_MAX},
	{"certificateFile", KS_SECTION_PATH, SERVER(certificate_file), 0, 0},
	{"keyFile", KS_SECTION_PATH, SERVER(key_file), 0, 0},
	{"clientCAFile", KS_SECTION_PATH, SERVER(client_ca_file), 0, 0},
	{"workers", KS_SECTION_U32, SERVER(workers), 0, 256},
	{"maxConnections", KS_SECTION_U32, SERVER(max_connections), 0, 1 << 20},
	{"maxStreams", KS_SECTION_U32, SERVER(max_streams), 1, 10000},
	{"headerLimit", KS_SECTION_SIZE32, SERVER(header_limit), 4096, 16 << 20},
	{"bodyLimit", KS_SECTION_SIZE32, SERVER(body_limit), 4096, 64 << 20},
	{"requestTimeout", KS_SECTION_DURATION, SERVER(request_timeout_ms), 100, DAY_MS},
	{"watchTimeout", KS_SECTION_DURATION, SERVER(watch_timeout_ms), 1000, DAY_MS},
	{"idleTimeout", KS_SECTION_DURATION, SERVER(idle_timeout_ms), 1000, DAY_MS},
	{"handshakeTimeout", KS_SECTION_DURATION, SERVER(handshake_timeout_ms), 1000, DAY_MS},
	{"drainTimeout", KS_SECTION_DURATION, SERVER(drain_timeout_ms), 0, DAY_MS},
	{NULL, 0, 0, 0, 0}
};

static const struct ks_section_key cache_keys[] = {
	{"historyEvents", KS_SECTION_U32, TOP(history_events), 16, 1 << 24},
	{"historyBytes", KS_SECTION_SIZE64, TOP(history_bytes), 1 << 16, 1ll << 40},
	{NULL, 0, 0, 0, 0}
};

static const struct ks_section_key top_keys[] = {
	{"apiVersion", KS_SECTION_TREE, 0, 0, 0},
	{"kind", KS_SECTION_TREE, 0, 0, 0},
	{"stateDirectory", KS_SECTION_TREE, 0, 0, 0},
	{"logLevel", KS_SECTION_LOG_LEVEL, TOP(log_level), 0, 0},
	{"pluginDirectories", KS_SECTION_PATHS, TOP(plugin_directories), 0, 0},
	{"advertiseAddress", KS_SECTION_TEXT, TOP(advertise_address), 0, 0},
	{"serviceClusterIPRange", KS_SECTION_TEXT, TOP(service_cluster_ip_range), 0, 0},
	{"serviceNodePortRange", KS_SECTION_TEXT, TOP(service_node_port_range), 0, 0},
	{"eventTTL", KS_SECTION_DURATION, TOP(event_ttl_ms), 1000, 30ll * DAY_MS},
	{"featureGates", KS_SECTION_TREE, 0, 0, 0},
	{"server", KS_SECTION_TREE, 0, 0, 0},
	{"cache", KS_SECTION_TREE, 0, 0, 0},
	{"authentication", KS_SECTION_TREE, 0, 0, 0},
	{"authorization", KS_SECTION_TREE, 0, 0, 0},
	{"admission", KS_SECTION_TREE, 0, 0, 0},
	{"storage", KS_SECTION_TREE, 0, 0, 0},
	{NULL, 0, 0, 0, 0}
};

static void set_defaults(struct ks_config *config)
{
	config->log_level = KS_LOG_INFO;
	ks_features_default(&config->features);
	config->service_cluster_ip_range = "10.0.0.0/16";
	config->service_node_port_range = "30000-32767";
	config->event_ttl_ms = 3600000;
	config->server = (struct ks_config_server){
		.bind_address = "127.0.0.1", .port = 6443, .max_streams = 250, .header_limit = 1 << 20, .body_limit = 3 << 20,
		.request_timeout_ms = 60000, .watch_timeout_ms = 1800000, .idle_timeout_ms = 90000, .handshake_timeout_ms = 10000,
		.drain_timeout_ms = 30000,
	};
}

static const char *join(struct ks_arena *arena, const char *folder, struct ks_str path)
{
	if (path.n && path.p[0] == '/')
		return ks_arena_dup(arena, path.p, path.n);
	return ks_arena_printf(arena, "%s/%.*s", folder, (int)path.n, path.p);
}

const char *ks_config_path(struct ks_config *config, struct ks_arena *arena, struct ks_str path)
{
	return join(arena, config->state_directory, path);
}

/* The folder that `file` stands in, absolute. */
static const char *folder_of(struct ks_arena *arena, const char *file)
{
	char *real = realpath(file, NULL);
	const char *slash, *folder;

	if (!real)
		return NULL;
	slash = strrchr(real, '/');
	folder = slash == real ? ks_arena_dup(arena, "/", 1) : ks_arena_dup(arena, real, (size_t)(slash - real));
	free(real);
	return folder;
}

/* Given on the command line (relative to where it was called from), or in the file (relative to the file), or the file's own folder. */
static int find_state_directory(const struct ks_section_context *context, const struct ks_yaml_node *root, const char *given)
{
	struct ks_config *config = context->config;
	const struct ks_yaml_node *node = ks_yaml_get(root, "stateDirectory");
	const char *folder = folder_of(&config->arena, config->file);
	char here[PATH_MAX];

	if (!folder)
		return -ENOMEM;
	config->state_directory = folder;
	if (given && !realpath(".", here))
		return ks_problem(context->problems, NULL, (struct ks_place){0}, "the current folder can't be found: %s", strerror(errno));
	if (given)
		config->state_directory = join(&config->arena, here, ks_str_from(given));
	else if (node && (node->kind != KS_YAML_SCALAR || !node->text.n))
		ks_section_problem(context, node, "stateDirectory: a path is expected");
	else if (node)
		config->state_directory = join(&config->arena, folder, node->text);
	return config->state_directory ? 0 : -ENOMEM;
}

static void check_constant(const struct ks_section_context *context, const struct ks_yaml_node *root, const char *key, const char *wanted)
{
	const struct ks_yaml_node *node = ks_yaml_get(root, key);

	if (!node)
		ks_section_problem(context, root, "%s: %s is missing", key, wanted);
	else if (node->kind != KS_YAML_SCALAR || !ks_str_is(node->text, wanted))
		ks_section_problem(context, node, "%s: only %s is known", key, wanted);
}

static bool is_address(const char *text)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, text, bytes) == 1 || inet_pton(AF_INET6, text, bytes) == 1;
}

static bool is_wildcard(const char *address)
{
	return strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
}

/* The prefix lengths are those that leave something to give. */
static bool is_one_range(const char *text, size_t n, bool *v6_r)
{
	char copy[INET6_ADDRSTRLEN + 4], *slash, *end;
	long bits;

	if (n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = 0;
	slash = strchr(copy, '/');
	if (!slash || slash[1] < '0' || slash[1] > '9')
		return false;
	*slash = 0;
	bits = strtol(slash + 1, &end, 10);
	*v6_r = strchr(copy, ':');
	return is_address(copy) && *end == 0 && bits >= (*v6_r ? 64 : 8) && bits <= (*v6_r ? 126 : 30);
}

/* One, or one of each family. */
static bool is_range_of_addresses(const char *text)
{
	const char *comma = strchr(text, ',');
	bool first, second;

	if (!comma)
		return is_one_range(text, strlen(text), &first);
	return is_one_range(text, (size_t)(comma - text), &first) && is_one_range(comma + 1, strlen(comma + 1), &second) && first != second;
}

static bool is_range_of_ports(const char *text)
{
	char *end;
	long from = strtol(text, &end, 10), to;

	if (end == text || *end != '-')
		return false;
	text = end + 1;
	to = strtol(text, &end, 10);
	return end != text && *end == 0 && from >= 1 && to <= 65535 && from <= to;
}

static void check_text(const struct ks_section_context *context, const struct ks_yaml_node *parent, const char *key, const char *value,
	bool (*good)(const char *), const char *wanted)
{
	const struct ks_yaml_node *node = ks_yaml_get(parent, key);

	if (node && node->kind == KS_YAML_SCALAR && value && !good(value))
		ks_section_problem(context, node, "%s: \"%s\" is not %s", key, value, wanted);
}

static void check_values(const struct ks_section_context *context, const struct ks_yaml_node *root)
{
	struct ks_config *config = context->config;
	const struct ks_yaml_node *server = ks_yaml_get(root, "server");

	check_text(context, server, "bindAddress", config->server.bind_address, is_address, "an IP address");
	check_text(context, root, "advertiseAddress", config->advertise_address, is_address, "an IP address");
	check_text(context, root, "serviceClusterIPRange", config->service_cluster_ip_range, is_range_of_addresses,
		"a range of addresses such as 10.0.0.0/16, or one of each family such as 10.0.0.0/16,fd00::/108");
	check_text(context, root, "serviceNodePortRange", config->service_node_port_range, is_range_of_ports,
		"a range of ports such as 30000-32767");
	if (!config->advertise_address && !is_wildcard(config->server.bind_address))
		config->advertise_address = config->server.bind_address;
	if (!config->server.certificate_file || !config->server.key_file)
		ks_section_problem(context, server ? server : root, "server: certificateFile and keyFile are needed");
}

static int read_sections(const struct ks_section_context *context, const struct ks_yaml_node *root)
{
	struct ks_config *config = context->config;
	const struct ks_yaml_node *server = ks_yaml_get(root, "server");
	const struct ks_yaml_node *cache = ks_yaml_get(root, "cache");
	const struct ks_yaml_node *features = ks_yaml_get(root, "featureGates");
	int result = ks_section_read(context, root, "the configuration", top_keys, config);

	if (result == 0 && server)
		result = ks_section_read(context, server, "server", server_keys, &config->server);
	if (result == 0 && cache)
		result = ks_section_read(context, cache, "cache", cache_keys, config);
	if (result == 0 && features)
		ks_features_read(context, features, &config->features);
	for (int stage = 0; result == 0 && stage < KS_N_STAGES; stage++)
		result = ks_config_read_entries(context, root, (enum ks_stage)stage);
	return result;
}

static int read_root(const struct ks_section_context *context, const struct ks_yaml_node *root, const char *state_directory)
{
	int result;

	if (!root || root->kind != KS_YAML_MAPPING)
		return ks_problem(context->problems, context->config->file, (struct ks_place){0}, "it holds no configuration");
	check_constant(context, root, "apiVersion", "keelson.dev/v1alpha1");
	check_constant(context, root, "kind", "Configuration");
	result = find_state_directory(context, root, state_directory);
	if (result == 0)
		result = read_sections(context, root);
	if (result == 0)
		check_values(context, root);
	return result;
}

static int load(struct ks_config *config, const char *file, const char *state_directory, struct ks_problems *problems)
{
	struct ks_section_context context = {config, problems};
	struct ks_yaml_node *root = NULL;
	uint32_t before = problems->n;
	int result;

	ks_arena_init(&config->arena, 64 << 20);
	set_defaults(config);
	config->file = ks_arena_dup(&config->arena, file, strlen(file));
	if (!config->file)
		return -ENOMEM;
	result = ks_yaml_tree_read(&config->arena, config->file, &root, problems);
	if (result == 0)
		result = read_root(&context, root, state_directory);
	if (result == 0 && problems->n > before)
		result = -EINVAL;
	return result;
}

int ks_config_load(const char *file, const char *state_directory, struct ks_config **out_r, struct ks_problems *problems)
{
	struct ks_config *config = calloc(1, sizeof(*config));
	int result = config ? load(config, file, state_directory, problems) : -ENOMEM;

	if (result == -ENOMEM)
		ks_problem(problems, file, (struct ks_place){0}, "out of memory");
	if (result < 0) {
		ks_config_free(&config);
		return result;
	}
	*out_r = config;
	return 0;
}

void ks_config_free(struct ks_config **config)
{
	struct ks_config *c = *config;

	if (!c)
		return;
	*config = NULL;
	ks_arena_fini(&c->arena);
	free(c);
}
