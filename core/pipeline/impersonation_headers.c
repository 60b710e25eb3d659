/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Impersonate-User, -Uid, -Group and -Extra-KEY. */
#include <errno.h>
#include <stdlib.h>

#include "core/api/quote.h"
#include "core/pipeline/impersonation.h"

#define EXTRA "impersonate-extra-"

struct reader {
	struct ks_arena *arena;
	struct ks_user_info *wanted;
	size_t room; /* of groups, extra keys and the values of each: the number of headers */
	bool failed; /* out of memory */
};

static struct ks_str dup(struct reader *r, struct ks_str s)
{
	char *copy = ks_arena_dup(r->arena, s.p ? s.p : "", s.n);

	r->failed |= !copy;
	return copy ? ks_str_of(copy, s.n) : (struct ks_str){0};
}

/* Header names are lower case already. A malformed escape is kept as it came. */
static struct ks_str extra_key(struct reader *r, struct ks_str name)
{
	struct ks_str raw = dup(r, ks_str_of(name.p + sizeof(EXTRA) - 1, name.n - (sizeof(EXTRA) - 1))), key;

	return ks_url_decode(r->arena, raw, false, &key) == 0 ? key : raw;
}

static void add_extra(struct reader *r, struct ks_str key, struct ks_str value)
{
	struct ks_user_info *wanted = r->wanted;
	struct ks_user_extra *extra;
	size_t i = 0;

	while (i < wanted->n_extra && !ks_str_eq(wanted->extra[i].key, key))
		i++;
	extra = &wanted->extra[i];
	if (i == wanted->n_extra) {
		extra->key = key;
		extra->values = ks_arena_zalloc(r->arena, r->room, sizeof(*extra->values));
		r->failed |= !extra->values;
		if (!extra->values)
			return;
		wanted->n_extra++;
	}
	extra->values[extra->n_values++] = value;
}

static void take_header(struct reader *r, const struct ks_header *header)
{
	struct ks_user_info *wanted = r->wanted;

	if (ks_str_is(header->name, "impersonate-user") && wanted->name.n == 0)
		wanted->name = dup(r, header->value);
	else if (ks_str_is(header->name, "impersonate-uid") && wanted->uid.n == 0)
		wanted->uid = dup(r, header->value);
	else if (ks_str_is(header->name, "impersonate-group"))
		wanted->groups[wanted->n_groups++] = dup(r, header->value);
	else if (ks_str_starts(header->name, KS_STR_LIT(EXTRA)))
		add_extra(r, extra_key(r, header->name), dup(r, header->value));
}

static int by_key(const void *a, const void *b)
{
	return ks_str_cmp(((const struct ks_user_extra *)a)->key, ((const struct ks_user_extra *)b)->key);
}

static void add_list(struct ks_buf *out, const struct ks_str *items, size_t n)
{
	ks_buf_add_str(out, "[]string");
	if (n == 0) {
		ks_buf_add_str(out, "(nil)");
		return;
	}
	ks_buf_add_char(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			ks_buf_add_str(out, ", ");
		ks_quote_to(out, items[i]);
	}
	ks_buf_add_char(out, '}');
}

/* What upstream says of a request without a user name: the whole user, as Go prints it. */
static int refuse_nameless(struct ks_request *request, const struct ks_user_info *wanted)
{
	struct ks_buf out;

	ks_buf_init(&out);
	ks_buf_add_str(&out, "requested &user.DefaultInfo{Name:\"\", UID:");
	ks_quote_to(&out, wanted->uid);
	ks_buf_add_str(&out, ", Groups:");
	add_list(&out, wanted->groups, wanted->n_groups);
	ks_buf_add_str(&out, ", Extra:map[string][]string");
	if (wanted->n_extra == 0)
		ks_buf_add_str(&out, "(nil)");
	for (size_t i = 0; i < wanted->n_extra; i++) {
		ks_buf_add_str(&out, i ? ", " : "{");
		ks_quote_to(&out, wanted->extra[i].key);
		ks_buf_add_char(&out, ':');
		add_list(&out, wanted->extra[i].values, wanted->extra[i].n_values);
	}
	if (wanted->n_extra)
		ks_buf_add_char(&out, '}');
	ks_buf_add_str(&out, "} without impersonating a user name");
	ks_status_bad_request(&request->status, &request->arena, "%.*s", (int)out.len, out.data ? out.data : "");
	ks_buf_fini(&out);
	return -EINVAL;
}

int ks_impersonation_headers(struct ks_request *request, struct ks_user_info *wanted_r)
{
	const struct ks_http_request *http = ks_stream_request(request->stream);
	struct reader r = {.arena = &request->arena, .wanted = wanted_r, .room = http->n_headers};

	*wanted_r = (struct ks_user_info){0};
	wanted_r->groups = ks_arena_zalloc(r.arena, r.room + 1, sizeof(*wanted_r->groups));
	wanted_r->extra = ks_arena_zalloc(r.arena, r.room + 1, sizeof(*wanted_r->extra));
	r.failed = !wanted_r->groups || !wanted_r->extra;
	for (size_t i = 0; i < http->n_headers && !r.failed; i++)
		take_header(&r, &http->headers[i]);
	if (r.failed) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
		return -ENOMEM;
	}
	if (wanted_r->n_extra > 1)
		qsort(wanted_r->extra, wanted_r->n_extra, sizeof(*wanted_r->extra), by_key);
	if (wanted_r->name.n)
		return 1;
	return wanted_r->uid.n || wanted_r->n_groups || wanted_r->n_extra ? refuse_nameless(request, wanted_r) : 0;
}
