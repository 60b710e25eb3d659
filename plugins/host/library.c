/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "plugins/host/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util/log.h"
#include "plugins/host/internal.h"

/* Where a plugin may lie in a directory: installed, and in a build tree. */
static const char *const patterns[] = {
	"%s/%s/%s.so",          /* DIR/authn/x509.so */
	"%s/%s/%s/.libs/%s.so", /* DIR/authn/x509/.libs/x509.so */
	"%s/%s/.libs/%s.so",    /* DIR/authn/.libs/x509.so */
};
enum { N_PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };

/* -- opening -- */

static bool change_of(const char *path, struct timespec *changed_r)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	*changed_r = st.st_ctim;
	return true;
}

static struct ks_library *add_library(struct ks_plugins *plugins, const char *path, void *handle, const struct ks_plugin *plugin)
{
	struct ks_library *library = calloc(1, sizeof(*library));
	char *copy = strdup(path);

	if (!library || !copy) {
		free(library);
		free(copy);
		return NULL;
	}
	*library = (struct ks_library){.plugin = plugin, .path = copy, .handle = handle, .next = plugins->libraries};
	if (handle)
		change_of(copy, &library->changed);
	plugins->libraries = library;
	return library;
}

/* Is the symbol data, and as large as the fields that every ABI has? */
static int judge_symbol(const void *symbol, struct ks_error *err)
{
#ifdef __GLIBC__
	const ElfW(Sym) *entry = NULL;
	Dl_info info;

	if (!dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry)
		return 0;
	if ((entry->st_info & 0xf) != STT_OBJECT || entry->st_size < offsetof(struct ks_plugin, n_interfaces))
		return ks_error_set(err, -EINVAL, "its symbol ks_plugin is not a struct ks_plugin");
#else
	(void)symbol;
	(void)err;
#endif
	return 0;
}

static int judge_handle(void *handle, const struct ks_plugin **out_r, struct ks_error *err)
{
	const struct ks_plugin *plugin = dlsym(handle, "ks_plugin");
	int result;

	if (!plugin)
		return ks_error_set(err, -EINVAL, "it is no Keelson plugin: it exports no symbol ks_plugin");
	result = judge_symbol(plugin, err);
	if (result == 0)
		result = ks_plugin_judge(plugin, err);
	if (result == 0)
		*out_r = plugin;
	return result;
}

static const struct ks_library *loaded_before(struct ks_plugins *plugins, const char *path)
{
	for (const struct ks_library *l = plugins->libraries; l; l = l->next)
		if (strcmp(l->path, path) == 0)
			return l;
	return NULL;
}

/* What the loader says already begins with the path. */
static const char *without_path(const char *text, const char *path)
{
	size_t n = strlen(path);

	return text && strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0 ? text + n + 2 : text;
}

static int open_real(struct ks_plugins *plugins, const char *path, const struct ks_library **out_r, struct ks_error *err)
{
	const struct ks_plugin *plugin = NULL;
	struct ks_library *library;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int result;

	if (!handle)
		return ks_error_set(err, -EINVAL, "%s: %s", path, without_path(dlerror(), path));
	result = judge_handle(handle, &plugin, err);
	if (result < 0) {
		dlclose(handle);
		return ks_error_wrap(err, result, "%s", path);
	}
	library = add_library(plugins, path, handle, plugin);
	if (!library) {
		dlclose(handle);
		return ks_error_set(err, -ENOMEM, "out of memory");
	}
	*out_r = library;
	return 0;
}

int ks_library_open(struct ks_plugins *plugins, const char *path, const struct ks_library **out_r, struct ks_error *err)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return ks_error_set(err, -ENOENT, "%s: %s", path, strerror(errno));
	*out_r = loaded_before(plugins, real);
	return *out_r ? 0 : open_real(plugins, real, out_r, err);
}

void ks_libraries_check(struct ks_plugins *plugins)
{
	for (struct ks_library *l = plugins->libraries; l; l = l->next) {
		struct timespec now = {0, 0};

		if (!l->handle || l->change_told)
			continue;
		if (change_of(l->path, &now) && now.tv_sec == l->changed.tv_sec && now.tv_nsec == l->changed.tv_nsec)
			continue;
		l->change_told = true;
		ks_log(KS_LOG_WARN, "plugins", "%s has changed since it was loaded; that needs a restart, the loaded one stays", l->path);
	}
}

void ks_libraries_free(struct ks_plugins *plugins)
{
	while (plugins->libraries) {
		struct ks_library *library = plugins->libraries;

		plugins->libraries = library->next;
		free(library->path);
		free(library);
	}
}

/* -- finding -- */

/* Calls `visit` for each directory in the order of search until it returns nonzero. */
static int each_directory(struct ks_plugins *plugins, const struct ks_config *config, int (*visit)(void *arg, const char *directory), void *arg)
{
	char directory[PATH_MAX];

	for (const char *p = plugins->directories; p && *p;) {
		size_t n = strcspn(p, ":");
		int result = 0;

		if (n && n < sizeof(directory)) {
			memcpy(directory, p, n);
			directory[n] = 0;
			result = visit(arg, directory);
		}
		if (result)
			return result;
		p += n + (p[n] == ':');
	}
	for (size_t i = 0; config && i < config->n_plugin_directories; i++) {
		int result = visit(arg, config->plugin_directories[i]);

		if (result)
			return result;
	}
	return plugins->options.default_directory ? visit(arg, plugins->options.default_directory) : 0;
}

struct search {
	uint32_t kind;
	const char *name;
	char path[PATH_MAX];
	char tried[512];
};

static int look_into_folder(struct search *s, const char *directory, uint32_t kind)
{
	for (int i = 0; i < N_PATTERNS; i++) {
		int length = snprintf(s->path, sizeof(s->path), patterns[i], directory, ks_kind_folder(kind), s->name, s->name);

		if (length > 0 && (size_t)length < sizeof(s->path) && access(s->path, F_OK) == 0)
			return 1;
	}
	return 0;
}

/* The kind's own folder first; then the others, since a library of another kind may have an interface of this one, too. */
static int look_into(void *arg, const char *directory)
{
	struct search *s = arg;
	size_t n = strlen(s->tried);

	if (look_into_folder(s, directory, s->kind))
		return 1;
	for (uint32_t kind = KS_KIND_AUTHENTICATOR; kind <= KS_KIND_STORE; kind++)
		if (kind != s->kind && look_into_folder(s, directory, kind))
			return 1;
	snprintf(s->tried + n, sizeof(s->tried) - n, "%s%s/%s", n ? ", " : "", directory, ks_kind_folder(s->kind));
	return 0;
}

static const struct ks_plugin *find_linked_in(const struct ks_plugins *plugins, uint32_t kind, const char *name)
{
	const struct ks_plugin *const *table = plugins->options.static_plugins;

	for (; table && *table; table++)
		for (uint32_t i = 0; i < (*table)->n_interfaces; i++)
			if ((*table)->interfaces[i].kind == kind && strcmp((*table)->interfaces[i].name, name) == 0)
				return *table;
	return NULL;
}

static int use_linked_in(struct ks_plugins *plugins, const struct ks_plugin *plugin, const struct ks_library **out_r, struct ks_error *err)
{
	struct ks_library *library;

	for (const struct ks_library *l = plugins->libraries; l; l = l->next) {
		if (l->plugin != plugin)
			continue;
		*out_r = l;
		return 0;
	}
	if (ks_plugin_judge(plugin, err) < 0)
		return -EINVAL;
	library = add_library(plugins, "(linked in)", NULL, plugin);
	if (!library)
		return ks_error_set(err, -ENOMEM, "out of memory");
	*out_r = library;
	return 0;
}

int ks_library_find(struct ks_plugins *plugins, const struct ks_config *config, uint32_t kind, const char *name,
	const struct ks_library **out_r, struct ks_error *err)
{
	struct search s = {.kind = kind, .name = name};
	const struct ks_plugin *linked_in;

	if (name[0] == '/')
		return ks_library_open(plugins, name, out_r, err);
	linked_in = find_linked_in(plugins, kind, name);
	if (linked_in)
		return use_linked_in(plugins, linked_in, out_r, err);
	if (each_directory(plugins, config, look_into, &s) == 0)
		return ks_error_set(err, -ENOENT, "there is no such plugin: %s.so was looked for in %s", name, s.tried[0] ? s.tried : "no directory");
	return ks_library_open(plugins, s.path, out_r, err);
}

const struct ks_interface *ks_library_interface(const struct ks_library *library, uint32_t kind, const char *name, struct ks_error *err)
{
	const struct ks_plugin *plugin = library->plugin;
	const struct ks_interface *found = NULL;

	for (uint32_t i = 0; i < plugin->n_interfaces; i++) {
		const struct ks_interface *candidate = &plugin->interfaces[i];

		if (candidate->kind != kind || (name && strcmp(candidate->name, name) != 0))
			continue;
		if (found) {
			ks_error_set(err, -EINVAL, "%s has several %ss; `interface:` must name one", library->path, ks_kind_name(kind));
			return NULL;
		}
		found = candidate;
	}
	if (!found)
		ks_error_set(err, -EINVAL, "%s has no %s%s%s", library->path, ks_kind_name(kind), name ? " called " : "", name ? name : "");
	return found;
}

/* -- listing -- */

struct listing {
	void (*visit)(void *arg, uint32_t kind, const char *path, const struct ks_plugin *plugin);
	void *arg;
};

static bool name_of_library(const char *file, char *name, size_t size)
{
	size_t n = strlen(file);

	if (n <= 3 || n - 3 >= size || strcmp(file + n - 3, ".so") != 0)
		return false;
	memcpy(name, file, n - 3);
	name[n - 3] = 0;
	return true;
}

/* A name in DIR/FOLDER is NAME.so, or (in a build tree) the folder NAME. */
static void list_candidate(const struct listing *l, uint32_t kind, const char *directory, const char *file)
{
	char name[NAME_MAX + 1], path[PATH_MAX];

	if (file[0] == '.')
		return;
	if (!name_of_library(file, name, sizeof(name)))
		snprintf(name, sizeof(name), "%s", file);
	for (int i = 0; i < 2; i++) {
		int length = snprintf(path, sizeof(path), patterns[i], directory, ks_kind_folder(kind), name, name);

		if (length > 0 && (size_t)length < sizeof(path) && access(path, F_OK) == 0) {
			l->visit(l->arg, kind, path, NULL);
			return;
		}
	}
}

static void list_folder(const struct listing *l, uint32_t kind, const char *directory)
{
	struct dirent **entries = NULL;
	char folder[PATH_MAX];
	int n;

	if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", directory, ks_kind_folder(kind)) >= sizeof(folder))
		return;
	n = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		list_candidate(l, kind, directory, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

static int list_directory(void *arg, const char *directory)
{
	for (uint32_t kind = KS_KIND_AUTHENTICATOR; kind <= KS_KIND_STORE; kind++)
		list_folder(arg, kind, directory);
	return 0;
}

int ks_libraries_list(struct ks_plugins *plugins, const struct ks_config *config,
	void (*visit)(void *arg, uint32_t kind, const char *path, const struct ks_plugin *plugin), void *arg)
{
	struct listing l = {visit, arg};

	for (const struct ks_plugin *const *table = plugins->options.static_plugins; table && *table; table++)
		visit(arg, (*table)->interfaces[0].kind, NULL, *table);
	return each_directory(plugins, config, list_directory, &l);
}
