/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/resource/token.h"

#include <errno.h>

#include "core/api/json.h"

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* Base64 for URLs, without padding. 0, or -EINVAL with the place of the first character that is none. */
static int decode_base64(struct ks_str text, char *out, size_t *n_r, size_t *bad_r)
{
	unsigned bits = 0, have = 0;
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		int d = digit_of(text.p[i]);

		if (d < 0) {
			*bad_r = i;
			return -EINVAL;
		}
		bits = bits << 6 | (unsigned)d;
		have += 6;
		if (have >= 8) {
			have -= 8;
			out[n++] = (char)(bits >> have & 0xff);
		}
	}
	*bad_r = text.n;
	*n_r = n;
	return text.n % 4 == 1 ? -EINVAL : 0;
}

static int refuse(struct ks_arena *arena, const char **message_r, const char *what, const char *why)
{
	char *message = ks_arena_printf(arena, "continue key is not valid%s%s", what, why);

	*message_r = message ? message : "continue key is not valid";
	return -EINVAL;
}

/* A path that stays inside: no empty, "." or ".." part. */
static bool is_clean(struct ks_str key)
{
	size_t begin = 0;

	if (key.n && key.p[0] == '/')
		begin = 1;
	for (size_t i = begin; i <= key.n; i++) {
		struct ks_str part;

		if (i < key.n && key.p[i] != '/')
			continue;
		part = ks_str_of(key.p + begin, i - begin);
		if (!part.n || ks_str_is(part, ".") || ks_str_is(part, ".."))
			return false;
		begin = i + 1;
	}
	return true;
}

static int read_fields(struct ks_arena *arena, const struct ks_schema *schema, const struct ks_value *v, struct ks_token *out_r, const char **message_r)
{
	struct ks_str version = ks_value_str(ks_value_get(schema, v, "v")), start = ks_value_str(ks_value_get(schema, v, "start"));
	const struct ks_value *revision = ks_value_get(schema, v, "rv");
	char *copy;

	if (!ks_str_is(version, "meta.k8s.io/v1")) {
		copy = ks_arena_dup(arena, version.p ? version.p : "", version.n);
		return refuse(arena, message_r, ": server does not recognize this encoded version ", copy ? copy : "");
	}
	if (!revision || revision->kind != KS_INT || !revision->integer)
		return refuse(arena, message_r, ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)", "");
	if (!start.n)
		return refuse(arena, message_r, ": encoded start key empty (version meta.k8s.io/v1)", "");
	if (!is_clean(start)) {
		copy = ks_arena_dup(arena, start.p, start.n);
		return refuse(arena, message_r, ": ", copy ? copy : "");
	}
	out_r->revision = revision->integer;
	out_r->start = start.p[0] == '/' ? ks_str_of(start.p + 1, start.n - 1) : start;
	return 0;
}

int ks_token_decode(struct ks_arena *arena, const struct ks_schema *schema, struct ks_str text, struct ks_token *out_r, const char **message_r)
{
	char *json = ks_arena_alloc(arena, text.n + 1);
	const char *message = "";
	struct ks_value v;
	size_t n = 0, bad = 0;
	int result;

	if (!json)
		return -ENOMEM;
	if (decode_base64(text, json, &n, &bad)) {
		char *why = ks_arena_printf(arena, ": illegal base64 data at input byte %zu", bad);

		return refuse(arena, message_r, why ? why : "", "");
	}
	result = ks_json_decode(arena, schema, 0, 0, json, n, &v, NULL, &message);
	if (result == -ENOMEM)
		return result;
	if (result)
		return refuse(arena, message_r, ": ", message);
	return read_fields(arena, schema, &v, out_r, message_r);
}

const char *ks_token_encode(struct ks_arena *arena, int64_t revision, struct ks_str last)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	struct ks_buf json;
	char *text = NULL;
	size_t n = 0;

	ks_buf_init(&json);
	ks_buf_printf(&json, "{\"v\":\"meta.k8s.io/v1\",\"rv\":%lld,\"start\":", (long long)revision);
	ks_json_encode_string(last, &json);
	if (json.len)
		json.len--; /* the key goes on: everything behind it is wanted */
	ks_buf_add_str(&json, "\\u0000\"}");
	if (!json.failed)
		text = ks_arena_alloc(arena, json.len * 4 / 3 + 8);
	for (size_t i = 0; text && i < json.len; i += 3) {
		size_t left = json.len - i;
		uint32_t bits = (uint32_t)(unsigned char)json.data[i] << 16;

		if (left > 1)
			bits |= (uint32_t)(unsigned char)json.data[i + 1] << 8;
		if (left > 2)
			bits |= (unsigned char)json.data[i + 2];
		for (size_t k = 0; k < (left > 2 ? 4 : left + 1); k++)
			text[n++] = digits[bits >> (18 - 6 * k) & 63];
	}
	if (text)
		text[n] = 0;
	ks_buf_fini(&json);
	return text;
}
