/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Just enough of a host to run a store plugin under the router and the cache, with the server's own operations and bytes. */
#ifndef KS_TESTS_CACHE_HOST_H
#define KS_TESTS_CACHE_HOST_H

#include <keelson/storage.h>

#include "core/store/store.h"

struct cache_host {
	const struct ks_interface *interface;
	void *config;
	void *self;
	struct ks_store store;
};

/* Creates and starts the plugin's store with its defaults; `file` (may be NULL) goes to its key "file". 0, or -1 with a line on standard error. */
int cache_host_start(struct cache_host *h, const struct ks_plugin *plugin, const char *file);
void cache_host_stop(struct cache_host *h);

#endif
