/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * An error for the person who runs the server: one line that says what is wrong
 * and where. What a client gets is a metav1.Status (core/api/status.h).
 *
 * Convention: a function that can fail returns 0 or a negative errno value and
 * takes `struct ks_error *` as its last parameter. The text is set only on failure.
 */
#ifndef KS_UTIL_ERROR_H
#define KS_UTIL_ERROR_H

struct ks_error {
	char text[1024];
};

/* Sets the text (cut to fit) and returns `code`, so that callers write
 * `return ks_error_set(err, -EINVAL, "...")`. `err` may be NULL. */
int ks_error_set(struct ks_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there; returns `code`. */
int ks_error_wrap(struct ks_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
