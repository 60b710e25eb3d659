/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <keelson/sdk/podspec.h>

#include <keelson/sdk/pool.h>

static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
static const char *const words[] = {"init container", "container", "ephemeral container"};

const char *ks_container_list(uint32_t kind)
{
	return kind < KS_N_CONTAINER_KINDS ? lists[kind] : "";
}

const char *ks_container_words(uint32_t kind)
{
	return kind < KS_N_CONTAINER_KINDS ? words[kind] : "";
}

int ks_podspec_next(struct ks_podspec_walk *walk)
{
	for (; walk->kind < KS_N_CONTAINER_KINDS; walk->kind++, walk->next = 0) {
		struct ks_val list = walk->values->member(walk->spec, ks_view_lit(lists[walk->kind]));

		if (walk->next >= walk->values->length(list))
			continue;
		walk->index = walk->next++;
		walk->container = walk->values->item(list, walk->index);
		return 1;
	}
	return 0;
}
