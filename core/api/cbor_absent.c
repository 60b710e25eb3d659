/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What stands for CBOR in a build without libcbor: the gate can't be opened, so nobody comes here with data. */
#include <errno.h>

#include "core/api/cbor.h"

int ks_cbor_peek_kind(struct ks_arena *arena, struct ks_str data, struct ks_str *api_version_r, struct ks_str *kind_r, const char **message_r)
{
	(void)arena;
	(void)data;
	(void)api_version_r;
	(void)kind_r;
	*message_r = "this build has no CBOR";
	return -EINVAL;
}

int ks_cbor_decode(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned flags, struct ks_str data, struct ks_value *out_r,
	struct ks_strict_errors *strict, const char **message_r)
{
	(void)arena;
	(void)s;
	(void)type;
	(void)flags;
	(void)data;
	(void)out_r;
	(void)strict;
	*message_r = "this build has no CBOR";
	return -EINVAL;
}

int ks_cbor_decode_map(struct ks_arena *arena, struct ks_str data, struct ks_value *out_r, const char **message_r)
{
	return ks_cbor_decode(arena, NULL, 0, 0, data, out_r, NULL, message_r);
}

void ks_cbor_encode(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	(void)s;
	(void)v;
	out->failed = true;
}

void ks_cbor_encode_object(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out)
{
	ks_cbor_encode(s, v, out);
}

void ks_cbor_add_map(struct ks_buf *out, size_t pairs)
{
	(void)pairs;
	out->failed = true;
}

void ks_cbor_add_list(struct ks_buf *out, size_t items)
{
	(void)items;
	out->failed = true;
}

void ks_cbor_add_int(struct ks_buf *out, int64_t value)
{
	(void)value;
	out->failed = true;
}

void ks_cbor_add_null(struct ks_buf *out)
{
	out->failed = true;
}

void ks_cbor_add_text(struct ks_buf *out, struct ks_str text)
{
	(void)text;
	out->failed = true;
}

bool ks_cbor_encode_split(const struct ks_schema *s, const struct ks_value *v, struct ks_buf *out, struct ks_cbor_split *split_r)
{
	(void)s;
	(void)v;
	(void)out;
	(void)split_r;
	return false;
}
