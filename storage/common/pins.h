/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Revisions that are being read: what they need is not removed until they are let go. Under the owner's lock. */
#ifndef KS_STORAGE_PINS_H
#define KS_STORAGE_PINS_H

#include <stdint.h>

struct ks_pin {
	struct ks_pin *next, **at;
	uint64_t revision;
};

static inline void ks_pins_add(struct ks_pin **list, struct ks_pin *pin, uint64_t revision)
{
	pin->revision = revision;
	pin->next = *list;
	pin->at = list;
	if (pin->next)
		pin->next->at = &pin->next;
	*list = pin;
}

static inline void ks_pins_remove(struct ks_pin *pin)
{
	*pin->at = pin->next;
	if (pin->next)
		pin->next->at = pin->at;
}

/* The lowest pinned revision, at most `limit`. */
static inline uint64_t ks_pins_min(const struct ks_pin *list, uint64_t limit)
{
	for (; list; list = list->next)
		if (list->revision < limit)
			limit = list->revision;
	return limit;
}

#endif
