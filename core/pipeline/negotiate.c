/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/negotiate.h"

#include <ctype.h>
#include <stdlib.h>

#define ONLY "only the following media types are accepted: "
#define TYPES "application/json, application/yaml, application/vnd.kubernetes.protobuf"
#define STREAM_TYPES "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"

enum { MOST_CLAUSES = 32 };

/* One media range of Accept. */
struct clause {
	struct ks_str type, subtype, parameters;
	double q;
};

/* A form that the server knows: those that it writes come first in the order in which a wildcard finds them. */
static const struct form {
	const char *subtype;
	enum ks_media_format format;
	bool streams;
} forms[] = {
	{"json", KS_MEDIA_JSON, true},
	{"yaml", KS_MEDIA_YAML, false},
	{"vnd.kubernetes.protobuf", KS_MEDIA_PROTOBUF, true},
	{"cbor", KS_MEDIA_CBOR, true},
};

/* The last one is there only behind its gate. */
static size_t count_forms(unsigned allowed)
{
	return sizeof(forms) / sizeof(*forms) - !(allowed & KS_ALLOW_CBOR);
}

const char *ks_media_name(const struct ks_media *media)
{
	static const char *const names[] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"};

	return names[media->format];
}

static struct ks_str trim(struct ks_str s)
{
	while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = ks_str_of(s.p + 1, s.n - 1);
	while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* Takes the text before the next `separator` off `rest`. */
static struct ks_str next_part(struct ks_str *rest, char separator)
{
	const char *end = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
	struct ks_str part = *rest;

	if (!end) {
		*rest = (struct ks_str){0};
		return part;
	}
	part.n = (size_t)(end - rest->p);
	*rest = ks_str_of(end + 1, rest->n - part.n - 1);
	return part;
}

/* "a=b" out of the parameters; false for what isn't one. */
static bool next_parameter(struct ks_str *rest, struct ks_str *key, struct ks_str *value)
{
	struct ks_str part = next_part(rest, ';');

	*key = trim(next_part(&part, '='));
	*value = trim(part);
	return part.n > 0 && !memchr(part.p, '=', part.n);
}

static double parse_q(struct ks_str text)
{
	char copy[16], *end;
	double q;

	if (text.n == 0 || text.n >= sizeof(copy))
		return 1;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	q = strtod(copy, &end);
	return *end == '\0' && q >= 0 && q <= 1 ? q : 0;
}

static bool parse_clause(struct ks_str part, struct clause *c)
{
	struct ks_str range, parameters, key, value;

	*c = (struct clause){.q = 1};
	part = trim(part);
	range = next_part(&part, ';');
	c->parameters = parameters = part;
	c->type = trim(next_part(&range, '/'));
	c->subtype = trim(range);
	if (c->subtype.n == 0) {
		if (!ks_str_is(c->type, "*"))
			return false;
		c->subtype = c->type;
	}
	if (memchr(c->subtype.p, '/', c->subtype.n))
		return false;
	while (parameters.n > 0)
		if (next_parameter(&parameters, &key, &value) && ks_str_is(key, "q"))
			c->q = parse_q(value);
	return true;
}

/* Does `a` come before `b`? By quality, then the more exact one. */
static bool before(const struct clause *a, const struct clause *b)
{
	bool wild_a = ks_str_is(a->type, "*"), wild_b = ks_str_is(b->type, "*");

	if (a->q != b->q)
		return a->q > b->q;
	if (wild_a != wild_b)
		return wild_b;
	return !ks_str_is(a->subtype, "*") && ks_str_is(b->subtype, "*");
}

static size_t parse_accept(struct ks_str accept, struct clause *clauses)
{
	size_t n = 0;

	while (accept.n > 0 && n < MOST_CLAUSES) {
		struct clause c;
		size_t at = n;

		if (!parse_clause(next_part(&accept, ','), &c))
			continue;
		for (; at > 0 && before(&c, &clauses[at - 1]); at--)
			clauses[at] = clauses[at - 1];
		clauses[at] = c;
		n++;
	}
	return n;
}

static bool range_covers(const struct clause *c, const struct form *form)
{
	if (ks_str_is(c->type, "*") && ks_str_is(c->subtype, "*"))
		return true;
	return ks_str_is(c->type, "application") && (ks_str_is(c->subtype, form->subtype) || ks_str_is(c->subtype, "*"));
}

struct conversion {
	struct ks_str kind, group, version;
	bool asked;
};

static bool conversion_allowed(const struct conversion *c, unsigned allowed, struct ks_media *media)
{
	bool meta = ks_str_is(c->group, "meta.k8s.io") && (ks_str_is(c->version, "v1") || ks_str_is(c->version, "v1beta1"));

	media->as_version = c->version;
	if (meta && (allowed & KS_ALLOW_TABLE) && media->format != KS_MEDIA_PROTOBUF && ks_str_is(c->kind, "Table"))
		media->as = KS_AS_TABLE;
	else if (meta && (allowed & KS_ALLOW_PARTIAL) && ks_str_is(c->kind, "PartialObjectMetadata"))
		media->as = KS_AS_PARTIAL;
	else if (meta && (allowed & KS_ALLOW_PARTIAL) && ks_str_is(c->kind, "PartialObjectMetadataList"))
		media->as = KS_AS_PARTIAL_LIST;
	else if ((allowed & KS_ALLOW_DISCOVERY) && media->format <= KS_MEDIA_YAML && ks_str_is(c->group, "apidiscovery.k8s.io") && ks_str_is(c->kind, "APIGroupDiscoveryList") &&
		(ks_str_is(c->version, "v2") || ks_str_is(c->version, "v2beta1")))
		media->as = KS_AS_DISCOVERY;
	else
		return false;
	return true;
}

/* Is the form with these parameters something that we have? */
static bool accept_form(struct ks_str parameters, const struct form *form, unsigned allowed, struct ks_media *media)
{
	struct conversion conversion = {0};
	struct ks_str key, value;

	*media = (struct ks_media){.chosen = true, .format = (unsigned char)form->format};
	while (parameters.n > 0) {
		if (!next_parameter(&parameters, &key, &value))
			continue;
		if (ks_str_is(key, "as"))
			conversion.kind = value, conversion.asked = true;
		else if (ks_str_is(key, "g"))
			conversion.group = value, conversion.asked = true;
		else if (ks_str_is(key, "v"))
			conversion.version = value, conversion.asked = true;
		else if (ks_str_is(key, "stream") && value.n > 0 && !(form->streams && ks_str_is(value, "watch")))
			return false;
		else if (ks_str_is(key, "sv") && value.n > 0)
			return false;
		else if (ks_str_is(key, "pretty"))
			media->pretty = ks_str_is(value, "1");
		else if (ks_str_is(key, "profile"))
			media->no_peer = ks_str_is(value, "nopeer");
	}
	return !conversion.asked || conversion_allowed(&conversion, allowed, media);
}

static bool choose(struct ks_str accept, unsigned allowed, struct ks_media *media)
{
	struct clause clauses[MOST_CLAUSES];
	size_t n;

	if (accept.n == 0) {
		*media = (struct ks_media){.chosen = true};
		return true;
	}
	n = parse_accept(accept, clauses);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < count_forms(allowed); k++)
			if (range_covers(&clauses[i], &forms[k]) && accept_form(clauses[i].parameters, &forms[k], allowed, media))
				return true;
	return false;
}

int ks_negotiate(struct ks_arena *arena, struct ks_str accept, unsigned allowed, struct ks_media *media_r, struct ks_status *status)
{
	struct ks_media media;
	bool found = choose(accept, allowed, &media);
	bool stream = allowed & KS_ALLOW_WATCH, cbor = allowed & KS_ALLOW_CBOR;

	if (found && stream && media.format == KS_MEDIA_YAML)
		return ks_status_set(status, arena, 406, "NotAcceptable", ONLY STREAM_TYPES "%s", cbor ? ", application/cbor-seq" : "");
	if (!found)
		return ks_status_set(status, arena, 406, "NotAcceptable", ONLY TYPES "%s", cbor ? ", application/cbor" : "");
	*media_r = media;
	return 0;
}

bool ks_accepts(struct ks_str accept, const char *const *types, size_t n_types)
{
	return ks_accepted(accept, types, n_types) >= 0;
}

int ks_accepted(struct ks_str accept, const char *const *types, size_t n_types)
{
	if (accept.n == 0)
		return 0;
	while (accept.n > 0) {
		struct ks_str part = next_part(&accept, ',');
		struct ks_str type = trim(next_part(&part, ';'));

		if (ks_str_is(type, "*/*"))
			return 0;
		for (size_t i = 0; i < n_types; i++)
			if (ks_str_is(type, types[i]))
				return (int)i;
	}
	return -1;
}

/* Each is "name=value"; one separator may end them. */
static bool are_parameters(struct ks_str text)
{
	while (text.n > 0) {
		bool more = memchr(text.p, ';', text.n);
		struct ks_str part = trim(next_part(&text, ';'));

		if (part.n ? !memchr(part.p, '=', part.n) : more)
			return false;
	}
	return true;
}

/* "Type/SubType; parameters" in lower case without the parameters; false when it is no media type or too long. */
static bool media_type(struct ks_str content_type, char *out, size_t room)
{
	struct ks_str type = trim(next_part(&content_type, ';'));

	if (type.n == 0 || type.n >= room || !memchr(type.p, '/', type.n) || !are_parameters(content_type))
		return false;
	for (size_t i = 0; i < type.n; i++)
		out[i] = (char)tolower((unsigned char)type.p[i]);
	out[type.n] = '\0';
	return true;
}

static const char *joined(struct ks_arena *arena, const char *const *types, size_t n)
{
	const char *text = "";

	for (size_t i = 0; i < n && text; i++)
		text = ks_arena_printf(arena, "%s%s%s", text, i ? ", " : "", types[i]);
	return text ? text : "";
}

int ks_negotiate_type(struct ks_arena *arena, struct ks_str content_type, const char *const *types, size_t n_types, struct ks_status *status)
{
	char type[128];

	if (media_type(content_type, type, sizeof(type)))
		for (size_t i = 0; i < n_types; i++)
			if (strcmp(type, types[i]) == 0)
				return (int)i;
	ks_status_set(status, arena, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: %s", joined(arena, types, n_types));
	return -1;
}

int ks_negotiate_body(struct ks_arena *arena, struct ks_str content_type, unsigned allowed, enum ks_media_format *format_r, struct ks_status *status)
{
	static const char *const types[] = {"application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"};
	size_t n = count_forms(allowed);
	char type[128];

	*format_r = KS_MEDIA_JSON;
	if (content_type.n == 0)
		return 0;
	if (media_type(content_type, type, sizeof(type)))
		for (size_t i = 0; i < n; i++)
			if (strcmp(type, types[i]) == 0) {
				*format_r = (enum ks_media_format)i;
				return 0;
			}
	return ks_status_set(status, arena, 415, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: %s", joined(arena, types, n));
}
