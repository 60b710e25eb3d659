/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Secrets and config maps. */
#include "core/api/base64.h"
#include "core/api/map_index.h"
#include "core/registry/kit.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/warn_objects.h"

/* stringData is a convenience for writers: it ends up in data. */
static bool secret_defaults(struct ks_registry_context *ctx, struct ks_value *secret)
{
	const struct ks_value *texts = ks_kit_map(ctx, secret, "stringData");
	struct ks_map_index index = {0};
	struct ks_value *data;

	if (!texts)
		return true;
	data = ks_value_put(ctx->arena, ctx->schema, secret, KS_STR_LIT("data"));
	if (!data)
		return false;
	if (data->kind != KS_MAP)
		*data = (struct ks_value){.kind = KS_MAP};
	for (uint32_t i = 0; i < texts->n; i++) {
		struct ks_str text = ks_value_str(&texts->members[i].value);
		char *encoded = ks_arena_alloc(ctx->arena, ks_base64_length(text.n) + 1);
		struct ks_value *place = ks_map_index_put(&index, ctx->arena, data, texts->members[i].key);

		if (!encoded || !place)
			return false;
		ks_base64_encode((const unsigned char *)text.p, text.n, encoded);
		*place = ks_value_from_str(ks_str_of(encoded, ks_base64_length(text.n)));
	}
	ks_value_remove(ctx->schema, secret, KS_STR_LIT("stringData"));
	return true;
}

const struct ks_strategy ks_strategy_secrets = {
	.group = "", .resource = "secrets",
	.flags = KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.defaults = secret_defaults,
	.validate = ks_validate_secret,
	.warnings = ks_warn_secret,
};

const struct ks_strategy ks_strategy_configmaps = {
	.group = "", .resource = "configmaps",
	.flags = KS_STRATEGY_VALIDATES_METADATA_AGAIN,
	.validate = ks_validate_configmap,
};
