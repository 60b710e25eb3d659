/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/metadata_only.h"

#include "core/api/json.h"

/* What the search for the end has to look at; all else is passed over. */
static const uint8_t special[256] = {['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1};

/* Offset behind the quote that ends the string that began before `at`; 0 when there is none. */
static size_t string_end(struct ks_str json, size_t at)
{
	while (at < json.n) {
		const char *quote = memchr(json.p + at, '"', json.n - at);
		size_t end, slashes = 0;

		if (!quote)
			return 0;
		end = (size_t)(quote - json.p);
		while (end - slashes > at && json.p[end - slashes - 1] == '\\')
			slashes++;
		at = end + 1;
		if (slashes % 2 == 0)
			return at;
	}
	return 0;
}

size_t ks_metadata_end(struct ks_str json, size_t at)
{
	size_t depth = 1;

	while (at < json.n) {
		char c = json.p[at++];

		if (!special[(unsigned char)c])
			continue;
		if (c == '"') {
			at = string_end(json, at);
			if (at == 0)
				return 0;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (--depth == 0) {
			return at;
		}
	}
	return 0;
}

static void add_revision(struct ks_buf *out, uint64_t revision, bool comma)
{
	if (revision == 0)
		return;
	ks_buf_add_str(out, "\"resourceVersion\":\"");
	ks_buf_add_u64(out, revision);
	ks_buf_add_str(out, comma ? "\"," : "\"");
}

void ks_metadata_only(struct ks_str json, size_t rv_at, bool rv_comma, uint64_t revision, const char *version, struct ks_buf *out)
{
	size_t end = rv_at ? ks_metadata_end(json, rv_at) : 0;

	ks_buf_printf(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":{", version);
	add_revision(out, revision, rv_comma);
	if (end)
		ks_buf_add(out, json.p + rv_at, end - rv_at);
	else
		out->failed = true;
	ks_buf_add_char(out, '}');
}

void ks_json_with_revision(struct ks_str json, size_t rv_at, bool rv_comma, uint64_t revision, struct ks_buf *out)
{
	ks_buf_add(out, json.p, rv_at);
	add_revision(out, revision, rv_comma);
	ks_buf_add(out, json.p + rv_at, json.n - rv_at);
}

void ks_list_meta(uint64_t revision, struct ks_str continue_, int64_t remaining, struct ks_buf *out)
{
	bool more = continue_.n || remaining >= 0;

	ks_buf_add_char(out, '{');
	add_revision(out, revision, more);
	if (continue_.n) {
		ks_buf_add_str(out, "\"continue\":");
		ks_json_encode_string(continue_, out);
	}
	if (remaining >= 0) {
		ks_buf_add_str(out, continue_.n ? ",\"remainingItemCount\":" : "\"remainingItemCount\":");
		ks_buf_add_i64(out, remaining);
	}
	ks_buf_add_char(out, '}');
}
