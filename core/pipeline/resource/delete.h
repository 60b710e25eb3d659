/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Deleting one object: the verb, and what a collection does to each of its objects. */
#ifndef KS_PIPELINE_RESOURCE_DELETE_H
#define KS_PIPELINE_RESOURCE_DELETE_H

#include "core/pipeline/resource/write.h"

/* The first step for the object ctx.ns/ctx.name with edit->delete_options; edit->answer follows. */
enum ks_stage_result ks_delete_begin(struct ks_edit *edit);
/* The same for one that can't be read. */
enum ks_stage_result ks_corrupt_begin(struct ks_edit *edit);

#endif
