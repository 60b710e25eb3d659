/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Times and durations in the texts of the API: RFC 3339 in UTC, and Go's durations ("1h30m0s"). Any thread. */
#ifndef KS_API_TIME_H
#define KS_API_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util/arena.h"
#include "core/util/str.h"

struct ks_time {
	int64_t seconds; /* since 1970-01-01T00:00:00Z */
	int32_t nanoseconds;
};

/* Go's zero time (year 1), which JSON shows as null. */
#define KS_TIME_ZERO_SECONDS (-62135596800LL)

enum { KS_TIME_TEXT = 48 };

struct ks_time ks_time_now(void);
/* "2006-01-02T15:04:05Z"; with `micro` "2006-01-02T15:04:05.000000Z". Returns the length. */
size_t ks_time_print(struct ks_time time, bool micro, char out[KS_TIME_TEXT]);
/* ks_time_print of now, in the arena; `p` is NULL when out of memory. */
struct ks_str ks_time_now_text(struct ks_arena *arena, bool micro) __attribute__((warn_unused_result));
/* 0, -EINVAL with Go's message (arena text), -ENOMEM. `micro`: exactly six digits of a second are asked for. */
int ks_time_parse(struct ks_arena *arena, struct ks_str text, bool micro, struct ks_time *time_r, const char **message_r)
	__attribute__((warn_unused_result));
/* <0, 0, >0. */
int ks_time_cmp(struct ks_time a, struct ks_time b);

enum { KS_DURATION_TEXT = 40 };

/* Nanoseconds. 0, -EINVAL with Go's message (arena text), -ENOMEM. */
int ks_duration_parse(struct ks_arena *arena, struct ks_str text, int64_t *nanoseconds_r, const char **message_r)
	__attribute__((warn_unused_result));
/* Go's form: "1h2m3.5s", "15ms", "0s". Returns the length. */
size_t ks_duration_print(int64_t nanoseconds, char out[KS_DURATION_TEXT]);

#endif
