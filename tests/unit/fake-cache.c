/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The objects that informers and cached_get see, and in-process writes. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fake-internal.h"

static int view_is(struct ks_view v, const char *text)
{
	return v.n == strlen(text) && (v.n == 0 || memcmp(v.p, text, v.n) == 0);
}

static const char *meta(const struct ks_fake_object *o, const char *name)
{
	struct json_object *metadata = NULL, *value = NULL;

	json_object_object_get_ex(o->object, "metadata", &metadata);
	if (metadata)
		json_object_object_get_ex(metadata, name, &value);
	return value ? json_object_get_string(value) : "";
}

static void tell(const struct ks_informer *i, uint32_t type, uint64_t revision, const struct ks_fake_object *o)
{
	struct ks_informer_event event = {
		.size = sizeof(event), .type = type, .revision = revision,
		.namespace_ = {meta(o, "namespace"), strlen(meta(o, "namespace"))},
		.name = {meta(o, "name"), strlen(meta(o, "name"))},
		.object = ks_fake_value_of(o->object),
	};

	if (strcmp(i->group, o->group) == 0 && strcmp(i->resource, o->resource) == 0)
		i->handler.event(i->handler.arg, &event);
}

static void tell_all(struct ks_fake_host *fake, uint32_t type, const struct ks_fake_object *o)
{
	const struct ks_informer *i;

	fake->revision++;
	for (i = fake->informers; i; i = i->next)
		tell(i, type, fake->revision, o);
}

static void object_free(struct ks_fake_object *o)
{
	if (!o)
		return;
	free(o->group);
	free(o->resource);
	json_object_put(o->object);
	free(o);
}

static struct ks_fake_object *object_new(const char *group, const char *resource, const char *json)
{
	struct ks_fake_object *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->group = strdup(group);
	o->resource = strdup(resource);
	o->object = json_tokener_parse(json);
	if (o->group && o->resource && o->object)
		return o;
	object_free(o);
	return NULL;
}

static struct ks_fake_object **object_find(struct ks_fake_host *fake, const char *group, const char *resource, const char *ns, const char *name)
{
	struct ks_fake_object **p = &fake->objects;

	for (; *p; p = &(*p)->next)
		if (strcmp((*p)->group, group) == 0 && strcmp((*p)->resource, resource) == 0 && strcmp(meta(*p, "namespace"), ns) == 0 &&
		    strcmp(meta(*p, "name"), name) == 0)
			return p;
	return p;
}

int ks_fake_object_set(struct ks_fake_host *fake, const char *group, const char *resource, const char *json)
{
	struct ks_fake_object *o = object_new(group, resource, json), **p, *old;

	if (!o)
		return -1;
	p = object_find(fake, group, resource, meta(o, "namespace"), meta(o, "name"));
	old = *p;
	o->next = old ? old->next : NULL;
	*p = o;
	tell_all(fake, old ? KS_EVENT_MODIFIED : KS_EVENT_ADDED, o);
	object_free(old);
	return 0;
}

int ks_fake_object_delete(struct ks_fake_host *fake, const char *group, const char *resource, const char *ns, const char *name)
{
	struct ks_fake_object **p = object_find(fake, group, resource, ns, name), *old = *p;

	if (!old)
		return -1;
	*p = old->next;
	tell_all(fake, KS_EVENT_DELETED, old);
	object_free(old);
	return 0;
}

static void informer_sync(struct ks_informer *i)
{
	if (i->synced)
		return;
	i->synced = 1;
	if (i->handler.synced)
		i->handler.synced(i->handler.arg);
}

void ks_fake_sync(struct ks_fake_host *fake)
{
	struct ks_informer *i;

	fake->synced = 1;
	for (i = fake->informers; i; i = i->next)
		informer_sync(i);
}

struct ks_informer *ks_fake_informer(const struct ks_host *host, struct ks_view group, struct ks_view version, struct ks_view resource,
	const struct ks_informer_handler *handler)
{
	struct ks_fake_host *fake = host->context;
	struct ks_informer *i = calloc(1, sizeof(*i));
	const struct ks_fake_object *o;

	(void)version;
	if (!i)
		return NULL;
	i->group = group.n ? strndup(group.p, group.n) : strdup("");
	i->resource = strndup(resource.p, resource.n);
	if (!i->group || !i->resource) {
		free(i->group);
		free(i->resource);
		free(i);
		return NULL;
	}
	i->handler = *handler;
	i->next = fake->informers;
	fake->informers = i;
	for (o = fake->objects; o; o = o->next)
		tell(i, KS_EVENT_ADDED, fake->revision, o);
	if (fake->synced)
		informer_sync(i);
	return i;
}

int ks_fake_informer_synced(const struct ks_informer *informer)
{
	return informer->synced;
}

int ks_fake_cached_get(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view ns, struct ks_view name,
	struct ks_val *object)
{
	const struct ks_fake_object *o;

	(void)version;
	for (o = op->fake->objects; o; o = o->next)
		if (view_is(group, o->group) && view_is(resource, o->resource) && view_is(ns, meta(o, "namespace")) && view_is(name, meta(o, "name"))) {
			/* A copy: the object may be replaced while the operation lives. */
			*object = ks_fake_value(op, json_object_to_json_string(o->object));
			return object->node ? 1 : KS_ERR_NOMEM;
		}
	return 0;
}

int ks_fake_cached_list(struct ks_op *op, struct ks_view group, struct ks_view version, struct ks_view resource, struct ks_view ns,
	int (*emit)(void *arg, struct ks_val object), void *arg)
{
	const struct ks_fake_object *o;

	(void)version;
	for (o = op->fake->objects; o; o = o->next)
		if (view_is(group, o->group) && view_is(resource, o->resource) && (ns.n == 0 || view_is(ns, meta(o, "namespace"))) &&
		    emit(arg, ks_fake_value_of(o->object)))
			break;
	return KS_DONE;
}

/* -- writes ----------------------------------------------------------------------------------------------------- */

static struct ks_view move_view(char **at, struct ks_view v)
{
	struct ks_view out = {*at, v.n};

	if (v.n)
		memcpy(*at, v.p, v.n);
	*at += v.n;
	return out;
}

int ks_fake_write(const struct ks_host *host, const struct ks_write *write)
{
	struct ks_fake_host *fake = host->context;
	struct ks_fake_queued *q = calloc(1, sizeof(*q)), **p;
	struct ks_write *w;
	char *at;

	if (!q)
		return KS_ERR_NOMEM;
	w = &q->write;
	*w = *write;
	q->text = malloc(1 + w->group.n + w->version.n + w->resource.n + w->subresource.n + w->namespace_.n + w->name.n + w->body.n);
	if (!q->text) {
		free(q);
		return KS_ERR_NOMEM;
	}
	at = q->text;
	w->group = move_view(&at, w->group);
	w->version = move_view(&at, w->version);
	w->resource = move_view(&at, w->resource);
	w->subresource = move_view(&at, w->subresource);
	w->namespace_ = move_view(&at, w->namespace_);
	w->name = move_view(&at, w->name);
	w->body = move_view(&at, w->body);
	pthread_mutex_lock(&fake->lock);
	for (p = &fake->writes; *p; p = &(*p)->next)
		;
	*p = q;
	pthread_mutex_unlock(&fake->lock);
	return KS_PENDING;
}

void ks_fake_on_write(struct ks_fake_host *fake, ks_fake_write_fn fn, void *arg)
{
	fake->write_fn = fn;
	fake->write_arg = arg;
}

static void play(struct ks_fake_host *fake, const struct ks_write *w)
{
	int code = w->verb == KS_WRITE_CREATE ? 201 : 200;
	struct ks_view answer = w->body;
	const char *body = NULL;

	if (fake->write_fn) {
		code = fake->write_fn(fake->write_arg, w, &body);
		answer = (struct ks_view){body, body ? strlen(body) : 0};
	}
	if (w->done)
		w->done(w->arg, code, answer);
}

static struct ks_fake_queued *take_writes(struct ks_fake_host *fake)
{
	struct ks_fake_queued *q;

	pthread_mutex_lock(&fake->lock);
	q = fake->writes;
	fake->writes = NULL;
	pthread_mutex_unlock(&fake->lock);
	return q;
}

size_t ks_fake_writes_run(struct ks_fake_host *fake)
{
	struct ks_fake_queued *q = take_writes(fake), *next;
	size_t n = 0;

	for (; q; q = next, n++) {
		next = q->next;
		play(fake, &q->write);
		free(q->text);
		free(q);
	}
	return n;
}

void ks_fake_cache_free(struct ks_fake_host *fake)
{
	struct ks_fake_queued *q = take_writes(fake), *next;
	struct ks_fake_object *o;
	struct ks_informer *i;
	struct ks_fake_text *t;

	for (; q; q = next) {
		next = q->next;
		free(q->text);
		free(q);
	}
	while ((o = fake->objects)) {
		fake->objects = o->next;
		object_free(o);
	}
	while ((i = fake->informers)) {
		fake->informers = i->next;
		free(i->group);
		free(i->resource);
		free(i);
	}
	while ((t = fake->texts)) {
		fake->texts = t->next;
		free(t);
	}
}
