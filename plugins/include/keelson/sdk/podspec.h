/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/sdk/podspec.h: walking through a pod's specification. Link with -lkeelson-sdk. */
#ifndef KEELSON_SDK_PODSPEC_H
#define KEELSON_SDK_PODSPEC_H

#include <keelson/value.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ks_container_kind { KS_CONTAINER_INIT, KS_CONTAINER_MAIN, KS_CONTAINER_EPHEMERAL, KS_N_CONTAINER_KINDS };

/* Begin with the members zeroed but `values` and `spec`. */
struct ks_podspec_walk {
	const struct ks_value_ops *values;
	struct ks_val spec; /* a PodSpec */
	/* where it stands */
	uint32_t kind; /* enum ks_container_kind */
	size_t index; /* in its list */
	size_t next;
	struct ks_val container;
};

/* The next container: initContainers, containers, ephemeralContainers, in their order. 0: there is no more. */
int ks_podspec_next(struct ks_podspec_walk *walk);
/* The name of the list, "initContainers"; and what people call such a container, "init container". */
const char *ks_container_list(uint32_t kind);
const char *ks_container_words(uint32_t kind);

#ifdef __cplusplus
}
#endif

#endif
