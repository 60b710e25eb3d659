/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* IP addresses of both families as numbers, and ranges of them that services get their addresses from. */
#ifndef KS_REGISTRY_ALLOCATE_IP_H
#define KS_REGISTRY_ALLOCATE_IP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/util/str.h"

enum { KS_IP_TEXT = 48, KS_IP_RANGE_TEXT = KS_IP_TEXT + 4 };

struct ks_ip {
	uint8_t bytes[16]; /* IPv4: the last four, behind ten zeros and ff ff */
	bool v6;
};

/* Any form that objects may have, also "10.000.000.001" and "::ffff:10.0.0.1". False when the text is no address. */
bool ks_ip_parse(struct ks_str text, struct ks_ip *out_r);
/* The canonical form. */
void ks_ip_print(const struct ks_ip *ip, char out[KS_IP_TEXT]);
static inline int ks_ip_cmp(const struct ks_ip *a, const struct ks_ip *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}
/* `n` further on; it wraps at the end of all addresses. */
struct ks_ip ks_ip_plus(const struct ks_ip *ip, uint64_t n);
bool ks_ip_is_loopback(const struct ks_ip *ip);
bool ks_ip_is_unspecified(const struct ks_ip *ip);

/* Neither the network's own address nor (IPv4) the broadcast address is given. The lower `reserved` are kept for those who ask for one by name,
 * until the others are gone. */
struct ks_ip_range {
	struct ks_ip network, first;
	uint64_t count, reserved;
	uint8_t bits;
};

/* "10.0.0.0/16": what lies behind the prefix is cut off. False when it is none, when nothing is left to give, or (IPv6) for less than 64 bits. */
bool ks_ip_range_parse(struct ks_str text, struct ks_ip_range *out_r);
void ks_ip_range_print(const struct ks_ip_range *range, char out[KS_IP_RANGE_TEXT]);
/* Among those that are given? */
bool ks_ip_range_has(const struct ks_ip_range *range, const struct ks_ip *ip);

/* "10.0.0.0/16" or "10.0.0.0/16,fd00::/108": at most one of each family, the first one is the default. Returns how many; 0: the text is wrong. */
unsigned ks_ip_ranges_parse(const char *text, struct ks_ip_range out[2]);

#endif
