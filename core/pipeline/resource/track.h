/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Writes and who made them: managedFields, and configurations that are applied. */
#ifndef KS_PIPELINE_RESOURCE_TRACK_H
#define KS_PIPELINE_RESOURCE_TRACK_H

#include "core/pipeline/resource/patch.h"
#include "core/pipeline/resource/write.h"

/* What is written: the edit's object, or a Scale of it. */
struct ks_tracked {
	uint16_t type;
	struct ks_str version; /* apiVersion */
	const char *kind;
	const struct ks_value *live; /* NULL: nothing stands there */
	struct ks_value *object;
};

/* The edit's `old` and `object`. */
struct ks_tracked ks_edit_tracked(struct ks_edit *edit);
/* Notes that the one who asks made `object` out of `live`. 0 or the code set in request->status. */
int ks_edit_track(struct ks_edit *edit, const struct ks_tracked *tracked) __attribute__((warn_unused_result));

/* Reads the configuration in request->body into patch->value. 0 or the code set in request->status. */
int ks_apply_read(struct ks_request *request, struct ks_patch *patch) __attribute__((warn_unused_result));
/* Applies it to `live`; `object` is what comes of it. 0 or the code set in request->status. */
int ks_edit_apply(struct ks_edit *edit, struct ks_patch *patch, const struct ks_tracked *tracked) __attribute__((warn_unused_result));

#endif
