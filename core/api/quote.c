/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/quote.h"

#include <stdbool.h>

static bool continues(const char *p, size_t n, size_t at)
{
	return at < n && ((unsigned char)p[at] & 0xc0) == 0x80;
}

size_t ks_utf8_next(const char *p, size_t n, uint32_t *rune_r)
{
	unsigned char c = (unsigned char)p[0];
	uint32_t rune = 0xfffd;
	size_t len = 1;

	if (c < 0x80) {
		rune = c;
	} else if (c >= 0xc2 && c <= 0xdf && continues(p, n, 1)) {
		rune = (c & 0x1fU) << 6 | (p[1] & 0x3fU);
		len = 2;
	} else if ((c & 0xf0) == 0xe0 && continues(p, n, 1) && continues(p, n, 2)) {
		uint32_t r = (c & 0x0fU) << 12 | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);

		if (r >= 0x800 && (r < 0xd800 || r > 0xdfff)) {
			rune = r;
			len = 3;
		}
	} else if (c >= 0xf0 && c <= 0xf4 && continues(p, n, 1) && continues(p, n, 2) && continues(p, n, 3)) {
		uint32_t r = (c & 0x07U) << 18 | (p[1] & 0x3fU) << 12 | (p[2] & 0x3fU) << 6 | (p[3] & 0x3fU);

		if (r >= 0x10000 && r <= 0x10ffff) {
			rune = r;
			len = 4;
		}
	}
	*rune_r = rune;
	return len;
}

size_t ks_utf8_put(char *out, uint32_t rune)
{
	if (rune < 0x80) {
		out[0] = (char)rune;
		return 1;
	}
	if (rune < 0x800) {
		out[0] = (char)(0xc0 | rune >> 6);
		out[1] = (char)(0x80 | (rune & 0x3f));
		return 2;
	}
	if (rune < 0x10000) {
		out[0] = (char)(0xe0 | rune >> 12);
		out[1] = (char)(0x80 | (rune >> 6 & 0x3f));
		out[2] = (char)(0x80 | (rune & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | rune >> 18);
	out[1] = (char)(0x80 | (rune >> 12 & 0x3f));
	out[2] = (char)(0x80 | (rune >> 6 & 0x3f));
	out[3] = (char)(0x80 | (rune & 0x3f));
	return 4;
}

/* The escape letter of a control character, or 0. */
static char short_escape(unsigned char c)
{
	static const char letters[] = "abtnvfr"; /* 7 to 13 */

	return c >= 7 && c <= 13 ? letters[c - 7] : '\0';
}

/* What Go does not print: controls, blanks beyond ASCII, format characters, surrogates and private use. Good for messages, not a Unicode table. */
bool ks_rune_prints(uint32_t r)
{
	if (r < 0x20 || (r >= 0x7f && r < 0xa1))
		return false;
	if (r == 0xad || (r >= 0x2000 && r <= 0x200f) || (r >= 0x2028 && r <= 0x202f) || (r >= 0x205f && r <= 0x206f) || r == 0x3000 || r == 0xfeff)
		return false;
	return !(r >= 0xe000 && r <= 0xf8ff) && r < 0xe0000;
}

void ks_quote_to(struct ks_buf *out, struct ks_str text)
{
	ks_buf_add_char(out, '"');
	for (size_t i = 0, len; i < text.n; i += len) {
		unsigned char c = (unsigned char)text.p[i];
		uint32_t rune;

		len = ks_utf8_next(text.p + i, text.n - i, &rune);
		if (c == '"' || c == '\\')
			ks_buf_printf(out, "\\%c", c);
		else if (short_escape(c))
			ks_buf_printf(out, "\\%c", short_escape(c));
		else if (c < ' ' || c == 0x7f || (len == 1 && c >= 0x80))
			ks_buf_printf(out, "\\x%02x", c);
		else if (ks_rune_prints(rune))
			ks_buf_add(out, text.p + i, len);
		else
			ks_buf_printf(out, rune < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)rune);
	}
	ks_buf_add_char(out, '"');
}

const char *ks_quote(struct ks_arena *arena, struct ks_str text)
{
	struct ks_buf buf;
	char *copy;

	ks_buf_init(&buf);
	ks_quote_to(&buf, text);
	copy = buf.failed ? NULL : ks_arena_dup(arena, buf.data, buf.len);
	ks_buf_fini(&buf);
	return copy;
}
