/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Our side of tests/nightly/go-types. A line is an object: apiVersion, kind, JSON, protobuf and CBOR, the last three in base64,
 * with a tab between; a build without CBOR writes none, and looks at none.
 *
 *   objects make N SEED   writes N objects of each kind, filled at random
 *   objects check         reads objects, decodes JSON and protobuf, and says where our own bytes differ
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/base64.h"
#include "core/api/cbor.h"
#include "core/api/proto.h"
#include "tests/unit/api-random.h"

static const struct ks_schema *const s = &ks_schema_builtin;

static const char *api_version(struct ks_arena *arena, const struct ks_kind *kind)
{
	const char *group = ks_schema_text(s, kind->group), *version = ks_schema_text(s, kind->version);
	const char *text = *group ? ks_arena_printf(arena, "%s/%s", group, version) : version;

	assert_non_null(text);
	return text;
}

static void put_base64(struct ks_arena *arena, const struct ks_buf *bytes, char end)
{
	char *text = ks_arena_alloc(arena, ks_base64_length(bytes->len) + 1);

	assert_non_null(text);
	ks_base64_encode((const unsigned char *)bytes->data, bytes->len, text);
	printf("%.*s%c", (int)ks_base64_length(bytes->len), text, end);
}

/* -- making --------------------------------------------------------------------------------------------------------- */

static void set_text(struct ks_arena *arena, struct ks_value *object, const char *name, const char *text)
{
	struct ks_value *place = ks_value_put(arena, s, object, ks_str_from(name));

	assert_non_null(place);
	*place = ks_value_from_str(ks_str_from(text));
}

static void encode_cbor(const struct ks_value *object, struct ks_buf *out)
{
#ifdef KS_HAVE_CBOR
	ks_cbor_encode_object(s, object, out);
#else
	(void)object;
	(void)out;
#endif
}

static void make_one(const struct ks_kind *kind, uint64_t seed)
{
	struct ks_buf json, proto, cbor;
	struct ks_test_maker maker;
	struct ks_arena arena;
	struct ks_value object;

	ks_arena_init(&arena, 0);
	maker = (struct ks_test_maker){.arena = &arena, .seed = 88172645463325252u ^ seed * 2654435761u, .proto = true, .likely = seed % 2};
	ks_test_make_struct(&maker, kind->type, true, &object);
	set_text(&arena, &object, "apiVersion", api_version(&arena, kind));
	set_text(&arena, &object, "kind", ks_schema_text(s, kind->kind));
	ks_buf_init(&json);
	ks_buf_init(&proto);
	ks_buf_init(&cbor);
	ks_json_encode(s, &object, &json);
	ks_proto_encode(s, &object, &proto);
	encode_cbor(&object, &cbor);
	assert_false(json.failed || proto.failed || cbor.failed);
	printf("%s\t%s\t", api_version(&arena, kind), ks_schema_text(s, kind->kind));
	put_base64(&arena, &json, '\t');
	put_base64(&arena, &proto, '\t');
	put_base64(&arena, &cbor, '\n');
	ks_buf_fini(&cbor);
	ks_buf_fini(&json);
	ks_buf_fini(&proto);
	ks_arena_fini(&arena);
}

static void make_all(unsigned n, uint64_t seed)
{
	for (uint32_t i = 0; i < s->n_kinds; i++)
		for (unsigned k = 0; s->kinds[i].resource != KS_NO_RESOURCE && ks_proto_has(s, s->kinds[i].type) && k < n; k++)
			make_one(&s->kinds[i], seed * 1000003 + i * 1009 + k);
}

/* -- checking ------------------------------------------------------------------------------------------------------- */

static struct ks_str part(struct ks_str *line)
{
	const char *tab = memchr(line->p, '\t', line->n);
	struct ks_str first = tab ? ks_str_of(line->p, (size_t)(tab - line->p)) : *line;

	*line = tab ? ks_str_of(tab + 1, line->n - first.n - 1) : ks_str_of(line->p + line->n, 0);
	return first;
}

static struct ks_str bytes_of(struct ks_arena *arena, struct ks_str text)
{
	size_t n, bad;
	bool canonical;
	unsigned char *raw;

	assert_true(ks_base64_check(text, &n, &canonical, &bad));
	raw = ks_arena_alloc(arena, n + 1);
	assert_non_null(raw);
	ks_base64_decode(text, raw);
	return ks_str_of((const char *)raw, n);
}

static bool same_json(struct ks_arena *arena, struct ks_str ours, struct ks_str theirs)
{
	struct ks_value a, b;
	const char *message = "";

	return !ks_json_decode(arena, NULL, 0, 0, ours.p, ours.n, &a, NULL, &message) &&
		!ks_json_decode(arena, NULL, 0, 0, theirs.p, theirs.n, &b, NULL, &message) && ks_value_equal_json(&a, &b);
}

static bool complain(const char *what, struct ks_str kind, struct ks_str ours, struct ks_str theirs)
{
	printf("%.*s: %s\n  ours %.*s\n  Go's %.*s\n", (int)kind.n, kind.p, what, (int)ours.n, ours.p, (int)theirs.n, theirs.p);
	return false;
}

static bool check_bytes(struct ks_arena *arena, const struct ks_kind *kind, struct ks_str json, struct ks_str proto)
{
	struct ks_str name = ks_str_from(ks_schema_text(s, kind->kind));
	struct ks_value object, again;
	struct ks_buf out;
	const char *message = "";
	bool good = true;

	if (ks_json_decode(arena, s, kind->type, 0, json.p, json.n, &object, NULL, &message))
		return complain("JSON is not taken", name, ks_str_from(message), json);
	ks_buf_init(&out);
	ks_proto_encode(s, &object, &out);
	if (out.failed || !ks_str_eq(ks_buf_str(&out), proto))
		good = complain("protobuf differs", name, ks_str_from("(bytes)"), json);
	out.len = 0;
	if (good && ks_proto_decode(arena, s, kind->type, 0, proto, &again, &message))
		good = complain("protobuf is not taken", name, ks_str_from(message), json);
	if (good) {
		set_text(arena, &again, "apiVersion", api_version(arena, kind));
		set_text(arena, &again, "kind", ks_schema_text(s, kind->kind));
		ks_json_encode(s, &again, &out);
		if (out.failed || !same_json(arena, ks_buf_str(&out), json))
			good = complain("JSON after protobuf differs", name, ks_buf_str(&out), json);
	}
	ks_buf_fini(&out);
	return good;
}

/* CBOR from the object that stands there as JSON, and the other way. */
static bool check_cbor(struct ks_arena *arena, const struct ks_kind *kind, struct ks_str json, struct ks_str cbor)
{
	struct ks_str name = ks_str_from(ks_schema_text(s, kind->kind));
	struct ks_value object, again;
	struct ks_buf out;
	const char *message = "";
	bool good = true;

	if (!cbor.n)
		return true;
	if (ks_json_decode(arena, s, kind->type, 0, json.p, json.n, &object, NULL, &message))
		return false; /* it was told */
	ks_buf_init(&out);
	encode_cbor(&object, &out);
	if (out.len && (out.failed || !ks_str_eq(ks_buf_str(&out), cbor)))
		good = complain("CBOR differs", name, ks_str_from("(bytes)"), json);
	if (good && out.len && ks_cbor_decode(arena, s, kind->type, 0, cbor, &again, NULL, &message))
		good = complain("CBOR is not taken", name, ks_str_from(message), json);
	else if (good && out.len) {
		out.len = 0;
		ks_json_encode(s, &again, &out);
		if (out.failed || !same_json(arena, ks_buf_str(&out), json))
			good = complain("JSON after CBOR differs", name, ks_buf_str(&out), json);
	}
	ks_buf_fini(&out);
	return good;
}

/* 1 good, 0 bad, -1 not ours. */
static int check_line(struct ks_str line)
{
	struct ks_str version = part(&line), kind_name = part(&line), json = part(&line), proto = part(&line), cbor = line, group = {0};
	const char *slash = memchr(version.p, '/', version.n);
	const struct ks_kind *kind;
	struct ks_arena arena;
	bool good;

	if (slash) {
		group = ks_str_of(version.p, (size_t)(slash - version.p));
		version = ks_str_of(slash + 1, version.n - group.n - 1);
	}
	kind = ks_schema_find_kind(s, group, version, kind_name);
	if (!kind || !ks_proto_has(s, kind->type))
		return -1;
	ks_arena_init(&arena, 0);
	good = check_bytes(&arena, kind, bytes_of(&arena, json), bytes_of(&arena, proto)) &&
		check_cbor(&arena, kind, bytes_of(&arena, json), bytes_of(&arena, cbor));
	ks_arena_fini(&arena);
	return good;
}

static int check_all(void)
{
	unsigned n = 0, bad = 0;
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, stdin)) > 0) {
		int good = check_line(ks_str_of(line, (size_t)len - (line[len - 1] == '\n')));

		n += good >= 0;
		bad += good == 0;
	}
	free(line);
	printf("%u objects of Go, %u differ\n", n, bad);
	return bad || !n;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "make")) {
		make_all((unsigned)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "check"))
		return check_all();
	fprintf(stderr, "usage: %s make N SEED | %s check\n", argv[0], argv[0]);
	return 2;
}
