/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Volumes of old times, and files that hide each other. */
#include "core/registry/validate/warnings.h"

static const struct {
	const char *field, *shown, *message;
} old_sources[] = {
	{"photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
	{"gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
	{"scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
	{"flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"},
	{"storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
	{"quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
	{"glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
	{"ephemeral", "ephemeral", NULL},
	{"cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
	{"rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

static void warn_sources(struct ks_check *c, const struct ks_path *item, const struct ks_value *volume)
{
	for (size_t i = 0; i < sizeof(old_sources) / sizeof(old_sources[0]); i++) {
		const struct ks_value *source = ks_value_get(c->schema, volume, old_sources[i].field);
		struct ks_path claim = ks_path_child(item, "ephemeral.volumeClaimTemplate.spec.resources.requests");

		if (!ks_value_present(source))
			continue;
		if (old_sources[i].message)
			ks_warn_at(c, item, old_sources[i].shown, "%s", old_sources[i].message);
		else
			ks_warn_fraction(c, &claim, MAP(IN(IN(IN(source, "volumeClaimTemplate"), "spec"), "resources"), "requests"), KS_STR_LIT("storage"));
	}
}

/* -- files ---------------------------------------------------------------------------------------------------------- */

struct file {
	struct ks_str path;
	const char *source; /* NULL: the volume itself */
};

struct files {
	struct file *items;
	uint32_t n, room;
};

static bool add_file(struct ks_check *c, struct files *files, struct ks_str path, const char *source)
{
	if (files->n == files->room) {
		uint32_t room = files->room ? files->room * 2 : 16;
		struct file *items = ks_arena_zalloc(c->arena, room, sizeof(*items));

		if (!items)
			return false;
		if (files->n)
			memcpy(items, files->items, files->n * sizeof(*items));
		files->items = items;
		files->room = room;
	}
	files->items[files->n++] = (struct file){path, source};
	return true;
}

static bool lies_in(struct ks_str inner, struct ks_str outer)
{
	return inner.n > outer.n && inner.p[outer.n] == '/' && !memcmp(inner.p, outer.p, outer.n);
}

static bool overlap(struct ks_str a, struct ks_str b)
{
	return ks_str_eq(a, b) || lies_in(a, b) || lies_in(b, a);
}

static const char *show(struct ks_check *c, const struct file *f)
{
	if (f->source)
		return ks_err_detail(c, "\"%.*s\" (%s)", (int)f->path.n, f->path.p, f->source);
	return ks_err_detail(c, "\"%.*s\"", (int)f->path.n, f->path.p);
}

/* Holds each new file against all before it. */
static void check_files(struct ks_check *c, struct ks_str volume, const char *what, const struct files *now, struct files *all)
{
	enum { ENOUGH = 512 }; /* files that are compared: warnings are capped anyhow */

	for (uint32_t i = 0; i < now->n && all->n < ENOUGH; i++) {
		struct file f = now->items[i];

		while (f.path.n && f.path.p[f.path.n - 1] == '/')
			f.path.n--;
		for (uint32_t k = 0; f.path.n && k < all->n; k++)
			if (overlap(all->items[k].path, f.path))
				ks_warn_at(c, NULL, NULL, "volume \"%.*s\" (%s): overlapping paths: %s with %s", (int)volume.n, volume.p ? volume.p : "", what,
					show(c, &f), show(c, &all->items[k]));
		if (!add_file(c, all, f.path, f.source))
			return;
	}
}

static struct files files_of(struct ks_check *c, const struct ks_value *items, const char *source)
{
	struct files files = {.n = 0};

	EACH(i, items)
		if (!add_file(c, &files, TEXT(&items->items[i], "path"), source))
			break;
	return files;
}

static const char *named(struct ks_check *c, const char *kind, struct ks_str name)
{
	return ks_err_detail(c, "%s \"%.*s\"", kind, (int)name.n, name.p ? name.p : "");
}

/* The files of one source. */
static void source_files(struct ks_check *c, const struct ks_value *source, struct files *files)
{
	const struct ks_value *map = IN(source, "configMap"), *secret = IN(source, "secret"), *downward = IN(source, "downwardAPI");
	const struct ks_value *token = IN(source, "serviceAccountToken"), *bundle = IN(source, "clusterTrustBundle");

	if (LIST(map, "items")) {
		*files = files_of(c, LIST(map, "items"), named(c, "ConfigMap", TEXT(map, "name")));
	} else if (LIST(secret, "items")) {
		*files = files_of(c, LIST(secret, "items"), named(c, "Secret", TEXT(secret, "name")));
	} else if (LIST(downward, "items")) {
		*files = files_of(c, LIST(downward, "items"), "DownwardAPI");
	} else if (token) {
		*files = (struct files){.n = 0};
		if (!add_file(c, files, TEXT(token, "path"), "ServiceAccountToken"))
			files->n = 0;
	} else if (bundle) {
		struct ks_str name = IN(bundle, "name") ? TEXT(bundle, "name") : TEXT(bundle, "signerName");

		*files = (struct files){.n = 0};
		if (!add_file(c, files, TEXT(bundle, "path"), named(c, "ClusterTrustBundle", name)))
			files->n = 0;
	}
}

static bool is_bare(const struct ks_value *source)
{
	for (uint32_t i = 0; source->kind == KS_STRUCT && i < source->n; i++)
		if (ks_value_present(&source->items[i]))
			return false;
	return true;
}

static void warn_projected(struct ks_check *c, struct ks_str volume, const struct ks_value *projected)
{
	const struct ks_value *sources = LIST(projected, "sources");
	struct files all = {.n = 0};

	EACH(i, sources) {
		struct files now = {.n = 0};

		if (is_bare(&sources->items[i])) {
			ks_warn_at(c, NULL, NULL, "volume \"%.*s\" (Projected) has no sources provided", (int)volume.n, volume.p ? volume.p : "");
			continue;
		}
		source_files(c, &sources->items[i], &now);
		check_files(c, volume, "Projected", &now, &all);
	}
}

static void warn_items(struct ks_check *c, struct ks_str volume, const struct ks_value *source, const char *what)
{
	struct files now = files_of(c, LIST(source, "items"), NULL), all = {.n = 0};

	if (now.n > 1)
		check_files(c, volume, what, &now, &all);
}

void ks_warn_volumes(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *volumes)
{
	struct ks_path at = ks_path_child(spec_path, "volumes");

	EACH(i, volumes) {
		struct ks_path item = ks_path_index(&at, i);

		warn_sources(c, &item, &volumes->items[i]);
	}
	EACH(i, volumes) {
		const struct ks_value *v = &volumes->items[i], *map = IN(v, "configMap"), *secret = IN(v, "secret"), *downward = IN(v, "downwardAPI");
		struct ks_str name = TEXT(v, "name");

		if (map)
			warn_items(c, name, map, named(c, "ConfigMap", TEXT(map, "name")));
		if (secret)
			warn_items(c, name, secret, named(c, "Secret", TEXT(secret, "secretName")));
		if (downward)
			warn_items(c, name, downward, "DownwardAPI");
		if (IN(v, "projected"))
			warn_projected(c, name, IN(v, "projected"));
	}
}

/* -- ports ------------------------------------------------------------------------------------------------------------- */

struct port {
	const struct ks_value *value;
	struct ks_path list, item;
};

struct ports {
	struct port *items;
	uint32_t n, room;
};

static void compare_ports(struct ks_check *c, const struct port *now, const struct port *other)
{
	struct ks_str ip = TEXT(now->value, "hostIP"), other_ip = TEXT(other->value, "hostIP");
	int64_t host = INT(now->value, "hostPort"), other_host = INT(other->value, "hostPort");
	const char *where = ks_path_text(c->arena, &other->item, NULL);

	if (INT(now->value, "containerPort") != INT(other->value, "containerPort") || !ks_str_eq(TEXT(now->value, "protocol"), TEXT(other->value, "protocol")))
		return;
	if (ks_str_eq(ip, other_ip) && host == other_host)
		ks_warn_at(c, &now->item, NULL, "duplicate port definition with %s", where);
	else if (!host || !other_host)
		ks_warn_at(c, &now->item, NULL, "overlapping port definition with %s", where);
	else if (host == other_host && !ip.n != !other_ip.n)
		ks_warn_at(c, &now->item, NULL, "dangerously ambiguous port definition with %s", where);
}

static void count_ports(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	struct ports *ports = arg;

	(void)path;
	ports->room += ks_value_count(LIST(container, "ports"));
}

static void warn_ports(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg)
{
	enum { ENOUGH = 256 };
	const struct ks_value *list = LIST(container, "ports");
	struct ports *ports = arg;

	for (uint32_t i = 0; i < ks_value_count(list) && ports->n < ports->room && ports->n < ENOUGH; i++) {
		const struct ks_value *v = &list->items[i];
		struct port *port = &ports->items[ports->n];
		struct ks_str name = TEXT(v, "name"), protocol = TEXT(v, "protocol"), ip = TEXT(v, "hostIP");

		*port = (struct port){.value = v};
		port->list = ks_path_root(ks_path_text(c->arena, path, "ports"));
		port->item = ks_path_index(&port->list, i);
		if (ip.n && !INT(v, "hostPort"))
			ks_warn_at(c, &port->item, NULL, "hostIP set without hostPort: {Name:%.*s HostPort:0 ContainerPort:%lld Protocol:%.*s HostIP:%.*s}", (int)name.n,
				name.p ? name.p : "", (long long)INT(v, "containerPort"), (int)protocol.n, protocol.p ? protocol.p : "", (int)ip.n, ip.p);
		for (uint32_t k = 0; k < ports->n; k++)
			compare_ports(c, port, &ports->items[k]);
		ports->n++;
	}
}

void ks_warn_ports(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec)
{
	struct ports ports = {.n = 0};

	ks_pod_each_container(c, spec_path, spec, count_ports, &ports);
	if (!ports.room)
		return;
	ports.items = ks_arena_zalloc(c->arena, ports.room, sizeof(*ports.items));
	if (ports.items)
		ks_pod_each_container(c, spec_path, spec, warn_ports, &ports);
}
