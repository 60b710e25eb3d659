/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a watcher wants to see, compiled. Private to core/cache. */
#ifndef KS_CACHE_FILTER_H
#define KS_CACHE_FILTER_H

#include "core/cache/cache.h"

struct ks_filter_field {
	int16_t index; /* as ks_cache_field_index has it */
	bool not_equal;
	struct ks_str value;
};

struct ks_filter {
	struct ks_str ns, name; /* empty: any */
	struct ks_selector *labels;
	struct ks_filter_field *fields;
	uint32_t n_fields;
	char *texts;
};

/* Copies everything. 0, -EINVAL (a field that the resource doesn't have) or -ENOMEM. */
int ks_filter_init(struct ks_filter *filter, const struct ks_schema *schema, uint16_t resource, const struct ks_watch_filter *from)
	__attribute__((warn_unused_result));
void ks_filter_fini(struct ks_filter *filter);
bool ks_filter_match(const struct ks_filter *filter, const struct ks_object *object);

#endif
