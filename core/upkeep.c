/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/upkeep.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/api/json.h"
#include "core/api/time.h"
#include "core/api/uid.h"
#include "core/registry/flowcontrol.h"
#include "core/registry/kit.h"
#include "core/registry/meta.h"
#include "core/util/log.h"

enum { BEAT_MS = 10 * 1000, BEATS_A_LOOK = 6, LEASE_SECONDS = 3600, AUTHORITIES_MOST = 1 << 20 };

#define SCHEMAS "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
#define LEVELS "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
#define MAPS "/api/v1/namespaces/kube-system/configmaps"
#define AUTHENTICATION "extension-apiserver-authentication"

/* One object that is looked after, as long as the look takes. */
struct look {
	struct ks_upkeep *upkeep;
	struct ks_registry_context ctx;
	struct ks_arena arena;
	const char *collection;
	const char *name;
	const char *manager;
	struct ks_object *there; /* a reference, or NULL */
	struct ks_value tree; /* of it */
};

/* -- requests ------------------------------------------------------------------------------------------------------- */

static void answered(void *arg, int code, struct ks_str body)
{
	struct ks_upkeep *u = arg;

	if (atomic_fetch_sub(&u->n_open, 1) == 1 && !atomic_exchange(&u->looked, true)) {
		atomic_fetch_add(&u->n_open, 1); /* the second look's own */
		ks_loop_post(u->server->main_loop, &u->second);
	}
	/* 404, 409: somebody else was quicker; the next look sees what he made of it. */
	if (code >= 400 && code != 404 && code != 409)
		ks_log(KS_LOG_WARN, "upkeep", "an object that the server sees to could not be written: %d %.*s", code, (int)body.n, body.p);
}

static void ask(struct look *l, const char *method, const char *target, struct ks_str body)
{
	static const char *const groups[] = {"system:masters"};
	const char *manager = l->manager ? l->manager : "kube-apiserver";
	bool applies = !strcmp(method, "PATCH");
	char *with_manager = ks_arena_printf(&l->arena, "%s?fieldManager=%s%s", target, manager, applies ? "&force=true" : "");
	const struct ks_inner_request inner = {.method = method,
		.target = strcmp(method, "DELETE") ? with_manager : target,
		.body = body,
		.content_type = applies ? "application/apply-patch+yaml" : NULL,
		.user = "system:apiserver",
		.groups = groups,
		.n_groups = 1,
		.answer = answered,
		.arg = l->upkeep};

	atomic_fetch_add(&l->upkeep->n_open, 1);
	if (with_manager && !ks_pipeline_inner_request(l->upkeep->server, &inner))
		return;
	atomic_fetch_sub(&l->upkeep->n_open, 1);
	ks_log(KS_LOG_WARN, "upkeep", "%s %s could not be asked for", method, target);
}

static const char *target_of(struct look *l)
{
	const char *target = ks_arena_printf(&l->arena, "%s/%s", l->collection, l->name);

	return target ? target : "";
}

static void create(struct look *l, const char *json)
{
	ask(l, "POST", l->collection, ks_str_from(json));
}

static void update(struct look *l)
{
	struct ks_buf json;

	ks_buf_init(&json);
	ks_json_encode(l->ctx.schema, &l->tree, &json);
	if (!json.failed)
		ask(l, "PUT", target_of(l), ks_buf_str(&json));
	ks_buf_fini(&json);
}

/* -- looking ---------------------------------------------------------------------------------------------------------- */

static struct ks_str segment(struct ks_str *path)
{
	const char *slash = memchr(path->p, '/', path->n);
	struct ks_str part = ks_str_of(path->p, slash ? (size_t)(slash - path->p) : path->n);

	*path = slash ? ks_str_of(slash + 1, path->n - part.n - 1) : (struct ks_str){path->p + path->n, 0};
	return part;
}

/* Group, version, namespace and resource of a collection's path. */
static void read_collection(struct look *l)
{
	struct ks_str path = ks_str_from(l->collection + 1), group = {0}, version, resource;

	if (ks_str_is(segment(&path), "apis"))
		group = segment(&path);
	version = segment(&path);
	resource = segment(&path);
	if (ks_str_is(resource, "namespaces") && path.n) {
		l->ctx.ns = segment(&path);
		resource = segment(&path);
	}
	l->ctx.resource = ks_schema_find_resource(l->ctx.schema, group, version, resource);
	l->ctx.strategy = ks_registry_find(l->ctx.schema, l->ctx.resource);
}

static void begin(struct look *l, struct ks_upkeep *u, const char *collection, const char *name, const char *manager)
{
	struct ks_cache_resource *cache;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	*l = (struct look){.upkeep = u, .collection = collection, .name = name, .manager = manager};
	ks_arena_init(&l->arena, 0);
	l->ctx = (struct ks_registry_context){.schema = u->server->schema,
		.arena = &l->arena,
		.config = u->server->config,
		.now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000};
	read_collection(l);
	cache = ks_cache_find(u->server->cache, l->ctx.schema->resources[l->ctx.resource].storage);
	l->there = cache && name ? ks_cache_get(cache, l->ctx.ns, ks_str_from(name)) : NULL;
}

/* The object as a tree of the version that is asked for. */
static bool read_object(struct look *l, struct ks_object *object)
{
	uint16_t storage = l->ctx.schema->resources[l->ctx.resource].storage;

	return !ks_object_tree(object, l->ctx.schema, &l->arena, &l->tree) &&
		!ks_registry_convert(&l->arena, l->ctx.schema, storage, l->ctx.resource, &l->tree);
}

static void end(struct look *l)
{
	ks_object_unref(l->there);
	ks_arena_fini(&l->arena);
}

/* -- flow control --------------------------------------------------------------------------------------------------------- */

static void revise(struct look *l, const struct ks_flow_default *o)
{
	struct ks_value wanted;
	const char *message;

	if (ks_json_decode(
		    &l->arena, l->ctx.schema, l->ctx.schema->resources[l->ctx.resource].type, 0, o->json, strlen(o->json), &wanted, NULL, &message) ||
		!ks_registry_default(&l->ctx, &wanted) || !read_object(l, l->there))
		return;
	if (ks_flowcontrol_revise(&l->arena, l->ctx.schema, o->mandatory, &wanted, &l->tree) > 0)
		update(l);
}

static void look_at(struct ks_upkeep *u, const struct ks_flow_default *o)
{
	struct look l;

	begin(&l, u, o->collection, o->name, KS_FLOW_MANAGER);
	if (!l.there)
		create(&l, o->json);
	else
		revise(&l, o);
	end(&l);
}

/* What an earlier release had, and nobody has taken over. */
static void remove_left_overs(struct ks_upkeep *u, const char *collection)
{
	struct ks_cache_resource *cache;
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_object *object;
	struct look l;

	begin(&l, u, collection, NULL, NULL);
	cache = ks_cache_find(u->server->cache, l.ctx.schema->resources[l.ctx.resource].storage);
	if (cache) {
		ks_cache_snapshot(cache, &snapshot);
		ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
		while ((object = ks_cursor_next(&cursor))) {
			if (!read_object(&l, object) || !ks_flowcontrol_is_left_over(l.ctx.schema, &l.tree, ks_str_from(collection)))
				continue;
			l.name = ks_arena_dup(&l.arena, object->name.p, object->name.n);
			if (l.name)
				ask(&l, "DELETE", target_of(&l), (struct ks_str){0});
		}
		ks_snapshot_release(&snapshot);
	}
	end(&l);
}

/* Does a level of this name exist? */
static bool has_level(struct ks_upkeep *u, struct ks_str name)
{
	struct ks_cache_resource *cache;
	struct ks_object *there;
	struct look l;

	begin(&l, u, LEVELS, NULL, NULL);
	cache = ks_cache_find(u->server->cache, l.ctx.schema->resources[l.ctx.resource].storage);
	there = cache ? ks_cache_get(cache, (struct ks_str){0}, name) : NULL;
	ks_object_unref(there);
	end(&l);
	return there;
}

/* Is it said of the schema whether its level exists? */
static bool says_dangling(struct look *l, bool dangling)
{
	const struct ks_value *list = ks_kit_list(&l->ctx, &l->tree, "status.conditions");

	for (uint32_t i = 0; list && i < list->n; i++)
		if (ks_str_is(ks_kit_text(&l->ctx, &list->items[i], "type"), "Dangling"))
			return ks_str_is(ks_kit_text(&l->ctx, &list->items[i], "status"), dangling ? "True" : "False");
	return false;
}

static void say_dangling(struct look *l, struct ks_str level, bool dangling)
{
	const char *message = ks_kit_path(&l->ctx, "This FlowSchema references the PriorityLevelConfiguration object named \"%.*s\" %s", (int)level.n,
		level.p, dangling ? "but there is no such object" : "and it exists");
	struct ks_str now = ks_time_text(&l->arena, l->ctx.now_ms);
	struct ks_buf json;

	ks_buf_init(&json);
	ks_buf_printf(&json,
		"{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"FlowSchema\",\"metadata\":{\"name\":\"%s\"},\"status\":"
		"{\"conditions\":[{\"type\":\"Dangling\",\"status\":\"%s\",\"reason\":\"%s\",\"lastTransitionTime\":\"%.*s\",\"message\":",
		l->name, dangling ? "True" : "False", dangling ? "NotFound" : "Found", (int)now.n, now.p);
	ks_json_encode_string(ks_str_from(message), &json);
	ks_buf_add_str(&json, "}]}}");
	if (!json.failed)
		ask(l, "PATCH", ks_kit_path(&l->ctx, "%s/status", target_of(l)), ks_buf_str(&json));
	ks_buf_fini(&json);
}

static void look_at_status(struct look *l, struct ks_object *schema)
{
	struct ks_str level;
	bool dangling;

	if (!read_object(l, schema))
		return;
	level = ks_kit_text(&l->ctx, &l->tree, "spec.priorityLevelConfiguration.name");
	dangling = !has_level(l->upkeep, level);
	l->name = ks_arena_dup(&l->arena, schema->name.p, schema->name.n);
	if (l->name && !says_dangling(l, dangling))
		say_dangling(l, level, dangling);
}

/* Who looks at a flow schema sees whether it leads anywhere. */
static void look_at_schemas(struct ks_upkeep *u)
{
	struct ks_cache_resource *cache;
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_object *object;
	struct look l;

	begin(&l, u, SCHEMAS, NULL, "api-priority-and-fairness-config-consumer-v1");
	cache = ks_cache_find(u->server->cache, l.ctx.schema->resources[l.ctx.resource].storage);
	if (cache) {
		ks_cache_snapshot(cache, &snapshot);
		ks_cursor_init(&cursor, &snapshot, (struct ks_str){0}, (struct ks_str){0});
		while ((object = ks_cursor_next(&cursor)))
			look_at_status(&l, object);
		ks_snapshot_release(&snapshot);
	}
	end(&l);
}

static void second_look(struct ks_task *task)
{
	struct ks_upkeep *u = (struct ks_upkeep *)((char *)task - offsetof(struct ks_upkeep, second));

	if (u->started)
		look_at_schemas(u);
	atomic_fetch_sub(&u->n_open, 1);
}

/* -- whom clients are trusted by ---------------------------------------------------------------------------------------- */

static void create_authorities(struct look *l)
{
	struct ks_buf json;

	ks_buf_init(&json);
	ks_buf_add_str(&json,
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" AUTHENTICATION
		"\",\"namespace\":\"kube-system\"},\"data\":{\"client-ca-file\":");
	ks_json_encode_string(l->upkeep->authorities, &json);
	ks_buf_add_str(&json, "}}");
	ks_buf_add_char(&json, '\0');
	if (!json.failed)
		create(l, json.data);
	ks_buf_fini(&json);
}

/* Other servers of the cluster may have other authorities: theirs stay. */
static void add_authorities(struct look *l)
{
	struct ks_str ours = l->upkeep->authorities, theirs;
	struct ks_value *data, *place;
	char *both;

	if (!read_object(l, l->there))
		return;
	data = ks_value_put(&l->arena, l->ctx.schema, &l->tree, KS_STR_LIT("data"));
	if (data && data->kind != KS_MAP)
		*data = (struct ks_value){.kind = KS_MAP};
	place = data ? ks_value_put(&l->arena, l->ctx.schema, data, KS_STR_LIT("client-ca-file")) : NULL;
	if (!place)
		return;
	theirs = ks_value_str(place);
	if (theirs.n && memmem(theirs.p, theirs.n, ours.p, ours.n))
		return;
	both = ks_arena_printf(&l->arena, "%.*s%s%.*s", (int)theirs.n, theirs.n ? theirs.p : "",
		theirs.n && theirs.p[theirs.n - 1] != '\n' ? "\n" : "", (int)ours.n, ours.p);
	if (!both)
		return;
	*place = ks_value_from_str(ks_str_from(both));
	update(l);
}

static void look_at_authorities(struct ks_upkeep *u)
{
	struct look l;

	if (!u->authorities.n)
		return;
	begin(&l, u, MAPS, AUTHENTICATION, NULL);
	if (l.there)
		add_authorities(&l);
	else
		create_authorities(&l);
	end(&l);
}

static void read_authorities(struct ks_upkeep *u)
{
	const char *file = u->server->config->server.client_ca_file;
	FILE *f = file ? fopen(file, "re") : NULL;
	struct stat info;
	char *text = NULL;

	if (!f)
		return;
	if (fstat(fileno(f), &info) == 0 && info.st_size > 0 && info.st_size <= AUTHORITIES_MOST)
		text = ks_arena_alloc(&u->texts, (size_t)info.st_size);
	if (text)
		u->authorities = ks_str_of(text, fread(text, 1, (size_t)info.st_size, f));
	if (ferror(f))
		u->authorities.n = 0;
	fclose(f);
}

/* -- the Lease ------------------------------------------------------------------------------------------------------------ */

static const char *micro_time(struct look *l)
{
	struct ks_str now = ks_time_now_text(&l->arena, true);

	return ks_kit_path(&l->ctx, "%.*s", (int)now.n, now.p ? now.p : "");
}

/* Where other servers of the cluster reach this one. */
static const char *annotations(struct look *l)
{
	const struct ks_config *config = l->upkeep->server->config;

	if (!config->advertise_address)
		return "";
	return ks_kit_path(&l->ctx, ",\"annotations\":{\"kubernetes.io/peer-advertise-address\":\"%s:%u\"}", config->advertise_address,
		(unsigned)ks_server_port(l->upkeep->server->http));
}

static void create_lease(struct look *l)
{
	const struct ks_upkeep *u = l->upkeep;

	create(l,
		ks_kit_path(&l->ctx,
			"{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"%s\","
			"\"namespace\":\"kube-system\",\"labels\":{\"apiserver.kubernetes.io/identity\":\"kube-apiserver\",\"kubernetes.io/"
			"hostname\":\"%s\"}%s},"
			"\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,\"renewTime\":\"%s\"}}",
			u->name, u->host, annotations(l), u->holder, LEASE_SECONDS, micro_time(l)));
}

static void renew_lease(struct look *l)
{
	if (read_object(l, l->there) && ks_kit_set_text(&l->ctx, &l->tree, "spec.holderIdentity", l->upkeep->holder) &&
		ks_kit_set(&l->ctx, &l->tree, "spec.leaseDurationSeconds", ks_value_from_int(LEASE_SECONDS)) &&
		ks_kit_set_text(&l->ctx, &l->tree, "spec.renewTime", micro_time(l)))
		update(l);
}

static void beat(struct ks_upkeep *u)
{
	struct look l;

	begin(&l, u, LEASES, u->name, NULL);
	if (l.there)
		renew_lease(&l);
	else
		create_lease(&l);
	end(&l);
}

static int64_t seconds_of(struct look *l, const char *path)
{
	struct ks_str text = ks_kit_text(&l->ctx, &l->tree, path);
	const char *message;
	struct ks_time time;

	return text.n && !ks_time_parse(&l->arena, text, true, &time, &message) ? time.seconds : -1;
}

/* The Lease of a server that has not been heard of for as long as it said. */
static bool is_left_behind(struct look *l)
{
	const struct ks_value *labels = ks_meta_get(l->ctx.schema, &l->tree, "labels");
	struct ks_str identity =
		labels ? ks_value_str(ks_value_get_str(l->ctx.schema, labels, KS_STR_LIT("apiserver.kubernetes.io/identity"))) : (struct ks_str){0};
	int64_t renewed = seconds_of(l, "spec.renewTime"), lasts = ks_kit_int(&l->ctx, &l->tree, "spec.leaseDurationSeconds", -1);

	if (!ks_str_is(identity, "kube-apiserver"))
		return false;
	return renewed < 0 || lasts < 0 || renewed + lasts < (int64_t)(l->ctx.now_ms / 1000);
}

/* Servers come and go, with their hosts; the Leases of those that have gone are taken away by those that are there. */
static void remove_left_behind(struct ks_upkeep *u)
{
	struct ks_cache_resource *cache;
	struct ks_snapshot snapshot;
	struct ks_cursor cursor;
	struct ks_object *object;
	struct look l;

	begin(&l, u, LEASES, NULL, NULL);
	cache = ks_cache_find(u->server->cache, l.ctx.schema->resources[l.ctx.resource].storage);
	if (cache) {
		ks_cache_snapshot(cache, &snapshot);
		ks_cursor_init(&cursor, &snapshot, KS_STR_LIT("kube-system"), (struct ks_str){0});
		while ((object = ks_cursor_next(&cursor))) {
			if (ks_str_is(object->name, u->name) || !read_object(&l, object) || !is_left_behind(&l))
				continue;
			l.name = ks_arena_dup(&l.arena, object->name.p, object->name.n);
			if (l.name)
				ask(&l, "DELETE", target_of(&l), (struct ks_str){0});
		}
		ks_snapshot_release(&snapshot);
	}
	end(&l);
}

void ks_upkeep_identity(struct ks_str host, char *out, size_t room)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	static const char kind[] = "kube-apiserver";
	unsigned char sum[32], data[2 + 255 + 2 + sizeof(kind)];
	char text[27];
	unsigned bits = 0, held = 0, n = 0;
	size_t len = host.n < 255 ? host.n : 255;

	/* Each with its length before it, in two bytes: servers of other kinds on the same host have other names. */
	data[0] = 0;
	data[1] = (unsigned char)len;
	memcpy(data + 2, host.p, len);
	data[len + 2] = 0;
	data[len + 3] = sizeof(kind) - 1;
	memcpy(data + len + 4, kind, sizeof(kind) - 1);
	gnutls_hash_fast(GNUTLS_DIG_SHA256, data, len + 4 + sizeof(kind) - 1, sum);
	for (unsigned i = 0; i < 16; i++) {
		held = held << 8 | sum[i];
		for (bits += 8; bits >= 5; bits -= 5)
			text[n++] = digits[held >> (bits - 5) & 31];
		held &= (1u << bits) - 1;
	}
	if (bits)
		text[n++] = digits[held << (5 - bits) & 31];
	text[n] = '\0';
	snprintf(out, room, "apiserver-%s", text);
}

static void name_lease(struct ks_upkeep *u)
{
	char uid[KS_UID_TEXT];

	if (gethostname(u->host, sizeof(u->host) - 1))
		strcpy(u->host, "localhost");
	/* It becomes the value of a label. */
	u->host[63] = '\0';
	ks_upkeep_identity(ks_str_from(u->host), u->name, sizeof(u->name));
	if (ks_uid_new(uid))
		uid[0] = '\0';
	snprintf(u->holder, sizeof(u->holder), "%s_%s", u->name, uid);
}

/* -- life ------------------------------------------------------------------------------------------------------------------ */

static void look_around(struct ks_upkeep *u)
{
	size_t n;
	const struct ks_flow_default *defaults = ks_flowcontrol_defaults(&n);

	for (size_t i = 0; i < n; i++)
		look_at(u, &defaults[i]);
	remove_left_overs(u, SCHEMAS);
	remove_left_overs(u, LEVELS);
	look_at_authorities(u);
	remove_left_behind(u);
}

static void on_beat(struct ks_timer *timer)
{
	struct ks_upkeep *u = (struct ks_upkeep *)((char *)timer - offsetof(struct ks_upkeep, timer));

	if (atomic_load(&u->server->draining))
		return;
	if (u->beats == 0)
		look_around(u);
	else
		look_at_schemas(u);
	u->beats = (u->beats + 1) % BEATS_A_LOOK;
	beat(u);
	if (ks_timer_start(u->server->main_loop, timer, BEAT_MS) < 0)
		ks_log(KS_LOG_ERROR, "upkeep", "no timer: nothing is looked after any more");
}

void ks_upkeep_start(struct ks_upkeep *u, struct ks_server_state *server)
{
	u->server = server;
	u->timer.fire = on_beat;
	u->second.run = second_look;
	u->started = true;
	ks_arena_init(&u->texts, 0);
	read_authorities(u);
	name_lease(u);
	on_beat(&u->timer);
}

bool ks_upkeep_is_settled(const struct ks_upkeep *u)
{
	return u->started && atomic_load(&u->n_open) == 0;
}

void ks_upkeep_stop(struct ks_upkeep *u)
{
	if (!u->started)
		return;
	ks_timer_cancel(&u->timer);
	ks_arena_fini(&u->texts);
	u->started = false;
}
