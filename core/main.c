/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson: the commands. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/daemon.h"
#include "core/static_plugins.h"
#include "plugins/host/cli.h"
#include "plugins/host/host.h"

static const char usage[] =
	"keelson: a Kubernetes API server whose every decision is a plugin\n"
	"\n"
	"  keelson serve --config FILE      runs the server until SIGTERM; SIGHUP reads the configuration again\n"
	"      --state-dir DIR              relative paths of the configuration are taken from here\n"
	"      --plugin-dir DIR[:DIR...]    look for plugins here first (KEELSON_PLUGIN_DIR does the same)\n"
	"      --ready-fd N                 write the line \"ready PORT\" to this descriptor when the server is ready\n"
	"  keelson check-config FILE        checks a configuration and all plugins that it names\n"
	"  keelson plugins [--help NAME]    lists the plugins that are found, or explains one\n"
	"  keelson version                  prints the version\n"
	"\n"
	"Manual: keelson(8), keelson.yaml(5), keelson-plugin(7).\n";

static int usage_error(const char *format, const char *what)
{
	fputs("keelson: ", stderr);
	fprintf(stderr, format, what);
	fputs("; `keelson help` shows what there is\n", stderr);
	return EXIT_FAILURE;
}

static int serve(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"config", required_argument, NULL, 'c'},
		{"state-dir", required_argument, NULL, 's'},
		{"plugin-dir", required_argument, NULL, 'p'},
		{"ready-fd", required_argument, NULL, 'r'},
		{NULL, 0, NULL, 0},
	};
	struct ks_daemon_options options = {.plugin_directories = getenv("KEELSON_PLUGIN_DIR"), .ready_fd = -1};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:s:p:r:", long_options, NULL)) != -1) {
		switch (c) {
		case 'c':
			options.config_file = optarg;
			break;
		case 's':
			options.state_directory = optarg;
			break;
		case 'p':
			options.plugin_directories = optarg;
			break;
		case 'r':
			options.ready_fd = atoi(optarg);
			break;
		default:
			return usage_error(c == ':' ? "%s needs a value" : "serve does not know %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return usage_error("serve does not know %s", argv[optind]);
	if (!options.config_file)
		return usage_error("%s", "serve needs --config FILE");
	return ks_daemon_run(&options) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const struct ks_plugins_options plugins = {.static_plugins = ks_static_plugins, .default_directory = KS_DEFAULT_PLUGIN_DIR, .schema = &ks_schema_builtin};
	const char *command = argc > 1 ? argv[1] : "help";

	if (strcmp(command, "serve") == 0)
		return serve(argc - 1, argv + 1);
	if (strcmp(command, "check-config") == 0)
		return ks_cli_check_config(argc - 1, argv + 1, &plugins);
	if (strcmp(command, "plugins") == 0)
		return ks_cli_plugins(argc - 1, argv + 1, &plugins);
	if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
		puts("keelson " KS_VERSION " (Kubernetes API 1.36)");
		return EXIT_SUCCESS;
	}
	if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) {
		fputs(usage, argc > 1 ? stdout : stderr);
		return argc > 1 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	return usage_error("there is no command %s", command);
}
