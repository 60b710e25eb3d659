/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared libraries that hold plugins. A library is judged by its constant data
 * before anything in it is called; once loaded it stays. Main thread.
 */
#ifndef KS_PLUGINS_LIBRARY_H
#define KS_PLUGINS_LIBRARY_H

#include <keelson/plugin.h>
#include <stdbool.h>
#include <time.h>

#include "core/config/config.h"
#include "core/util/error.h"

struct ks_plugins;

struct ks_library {
	const struct ks_plugin *plugin;
	char *path;              /* real path, or "(built in)" */
	void *handle;            /* NULL: linked into the server */
	struct timespec changed; /* of the file, when it was loaded */
	bool change_told;
	struct ks_library *next;
};

/* Kind of the plugins in a stage's list, its folder in a plugin directory, and its word for people. */
uint32_t ks_stage_kind(enum ks_stage stage);
const char *ks_kind_folder(uint32_t kind);
const char *ks_kind_name(uint32_t kind);

/* Is this data a plugin of this ABI, with everything in its place? 0, or -EINVAL with err. */
int ks_plugin_judge(const struct ks_plugin *plugin, struct ks_error *err) __attribute__((warn_unused_result));
/* Only the first fields, which are the same in all ABIs. */
int ks_plugin_judge_head(const struct ks_plugin *plugin, struct ks_error *err) __attribute__((warn_unused_result));

/* By absolute path, or by the short name of a plugin of `kind`: a linked-in one, or DIR/FOLDER/NAME.so of the first directory that has it
 * (also where libtool puts it in a build tree). 0, or -ENOENT, -EINVAL, -ENOMEM with err. */
int ks_library_find(struct ks_plugins *plugins, const struct ks_config *config, uint32_t kind, const char *name,
	const struct ks_library **out_r, struct ks_error *err) __attribute__((warn_unused_result));
/* The one interface of `kind` in it; `name` (may be NULL) chooses among several. NULL with err. */
const struct ks_interface *ks_library_interface(const struct ks_library *library, uint32_t kind, const char *name, struct ks_error *err);
/* Calls `visit` with the path of each library in each directory, and with NULL and the table of each linked-in one. */
int ks_libraries_list(struct ks_plugins *plugins, const struct ks_config *config,
	void (*visit)(void *arg, uint32_t kind, const char *path, const struct ks_plugin *plugin), void *arg) __attribute__((warn_unused_result));
int ks_library_open(struct ks_plugins *plugins, const char *path, const struct ks_library **out_r, struct ks_error *err)
	__attribute__((warn_unused_result));
/* Says once in the log which libraries are not the files any more that were loaded: that takes a restart. */
void ks_libraries_check(struct ks_plugins *plugins);
/* Forgets the list; libraries stay mapped. */
void ks_libraries_free(struct ks_plugins *plugins);

#endif
