/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects as upstream shows them in messages: its internal types have no JSON tags, so that their fields appear
 * under their Go names, in the order of the internal types, and nothing is left out
 * ({"Name":"","Kind":"Role"}); what belongs to meta/v1 (labels, selectors, times, amounts) appears as in the API.
 */
#ifndef KS_API_GOJSON_H
#define KS_API_GOJSON_H

#include "core/api/value.h"
#include "core/util/buf.h"

/* `v` (may be NULL: nothing there) as a value of `type`. `pointer`: nothing is null rather than the zero value. */
void ks_gojson_write(const struct ks_schema *s, uint16_t type, bool pointer, const struct ks_value *v, struct ks_buf *out);

/* A struct of which only `fields` (JSON names, ends with NULL) are shown, in that order. */
void ks_gojson_write_fields(const struct ks_schema *s, uint16_t type, const char *const *fields, const struct ks_value *v, struct ks_buf *out);

/* A unified diff (three lines of context, no file names) of two compact JSON texts, each indented by one space a level first. */
void ks_gojson_diff(struct ks_str before, struct ks_str after, struct ks_buf *out);

#endif
