/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authz/rbac/source.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

const char *const ks_rbac_resources[RBAC_N_KINDS] = {"clusterroles", "roles", "clusterrolebindings", "rolebindings"};

/* -- publishing ---------------------------------------------------------------------- */

static void wait_for_readers(struct rbac_source *s, const struct rbac_index *old)
{
	for (size_t i = 0; i <= RBAC_MOST_WORKERS; i++)
		while (atomic_load(&s->slots[i].reading) == old)
			sched_yield(); /* a look-up takes microseconds and never waits */
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void ks_rbac_source_publish(struct rbac_source *s)
{
	uint64_t begin = now_ms();
	struct rbac_index *made = ks_rbac_index_build(&s->objects), *old;

	if (!made) {
		s->host->log(s->host, KS_HOST_LOG_ERROR, "out of memory; decisions rest on the rules from before the last change");
		return;
	}
	old = atomic_exchange(&s->current, made);
	s->last_build_ms = now_ms() - begin;
	if (!old)
		return;
	wait_for_readers(s, old);
	ks_rbac_index_free(old);
}

/* The slot is written before the pointer is read again: a publisher sees one or the other. */
struct rbac_index *ks_rbac_source_enter(struct rbac_source *s, uint32_t worker)
{
	struct rbac_slot *slot;
	struct rbac_index *index;

	if (worker >= RBAC_MOST_WORKERS) {
		worker = RBAC_MOST_WORKERS;
		pthread_mutex_lock(&s->outsiders);
	}
	slot = &s->slots[worker];
	do {
		index = atomic_load(&s->current);
		atomic_store(&slot->reading, index);
	} while (index != atomic_load(&s->current));
	return index;
}

void ks_rbac_source_leave(struct rbac_source *s, uint32_t worker)
{
	atomic_store(&s->slots[worker >= RBAC_MOST_WORKERS ? RBAC_MOST_WORKERS : worker].reading, NULL);
	if (worker >= RBAC_MOST_WORKERS)
		pthread_mutex_unlock(&s->outsiders);
}

/* -- following ------------------------------------------------------------------------- */

static void rebuild(void *arg)
{
	struct rbac_source *s = arg;

	s->rebuild_planned = 0;
	ks_rbac_source_publish(s);
}

/* A burst of changes leads to one index, and building never takes more than half of the thread's time. */
static void plan_rebuild(struct rbac_source *s)
{
	if (s->rebuild_planned || s->n_synced < RBAC_N_KINDS)
		return;
	if (s->host->timer(s->host, s->last_build_ms, rebuild, s) != KS_DONE) {
		ks_rbac_source_publish(s);
		return;
	}
	s->rebuild_planned = 1;
}

static void on_event(void *arg, const struct ks_informer_event *event)
{
	struct rbac_followed *followed = arg;
	struct rbac_source *s = followed->source;

	if (event->type == KS_EVENT_DELETED)
		ks_rbac_objects_delete(&s->objects, followed->kind, event->namespace_, event->name);
	else if (ks_rbac_objects_set(&s->objects, followed->kind, event->namespace_, event->name, event->object) < 0)
		s->host->log(s->host, KS_HOST_LOG_ERROR, "out of memory; %s \"%.*s\" keeps its state from before",
			ks_rbac_resources[followed->kind], (int)event->name.n, event->name.p);
	plan_rebuild(s);
}

static void on_synced(void *arg)
{
	struct rbac_source *s = ((struct rbac_followed *)arg)->source;

	if (++s->n_synced < RBAC_N_KINDS)
		return;
	ks_rbac_source_publish(s);
	s->synced(s->arg);
}

/* -- life ------------------------------------------------------------------------------ */

void ks_rbac_source_init(struct rbac_source *s, const struct ks_host *host, void (*synced)(void *arg), void *arg)
{
	s->host = host;
	s->synced = synced;
	s->arg = arg;
	s->objects.values = host->values;
	pthread_mutex_init(&s->outsiders, NULL);
}

int ks_rbac_source_start(struct rbac_source *s, struct ks_plugin_error *error)
{
	for (enum rbac_kind kind = 0; kind < RBAC_N_KINDS; kind++) {
		const struct ks_informer_handler handler = {
			.size = sizeof(handler), .event = on_event, .synced = on_synced, .arg = &s->followed[kind]};

		s->followed[kind] = (struct rbac_followed){s, kind};
		if (!s->host->informer(s->host, ks_view_lit("rbac.authorization.k8s.io"), ks_view_lit("v1"), ks_view_lit(ks_rbac_resources[kind]),
			    &handler)) {
			snprintf(error->text, sizeof(error->text), "%s.rbac.authorization.k8s.io can't be followed", ks_rbac_resources[kind]);
			return KS_ERR;
		}
	}
	return KS_DONE;
}

void ks_rbac_source_fini(struct rbac_source *s)
{
	ks_rbac_index_free(atomic_load(&s->current));
	ks_rbac_objects_fini(&s->objects);
	pthread_mutex_destroy(&s->outsiders);
}

int ks_rbac_is_privileged(const struct ks_user *user, const struct ks_config_list *privileged)
{
	for (size_t i = 0; i < user->n_groups; i++)
		for (size_t j = 0; j < privileged->n; j++)
			if (ks_view_is(user->groups[i], privileged->items[j]))
				return 1;
	return 0;
}
