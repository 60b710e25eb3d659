/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What Go writes for a field that nobody set. Private to core/api. */
#ifndef KS_API_JSON_ZERO_H
#define KS_API_JSON_ZERO_H

#include "core/api/schema.h"

/* A Go struct type: omitempty never leaves it out. */
static inline bool ks_class_is_go_struct(uint8_t class_)
{
	switch (class_) {
	case KS_TYPE_TIME:
	case KS_TYPE_MICRO_TIME:
	case KS_TYPE_DURATION:
	case KS_TYPE_QUANTITY:
	case KS_TYPE_INT_OR_STRING:
	case KS_TYPE_RAW:
	case KS_TYPE_JSON:
	case KS_TYPE_FIELDS_V1:
	case KS_TYPE_STRUCT:
		return true;
	default:
		return false;
	}
}

/* Is the field not written at all when it is absent? */
static inline bool ks_field_left_out(const struct ks_schema *s, const struct ks_field *field)
{
	if (field->flags & KS_FIELD_OMIT_ZERO)
		return true;
	if (!(field->flags & KS_FIELD_OMIT_EMPTY))
		return false;
	return field->flags & KS_FIELD_POINTER || !ks_class_is_go_struct(s->types[field->type].class_);
}

/* JSON of the zero value of a class other than STRUCT. */
static inline const char *ks_json_zero_text(uint8_t class_)
{
	switch (class_) {
	case KS_TYPE_BOOL:
		return "false";
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
	case KS_TYPE_FLOAT64:
	case KS_TYPE_INT_OR_STRING:
		return "0";
	case KS_TYPE_STRING:
		return "\"\"";
	case KS_TYPE_QUANTITY:
		return "\"0\"";
	case KS_TYPE_DURATION:
		return "\"0s\"";
	default:
		return "null";
	}
}

#endif
