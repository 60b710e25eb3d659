/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/allocate/ip.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "core/api/validate.h"

enum { RESERVED_LEAST = 16, RESERVED_MOST = 256, RESERVED_PART = 16, IP6_LEAST_BITS = 64 };

static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool ks_ip_parse(struct ks_str text, struct ks_ip *out_r)
{
	struct ks_ip ip = {.v6 = false};
	char canonical[KS_ADDRESS_TEXT];

	if (ks_ip_form(text, canonical) == KS_ADDRESS_NONE)
		return false;
	if (inet_pton(AF_INET, canonical, ip.bytes + 12) == 1)
		memcpy(ip.bytes, v4_prefix, sizeof(v4_prefix));
	else if (inet_pton(AF_INET6, canonical, ip.bytes) == 1)
		ip.v6 = true;
	else
		return false;
	*out_r = ip;
	return true;
}

void ks_ip_print(const struct ks_ip *ip, char out[KS_IP_TEXT])
{
	if (!inet_ntop(ip->v6 ? AF_INET6 : AF_INET, ip->v6 ? ip->bytes : ip->bytes + 12, out, KS_IP_TEXT))
		out[0] = 0;
}

struct ks_ip ks_ip_plus(const struct ks_ip *ip, uint64_t n)
{
	struct ks_ip sum = *ip;
	unsigned carry = 0;

	for (int i = 15; i >= 0; i--) {
		carry += sum.bytes[i] + (unsigned)(n & 0xff);
		sum.bytes[i] = (uint8_t)carry;
		carry >>= 8;
		n >>= 8;
	}
	return sum;
}

bool ks_ip_is_loopback(const struct ks_ip *ip)
{
	static const uint8_t one[16] = {[15] = 1};

	return ip->v6 ? memcmp(ip->bytes, one, sizeof(one)) == 0 : ip->bytes[12] == 127;
}

bool ks_ip_is_unspecified(const struct ks_ip *ip)
{
	static const uint8_t zero[16];

	return memcmp(ip->bytes + (ip->v6 ? 0 : 12), zero, ip->v6 ? 16 : 4) == 0;
}

/* -- ranges ------------------------------------------------------------------------------------------------------- */

static bool parse_bits(struct ks_str text, unsigned most, unsigned *bits_r)
{
	unsigned bits = 0;

	if (!text.n || text.n > 3 || (text.n > 1 && text.p[0] == '0'))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		bits = bits * 10 + (unsigned)(text.p[i] - '0');
	}
	*bits_r = bits;
	return bits <= most;
}

static void clear_host_part(struct ks_ip *ip, unsigned bits)
{
	for (unsigned i = 0; i < 16; i++) {
		unsigned kept = bits > i * 8 ? bits - i * 8 : 0;

		if (kept < 8)
			ip->bytes[i] &= (uint8_t)(0xff00u >> kept);
	}
}

/* How many of all addresses of a range go only to those who ask. */
static uint64_t count_reserved(uint64_t all)
{
	if (all <= RESERVED_LEAST)
		return 0;
	if (all / RESERVED_PART < RESERVED_LEAST)
		return RESERVED_LEAST;
	return all / RESERVED_PART > RESERVED_MOST ? RESERVED_MOST : all / RESERVED_PART;
}

bool ks_ip_range_parse(struct ks_str text, struct ks_ip_range *out_r)
{
	const char *slash = text.n ? memchr(text.p, '/', text.n) : NULL;
	struct ks_ip_range range = {.count = 0};
	uint64_t all;
	unsigned bits, host;

	if (!slash || !ks_ip_parse(ks_str_of(text.p, (size_t)(slash - text.p)), &range.network))
		return false;
	if (!parse_bits(ks_str_of(slash + 1, (size_t)(text.p + text.n - slash - 1)), range.network.v6 ? 128 : 32, &bits))
		return false;
	if (range.network.v6 && bits < IP6_LEAST_BITS)
		return false;
	host = (range.network.v6 ? 128 : 32) - bits;
	all = host >= 63 ? INT64_MAX : 1ull << host;
	if (all < (range.network.v6 ? 2 : 4))
		return false;
	clear_host_part(&range.network, 128 - host);
	range.bits = (uint8_t)bits;
	range.first = ks_ip_plus(&range.network, 1);
	range.count = all - (range.network.v6 ? 1 : 2);
	range.reserved = count_reserved(all);
	*out_r = range;
	return true;
}

void ks_ip_range_print(const struct ks_ip_range *range, char out[KS_IP_RANGE_TEXT])
{
	char text[KS_IP_TEXT];

	ks_ip_print(&range->network, text);
	snprintf(out, KS_IP_RANGE_TEXT, "%s/%u", text, range->bits);
}

bool ks_ip_range_has(const struct ks_ip_range *range, const struct ks_ip *ip)
{
	struct ks_ip last = ks_ip_plus(&range->first, range->count - 1);

	return ip->v6 == range->network.v6 && ks_ip_cmp(ip, &range->first) >= 0 && ks_ip_cmp(ip, &last) <= 0;
}

unsigned ks_ip_ranges_parse(const char *text, struct ks_ip_range out[2])
{
	const char *comma = text ? strchr(text, ',') : NULL;

	if (!text)
		return 0;
	if (!comma)
		return ks_ip_range_parse(ks_str_from(text), &out[0]) ? 1 : 0;
	if (!ks_ip_range_parse(ks_str_of(text, (size_t)(comma - text)), &out[0]) || !ks_ip_range_parse(ks_str_from(comma + 1), &out[1]))
		return 0;
	return out[0].network.v6 != out[1].network.v6 ? 2 : 0;
}
