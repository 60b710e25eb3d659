/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Named checks behind /healthz, /livez and /readyz. */
#ifndef KS_PIPELINE_HEALTH_H
#define KS_PIPELINE_HEALTH_H

#include "core/util/error.h"

struct ks_health;
struct ks_arena;

enum ks_health_endpoint { KS_HEALTHZ = 1 << 0, KS_LIVEZ = 1 << 1, KS_READYZ = 1 << 2 };

/* 0: healthy; negative: `err` says why not (it is logged; only who may ask for the single check is told). Any worker's thread; must not block. */
typedef int (*ks_health_check)(void *arg, struct ks_error *err);

struct ks_health *ks_health_new(void) __attribute__((warn_unused_result));
void ks_health_free(struct ks_health **health);
/* Before the server starts. `name` is static memory; checks are told in the order of adding. `endpoints`: enum ks_health_endpoint, or-ed. 0 or -ENOMEM. */
int ks_health_add(struct ks_health *health, const char *name, unsigned endpoints, ks_health_check check, void *arg) __attribute__((warn_unused_result));

/* Calls `visit` with the path of every single check, made in `arena` (NULL when out of memory). */
void ks_health_each_path(const struct ks_health *health, struct ks_arena *arena, void (*visit)(const char *path, void *arg), void *arg);

#endif
