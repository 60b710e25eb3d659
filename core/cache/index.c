/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/index.h"

#include <errno.h>
#include <string.h>

#include "core/cache/cache.h"

/* A selectable field, and how much of its path is still ahead. */
struct field_path {
	const char *rest;
	uint16_t slot;
};

struct scan {
	struct ks_arena *arena;
	struct ks_index *index;
	const char *start, *p, *end;
	const char *message;
	int result;
};

static bool fail(struct scan *s, int result, const char *message)
{
	if (!s->result) {
		s->result = result;
		s->message = message;
	}
	s->p = s->end;
	return false;
}

static bool malformed(struct scan *s)
{
	return fail(s, -EINVAL, "malformed JSON");
}

/* -- tokens ----------------------------------------------------------------------------------------------------- */

static char peek(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
	return s->p < s->end ? *s->p : '\0';
}

/* The quote that ends the string; NULL: there is none. */
static const char *end_of_string(const char *p, const char *end, bool *escaped)
{
	const char *quote = memchr(p, '"', (size_t)(end - p));

	*escaped = quote && memchr(p, '\\', (size_t)(quote - p));
	if (!*escaped)
		return quote;
	for (; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p : NULL;
}

/* A string as it is written, without its quotes. */
static bool raw_string(struct scan *s, struct ks_str *out, bool *escaped)
{
	const char *from, *quote;

	if (peek(s) != '"')
		return malformed(s);
	from = s->p + 1;
	quote = end_of_string(from, s->end, escaped);
	if (!quote)
		return malformed(s);
	*out = ks_str_of(from, (size_t)(quote - from));
	s->p = quote + 1;
	return true;
}

static bool skip_string(struct scan *s)
{
	struct ks_str ignored;
	bool escaped;

	return raw_string(s, &ignored, &escaped);
}

/* Brackets are counted, not matched by kind. */
static bool skip_nested(struct scan *s)
{
	size_t depth = 0;

	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (!skip_string(s))
				return false;
			continue;
		}
		s->p++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return malformed(s);
}

static bool raw_word(struct scan *s, struct ks_str *out)
{
	const char *from = s->p;

	while (s->p < s->end && !strchr(",}] \t\r\n", *s->p))
		s->p++;
	*out = ks_str_of(from, (size_t)(s->p - from));
	return out->n > 0 || malformed(s);
}

static bool skip_value(struct scan *s)
{
	struct ks_str ignored;
	char c = peek(s);

	if (c == '"')
		return skip_string(s);
	if (c == '{' || c == '[')
		return skip_nested(s);
	return raw_word(s, &ignored);
}

/* -- escapes ---------------------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four hexadecimal digits at *p; -1 when they aren't. */
static int32_t code_unit(const char **p, const char *end)
{
	int32_t unit = 0;

	if (end - *p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit((*p)[i]);

		if (digit < 0)
			return -1;
		unit = unit * 16 + digit;
	}
	*p += 4;
	return unit;
}

static char *put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		*out++ = (char)c;
		return out;
	}
	if (c < 0x800) {
		*out++ = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			*out++ = (char)(0xe0 | c >> 12);
		} else {
			*out++ = (char)(0xf0 | c >> 18);
			*out++ = (char)(0x80 | (c >> 12 & 0x3f));
		}
		*out++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (c & 0x3f));
	return out;
}

/* At the digits of \u. Halves of a pair that stand alone become U+FFFD, as Go reads them. */
static const char *unescape_unicode(const char *p, const char *end, char **out)
{
	int32_t unit = code_unit(&p, end), second;
	const char *ahead = p;

	if (unit < 0)
		return NULL;
	if (unit >= 0xd800 && unit < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		ahead += 2;
		second = code_unit(&ahead, end);
		if (second >= 0xdc00 && second < 0xe000) {
			*out = put_utf8(*out, 0x10000u + (uint32_t)((unit - 0xd800) << 10 | (second - 0xdc00)));
			return ahead;
		}
	}
	*out = put_utf8(*out, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : (uint32_t)unit);
	return p;
}

static bool unescape(struct scan *s, struct ks_str raw, struct ks_str *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char *text = ks_arena_alloc(s->arena, raw.n + 1), *at = text;
	const char *p = raw.p, *end = raw.p + raw.n, *known;

	if (!text)
		return fail(s, -ENOMEM, "out of memory");
	while (p && p < end) {
		if (*p != '\\') {
			*at++ = *p++;
			continue;
		}
		p++;
		if (p < end && *p == 'u') {
			p = unescape_unicode(p + 1, end, &at);
			continue;
		}
		known = p < end && *p ? strchr(from, *p) : NULL;
		if (!known)
			return malformed(s);
		*at++ = to[known - from];
		p++;
	}
	*out = ks_str_of(text, (size_t)(at - text));
	return p || malformed(s);
}

static bool string(struct scan *s, struct ks_str *out)
{
	struct ks_str raw;
	bool escaped;

	if (!raw_string(s, &raw, &escaped))
		return false;
	if (escaped)
		return unescape(s, raw, out);
	*out = raw;
	return true;
}

/* -- members ---------------------------------------------------------------------------------------------------- */

/* Steps to the next member of the object that p is in (or at): true with its name, p at the value; false at the end, p behind the brace. */
static bool next_member(struct scan *s, bool *first, struct ks_str *key)
{
	char c = peek(s);

	if (*first) {
		if (c != '{')
			return malformed(s);
		s->p++;
		c = peek(s);
		if (c == '}') {
			s->p++;
			return false;
		}
		*first = false;
	} else {
		s->p++;
		if (c == '}')
			return false;
		if (c != ',')
			return malformed(s);
	}
	if (!string(s, key))
		return false;
	if (peek(s) != ':')
		return malformed(s);
	s->p++;
	peek(s);
	return true;
}

static bool add_label(struct scan *s, struct ks_str key, struct ks_str value)
{
	struct ks_index *index = s->index;
	struct ks_label *grown;
	uint32_t at;

	if (index->n_labels == index->labels_cap) {
		grown = ks_arena_alloc(s->arena, (index->labels_cap * 2u + 8u) * sizeof(*grown));
		if (!grown)
			return fail(s, -ENOMEM, "out of memory");
		if (index->n_labels)
			memcpy(grown, index->labels, index->n_labels * sizeof(*grown));
		index->labels = grown;
		index->labels_cap = index->labels_cap * 2u + 8u;
	}
	for (at = index->n_labels++; at > 0 && ks_str_cmp(index->labels[at - 1].key, key) > 0; at--)
		index->labels[at] = index->labels[at - 1];
	index->labels[at] = (struct ks_label){key, value};
	return true;
}

/* null is as good as absent. */
static bool string_or_null(struct scan *s, struct ks_str *out)
{
	struct ks_str word;

	if (peek(s) == '"')
		return string(s, out);
	return raw_word(s, &word) && (ks_str_is(word, "null") || malformed(s));
}

static bool scan_labels(struct scan *s)
{
	struct ks_str key, value, word;
	bool first = true;

	if (peek(s) != '{')
		return raw_word(s, &word) && (ks_str_is(word, "null") || malformed(s));
	while (next_member(s, &first, &key)) {
		value = (struct ks_str){0};
		if (!string_or_null(s, &value) || !add_label(s, key, value))
			return false;
	}
	return !s->result;
}

static bool scan_metadata(struct scan *s)
{
	struct ks_index *index = s->index;
	bool first = true, ok = true;
	struct ks_str key;
	const char *member;

	if (peek(s) != '{' || index->rv_at)
		return malformed(s);
	index->rv_at = (size_t)(s->p + 1 - s->start);
	member = s->p + 1;
	while (ok && next_member(s, &first, &key)) {
		index->rv_comma = true;
		if (ks_str_is(key, "name"))
			ok = string_or_null(s, &index->name);
		else if (ks_str_is(key, "namespace"))
			ok = string_or_null(s, &index->ns);
		else if (ks_str_is(key, "uid"))
			ok = string_or_null(s, &index->uid);
		else if (ks_str_is(key, "labels"))
			ok = scan_labels(s);
		else
			ok = skip_value(s);
		if (ks_str_is(key, "resourceVersion")) {
			index->rv_from = (size_t)(member - s->start);
			index->rv_to = (size_t)(s->p - s->start);
		}
		member = s->p;
	}
	return !s->result;
}

/* -- selectable fields ------------------------------------------------------------------------------------------ */

static bool take_field(struct scan *s, uint16_t slot)
{
	struct ks_str *field = &s->index->fields[slot];
	char c = peek(s);

	if (c == '"')
		return string(s, field);
	if (c == '{' || c == '[')
		return skip_nested(s);
	if (!raw_word(s, field))
		return false;
	if (ks_str_is(*field, "null"))
		*field = (struct ks_str){0};
	return true;
}

/* How much of `path` is left after the name `key`; NULL when it leads elsewhere. */
static const char *step(const char *path, struct ks_str key)
{
	size_t n = strcspn(path, ".");

	if (n != key.n || memcmp(path, key.p, n) != 0)
		return NULL;
	return path + n + (path[n] == '.');
}

static bool scan_member(struct scan *s, struct ks_str key, const struct field_path *paths, unsigned n);

static bool scan_object(struct scan *s, const struct field_path *paths, unsigned n)
{
	struct ks_str key;
	bool first = true;

	while (next_member(s, &first, &key))
		if (!scan_member(s, key, paths, n))
			return false;
	return !s->result;
}

/* A member may be what several selectors ask for. */
static bool take_fields(struct scan *s, struct ks_str key, const struct field_path *paths, unsigned n)
{
	uint16_t slot = paths[0].slot;

	if (!take_field(s, slot))
		return false;
	for (unsigned i = 1; i < n; i++) {
		const char *rest = step(paths[i].rest, key);

		if (rest && !*rest)
			s->index->fields[paths[i].slot] = s->index->fields[slot];
	}
	return true;
}

static bool scan_member(struct scan *s, struct ks_str key, const struct field_path *paths, unsigned n)
{
	struct field_path inner[2 * KS_INDEX_FIELDS_MOST];
	unsigned n_inner = 0;

	for (unsigned i = 0; i < n; i++) {
		const char *rest = step(paths[i].rest, key);

		if (rest && !*rest)
			return take_fields(s, key, paths + i, n - i);
		if (rest)
			inner[n_inner++] = (struct field_path){rest, paths[i].slot};
	}
	if (n_inner == 0 || peek(s) != '{')
		return skip_value(s);
	return scan_object(s, inner, n_inner);
}

/* Fields whose selector has another name than the member that holds the value. */
static const struct field_alias {
	const char *path, *json, *otherwise;
} aliases[] = {
	{"status.successful", "status.succeeded", NULL}, /* jobs */
	{"source", "source.component", "reportingComponent"}, /* events */
};

static const struct field_alias *alias_of(const char *path)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strcmp(aliases[i].path, path) == 0)
			return &aliases[i];
	return NULL;
}

static const char *field_text(const struct ks_schema *schema, uint16_t resource, unsigned field)
{
	return ks_schema_text(schema, schema->lists[schema->resources[resource].first_selectable + field]);
}

static unsigned field_paths(const struct ks_schema *schema, uint16_t resource, struct ks_index *index, struct field_path *paths)
{
	unsigned n = schema->resources[resource].n_selectable, n_paths = 0;

	if (n > KS_INDEX_FIELDS_MOST)
		n = KS_INDEX_FIELDS_MOST;
	index->n_fields = (uint16_t)n;
	for (unsigned i = 0; i < n; i++) {
		const char *path = field_text(schema, resource, i);
		const struct field_alias *alias = alias_of(path);

		paths[n_paths++] = (struct field_path){alias ? alias->json : path, (uint16_t)i};
		if (alias && alias->otherwise)
			paths[n_paths++] = (struct field_path){alias->otherwise, (uint16_t)(KS_INDEX_FIELDS_MOST + i)};
	}
	return n_paths;
}

struct ks_str ks_index_field_default(const struct ks_schema *schema, uint16_t resource, unsigned field)
{
	const char *path = field_text(schema, resource, field);
	const struct field_alias *alias = alias_of(path);
	uint16_t type = schema->resources[resource].type;

	path = alias ? alias->json : path;
	while (*path) {
		size_t n = strcspn(path, ".");
		uint16_t slot;

		if (schema->types[type].class_ != KS_TYPE_STRUCT)
			return KS_STR_LIT("");
		slot = ks_schema_slot(schema, type, path, n);
		if (slot == KS_NO_SLOT)
			return KS_STR_LIT("");
		type = ks_schema_field(schema, type, slot)->type;
		path += n + (path[n] == '.');
	}
	switch (schema->types[type].class_) {
	case KS_TYPE_BOOL:
		return KS_STR_LIT("false");
	case KS_TYPE_INT32:
	case KS_TYPE_INT64:
		return KS_STR_LIT("0");
	default:
		return KS_STR_LIT("");
	}
}

/* Names of one version of a resource in terms of the version that is stored. */
static struct ks_str stored_path(struct ks_str path, char *room, size_t size)
{
	static const char from[] = "regarding.", to[] = "involvedObject.";

	if (ks_str_is(path, "reportingController"))
		return KS_STR_LIT("reportingComponent");
	if (!ks_str_starts(path, KS_STR_LIT("regarding.")) || path.n + sizeof(to) - sizeof(from) > size)
		return path;
	memcpy(room, to, sizeof(to) - 1);
	memcpy(room + sizeof(to) - 1, path.p + sizeof(from) - 1, path.n - (sizeof(from) - 1));
	return ks_str_of(room, path.n + sizeof(to) - sizeof(from));
}

static int find_path(const struct ks_schema *schema, uint16_t resource, struct ks_str path)
{
	for (unsigned i = 0; i < schema->resources[resource].n_selectable && i < KS_INDEX_FIELDS_MOST; i++)
		if (ks_str_is(path, field_text(schema, resource, i)))
			return (int)i;
	return -3;
}

int ks_index_stored_field(const struct ks_schema *schema, uint16_t resource, struct ks_str path)
{
	char room[128];
	int index;

	if (ks_str_is(path, "metadata.name"))
		return -1;
	if (ks_str_is(path, "metadata.namespace"))
		return -2;
	index = find_path(schema, resource, path);
	return index == -3 ? find_path(schema, resource, stored_path(path, room, sizeof(room))) : index;
}

int ks_cache_field_index(const struct ks_schema *schema, uint16_t resource, struct ks_str path)
{
	uint16_t served = schema->resources[resource].parent, stored = schema->resources[served].storage;

	if (!ks_str_starts(path, KS_STR_LIT("metadata.")) && find_path(schema, served, path) == -3)
		return -3;
	return ks_index_stored_field(schema, stored, path);
}

/* -- the whole -------------------------------------------------------------------------------------------------- */

static bool scan_top(struct scan *s, const struct field_path *paths, unsigned n)
{
	bool first = true, ok = true;
	struct ks_str key;

	while (ok && next_member(s, &first, &key)) {
		if (ks_str_is(key, "metadata"))
			ok = scan_metadata(s);
		else if (ks_str_is(key, "apiVersion"))
			ok = string_or_null(s, &s->index->api_version);
		else if (ks_str_is(key, "kind"))
			ok = string_or_null(s, &s->index->kind);
		else
			ok = scan_member(s, key, paths, n);
	}
	if (s->result)
		return false;
	if (peek(s) != '\0' || s->p != s->end)
		return malformed(s);
	return s->index->rv_at || fail(s, -EINVAL, "metadata is missing");
}

int ks_index_scan(
	struct ks_arena *arena, const struct ks_schema *schema, uint16_t resource, struct ks_str json, struct ks_index *out_r, const char **message_r)
{
	struct scan s = {.arena = arena, .index = out_r, .start = json.p, .p = json.p, .end = json.p + json.n};
	struct field_path paths[2 * KS_INDEX_FIELDS_MOST];
	unsigned n;

	*out_r = (struct ks_index){0};
	n = field_paths(schema, resource, out_r, paths);
	if (!scan_top(&s, paths, n)) {
		*message_r = s.message;
		return s.result;
	}
	for (unsigned i = 0; i < out_r->n_fields; i++)
		if (out_r->fields[i].n == 0)
			out_r->fields[i] = out_r->fields[KS_INDEX_FIELDS_MOST + i];
	return 0;
}
