/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/chain.h"

#include <errno.h>
#include <stdlib.h>

#include "plugins/host/host.h"

const struct ks_chain_stage ks_chain_stages[] = {
	{"info", ks_stage_info},
	/* audit begins here, when it comes */
	{"deadline", ks_stage_deadline},
	{"authentication", ks_stage_authentication},
	{"impersonation", ks_stage_impersonation},
	/* priority and fairness: before the body is read */
	{"authorization", ks_stage_authorization},
	{"handler", ks_stage_dispatch},
};
const size_t ks_chain_n_stages = sizeof(ks_chain_stages) / sizeof(*ks_chain_stages);

static struct ks_str text(const struct ks_schema *schema, uint32_t offset)
{
	return ks_str_from(ks_schema_text(schema, offset));
}

/* Sets the bit of one controller for one resource and each operation that it wants to see. */
static void index_resource(struct ks_chain *chain, const struct ks_instance *instance, uint64_t bit, uint32_t resource)
{
	static const enum ks_operation operations[] = {KS_OPERATION_CREATE, KS_OPERATION_UPDATE, KS_OPERATION_DELETE, KS_OPERATION_CONNECT};
	const struct ks_resource *r = &chain->schema->resources[resource];
	struct ks_str name = text(chain->schema, r->resource), sub = {0};
	const char *slash = memchr(name.p, '/', name.n);

	if (slash) {
		sub = ks_str_of(slash + 1, name.n - (size_t)(slash + 1 - name.p));
		name.n = (size_t)(slash - name.p);
	}
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (ks_admission_matches(instance, operations[i], text(chain->schema, r->group), name, sub))
			chain->matches[resource * 4 + i] |= bit;
}

static void index_instance(struct ks_chain *chain, const struct ks_instance *instance, size_t at)
{
	uint64_t bit = UINT64_C(1) << at;

	if (ks_admission_mutates(instance))
		chain->mutates |= bit;
	if (ks_admission_validates(instance))
		chain->validates |= bit;
	if (ks_instance_flags(instance) & KS_ADMISSION_SIDE_EFFECTS)
		chain->no_dry_run |= bit;
	for (uint32_t resource = 0; resource < chain->schema->n_resources; resource++)
		index_resource(chain, instance, bit, resource);
}

int ks_chain_new(struct ks_plugin_set *set, const struct ks_schema *schema, struct ks_chain **out_r, struct ks_error *err)
{
	size_t n = ks_plugin_set_count(set, KS_STAGE_ADMISSION);
	struct ks_chain *chain;

	if (n > KS_ADMISSION_MOST)
		return ks_error_set(err, -E2BIG, "admission: %zu controllers are configured, at most %d can be", n, KS_ADMISSION_MOST);
	chain = calloc(1, sizeof(*chain));
	if (!chain)
		return ks_error_set(err, -ENOMEM, "out of memory");
	chain->schema = schema;
	chain->n_admission = n;
	chain->matches = calloc((size_t)schema->n_resources * 4 + 1, sizeof(*chain->matches));
	if (!chain->matches) {
		free(chain);
		return ks_error_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; i < n; i++)
		index_instance(chain, ks_plugin_set_at(set, KS_STAGE_ADMISSION, i), i);
	*out_r = chain;
	return 0;
}

void ks_chain_free(struct ks_chain *chain)
{
	if (!chain)
		return;
	free(chain->matches);
	free(chain);
}
