/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/validate/indexes.h"

#include "core/registry/validate/pod.h"

/* A number; -1 when it is none. */
static int64_t index_of(struct ks_str s)
{
	int64_t n = 0;

	if (!s.n || s.n > 10)
		return -1;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return -1;
		n = n * 10 + (s.p[i] - '0');
	}
	return n;
}

static const char *one_index(struct ks_check *c, struct ks_str s, int64_t completions, int64_t *n_r)
{
	*n_r = index_of(s);
	if (*n_r < 0)
		return ks_err_detail(c, "cannot convert string to integer for index: \"%.*s\"", (int)s.n, s.p);
	if (*n_r >= completions)
		return ks_err_detail(c, "too large index: \"%.*s\"", (int)s.n, s.p);
	return NULL;
}

const char *ks_index_interval(struct ks_check *c, struct ks_str s, int64_t completions, int64_t *from_r, int64_t *to_r)
{
	const char *dash = s.n ? memchr(s.p, '-', s.n) : NULL;
	struct ks_str first = dash ? ks_str_of(s.p, (size_t)(dash - s.p)) : s, last = dash ? ks_str_of(dash + 1, s.n - first.n - 1) : s;
	const char *problem;

	if (dash && ks_text_has(last, '-'))
		return ks_err_detail(c, "the fragment \"%.*s\" violates the requirement that an index interval can have at most two parts separated by '-'",
			(int)s.n, s.p);
	problem = one_index(c, first, completions, from_r);
	*to_r = *from_r;
	if (problem || !dash)
		return problem;
	problem = one_index(c, last, completions, to_r);
	if (!problem && *from_r >= *to_r)
		problem = ks_err_detail(c, "non-increasing order, previous: %lld, current: %lld", (long long)*from_r, (long long)*to_r);
	return problem;
}

const char *ks_index_count(struct ks_check *c, struct ks_str s, int64_t completions, int64_t *total_r)
{
	int64_t last = -1, total = 0, from, to;

	*total_r = 0;
	if (!s.n)
		return NULL;
	for (;;) {
		const char *comma = s.n ? memchr(s.p, ',', s.n) : NULL;
		struct ks_str one = comma ? ks_str_of(s.p, (size_t)(comma - s.p)) : s;
		const char *problem = ks_index_interval(c, one.p ? one : KS_STR_LIT(""), completions, &from, &to);

		if (problem)
			return problem;
		if (last >= from)
			return ks_err_detail(c, "non-increasing order, previous: %lld, current: %lld", (long long)last, (long long)from);
		total += to - from + 1;
		last = to;
		if (!comma)
			break;
		s = ks_str_of(comma + 1, s.n - one.n - 1);
	}
	*total_r = total;
	return NULL;
}

/* The next interval that can be read, of what is left; false when there is none. */
static bool next_interval(struct ks_check *c, struct ks_str *rest, int64_t completions, int64_t *from_r, int64_t *to_r)
{
	while (rest->p) {
		const char *comma = rest->n ? memchr(rest->p, ',', rest->n) : NULL;
		struct ks_str one = comma ? ks_str_of(rest->p, (size_t)(comma - rest->p)) : *rest;

		*rest = comma ? ks_str_of(comma + 1, rest->n - one.n - 1) : (struct ks_str){0};
		if (!ks_index_interval(c, one, completions, from_r, to_r))
			return true;
	}
	return false;
}

int64_t ks_index_overlap(struct ks_check *c, struct ks_str a, struct ks_str b, int64_t completions)
{
	int64_t a_from, a_to, b_from, b_to;
	bool more;

	if (!a.n || !b.n)
		return -1;
	more = next_interval(c, &a, completions, &a_from, &a_to) && next_interval(c, &b, completions, &b_from, &b_to);
	while (more) {
		if (a_from <= b_to && b_from <= a_to)
			return a_from > b_from ? a_from : b_from;
		more = a_from <= b_from ? next_interval(c, &a, completions, &a_from, &a_to) : next_interval(c, &b, completions, &b_from, &b_to);
	}
	return -1;
}
