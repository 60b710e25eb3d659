/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* JSON that the server has written, in other forms. */
#ifndef KS_PIPELINE_RENDER_H
#define KS_PIPELINE_RENDER_H

#include <stdbool.h>
#include <stddef.h>

#include "core/api/schema.h"
#include "core/util/buf.h"
#include "core/util/str.h"

/* Where an indenting has got to: for JSON that comes in parts, cut anywhere. Zeroed at the beginning. */
struct ks_pretty {
	size_t depth;
	bool opened, in_string, escaped;
};
/* Indented by two spaces, as encoding/json does for people; what stands in strings is not touched. `json` must be valid. */
void ks_pretty_add(struct ks_pretty *pretty, struct ks_str json, struct ks_buf *out);
/* The whole of it. */
void ks_render_pretty(struct ks_str json, struct ks_buf *out);
/* YAML as kube-apiserver writes it: keys sorted, lists not indented. 0, -EINVAL when it is no JSON, -ENOMEM. */
int ks_render_yaml(struct ks_str json, struct ks_buf *out) __attribute__((warn_unused_result));
/* The object in protobuf, with its envelope; type by its own apiVersion and kind. 0, -EINVAL when it is no JSON, -ENOTSUP when its kind has no such form,
 * -ENOMEM. */
int ks_render_proto(const struct ks_schema *schema, struct ks_str json, struct ks_buf *out) __attribute__((warn_unused_result));

/* The object in CBOR, with the tag of self-described CBOR; types by its own apiVersion and kind, where they name one. 0, -EINVAL when it is no JSON,
 * -ENOMEM. */
int ks_render_cbor(const struct ks_schema *schema, struct ks_str json, struct ks_buf *out) __attribute__((warn_unused_result));

#endif
