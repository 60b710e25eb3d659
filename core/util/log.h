/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Log lines on stderr: one line each, `time level area msg key=value ...`. Any thread. Never a secret. */
#ifndef KS_UTIL_LOG_H
#define KS_UTIL_LOG_H

enum ks_log_level { KS_LOG_ERROR, KS_LOG_WARN, KS_LOG_INFO, KS_LOG_DEBUG };

/* Lines above this level are dropped. Default: KS_LOG_INFO. */
void ks_log_set_level(enum ks_log_level level);
enum ks_log_level ks_log_get_level(void);
/* -1 when the name is none of error, warn, info, debug. */
int ks_log_level_parse(const char *name);
/* Writes one line; control characters in the text are escaped, the line is cut at 4 KiB. */
void ks_log(enum ks_log_level level, const char *area, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
