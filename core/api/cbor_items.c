/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What all of the CBOR decoder has in common: complaints, tags, and what was read of open lists and maps. */
#include <stdlib.h>
#include <string.h>

#include "core/api/cbor_decode.h"
#include "core/api/quote.h"

enum { FEW_MEMBERS = 16 }; /* so many keys are compared with each other; more are sorted at the end */

/* -- complaints ------------------------------------------------------------------------------------------------ */

bool ks_cbor_out_of_memory(struct ks_cbor_decoder *d)
{
	return ks_cbor_fail(&d->r, NULL);
}

bool ks_cbor_save(struct ks_cbor_decoder *d, const char *message)
{
	const char **place = d->is_late ? &d->late : &d->saved;

	d->complaints++;
	if (message && !*place && d->prefix)
		message = ks_arena_printf(d->arena, "%s%s", d->prefix, message);
	if (!message)
		return ks_cbor_out_of_memory(d);
	if (!*place)
		*place = message;
	return true;
}

bool ks_cbor_save_mismatch(struct ks_cbor_decoder *d, uint8_t major, const char *go_type, const char *detail)
{
	const char *open = detail ? " (" : "", *close = detail ? ")" : "";

	if (d->saved && !d->is_late) {
		d->complaints++;
		return true;
	}
	if (!go_type || !d->root_field || d->prefix)
		return ks_cbor_save(d,
			go_type ? ks_arena_printf(d->arena, "cbor: cannot unmarshal %s into Go value of type %s%s%s%s", ks_cbor_major_name(major),
					  go_type, open, detail ? detail : "", close)
				: NULL);
	return ks_cbor_save(d,
		ks_arena_printf(d->arena, "cbor: cannot unmarshal %s into Go struct field %s.%s of type %s%s%s%s", ks_cbor_major_name(major),
			d->root_type, d->root_field, go_type, open, detail ? detail : "", close));
}

bool ks_cbor_mismatch(struct ks_cbor_decoder *d, const struct ks_cbor_head *head, const char *go_type, const char *detail)
{
	return ks_cbor_save_mismatch(d, head->major, go_type, detail) && ks_cbor_skip_rest(&d->r, head);
}

struct ks_cbor_repeats ks_cbor_no_repeats(const struct ks_cbor_decoder *d)
{
	return (struct ks_cbor_repeats){.saved = d->is_late ? d->late : d->saved};
}

bool ks_cbor_duplicate(struct ks_cbor_decoder *d, struct ks_cbor_repeats *repeats, const struct ks_value *key, struct ks_str text, uint64_t index)
{
	const char *quoted;

	if (repeats->told)
		return true;
	quoted = key && key->kind == KS_INT ? ks_arena_printf(d->arena, "%lld", (long long)key->integer) : ks_quote(d->arena, text);
	repeats->told = true;
	*(d->is_late ? &d->late : &d->saved) = repeats->saved;
	return ks_cbor_save(d,
		quoted ? ks_arena_printf(d->arena, "cbor: found duplicate map key %s at map element index %llu", quoted, (unsigned long long)index)
		       : NULL);
}

/* -- tags ------------------------------------------------------------------------------------------------------ */

/* The first byte of what is in a tag must fit its number. NULL: it does. */
static const char *bad_content(const struct ks_cbor_decoder *d, uint64_t tag, uint8_t first)
{
	uint8_t major = first >> 5;
	const char *wanted = NULL;

	if (tag == KS_CBOR_TAG_TIME && major != KS_CBOR_TEXT)
		wanted = "text string";
	else if (tag == KS_CBOR_TAG_EPOCH && major != KS_CBOR_UINT && major != KS_CBOR_NEGATIVE && (first < 0xf9 || first > 0xfb))
		wanted = "integer or floating-point number";
	return wanted ? ks_arena_printf(d->arena, "cbor: tag number %llu must be followed by %s, got %s", (unsigned long long)tag, wanted,
				ks_cbor_major_name(major))
		      : NULL;
}

static bool is_later(uint64_t tag)
{
	return tag >= KS_CBOR_TAG_BASE64URL && tag <= KS_CBOR_TAG_BASE16;
}

/* One tag: false in `ok` when its item was passed over with a complaint. */
static bool open_tag(struct ks_cbor_decoder *d, struct ks_cbor_item *item, bool *ok)
{
	struct ks_cbor_head *head = &item->head;
	const char *bad;

	item->tag = (int64_t)head->value;
	if (is_later(head->value))
		d->later = (uint8_t)head->value;
	if (head->value <= KS_CBOR_TAG_NEGATIVE_BIGNUM) {
		if (head->value >= KS_CBOR_TAG_BIGNUM || d->r.p == d->r.end)
			return ks_cbor_skip_rest(&d->r, head); /* it is refused there */
		bad = bad_content(d, head->value, *d->r.p);
		if (bad) {
			*ok = false;
			return ks_cbor_save(d, bad) && ks_cbor_skip_rest(&d->r, head);
		}
	}
	if (!ks_cbor_next(&d->r, head))
		return false;
	if (head->major == KS_CBOR_TAG && ++d->r.depth > KS_CBOR_MAX_DEPTH)
		return ks_cbor_fail(&d->r, ks_arena_printf(d->arena, "cbor: exceeded max nested level %d", KS_CBOR_MAX_DEPTH));
	return true;
}

bool ks_cbor_item(struct ks_cbor_decoder *d, struct ks_cbor_item *item, bool *ok_r)
{
	unsigned depth = d->r.depth;

	*ok_r = true;
	item->tag = -1;
	if (!ks_cbor_next(&d->r, &item->head))
		return false;
	while (*ok_r && item->head.major == KS_CBOR_TAG)
		if (!open_tag(d, item, ok_r))
			return false;
	d->r.depth = depth;
	return !*ok_r || !item->head.is_break || ks_cbor_skip_rest(&d->r, &item->head);
}

bool ks_cbor_check_tags(struct ks_cbor_decoder *d, bool *ok_r)
{
	struct ks_cbor_reader ahead = d->r;
	struct ks_cbor_head head;
	const char *bad = NULL;

	while (!bad && ahead.p < ahead.end && *ahead.p >> 5 == KS_CBOR_TAG) {
		if (!ks_cbor_next(&ahead, &head) || ahead.p == ahead.end)
			break; /* whoever reads it sees the same */
		bad = bad_content(d, head.value, *ahead.p);
	}
	*ok_r = !bad;
	return !bad || (ks_cbor_save(d, bad) && ks_cbor_skip(&d->r));
}

/* -- cells: what was read of open lists and maps --------------------------------------------------------------- */

static bool grow_cells(struct ks_cbor_decoder *d)
{
	size_t cap = d->cap_cells * 2;
	bool first = d->cells == d->first_cells;
	union ks_cbor_cell *cells = realloc(first ? NULL : d->cells, cap * sizeof(*cells));

	if (!cells)
		return ks_cbor_out_of_memory(d);
	if (first)
		memcpy(cells, d->first_cells, sizeof(d->first_cells));
	d->cells = cells;
	d->cap_cells = cap;
	return true;
}

bool ks_cbor_push(struct ks_cbor_decoder *d, const struct ks_value *value)
{
	if (d->n_cells == d->cap_cells && !grow_cells(d))
		return false;
	d->cells[d->n_cells++].value = *value;
	return true;
}

bool ks_cbor_push_member(struct ks_cbor_decoder *d, struct ks_str key, const struct ks_value *value)
{
	if (d->n_cells == d->cap_cells && !grow_cells(d))
		return false;
	d->cells[d->n_cells++].key = key;
	return ks_cbor_push(d, value);
}

bool ks_cbor_pop_items(struct ks_cbor_decoder *d, size_t from, uint16_t type, struct ks_value *out)
{
	size_t n = d->n_cells - from;

	*out = (struct ks_value){.kind = KS_LIST, .type = type, .n = (uint32_t)n};
	if (n) {
		out->items = ks_arena_alloc(d->arena, n * sizeof(*out->items));
		if (!out->items)
			return ks_cbor_out_of_memory(d);
		memcpy(out->items, &d->cells[from], n * sizeof(*out->items));
	}
	d->n_cells = from;
	return true;
}

bool ks_cbor_pop_members(struct ks_cbor_decoder *d, size_t from, uint16_t type, struct ks_value *out)
{
	size_t n = (d->n_cells - from) / 2;

	*out = (struct ks_value){.kind = KS_MAP, .type = type, .n = (uint32_t)n};
	if (n) {
		out->members = ks_arena_alloc(d->arena, n * sizeof(*out->members));
		if (!out->members)
			return ks_cbor_out_of_memory(d);
		for (size_t i = 0; i < n; i++)
			out->members[i] = (struct ks_member){d->cells[from + i * 2].key, d->cells[from + i * 2 + 1].value};
	}
	d->n_cells = from;
	return true;
}

/* -- keys that repeat ------------------------------------------------------------------------------------------ */

static bool same_key(const union ks_cbor_cell *a, const union ks_cbor_cell *b)
{
	return ks_str_eq(a[0].key, b[0].key);
}

/* Was the last one of the pairs since `from` there before? Of few it is told at once. */
bool ks_cbor_is_repeated(const struct ks_cbor_decoder *d, size_t from)
{
	size_t last = d->n_cells - 2;

	if (last - from > FEW_MEMBERS * 2)
		return false; /* check_many finds it */
	for (size_t i = from; i < last; i += 2)
		if (same_key(&d->cells[i], &d->cells[last]))
			return true;
	return false;
}

static int by_key_then_place(const void *a, const void *b, void *cells_of)
{
	const union ks_cbor_cell *cells = cells_of;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = ks_str_cmp(cells[x * 2].key, cells[y * 2].key);

	return c ? c : (x > y) - (x < y);
}

/* Of many pairs: the first that repeats a key. `at_r` is its place among those since `from`; UINT32_MAX: none does. */
bool ks_cbor_check_many(struct ks_cbor_decoder *d, size_t from, uint32_t *at_r)
{
	size_t n = (d->n_cells - from) / 2;
	uint32_t *order;

	*at_r = UINT32_MAX;
	if (n <= FEW_MEMBERS)
		return true;
	order = malloc(n * sizeof(*order));
	if (!order)
		return ks_cbor_out_of_memory(d);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_key_then_place, &d->cells[from]);
	for (size_t i = 1; i < n; i++)
		if (same_key(&d->cells[from + order[i - 1] * 2], &d->cells[from + order[i] * 2]) && order[i] < *at_r)
			*at_r = order[i];
	free(order);
	return true;
}
