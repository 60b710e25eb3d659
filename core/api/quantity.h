/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.Quantity: "100m", "1.5", "2Gi", "1e3".
 *
 * Values are exact to a nano unit (smaller parts are rounded away from zero, as upstream
 * does) in 128 bits; beyond that they saturate and keep the text they came in.
 */
#ifndef KS_API_QUANTITY_H
#define KS_API_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/arena.h"
#include "core/util/str.h"

enum ks_quantity_format { KS_QUANTITY_DECIMAL_SI, KS_QUANTITY_BINARY_SI, KS_QUANTITY_DECIMAL_EXPONENT };

struct ks_quantity {
	__int128 nano;  /* value * 10^9 */
	uint8_t format; /* enum ks_quantity_format */
	bool huge;      /* out of range: `nano` is the nearest limit */
	bool kept;      /* the text it was parsed from counts as canonical (upstream keeps such texts) */
};

enum { KS_QUANTITY_TEXT = 64 };

/* White space around it is not allowed. 0, or -EINVAL with a constant message (outputs untouched). */
int ks_quantity_parse(struct ks_str text, struct ks_quantity *q_r, const char **message_r) __attribute__((warn_unused_result));
/* Canonical text, NUL-terminated; returns its length. */
size_t ks_quantity_print(const struct ks_quantity *q, char out[KS_QUANTITY_TEXT]);
/* The canonical text of a text: the same view when it is canonical. 0, -EINVAL (message), -ENOMEM. */
int ks_quantity_canonical(struct ks_arena *arena, struct ks_str text, struct ks_str *out_r, const char **message_r) __attribute__((warn_unused_result));

/* <0, 0, >0. */
int ks_quantity_cmp(const struct ks_quantity *a, const struct ks_quantity *b);
/* Of two texts; texts that are no quantities come first, ordered by bytes. */
int ks_quantity_cmp_text(struct ks_str a, struct ks_str b);
/* a += b and a -= b, saturating; the format stays a's unless a is zero. */
void ks_quantity_add(struct ks_quantity *a, const struct ks_quantity *b);
void ks_quantity_sub(struct ks_quantity *a, const struct ks_quantity *b);
/* Whole units and thousandths, rounded away from zero, saturating. */
int64_t ks_quantity_value(const struct ks_quantity *q);
int64_t ks_quantity_milli(const struct ks_quantity *q);
static inline int ks_quantity_sign(const struct ks_quantity *q) { return (q->nano > 0) - (q->nano < 0); }

#endif
