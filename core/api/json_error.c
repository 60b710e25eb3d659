/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the decoder says, in the words of Go's encoding/json: Go's names of types, and paths with embedded structs in them. */
#include <errno.h>
#include <string.h>

#include "core/api/json_decode.h"
#include "core/api/quote.h"

/* ---- names of types ---- */

/* "io.k8s.api.core.v1.Pod" -> "v1.Pod" */
static const char *package_and_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	if (!dot)
		return name;
	while (dot > name && dot[-1] != '.')
		dot--;
	return dot;
}

static const char *short_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static const char *scalar_name(uint8_t class_)
{
	static const char *const names[] = {
		[KS_TYPE_BOOL] = "bool",
		[KS_TYPE_INT32] = "int32",
		[KS_TYPE_INT64] = "int64",
		[KS_TYPE_FLOAT64] = "float64",
		[KS_TYPE_STRING] = "string",
		[KS_TYPE_BYTES] = "[]uint8",
		[KS_TYPE_TIME] = "v1.Time",
		[KS_TYPE_MICRO_TIME] = "v1.MicroTime",
		[KS_TYPE_DURATION] = "v1.Duration",
		[KS_TYPE_QUANTITY] = "resource.Quantity",
		[KS_TYPE_INT_OR_STRING] = "intstr.IntOrString",
		[KS_TYPE_RAW] = "runtime.RawExtension",
		[KS_TYPE_JSON] = "v1.JSON",
		[KS_TYPE_FIELDS_V1] = "v1.FieldsV1",
	};

	return class_ < sizeof(names) / sizeof(names[0]) && names[class_] ? names[class_] : "interface {}";
}

const char *ks_json_go_type(struct ks_arena *arena, const struct ks_schema *s, uint16_t type, unsigned field_flags)
{
	const struct ks_type *t = &s->types[type];
	const char *name = type ? ks_schema_text(s, t->name) : "", *star = field_flags & KS_FIELD_ELEMENT_POINTER ? "*" : "", *element, *key;

	if (*name)
		return package_and_name(name);
	if (!type || (t->class_ != KS_TYPE_LIST && t->class_ != KS_TYPE_MAP))
		return scalar_name(type ? t->class_ : KS_TYPE_NONE);
	element = ks_json_go_type(arena, s, t->element, 0);
	if (!element)
		return NULL;
	if (t->class_ == KS_TYPE_LIST)
		return ks_arena_printf(arena, "[]%s%s", star, element);
	key = t->key ? ks_json_go_type(arena, s, t->key, 0) : "string";
	return key ? ks_arena_printf(arena, "map[%s]%s%s", key, star, element) : NULL;
}

/* ---- paths ---- */

static void add_go_path(struct ks_buf *out, const struct ks_schema *s, const struct ks_json_frame *frame)
{
	const struct ks_field *field;

	if (!frame)
		return;
	add_go_path(out, s, frame->up);
	if (frame->kind != KS_FRAME_FIELD)
		return;
	field = ks_schema_field(s, frame->type, frame->slot);
	if (out->len && out->data[out->len - 1] != ' ')
		ks_buf_add_char(out, '.');
	if (field->embedded) {
		ks_buf_add_str(out, ks_schema_text(s, s->lists[field->embedded]));
		ks_buf_add_char(out, '.');
	}
	ks_buf_add_str(out, ks_schema_text(s, field->name));
}

static void add_strict_path(struct ks_buf *out, const struct ks_schema *s, const struct ks_json_frame *frame)
{
	struct ks_str part;

	if (!frame)
		return;
	add_strict_path(out, s, frame->up);
	if (frame->kind == KS_FRAME_ITEM) {
		ks_buf_printf(out, "[%u]", frame->index);
		return;
	}
	part = frame->kind == KS_FRAME_KEY ? frame->key : ks_str_from(ks_schema_text(s, ks_schema_field(s, frame->type, frame->slot)->name));
	if (out->len)
		ks_buf_add_char(out, '.');
	ks_buf_add(out, part.p, part.n);
}

/* Hands the text over to the arena; NULL when out of memory. */
static const char *finish(struct ks_arena *arena, struct ks_buf *buf)
{
	const char *text = buf->failed ? NULL : ks_arena_dup(arena, buf->data, buf->len);

	ks_buf_fini(buf);
	return text;
}

/* ---- complaints ---- */

bool ks_json_save(struct ks_json_decoder *d, const char *message)
{
	if (!message)
		return ks_json_out_of_memory(&d->scan);
	if (!d->saved)
		d->saved = message;
	return true;
}

bool ks_json_stop(struct ks_json_decoder *d, const char *message)
{
	if (!message)
		return ks_json_out_of_memory(&d->scan);
	d->saved = message;
	d->stopped = true;
	d->scan.rc = -EINVAL;
	return false;
}

static const char *mismatch_text(struct ks_json_decoder *d, const char *what, struct ks_str number, const char *go_type)
{
	const struct ks_json_frame *field = d->frame;
	struct ks_buf buf, path;

	ks_buf_init(&buf);
	ks_buf_init(&path);
	while (field && field->kind != KS_FRAME_FIELD)
		field = field->up;
	ks_buf_printf(&buf, "json: cannot unmarshal %s%s%.*s into Go ", what, number.n ? " " : "", (int)number.n, number.n ? number.p : "");
	if (field) {
		add_go_path(&path, d->s, d->frame);
		ks_buf_printf(&buf, "struct field %s.%.*s of type %s", short_name(ks_schema_text(d->s, d->s->types[field->type].name)), (int)path.len,
			path.data ? path.data : "", go_type);
		buf.failed |= path.failed;
	} else {
		ks_buf_printf(&buf, "value of type %s", go_type);
	}
	ks_buf_fini(&path);
	return finish(d->scan.arena, &buf);
}

bool ks_json_mismatch(struct ks_json_decoder *d, const char *what, struct ks_str number, const char *go_type)
{
	if (!go_type)
		return ks_json_out_of_memory(&d->scan);
	return d->saved ? true : ks_json_save(d, mismatch_text(d, what, number, go_type));
}

bool ks_json_stop_mismatch(struct ks_json_decoder *d, const char *what, struct ks_str number, const char *go_type)
{
	return ks_json_stop(d, mismatch_text(d, what, number, go_type));
}

static bool seen_before(const struct ks_strict_errors *strict, struct ks_str text)
{
	for (uint32_t i = 0; i < strict->n; i++)
		if (ks_str_eq(strict->items[i], text))
			return true;
	return false;
}

static bool add_strict(struct ks_arena *arena, struct ks_strict_errors *strict, struct ks_str text)
{
	struct ks_str *items;
	uint32_t cap;

	if (strict->n == strict->cap) {
		cap = strict->cap ? strict->cap * 2 : 8;
		items = ks_arena_alloc(arena, cap * sizeof(*items));
		if (!items)
			return false;
		if (strict->n)
			memcpy(items, strict->items, strict->n * sizeof(*items));
		strict->items = items;
		strict->cap = cap;
	}
	strict->items[strict->n++] = text;
	return true;
}

bool ks_json_strict(struct ks_json_decoder *d, const char *what, struct ks_str name)
{
	struct ks_buf buf, path;
	const char *text;

	if (!d->strict || d->quiet)
		return true;
	if (d->strict->n >= KS_JSON_MAX_STRICT) {
		d->strict->dropped = true;
		return true;
	}
	ks_buf_init(&buf);
	ks_buf_init(&path);
	add_strict_path(&path, d->s, d->frame);
	if (path.len)
		ks_buf_add_char(&path, '.');
	ks_buf_add(&path, name.p, name.n);
	ks_buf_printf(&buf, "%s field ", what);
	ks_quote_to(&buf, ks_buf_str(&path));
	buf.failed |= path.failed;
	ks_buf_fini(&path);
	text = finish(d->scan.arena, &buf);
	if (!text)
		return ks_json_out_of_memory(&d->scan);
	return seen_before(d->strict, ks_str_from(text)) || add_strict(d->scan.arena, d->strict, ks_str_from(text)) ||
		ks_json_out_of_memory(&d->scan);
}
