/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* YAML by the rules of sigs.k8s.io/yaml, to a free-form tree (then ks_value_convert): libyaml's parser, YAML 1.1 scalars. */
#ifndef KS_API_YAML_H
#define KS_API_YAML_H

#include "core/api/json.h"

/* The first document of the text (others are not read; an empty text is null). Aliases are expanded within a budget, depth is limited.
 * A repeated key: with `strict` the last value counts and `line 6: key "k" already set in map` is added to it; without, the text is refused.
 * 0, -EINVAL (the message starts with "yaml: "), -ENOMEM. */
int ks_yaml_decode(struct ks_arena *arena, const char *yaml, size_t n, struct ks_value *out_r,
	struct ks_strict_errors *strict, const char **message_r) __attribute__((warn_unused_result));

/* A plain scalar without a tag, resolved as YAML 1.1 (y, yes, on, 0o17, 1_000, .inf, ~ ...). Texts stay views. */
struct ks_value ks_yaml_resolve(struct ks_str text);

#endif
