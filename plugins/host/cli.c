/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/host/internal.h"

enum { OK, WRONG, USAGE };

struct arguments {
	const char *plugin_directories, *state_directory, *help_of;
};

static int parse(int argc, char **argv, struct arguments *arguments)
{
	static const struct option long_options[] = {
		{"plugin-dir", required_argument, NULL, 'p'},
		{"state-dir", required_argument, NULL, 's'},
		{"help", required_argument, NULL, 'h'},
		{NULL, 0, NULL, 0}
	};
	int option;

	*arguments = (struct arguments){.plugin_directories = getenv("KEELSON_PLUGIN_DIR")};
	optind = 1;
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option == 'p')
			arguments->plugin_directories = optarg;
		else if (option == 's')
			arguments->state_directory = optarg;
		else if (option == 'h')
			arguments->help_of = optarg;
		else
			return -1;
	}
	return 0;
}

static struct ks_plugins *make_host(const struct ks_plugins_options *options, const struct arguments *arguments)
{
	struct ks_plugins_options mine = *options;
	struct ks_plugins *plugins = NULL;

	mine.main_loop = NULL;
	if (arguments->plugin_directories)
		mine.directories = arguments->plugin_directories;
	if (ks_plugins_new(&mine, &plugins) < 0)
		fprintf(stderr, "out of memory\n");
	return plugins;
}

/* -- check-config -- */

static int check(struct ks_plugins *plugins, const char *file, const char *state_directory, struct ks_problems *problems)
{
	struct ks_config *config = NULL;
	int result = ks_config_load(file, state_directory, &config, problems);

	if (result == 0)
		result = ks_plugins_load(plugins, config, problems);
	ks_config_free(&config);
	return result;
}

static int report(const char *file, const struct ks_problems *problems)
{
	fwrite(problems->text.data, 1, problems->text.len, stderr);
	if (problems->n > KS_PROBLEMS_MOST)
		fprintf(stderr, "%s: %u more problems\n", file, problems->n - KS_PROBLEMS_MOST);
	return WRONG;
}

int ks_cli_check_config(int argc, char **argv, const struct ks_plugins_options *options)
{
	struct arguments arguments;
	struct ks_plugins *plugins;
	struct ks_problems problems;
	int status = OK;

	if (parse(argc, argv, &arguments) < 0 || optind != argc - 1 || arguments.help_of) {
		fprintf(stderr, "usage: keelson check-config [--plugin-dir DIR[:DIR...]] [--state-dir DIR] FILE\n");
		return USAGE;
	}
	plugins = make_host(options, &arguments);
	if (!plugins)
		return WRONG;
	ks_problems_init(&problems);
	if (check(plugins, argv[optind], arguments.state_directory, &problems) < 0)
		status = report(argv[optind], &problems);
	else
		printf("%s: fine\n", argv[optind]);
	ks_problems_fini(&problems);
	ks_plugins_free(&plugins);
	return status;
}

/* -- plugins -- */

struct listing {
	struct ks_plugins *plugins;
	const char *help_of;
	int found, broken;
};

static const char *type_name(uint32_t type)
{
	static const char *const names[] = {
		[KS_CONFIG_STRING] = "text", [KS_CONFIG_PATH] = "path", [KS_CONFIG_BOOL] = "true or false", [KS_CONFIG_INT] = "number",
		[KS_CONFIG_DURATION] = "duration", [KS_CONFIG_SIZE] = "size", [KS_CONFIG_ENUM] = "one of", [KS_CONFIG_STRINGS] = "list of texts",
		[KS_CONFIG_PATHS] = "list of paths",
	};

	return names[type];
}

static void print_key(const struct ks_config_key *key)
{
	printf("  %s: %s", key->name, type_name(key->type));
	for (size_t i = 0; key->type == KS_CONFIG_ENUM && key->names[i]; i++)
		printf("%s %s", i ? "," : "", key->names[i]);
	if (key->flags & KS_CONFIG_REQUIRED)
		printf(", required");
	else if (key->default_text && !(key->flags & KS_CONFIG_SECRET))
		printf(", default %s", key->default_text);
	if (key->min || key->max)
		printf(", %lld to %lld%s", (long long)key->min, (long long)key->max,
			key->type == KS_CONFIG_DURATION ? " ms" : key->type == KS_CONFIG_SIZE ? " bytes" : "");
	printf("\n      %s\n", key->help);
}

static void print_help(const struct ks_plugin *plugin, const struct ks_interface *interface, const char *path)
{
	printf("%s: %s, version %s, %s\n", interface->name, ks_kind_name(interface->kind), plugin->version ? plugin->version : "?", path);
	if (plugin->description)
		printf("%s\n", plugin->description);
	if (!interface->n_config_keys)
		printf("It takes no configuration.\n");
	for (size_t i = 0; i < interface->n_config_keys; i++)
		print_key(&interface->config_keys[i]);
}

static void print_line(const struct ks_plugin *plugin, const struct ks_interface *interface, const char *path)
{
	printf("%-30s %-21s %-10s %u.%-4u %s  %s\n", interface->name, ks_kind_name(interface->kind), plugin->version ? plugin->version : "?",
		plugin->abi_major, plugin->abi_minor, path, plugin->description ? plugin->description : "");
}

static void show(struct listing *listing, const struct ks_plugin *plugin, const char *path)
{
	for (uint32_t i = 0; i < plugin->n_interfaces; i++) {
		const struct ks_interface *interface = &plugin->interfaces[i];

		if (!listing->help_of)
			print_line(plugin, interface, path);
		else if (strcmp(interface->name, listing->help_of) == 0)
			print_help(plugin, interface, path);
		else
			continue;
		listing->found++;
	}
}

static void visit(void *arg, uint32_t kind, const char *path, const struct ks_plugin *plugin)
{
	struct listing *listing = arg;
	const struct ks_library *library;
	struct ks_error err;

	(void)kind;
	if (plugin) {
		show(listing, plugin, "(linked in)");
	} else if (ks_library_open(listing->plugins, path, &library, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		listing->broken++;
	} else {
		show(listing, library->plugin, path);
	}
}

int ks_cli_plugins(int argc, char **argv, const struct ks_plugins_options *options)
{
	struct listing listing = {0};
	struct arguments arguments;

	if (parse(argc, argv, &arguments) < 0 || optind != argc || arguments.state_directory) {
		fprintf(stderr, "usage: keelson plugins [--plugin-dir DIR[:DIR...]] [--help NAME]\n");
		return USAGE;
	}
	listing.plugins = make_host(options, &arguments);
	listing.help_of = arguments.help_of;
	if (!listing.plugins)
		return WRONG;
	if (!listing.help_of)
		printf("%-30s %-21s %-10s %-6s %s\n", "NAME", "KIND", "VERSION", "ABI", "PATH");
	if (ks_libraries_list(listing.plugins, NULL, visit, &listing) < 0)
		listing.broken++;
	ks_plugins_free(&listing.plugins);
	if (listing.help_of && !listing.found)
		fprintf(stderr, "no plugin is called %s\n", listing.help_of);
	return listing.broken || (listing.help_of && !listing.found) ? WRONG : OK;
}
