/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Short hand for the files of single kinds. `path` is dotted; nothing here fails on what is absent. */
#ifndef KS_REGISTRY_KIT_H
#define KS_REGISTRY_KIT_H

#include "core/registry/cause.h"
#include "core/registry/meta.h"
#include "core/registry/names.h"
#include "core/registry/registry.h"

static inline struct ks_value *ks_kit_at(struct ks_registry_context *ctx, const struct ks_value *v, const char *path)
{
	struct ks_value *found = ks_value_at(ctx->schema, v, path);

	return ks_value_present(found) ? found : NULL;
}
static inline struct ks_str ks_kit_text(struct ks_registry_context *ctx, const struct ks_value *v, const char *path)
{
	return ks_value_str(ks_kit_at(ctx, v, path));
}
static inline int64_t ks_kit_int(struct ks_registry_context *ctx, const struct ks_value *v, const char *path, int64_t otherwise)
{
	const struct ks_value *found = ks_kit_at(ctx, v, path);

	return found && found->kind == KS_INT ? found->integer : otherwise;
}
static inline bool ks_kit_true(struct ks_registry_context *ctx, const struct ks_value *v, const char *path)
{
	const struct ks_value *found = ks_kit_at(ctx, v, path);

	return found && found->kind == KS_BOOL && found->boolean;
}
/* A LIST with items, or NULL. */
static inline struct ks_value *ks_kit_list(struct ks_registry_context *ctx, const struct ks_value *v, const char *path)
{
	struct ks_value *found = ks_kit_at(ctx, v, path);

	return found && found->kind == KS_LIST && found->n ? found : NULL;
}
/* A MAP with members, or NULL. */
static inline struct ks_value *ks_kit_map(struct ks_registry_context *ctx, const struct ks_value *v, const char *path)
{
	struct ks_value *found = ks_kit_at(ctx, v, path);

	return found && found->kind == KS_MAP && found->n ? found : NULL;
}
bool ks_kit_set(struct ks_registry_context *ctx, struct ks_value *v, const char *path, struct ks_value value);
bool ks_kit_set_text(struct ks_registry_context *ctx, struct ks_value *v, const char *path, const char *text);
/* Only where there is nothing (an empty text counts as nothing). */
bool ks_kit_default(struct ks_registry_context *ctx, struct ks_value *v, const char *path, struct ks_value value);
bool ks_kit_default_text(struct ks_registry_context *ctx, struct ks_value *v, const char *path, const char *text);
/* An empty struct where there is none; the place, or NULL when out of memory. */
struct ks_value *ks_kit_struct(struct ks_registry_context *ctx, struct ks_value *v, const char *path);
/* The list at `path`, made empty when there is none; NULL when out of memory. */
struct ks_value *ks_kit_make_list(struct ks_registry_context *ctx, struct ks_value *v, const char *path);
bool ks_kit_append_text(struct ks_registry_context *ctx, struct ks_value *list, struct ks_str text);
/* Appends an empty struct to the typed list at `path` (made when there is none); NULL when out of memory. */
struct ks_value *ks_kit_append_struct(struct ks_registry_context *ctx, struct ks_value *v, const char *path);
/* The condition `type` of status.conditions, made when there is none, with this status and the time since when; NULL when out of memory. */
struct ks_value *ks_kit_condition(struct ks_registry_context *ctx, struct ks_value *object, const char *type, const char *status);
void ks_kit_clear(struct ks_registry_context *ctx, struct ks_value *v, const char *path);
/* Takes what `from` has at `path`. */
bool ks_kit_take(struct ks_registry_context *ctx, struct ks_value *v, const struct ks_value *from, const char *path);
bool ks_kit_same(struct ks_registry_context *ctx, const struct ks_value *a, const struct ks_value *b, const char *path);
/* printf into the arena; "" when out of memory. */
const char *ks_kit_path(struct ks_registry_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Defaults of a pod's spec that depend on other fields; of every template, too. */
bool ks_pod_spec_defaults(struct ks_registry_context *ctx, struct ks_value *spec);
/* spec.resources.requests of a whole pod: what its containers ask for together, else its limits. */
bool ks_pod_requests_defaults(struct ks_registry_context *ctx, struct ks_value *spec);
/* What matchLabelKeys and mismatchLabelKeys mean for this pod goes into its selectors. */
void ks_pod_merge_label_keys(struct ks_registry_context *ctx, struct ks_value *pod);
/* The condition of a pod that waits behind gates. */
void ks_pod_begin_gated(struct ks_registry_context *ctx, struct ks_value *pod);
/* AppArmor profiles that annotations of old releases name become fields. */
void ks_pod_profiles_from_annotations(struct ks_registry_context *ctx, struct ks_value *pod);
/* Guaranteed, Burstable or BestEffort. */
const char *ks_pod_qos(struct ks_registry_context *ctx, const struct ks_value *pod);

#endif
