/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Schedules of cron jobs and time zones. */
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "core/registry/validate/workloads.h"

struct range {
	int min, max;
	const char *const *names; /* from `min` on; may be NULL */
};

static const char *const months[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", NULL};
static const char *const days[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL};
static const struct range ranges[] = {{0, 59, NULL}, {0, 23, NULL}, {1, 31, NULL}, {1, 12, months}, {0, 6, days}};

/* What strconv.Atoi makes of a text; NULL, or what is wrong. */
static const char *parse_int(struct ks_check *c, struct ks_str s, int *n_r)
{
	struct ks_str digits = s;
	int64_t n = 0;

	if (digits.n && (digits.p[0] == '-' || digits.p[0] == '+'))
		digits = ks_str_of(s.p + 1, s.n - 1);
	for (size_t i = 0; i < digits.n && n <= INT32_MAX; i++) {
		if (digits.p[i] < '0' || digits.p[i] > '9')
			digits.n = 0;
		else
			n = n * 10 + (digits.p[i] - '0');
	}
	if (!digits.n)
		return ks_err_detail(c, "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid syntax", (int)s.n, s.p, (int)s.n, s.p);
	if (s.p[0] == '-' && n)
		return ks_err_detail(c, "negative number (-%lld) not allowed: %.*s", (long long)n, (int)s.n, s.p);
	*n_r = n > INT32_MAX ? INT32_MAX : (int)n;
	return NULL;
}

static const char *parse_value(struct ks_check *c, struct ks_str s, const struct range *range, int *n_r)
{
	for (int i = 0; range->names && range->names[i]; i++)
		if (strlen(range->names[i]) == s.n && !strncasecmp(s.p, range->names[i], s.n)) {
			*n_r = range->min + i;
			return NULL;
		}
	return parse_int(c, s, n_r);
}

/* Splits at a character: the number of parts, of which the first two are kept. */
static int split(struct ks_str s, char at, struct ks_str parts[2])
{
	int n = 0;

	parts[0] = parts[1] = KS_STR_LIT("");
	for (;;) {
		const char *end = s.n ? memchr(s.p, at, s.n) : NULL;
		struct ks_str one = end ? ks_str_of(s.p, (size_t)(end - s.p)) : s;

		if (n < 2)
			parts[n] = one;
		n++;
		if (!end)
			return n;
		s = ks_str_of(end + 1, s.n - one.n - 1);
	}
}

static const char *check_bounds(struct ks_check *c, struct ks_str s, const struct range *range, int start, int end, int step)
{
	if (start < range->min)
		return ks_err_detail(c, "beginning of range (%d) below minimum (%d): %.*s", start, range->min, (int)s.n, s.p);
	if (end > range->max)
		return ks_err_detail(c, "end of range (%d) above maximum (%d): %.*s", end, range->max, (int)s.n, s.p);
	if (start > end)
		return ks_err_detail(c, "beginning of range (%d) beyond end of range (%d): %.*s", start, end, (int)s.n, s.p);
	if (!step)
		return ks_err_detail(c, "step of range should be a positive number: %.*s", (int)s.n, s.p);
	return NULL;
}

/* "number", "number-number", "*", each with "/step" behind it. */
static const char *check_range(struct ks_check *c, struct ks_str s, const struct range *range)
{
	struct ks_str slash[2], dash[2];
	int n_slash = split(s, '/', slash), n_dash = split(slash[0], '-', dash), start = range->min, end = range->max, step = 1;
	const char *problem = NULL;

	if (!ks_str_is(dash[0], "*") && !ks_str_is(dash[0], "?")) {
		problem = parse_value(c, dash[0], range, &start);
		end = start;
		if (!problem && n_dash == 2)
			problem = parse_value(c, dash[1], range, &end);
		else if (!problem && n_dash > 2)
			problem = ks_err_detail(c, "too many hyphens: %.*s", (int)s.n, s.p);
	}
	if (problem)
		return problem;
	if (n_slash > 2)
		return ks_err_detail(c, "too many slashes: %.*s", (int)s.n, s.p);
	if (n_slash == 2) {
		problem = parse_int(c, slash[1], &step);
		if (n_dash == 1)
			end = range->max;
	}
	return problem ? problem : check_bounds(c, s, range, start, end, step);
}

static const char *check_field(struct ks_check *c, struct ks_str s, const struct range *range)
{
	while (s.n) {
		const char *comma = memchr(s.p, ',', s.n);
		struct ks_str one = comma ? ks_str_of(s.p, (size_t)(comma - s.p)) : s;
		const char *problem = one.n ? check_range(c, one, range) : NULL;

		if (problem)
			return problem;
		if (!comma)
			break;
		s = ks_str_of(comma + 1, s.n - one.n - 1);
	}
	return NULL;
}

static const char *check_descriptor(struct ks_check *c, struct ks_str s)
{
	static const char *const known[] = {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", NULL};

	if (ks_str_in(s, known) || ks_str_starts(s, KS_STR_LIT("@every ")))
		return NULL;
	return ks_err_detail(c, "unrecognized descriptor: %.*s", (int)s.n, s.p);
}

static bool is_space(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

/* "TZ=NAME " or "CRON_TZ=NAME " before it. NULL, or what is wrong. */
static const char *skip_zone(struct ks_check *c, struct ks_str *schedule)
{
	struct ks_str name, rest = *schedule;
	const char *space;

	if (ks_str_starts(rest, KS_STR_LIT("TZ=")))
		rest = ks_str_of(rest.p + 3, rest.n - 3);
	else if (ks_str_starts(rest, KS_STR_LIT("CRON_TZ=")))
		rest = ks_str_of(rest.p + 8, rest.n - 8);
	else
		return NULL;
	space = rest.n ? memchr(rest.p, ' ', rest.n) : NULL;
	name = space ? ks_str_of(rest.p, (size_t)(space - rest.p)) : rest;
	if (name.n && ks_time_zone_problem(c, name))
		return ks_err_detail(c, "provided bad location %.*s: %s", (int)name.n, name.p, ks_time_zone_problem(c, name));
	*schedule = ks_str_of(rest.p + name.n, rest.n - name.n);
	return NULL;
}

const char *ks_cron_problem(struct ks_check *c, struct ks_str schedule)
{
	struct ks_str fields[5];
	const char *shown = "", *problem = skip_zone(c, &schedule);
	size_t n = 0;

	if (problem)
		return problem;
	if (schedule.n && schedule.p[0] == '@')
		return check_descriptor(c, schedule);
	for (size_t i = 0; i < schedule.n;) {
		size_t start;

		while (i < schedule.n && is_space(schedule.p[i]))
			i++;
		start = i;
		while (i < schedule.n && !is_space(schedule.p[i]))
			i++;
		if (i == start)
			break;
		if (n < 5)
			fields[n] = ks_str_of(schedule.p + start, i - start);
		if (n < 64)
			shown = ks_err_detail(c, "%s%s%.*s", shown, n ? " " : "", (int)(i - start), schedule.p + start);
		n++;
	}
	if (n != 5)
		return ks_err_detail(c, "expected exactly 5 fields, found %zu: [%s]", n, shown);
	for (size_t i = 0; i < 5 && !problem; i++)
		problem = check_field(c, fields[i], &ranges[i]);
	return problem;
}

/* -- time zones --------------------------------------------------------------------------------------------------------- */

static bool is_zone_name(struct ks_str name)
{
	if (name.n > 120 || name.p[0] == '/' || memmem(name.p, name.n, "..", 2) || memchr(name.p, '\\', name.n))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] <= ' ' || (unsigned char)name.p[i] > '~')
			return false;
	return true;
}

const char *ks_time_zone_problem(struct ks_check *c, struct ks_str name)
{
	char path[192];
	int fd;

	if (!name.n)
		return "timeZone must be nil or non-empty string";
	if (ks_str_is(name, "UTC") || ks_str_is(name, "Local"))
		return NULL;
	if (is_zone_name(name)) {
		snprintf(path, sizeof(path), "/usr/share/zoneinfo/%.*s", (int)name.n, name.p);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			char magic[4];
			bool good = read(fd, magic, 4) == 4 && !memcmp(magic, "TZif", 4);

			close(fd);
			if (good)
				return NULL;
		}
	}
	return ks_err_detail(c, "unknown time zone %.*s", (int)name.n, name.p);
}
