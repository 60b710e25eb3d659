/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What a reader of YAML 1.1 (gopkg.in/yaml.v2) makes of a plain scalar, and in which order a writer puts keys. */
#ifndef KS_PIPELINE_YAML_SCALAR_H
#define KS_PIPELINE_YAML_SCALAR_H

#include <stdbool.h>

#include "core/util/str.h"

/* Would the text, written plainly, be read as a string again? False for what looks like a number, a boolean, null or a time. */
bool ks_yaml_is_string(struct ks_str text);
/* Numbers in keys are ordered by value. */
int ks_yaml_key_compare(struct ks_str a, struct ks_str b);

#endif
