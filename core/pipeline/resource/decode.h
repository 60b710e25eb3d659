/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The object in a request's body. */
#ifndef KS_PIPELINE_RESOURCE_DECODE_H
#define KS_PIPELINE_RESOURCE_DECODE_H

#include "core/api/json.h"
#include "core/pipeline/resource/options.h"

/* Decodes request->body (JSON or YAML by Content-Type) as the kind of `resource` into `arena`, with the warnings or refusals that `fields` asks for
 * (`quiet`: warnings were given before). apiVersion and kind are set. 0 or the code set in request->status. */
int ks_body_decode(struct ks_request *request, struct ks_arena *arena, uint16_t resource, enum ks_field_validation fields, bool quiet,
	struct ks_value *out_r) __attribute__((warn_unused_result));
/* "unknown field ...", one warning each; or nothing. */
void ks_body_warn(struct ks_request *request, const struct ks_strict_errors *strict);
/* All of them, joined by ", "; in the request's arena. */
const char *ks_body_strict_text(struct ks_request *request, const struct ks_strict_errors *strict);

#endif
