/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <keelson/sdk/admit.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct ks_view print(const struct ks_admit *call, const char *format, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	text = n < 0 ? NULL : call->host->op_alloc(call->op, (size_t)n + 1);
	if (!text)
		return (struct ks_view){0};
	vsnprintf(text, (size_t)n + 1, format, ap);
	return (struct ks_view){text, (size_t)n};
}

struct ks_view ks_admit_printf(const struct ks_admit *call, const char *format, ...)
{
	struct ks_view text;
	va_list ap;

	va_start(ap, format);
	text = print(call, format, ap);
	va_end(ap);
	return text;
}

static size_t escape(char *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";

	if (c == '"' || c == '\\') {
		out[0] = '\\';
		out[1] = (char)c;
		return 2;
	}
	if (c >= 0x20 && c != 0x7f) {
		out[0] = (char)c;
		return 1;
	}
	memcpy(out, "\\u00", 4);
	out[4] = hex[c >> 4];
	out[5] = hex[c & 15];
	return 6;
}

struct ks_view ks_admit_json(const struct ks_admit *call, struct ks_view text)
{
	char *out = call->host->op_alloc(call->op, text.n * 6 + 3);
	size_t n = 0;

	if (!out)
		return (struct ks_view){0};
	out[n++] = '"';
	for (size_t i = 0; i < text.n; i++)
		n += escape(out + n, (unsigned char)text.p[i]);
	out[n++] = '"';
	out[n] = 0;
	return (struct ks_view){out, n};
}

/* Go's short escapes of control characters; 0: there is none. */
static char short_escape(unsigned char c)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	return c >= 7 && c < 7 + sizeof(letters) - 1 ? letters[c - 7] : 0;
}

struct ks_view ks_admit_quote(const struct ks_admit *call, struct ks_view text)
{
	char *out = call->host->op_alloc(call->op, text.n * 6 + 3);
	size_t n = 0;

	if (!out)
		return (struct ks_view){0};
	out[n++] = '"';
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (short_escape(c)) {
			out[n++] = '\\';
			out[n++] = short_escape(c);
		} else if (c < 0x20 || c == 0x7f) {
			n += (size_t)sprintf(out + n, "\\x%02x", c);
		} else {
			n += escape(out + n, c);
		}
	}
	out[n++] = '"';
	out[n] = 0;
	return (struct ks_view){out, n};
}

int ks_admit_allow(const struct ks_admit *call)
{
	call->result->allowed = 1;
	return KS_DONE;
}

int ks_admit_deny(const struct ks_admit *call, const char *format, ...)
{
	va_list ap;

	call->result->allowed = 0;
	va_start(ap, format);
	call->result->message = print(call, format, ap);
	va_end(ap);
	return call->result->message.p ? KS_DONE : KS_ERR_NOMEM;
}

static int set(const struct ks_admit *call, struct ks_view json, const char *pointer, va_list ap)
{
	struct ks_view where = print(call, pointer, ap);

	if (!where.p || !json.p)
		return KS_ERR_NOMEM;
	return call->host->values->edit_set(call->op, where, json);
}

int ks_admit_set(const struct ks_admit *call, struct ks_view json, const char *pointer, ...)
{
	va_list ap;
	int result;

	va_start(ap, pointer);
	result = set(call, json, pointer, ap);
	va_end(ap);
	return result;
}

int ks_admit_set_text(const struct ks_admit *call, struct ks_view text, const char *pointer, ...)
{
	va_list ap;
	int result;

	va_start(ap, pointer);
	result = set(call, ks_admit_json(call, text), pointer, ap);
	va_end(ap);
	return result;
}

struct ks_val ks_admit_object(const struct ks_admit *call)
{
	struct ks_val edited = call->host->values->edited(call->op);

	return edited.node ? edited : call->request->object;
}

struct ks_val ks_admit_member(const struct ks_admit *call, struct ks_val object, const char *name)
{
	return call->host->values->member(object, ks_view_lit(name));
}

struct ks_view ks_admit_text(const struct ks_admit *call, struct ks_val object, const char *name)
{
	return call->host->values->string(ks_admit_member(call, object, name));
}

int ks_admit_has(const struct ks_admit *call, struct ks_val object, const char *name)
{
	return call->host->values->kind(ks_admit_member(call, object, name)) > KS_VAL_NULL;
}

int ks_admit_paths(const struct ks_host *host, void *self, const struct ks_admit_path *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ks_path *path = host->values->path(host, paths[i].text);

		if (!path)
			return KS_ERR_NOMEM;
		memcpy((char *)self + paths[i].offset, &path, sizeof(path));
	}
	return KS_DONE;
}
