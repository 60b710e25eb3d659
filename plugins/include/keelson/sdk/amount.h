/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/sdk/amount.h: quantities of resources ("100m", "2Gi"), read, added and compared as the server does. Link with -lkeelson-sdk. */
#ifndef KEELSON_SDK_AMOUNT_H
#define KEELSON_SDK_AMOUNT_H

#include <keelson/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed: nothing. The words are the SDK's own. */
struct ks_amount {
	uint64_t words[4];
};

enum { KS_AMOUNT_TEXT = 64 };

/* 1, or 0 when the text is none; *amount_r is then zero. */
int ks_amount_parse(struct ks_view text, struct ks_amount *amount_r);
struct ks_amount ks_amount_of(int64_t units);
/* As Kubernetes writes it, NUL-terminated; returns the length. */
size_t ks_amount_print(const struct ks_amount *amount, char out[KS_AMOUNT_TEXT]);
/* <0, 0, >0. */
int ks_amount_cmp(const struct ks_amount *a, const struct ks_amount *b);
int ks_amount_sign(const struct ks_amount *amount);
void ks_amount_add(struct ks_amount *a, const struct ks_amount *b);
void ks_amount_sub(struct ks_amount *a, const struct ks_amount *b);
/* Whole units, thousandths: rounded away from zero. */
int64_t ks_amount_value(const struct ks_amount *amount);
int64_t ks_amount_milli(const struct ks_amount *amount);

#ifdef __cplusplus
}
#endif

#endif
