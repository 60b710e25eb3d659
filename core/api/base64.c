/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/base64.h"

#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

static size_t skip_breaks(struct ks_str text, size_t at)
{
	while (at < text.n && (text.p[at] == '\n' || text.p[at] == '\r'))
		at++;
	return at;
}

static bool bad(size_t at, size_t *bad_r)
{
	*bad_r = at;
	return false;
}

/* At the first '=' of a group that has `have` digits. */
static bool check_padding(struct ks_str text, size_t at, unsigned have, size_t *bad_r)
{
	if (have < 2)
		return bad(at, bad_r);
	at++;
	if (have == 2) {
		at = skip_breaks(text, at);
		if (at == text.n)
			return bad(text.n, bad_r);
		if (text.p[at] != '=')
			return bad(at - 1, bad_r);
		at++;
	}
	at = skip_breaks(text, at);
	return at == text.n || bad(at, bad_r);
}

bool ks_base64_check(struct ks_str text, size_t *bytes_r, bool *canonical_r, size_t *bad_r)
{
	size_t bytes = 0, consumed = 0;
	unsigned have = 0;
	bool canonical = true;
	int last = 0;

	for (size_t at = 0; at < text.n; at++) {
		int d = digit(text.p[at]);

		if (d >= 0) {
			last = d;
			consumed++;
			have = (have + 1) % 4;
			bytes += have != 1;
		} else if (text.p[at] == '\n' || text.p[at] == '\r') {
			canonical = false;
		} else if (text.p[at] != '=') {
			return bad(at, bad_r);
		} else {
			if (!check_padding(text, at, have, bad_r))
				return false;
			*bytes_r = bytes;
			*canonical_r = canonical && (last & (have == 2 ? 0x0f : 0x03)) == 0 && consumed + 4 - have == text.n;
			return true;
		}
	}
	if (have)
		return bad(text.n - have, bad_r);
	*bytes_r = bytes;
	*canonical_r = canonical;
	return true;
}

void ks_base64_decode(struct ks_str text, unsigned char *out)
{
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t at = 0; at < text.n; at++) {
		int d = digit(text.p[at]);

		if (d < 0)
			continue;
		bits = bits << 6 | (uint32_t)d;
		if (++have % 4 != 1)
			*out++ = (unsigned char)(bits >> (have % 4 == 0 ? 0 : have % 4 == 3 ? 2 : 4));
	}
}

void ks_base64_encode(const unsigned char *p, size_t n, char *out)
{
	for (; n >= 3; n -= 3, p += 3) {
		*out++ = alphabet[p[0] >> 2];
		*out++ = alphabet[(p[0] & 3) << 4 | p[1] >> 4];
		*out++ = alphabet[(p[1] & 15) << 2 | p[2] >> 6];
		*out++ = alphabet[p[2] & 63];
	}
	if (n == 0)
		return;
	*out++ = alphabet[p[0] >> 2];
	*out++ = alphabet[(p[0] & 3) << 4 | (n == 2 ? p[1] >> 4 : 0)];
	*out++ = n == 2 ? alphabet[(p[1] & 15) << 2] : '=';
	*out = '=';
}
