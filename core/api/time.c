/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/time.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char layout_seconds[] = "2006-01-02T15:04:05Z07:00";
static const char layout_micro[] = "2006-01-02T15:04:05.000000Z07:00";

/* ---- calendar ---- */

/* Days since 1970-01-01 of a date in the proleptic Gregorian calendar. */
static int64_t days_of(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int64_t *year_r, int *month_r, int *day_r)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t of_era = days - era * 146097;
	int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
	int64_t m = (5 * of_year + 2) / 153;

	*day_r = (int)(of_year - (153 * m + 2) / 5 + 1);
	*month_r = (int)(m < 10 ? m + 3 : m - 9);
	*year_r = y + era * 400 + (*month_r <= 2);
}

static int days_in(int64_t year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* ---- writing ---- */

struct ks_time ks_time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (struct ks_time){now.tv_sec, (int32_t)now.tv_nsec};
}

size_t ks_time_print(struct ks_time time, bool micro, char out[KS_TIME_TEXT])
{
	int64_t days = time.seconds / 86400, rest = time.seconds % 86400, year;
	int month, day, n;

	if (rest < 0) {
		rest += 86400;
		days--;
	}
	date_of(days, &year, &month, &day);
	n = snprintf(out, KS_TIME_TEXT, year < 0 ? "%05lld-%02d-%02dT%02d:%02d:%02d" : "%04lld-%02d-%02dT%02d:%02d:%02d", (long long)year, month, day,
		(int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60));
	if (micro)
		n += snprintf(out + n, KS_TIME_TEXT - (size_t)n, ".%06d", time.nanoseconds / 1000);
	out[n++] = 'Z';
	out[n] = '\0';
	return (size_t)n;
}

struct ks_str ks_time_now_text(struct ks_arena *arena, bool micro)
{
	char text[KS_TIME_TEXT];
	size_t n = ks_time_print(ks_time_now(), micro, text);
	char *copy = ks_arena_dup(arena, text, n);

	return ks_str_of(copy, copy ? n : 0);
}

int ks_time_cmp(struct ks_time a, struct ks_time b)
{
	if (a.seconds != b.seconds)
		return a.seconds < b.seconds ? -1 : 1;
	return (a.nanoseconds > b.nanoseconds) - (a.nanoseconds < b.nanoseconds);
}

/* ---- reading, in the order of the layout and with the complaints of Go's time.Parse ---- */

struct reader {
	struct ks_arena *arena;
	struct ks_str all, rest;
	const char *layout;
	const char *message;
	int rc;
};

/* Go's quoting of texts in these messages: bytes outside of printable ASCII in hexadecimal. */
static char *quoted(struct ks_arena *arena, struct ks_str text)
{
	char *out = ks_arena_alloc(arena, text.n * 4 + 3), *at = out;

	if (!out)
		return NULL;
	*at++ = '"';
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c == '"' || c == '\\') {
			*at++ = '\\';
			*at++ = (char)c;
		} else if (c < ' ' || c >= 0x7f) {
			at += sprintf(at, "\\x%02x", c);
		} else {
			*at++ = (char)c;
		}
	}
	*at++ = '"';
	*at = '\0';
	return out;
}

static bool set_message(struct reader *r, const char *message)
{
	r->message = message;
	r->rc = message ? -EINVAL : -ENOMEM;
	return false;
}

static bool cannot_parse(struct reader *r, struct ks_str what, const char *element)
{
	const char *all = quoted(r->arena, r->all), *part = quoted(r->arena, what);

	if (!all || !part)
		return set_message(r, NULL);
	return set_message(r, ks_arena_printf(r->arena, "parsing time %s as \"%s\": cannot parse %s as \"%s\"", all, r->layout, part, element));
}

static bool complain(struct reader *r, const char *what, const char *detail)
{
	const char *all = quoted(r->arena, r->all);

	if (!all)
		return set_message(r, NULL);
	return set_message(r, ks_arena_printf(r->arena, "parsing time %s: %s%s", all, what, detail));
}

static bool is_digit(struct ks_str s, size_t at)
{
	return at < s.n && s.p[at] >= '0' && s.p[at] <= '9';
}

static void advance(struct reader *r, size_t n)
{
	r->rest.p += n;
	r->rest.n -= n;
}

/* A number of at most `digits` digits; `fixed`: exactly so many. */
static bool number(struct reader *r, const char *element, size_t digits, bool fixed, int *out)
{
	size_t n = 0;
	int value = 0;

	while (n < digits && is_digit(r->rest, n))
		value = value * 10 + (r->rest.p[n++] - '0');
	if (n == 0 || (fixed && n < digits))
		return cannot_parse(r, r->rest, element);
	advance(r, n);
	*out = value;
	return true;
}

static bool ranged(struct reader *r, const char *element, bool fixed, int low, int high, const char *name, int *out)
{
	if (!number(r, element, 2, fixed, out))
		return false;
	return (*out >= low && *out <= high) || complain(r, name, " out of range");
}

static bool literal(struct reader *r, char c)
{
	if (r->rest.n == 0 || r->rest.p[0] != c)
		return cannot_parse(r, r->rest, (char[]){c, '\0'});
	advance(r, 1);
	return true;
}

/* Digits behind a point: any number of them after seconds, or exactly six. */
static bool fraction(struct reader *r, bool micro, int32_t *nanoseconds)
{
	size_t n = 1;
	int32_t unit = 100000000;
	bool point = r->rest.n > 0 && (r->rest.p[0] == '.' || r->rest.p[0] == ',');

	*nanoseconds = 0;
	if (!micro && (!point || !is_digit(r->rest, 1)))
		return true;
	if (micro && (r->rest.n < 7 || !point))
		return cannot_parse(r, r->rest, ".000000");
	while (is_digit(r->rest, n) && (!micro || n < 7)) {
		*nanoseconds += unit * (r->rest.p[n] - '0');
		unit /= 10;
		n++;
	}
	if (micro && n < 7)
		return cannot_parse(r, r->rest, ".000000");
	advance(r, n);
	return true;
}

/* "Z" or "+07:00". */
static bool zone(struct reader *r, int64_t *offset)
{
	struct ks_str z = r->rest;
	int hours, minutes;

	*offset = 0;
	if (z.n && z.p[0] == 'Z') {
		advance(r, 1);
		return true;
	}
	if (z.n < 6 || z.p[3] != ':' || !is_digit(z, 1) || !is_digit(z, 2) || !is_digit(z, 4) || !is_digit(z, 5) || (z.p[0] != '+' && z.p[0] != '-'))
		return cannot_parse(r, z, "Z07:00");
	hours = (z.p[1] - '0') * 10 + z.p[2] - '0';
	minutes = (z.p[4] - '0') * 10 + z.p[5] - '0';
	if (hours > 24)
		return complain(r, "time zone offset hour", " out of range");
	if (minutes > 60)
		return complain(r, "time zone offset minute", " out of range");
	*offset = (hours * 60 + minutes) * 60 * (z.p[0] == '-' ? -1 : 1);
	advance(r, 6);
	return true;
}

static bool read_time(struct reader *r, bool micro, struct ks_time *out)
{
	int year = 0, month = 1, day = 0, hour = 0, minute = 0, second = 0;
	int64_t offset = 0;
	int32_t nanoseconds = 0;
	const char *extra;

	if (!number(r, "2006", 4, true, &year) || !literal(r, '-') || !ranged(r, "01", true, 1, 12, "month", &month) || !literal(r, '-') ||
		!number(r, "02", 2, true, &day) || !literal(r, 'T') || !ranged(r, "15", false, 0, 23, "hour", &hour) || !literal(r, ':') ||
		!ranged(r, "04", true, 0, 59, "minute", &minute) || !literal(r, ':') || !ranged(r, "05", true, 0, 59, "second", &second) ||
		!fraction(r, micro, &nanoseconds) || !zone(r, &offset))
		return false;
	if (r->rest.n) {
		extra = quoted(r->arena, r->rest);
		return extra ? complain(r, "extra text: ", extra) : set_message(r, NULL);
	}
	if (day < 1 || day > days_in(year, month))
		return complain(r, "day out of range", "");
	out->seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset;
	out->nanoseconds = nanoseconds;
	return true;
}

int ks_time_parse(struct ks_arena *arena, struct ks_str text, bool micro, struct ks_time *time_r, const char **message_r)
{
	struct reader r = {.arena = arena, .all = text, .rest = text, .layout = micro ? layout_micro : layout_seconds};
	struct ks_time time;

	if (read_time(&r, micro, &time)) {
		*time_r = time;
		return 0;
	}
	if (r.rc == -EINVAL)
		*message_r = r.message;
	return r.rc;
}

/* ---- durations ---- */

static const struct unit {
	const char *name;
	uint64_t nanoseconds;
} units[] = {
	{"ns", 1},
	{"us", 1000},
	{"\xc2\xb5s", 1000},
	{"\xce\xbcs", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60000000000},
	{"h", 3600000000000},
};

static int bad_duration(struct ks_arena *arena, struct ks_str all, const char *why, struct ks_str unit, const char **message_r)
{
	const char *text = quoted(arena, all), *name = unit.n ? quoted(arena, unit) : "";

	if (!text || !name)
		return -ENOMEM;
	*message_r = ks_arena_printf(arena, "time: %s%s%sduration %s", why, name, unit.n ? " in " : " ", text);
	return *message_r ? -EINVAL : -ENOMEM;
}

static const struct unit *find_unit(struct ks_str name)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ks_str_is(name, units[i].name))
			return &units[i];
	return NULL;
}

struct amount {
	uint64_t whole, part, scale; /* whole + part / scale */
	bool overflow;
};

/* "1.5" in front of a unit; false when there is no digit. */
static bool read_amount(struct ks_str *s, struct amount *a)
{
	size_t i = 0, digits = 0;

	*a = (struct amount){.scale = 1};
	for (; is_digit(*s, i); i++, digits++) {
		if (a->whole > ((uint64_t)1 << 63) / 10)
			a->overflow = true;
		a->whole = a->whole * 10 + (uint64_t)(s->p[i] - '0');
		if (a->whole > (uint64_t)1 << 63)
			a->overflow = true;
	}
	if (i < s->n && s->p[i] == '.') {
		for (i++; is_digit(*s, i); i++, digits++) {
			if (a->scale >= 1000000000000000000ULL)
				continue;
			a->part = a->part * 10 + (uint64_t)(s->p[i] - '0');
			a->scale *= 10;
		}
	}
	*s = ks_str_of(s->p + i, s->n - i);
	return digits > 0;
}

static struct ks_str take_unit(struct ks_str *s)
{
	size_t i = 0;

	while (i < s->n && s->p[i] != '.' && !is_digit(*s, i))
		i++;
	struct ks_str unit = ks_str_of(s->p, i);
	*s = ks_str_of(s->p + i, s->n - i);
	return unit;
}

int ks_duration_parse(struct ks_arena *arena, struct ks_str text, int64_t *nanoseconds_r, const char **message_r)
{
	const struct ks_str none = {0};
	const uint64_t most = (uint64_t)1 << 63;
	struct ks_str s = text;
	uint64_t total = 0;
	bool negative = false;

	if (s.n && (s.p[0] == '-' || s.p[0] == '+')) {
		negative = s.p[0] == '-';
		s = ks_str_of(s.p + 1, s.n - 1);
	}
	if (ks_str_is(s, "0")) {
		*nanoseconds_r = 0;
		return 0;
	}
	if (s.n == 0)
		return bad_duration(arena, text, "invalid", none, message_r);
	while (s.n) {
		struct amount a;
		uint64_t value;

		if (!read_amount(&s, &a) || a.overflow)
			return bad_duration(arena, text, "invalid", none, message_r);
		struct ks_str name = take_unit(&s);
		if (name.n == 0)
			return bad_duration(arena, text, "missing unit in", none, message_r);
		const struct unit *unit = find_unit(name);
		if (!unit)
			return bad_duration(arena, text, "unknown unit ", name, message_r);
		if (__builtin_mul_overflow(a.whole, unit->nanoseconds, &value) || value > most)
			return bad_duration(arena, text, "invalid", none, message_r);
		value += (uint64_t)((double)a.part * ((double)unit->nanoseconds / (double)a.scale));
		if (__builtin_add_overflow(total, value, &total) || total > most)
			return bad_duration(arena, text, "invalid", none, message_r);
	}
	if (!negative && total == most)
		return bad_duration(arena, text, "invalid", none, message_r);
	*nanoseconds_r = negative ? (int64_t)(0 - total) : (int64_t)total;
	return 0;
}

/* value / 10^digits with the zeros at the end cut, then the unit. */
static size_t print_fraction(char *out, uint64_t value, int digits, const char *unit)
{
	uint64_t scale = 1;
	int n;

	for (int i = 0; i < digits; i++)
		scale *= 10;
	n = sprintf(out, "%llu", (unsigned long long)(value / scale));
	if (value % scale) {
		n += sprintf(out + n, ".%0*llu", digits, (unsigned long long)(value % scale));
		while (out[n - 1] == '0')
			n--;
	}
	return (size_t)(n + sprintf(out + n, "%s", unit));
}

size_t ks_duration_print(int64_t nanoseconds, char out[KS_DURATION_TEXT])
{
	uint64_t n = nanoseconds < 0 ? -(uint64_t)nanoseconds : (uint64_t)nanoseconds;
	uint64_t minutes = n / 60000000000ULL;
	size_t len = 0;

	if (nanoseconds < 0)
		out[len++] = '-';
	if (n == 0)
		return len + print_fraction(out + len, 0, 0, "s");
	if (n < 1000)
		return len + print_fraction(out + len, n, 0, "ns");
	if (n < 1000000)
		return len + print_fraction(out + len, n, 3, "\xc2\xb5s");
	if (n < 1000000000)
		return len + print_fraction(out + len, n, 6, "ms");
	if (minutes >= 60)
		len += (size_t)sprintf(out + len, "%lluh", (unsigned long long)(minutes / 60));
	if (minutes)
		len += (size_t)sprintf(out + len, "%llum", (unsigned long long)(minutes % 60));
	return len + print_fraction(out + len, n % 60000000000ULL, 9, "s");
}
