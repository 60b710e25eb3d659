/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/util/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static _Atomic int max_level = KS_LOG_INFO;

void ks_log_set_level(enum ks_log_level level)
{
	atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

enum ks_log_level ks_log_get_level(void)
{
	return (enum ks_log_level)atomic_load_explicit(&max_level, memory_order_relaxed);
}

int ks_log_level_parse(const char *name)
{
	for (int i = 0; i < 4; i++)
		if (strcmp(name, level_names[i]) == 0)
			return i;
	return -1;
}

static size_t add_time(char *line, size_t size)
{
	struct timespec now;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(line + n, size - n, ".%06ldZ", now.tv_nsec / 1000);
}

static void escape_controls(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			text[i] = ' ';
}

void ks_log(enum ks_log_level level, const char *area, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	size_t n, start;
	va_list args;
	int written;

	if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
		return;
	n = add_time(line, sizeof(line));
	n += (size_t)snprintf(line + n, sizeof(line) - n, " %-5s %s: ", level_names[level], area);
	start = n;
	va_start(args, format);
	written = vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	if (written < 0)
		return;
	n += (size_t)written;
	if (n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	escape_controls(line + start, n - start);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* nowhere left to say so */
}
