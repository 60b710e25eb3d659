/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A patch out of a request's body, to be applied to any object. */
#ifndef KS_PIPELINE_RESOURCE_PATCH_H
#define KS_PIPELINE_RESOURCE_PATCH_H

#include "core/api/json.h"
#include "core/pipeline/resource/options.h"

enum ks_patch_kind { KS_PATCH_JSON, KS_PATCH_MERGE, KS_PATCH_STRATEGIC, KS_PATCH_APPLY };

struct ks_patch {
	enum ks_patch_kind kind;
	enum ks_field_validation fields;
	struct ks_value value;          /* free form */
	struct ks_strict_errors strict; /* what is wrong with the patch itself */
	bool warned;
	bool cbor;                      /* APPLY: the configuration is in CBOR, not in YAML */
};

/* The kind by Content-Type. 0, or 415 with the accepted types. */
int ks_patch_negotiate(struct ks_request *request, struct ks_patch *out_r) __attribute__((warn_unused_result));
/* Reads request->body. 0 or the code set in request->status. */
int ks_patch_read(struct ks_request *request, struct ks_patch *patch) __attribute__((warn_unused_result));
/* `object` (a STRUCT of `type`, not changed) with the patch applied, in `arena`; of any kind but APPLY, see track.h. */
int ks_patch_apply(struct ks_request *request, struct ks_patch *patch, struct ks_arena *arena, uint16_t type, const struct ks_value *object,
	struct ks_value *out_r) __attribute__((warn_unused_result));

#endif
