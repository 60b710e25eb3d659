/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/api/json.h"
#include "core/api/quote.h"
#include "core/api/schema.h"

static const char no_memory[] = "Internal error occurred: out of memory";

/* ---- making ---- */

static char *print(struct ks_arena *arena, const char *format, va_list args)
{
	va_list copy;
	char *text;
	int n;

	va_copy(copy, args);
	n = vsnprintf(NULL, 0, format, copy);
	va_end(copy);
	text = n < 0 ? NULL : ks_arena_alloc(arena, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, format, args);
	return text;
}

static int set(struct ks_status *status, int code, const char *reason, const char *message)
{
	*status = (struct ks_status){.code = code, .reason = reason, .message = message ? message : no_memory};
	return code;
}

int ks_status_set(struct ks_status *status, struct ks_arena *arena, int code, const char *reason, const char *format, ...)
{
	va_list args;
	const char *message;

	va_start(args, format);
	message = print(arena, format, args);
	va_end(args);
	return set(status, code, reason, message);
}

int ks_status_bad_request(struct ks_status *status, struct ks_arena *arena, const char *format, ...)
{
	va_list args;
	const char *message;

	va_start(args, format);
	message = print(arena, format, args);
	va_end(args);
	return set(status, 400, "BadRequest", message);
}

int ks_status_internal(struct ks_status *status, struct ks_arena *arena, const char *format, ...)
{
	va_list args;
	const char *message, *whole;

	va_start(args, format);
	message = print(arena, format, args);
	va_end(args);
	whole = message ? ks_arena_printf(arena, "Internal error occurred: %s", message) : NULL;
	set(status, 500, "InternalError", whole);
	status->has_details = true;
	ks_status_cause(status, arena, NULL, NULL, "%s", message ? message : "out of memory");
	return 500;
}

/* Details name the resource (or kind) and the object. */
static void set_details(struct ks_status *status, struct ks_arena *arena, const char *group, const char *kind, struct ks_str name)
{
	status->has_details = true;
	status->group = group && *group ? group : NULL;
	status->kind = kind && *kind ? kind : NULL;
	status->name = name.n ? ks_arena_dup(arena, name.p, name.n) : NULL;
}

/* "deployments.apps", or only the resource in the core group. */
static const char *qualified(struct ks_arena *arena, const char *group, const char *resource)
{
	const char *text = group && *group ? ks_arena_printf(arena, "%s.%s", resource, group) : resource;

	return text ? text : resource;
}

static const char *quoted(struct ks_arena *arena, struct ks_str name)
{
	const char *text = ks_quote(arena, name);

	return text ? text : "\"\"";
}

int ks_status_not_found(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name)
{
	ks_status_set(status, arena, 404, "NotFound", "%s %s not found", qualified(arena, group, resource), quoted(arena, name));
	set_details(status, arena, group, resource, name);
	return 404;
}

int ks_status_already_exists(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name)
{
	ks_status_set(status, arena, 409, "AlreadyExists", "%s %s already exists", qualified(arena, group, resource), quoted(arena, name));
	set_details(status, arena, group, resource, name);
	return 409;
}

int ks_status_conflict(struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name, const char *why)
{
	ks_status_set(status, arena, 409, "Conflict", "Operation cannot be fulfilled on %s %s: %s", qualified(arena, group, resource),
		quoted(arena, name), why);
	set_details(status, arena, group, resource, name);
	return 409;
}

int ks_status_forbidden(
	struct ks_status *status, struct ks_arena *arena, const char *group, const char *resource, struct ks_str name, const char *why)
{
	if (!resource || !*resource)
		ks_status_set(status, arena, 403, "Forbidden", "forbidden: %s", why);
	else if (name.n == 0)
		ks_status_set(status, arena, 403, "Forbidden", "%s is forbidden: %s", qualified(arena, group, resource), why);
	else
		ks_status_set(status, arena, 403, "Forbidden", "%s %s is forbidden: %s", qualified(arena, group, resource), quoted(arena, name), why);
	set_details(status, arena, group, resource, name);
	return 403;
}

int ks_status_generic(struct ks_status *status, struct ks_arena *arena, int code, const char *verb, const char *group, const char *resource,
	struct ks_str name, const char *server_message)
{
	static const struct {
		int code;
		const char *reason, *message; /* NULL: the server's own */
	} known[] = {
		{400, "BadRequest", "the server rejected our request for an unknown reason"},
		{401, "Unauthorized", "the server has asked for the client to provide credentials"},
		{403, "Forbidden", NULL},
		{404, "NotFound", "the server could not find the requested resource"},
		{405, "MethodNotAllowed", "the server does not allow this method on the requested resource"},
		{406, "NotAcceptable", NULL},
		{409, "Conflict", "the server reported a conflict"},
		{415, "UnsupportedMediaType", NULL},
		{422, "Invalid", "the server rejected our request due to an error in our request"},
		{429, "TooManyRequests", "the server has received too many requests and has asked us to try again later"},
		{503, "ServiceUnavailable", "the server is currently unable to handle the request"},
		{504, "Timeout", "the server was unable to return a response in the time allotted, but may still be processing the request"},
	};
	const char *message = NULL, *reason = NULL, *lower = ks_arena_dup(arena, verb, strlen(verb));

	for (char *c = (char *)lower; c && *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == code) {
			reason = known[i].reason;
			message = known[i].message ? known[i].message : server_message;
		}
	if (code == 409 && lower && strcmp(lower, "post") == 0)
		reason = "AlreadyExists";
	if (!message && code >= 500) {
		reason = "InternalError";
		message = ks_arena_printf(
			arena, "an error on the server (%s) has prevented the request from succeeding", quoted(arena, ks_str_from(server_message)));
	}
	if (!message)
		message = ks_arena_printf(arena, "the server responded with the status code %d but did not return more information", code);
	if (resource && *resource && message)
		message = ks_arena_printf(arena, "%s (%s %s%s%.*s)", message, lower ? lower : "", qualified(arena, group, resource),
			name.n ? " " : "", (int)name.n, name.n ? name.p : "");
	set(status, code, reason, message);
	set_details(status, arena, group, resource, name);
	return code;
}

/* ---- invalid objects ---- */

int ks_status_invalid(struct ks_status *status, struct ks_arena *arena, const char *group, const char *kind, struct ks_str name)
{
	set(status, 422, "Invalid", "");
	set_details(status, arena, group, kind, name);
	return 422;
}

void ks_status_cause(struct ks_status *status, struct ks_arena *arena, const char *reason, const char *field, const char *format, ...)
{
	struct ks_status_cause *cause = ks_arena_zalloc(arena, 1, sizeof(*cause));
	va_list args;

	if (!cause)
		return;
	va_start(args, format);
	cause->message = print(arena, format, args);
	va_end(args);
	if (!cause->message)
		cause->message = no_memory;
	cause->reason = reason;
	cause->field = field;
	if (status->last_cause)
		status->last_cause->next = cause;
	else
		status->causes = cause;
	status->last_cause = cause;
}

static bool same_cause(const struct ks_status_cause *a, const struct ks_status_cause *b)
{
	const char *x = a->field ? a->field : "", *y = b->field ? b->field : "";

	return strcmp(x, y) == 0 && strcmp(a->message, b->message) == 0;
}

/* Causes that were said, by what they say. */
struct said {
	const struct ks_status_cause **slots;
	size_t mask;
	unsigned n;
};

static bool said_init(struct said *said, struct ks_arena *arena, const struct ks_status *status)
{
	size_t size = 4, n = 1;

	for (const struct ks_status_cause *c = status->causes; c; c = c->next)
		n++;
	while (size < 2 * n)
		size *= 2;
	*said = (struct said){.slots = ks_arena_zalloc(arena, size, sizeof(struct ks_status_cause *)), .mask = size - 1};
	return said->slots;
}

/* False when the same was said by a cause before. */
static bool say(struct said *said, const struct ks_status_cause *cause)
{
	const char *field = cause->field ? cause->field : "";
	size_t at = ks_schema_hash(field, strlen(field)) ^ ks_schema_hash(cause->message, strlen(cause->message));

	for (at &= said->mask; said->slots[at]; at = (at + 1) & said->mask)
		if (same_cause(said->slots[at], cause))
			return false;
	said->slots[at] = cause;
	said->n++;
	return true;
}

static void write_causes(const struct ks_status *status, struct said *said, struct ks_buf *out)
{
	for (const struct ks_status_cause *c = status->causes; c; c = c->next) {
		if (!say(said, c))
			continue;
		if (said->n > 1)
			ks_buf_add(out, ", ", 2);
		ks_buf_add_str(out, c->field ? c->field : "<nil>");
		ks_buf_add(out, ": ", 2);
		ks_buf_add_str(out, c->message);
	}
}

int ks_status_invalid_finish(struct ks_status *status, struct ks_arena *arena)
{
	struct ks_str name = ks_str_from(status->name ? status->name : "");
	struct ks_buf text, causes;
	struct said said;

	ks_buf_init(&text);
	ks_buf_init(&causes);
	if (said_init(&said, arena, status))
		write_causes(status, &said, &causes);
	else
		text.failed = true;
	ks_buf_printf(&text, "%s %s is invalid", qualified(arena, status->group, status->kind ? status->kind : ""), quoted(arena, name));
	if (said.n) {
		ks_buf_add_str(&text, said.n == 1 ? ": " : ": [");
		ks_buf_add(&text, causes.data, causes.len);
		ks_buf_add_str(&text, said.n == 1 ? "" : "]");
	}
	status->message = text.failed || causes.failed ? NULL : ks_arena_dup(arena, text.data, text.len);
	if (!status->message)
		status->message = no_memory;
	ks_buf_fini(&text);
	ks_buf_fini(&causes);
	return status->code;
}

/* ---- writing, in the order of Go's struct ---- */

static void add_text(struct ks_buf *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	if (out->len && out->data[out->len - 1] != '{')
		ks_buf_add_char(out, ',');
	ks_buf_printf(out, "\"%s\":", key);
	ks_json_encode_string(ks_str_from(value), out);
}

static void add_causes(struct ks_buf *out, const struct ks_status_cause *cause)
{
	if (!cause)
		return;
	if (out->len && out->data[out->len - 1] != '{')
		ks_buf_add_char(out, ',');
	ks_buf_add_str(out, "\"causes\":[");
	for (bool first = true; cause; cause = cause->next, first = false) {
		ks_buf_add_str(out, first ? "{" : ",{");
		add_text(out, "reason", cause->reason);
		add_text(out, "message", cause->message);
		add_text(out, "field", cause->field);
		ks_buf_add_char(out, '}');
	}
	ks_buf_add_char(out, ']');
}

static void add_details(struct ks_buf *out, const struct ks_status *status)
{
	ks_buf_add_str(out, ",\"details\":{");
	add_text(out, "name", status->name);
	add_text(out, "group", status->group);
	add_text(out, "kind", status->kind);
	add_text(out, "uid", status->uid);
	add_causes(out, status->causes);
	if (status->retry_after_seconds) {
		if (out->len && out->data[out->len - 1] != '{')
			ks_buf_add_char(out, ',');
		ks_buf_printf(out, "\"retryAfterSeconds\":%d", status->retry_after_seconds);
	}
	ks_buf_add_char(out, '}');
}

void ks_status_encode_json(const struct ks_status *status, struct ks_buf *out)
{
	ks_buf_add_str(out, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{}");
	add_text(out, "status", status->success ? "Success" : "Failure");
	add_text(out, "message", status->message);
	add_text(out, "reason", status->reason);
	if (status->has_details)
		add_details(out, status);
	if (status->code)
		ks_buf_printf(out, ",\"code\":%d", status->code);
	ks_buf_add_char(out, '}');
}
