/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the suite of stores against anybody's plugin:
 *
 *     check-store ./x.so [KEY=VALUE]...
 *
 * The values are those of the plugin's configuration; each part needs an empty store, so
 * %d in a value becomes the part's number.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store-suite.h"

#define MAX_VALUES 16

static int random_history(struct ks_store_suite *suite)
{
	return ks_store_suite_random(suite, 1, 3000);
}

static int race(struct ks_store_suite *suite)
{
	return ks_store_suite_race(suite, 4, 50);
}

static int snapshot(struct ks_store_suite *suite)
{
	return ks_store_suite_snapshot(suite, 1000);
}

static int lease(struct ks_store_suite *suite)
{
	return suite->iface->flags & KS_STORE_NATIVE_TTL ? ks_store_suite_lease(suite) : 0;
}

static const struct part {
	const char *name;
	int (*run)(struct ks_store_suite *suite);
} parts[] = {{"random history", random_history}, {"race", race}, {"snapshot", snapshot}, {"lease", lease}};

static int run_part(const struct ks_interface *iface, int number, char **values, int n)
{
	const char *config[MAX_VALUES + 1] = {NULL};
	struct ks_store_suite suite = {.fake = ks_fake_host_new("store"), .iface = iface, .config = config};
	char text[MAX_VALUES][512], *mark;
	int i, failed;

	for (i = 0; i < n && i < MAX_VALUES; i++) {
		mark = strstr(values[i], "%d");
		if (mark)
			snprintf(text[i], sizeof(text[i]), "%.*s%d%s", (int)(mark - values[i]), values[i], number, mark + 2);
		else
			snprintf(text[i], sizeof(text[i]), "%s", values[i]);
		config[i] = text[i];
	}
	failed = ks_store_suite_start(&suite);
	if (!failed)
		failed = parts[number].run(&suite);
	printf("%s %d - %s\n", failed ? "not ok" : "ok", number + 1, parts[number].name);
	if (failed)
		printf("# %s\n", suite.failure);
	ks_store_suite_stop(&suite);
	ks_fake_host_free(&suite.fake);
	return failed;
}

int main(int argc, char **argv)
{
	const struct ks_interface *iface;
	const struct ks_plugin *plugin;
	void *library;
	size_t i;
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: check-store ./x.so [KEY=VALUE]...\n");
		return 2;
	}
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	plugin = library ? dlsym(library, "ks_plugin") : NULL;
	iface = plugin ? ks_fake_interface(plugin, KS_KIND_STORE) : NULL;
	if (!iface) {
		fprintf(stderr, "%s: %s\n", argv[1], plugin ? "there is no store in it" : dlerror());
		return 2;
	}
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		failed |= run_part(iface, (int)i, argv + 2, argc - 2);
	return failed ? 1 : 0;
}
