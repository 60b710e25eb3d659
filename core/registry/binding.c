/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A pod gets its node. */
#include "core/registry/kit.h"
#include "core/registry/subresources.h"

int ks_binding_validate(struct ks_registry_context *ctx, const struct ks_value *binding, struct ks_status *status)
{
	struct ks_str kind = ks_kit_text(ctx, binding, "target.kind"), node = ks_kit_text(ctx, binding, "target.name");
	bool other = kind.n && !ks_str_is(kind, "Node");
	const char *wrong = "", *missing = node.n ? "" : "target.name: Required value";

	if (!other && node.n)
		return 0;
	if (other)
		wrong = ks_kit_path(ctx, "target.kind: Unsupported value: \"%.*s\": supported values: \"Node\", \"<empty>\"", (int)kind.n, kind.p);
	if (other && !node.n)
		return ks_status_set(status, ctx->arena, 500, NULL, "[%s, %s]", wrong, missing);
	return ks_status_set(status, ctx->arena, 500, NULL, "%s%s", wrong, missing);
}

/* What the binding says of itself is said of the pod from now on. */
static bool take_map(struct ks_registry_context *ctx, struct ks_value *pod, const struct ks_value *binding, const char *path)
{
	const struct ks_value *from = ks_kit_map(ctx, binding, path);
	struct ks_value *to;

	if (!from)
		return true;
	to = ks_value_put_at(ctx->arena, ctx->schema, pod, path);
	if (!to)
		return false;
	if (to->kind != KS_MAP)
		*to = (struct ks_value){.kind = KS_MAP, .type = from->type};
	for (uint32_t i = 0; i < from->n; i++) {
		struct ks_value *place = ks_value_put(ctx->arena, ctx->schema, to, from->members[i].key);

		if (!place)
			return false;
		*place = from->members[i].value;
	}
	return true;
}

const char *ks_pod_bind(struct ks_registry_context *ctx, struct ks_value *pod, const struct ks_value *binding)
{
	struct ks_str name = ks_meta_text(ctx->schema, pod, "name"), node = ks_kit_text(ctx, pod, "spec.nodeName");

	if (ks_meta_get(ctx->schema, pod, "deletionTimestamp"))
		return ks_kit_path(ctx, "pod %.*s is being deleted, cannot be assigned to a host", (int)name.n, name.p);
	if (node.n)
		return ks_kit_path(ctx, "pod %.*s is already assigned to node \"%.*s\"", (int)name.n, name.p, (int)node.n, node.p);
	if (ks_kit_list(ctx, pod, "spec.schedulingGates"))
		return ks_kit_path(ctx, "pod %.*s has non-empty .spec.schedulingGates", (int)name.n, name.p);
	node = ks_kit_text(ctx, binding, "target.name");
	if (!ks_kit_set(ctx, pod, "spec.nodeName", ks_value_from_str(node)) || !take_map(ctx, pod, binding, "metadata.annotations") ||
		!take_map(ctx, pod, binding, "metadata.labels") || !ks_kit_condition(ctx, pod, "PodScheduled", "True"))
		return "out of memory";
	return NULL;
}
