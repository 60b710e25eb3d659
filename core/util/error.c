/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/util/error.h"

#include <stdarg.h>
#include <stdio.h>

int ks_error_set(struct ks_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

int ks_error_wrap(struct ks_error *err, int code, const char *format, ...)
{
	char prefix[256];
	char whole[sizeof(err->text) + sizeof(prefix) + 3];
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(prefix, sizeof(prefix), format, args);
	va_end(args);
	snprintf(whole, sizeof(whole), "%s: %s", prefix, err->text);
	snprintf(err->text, sizeof(err->text), "%.*s", (int)sizeof(err->text) - 1, whole);
	return code;
}
