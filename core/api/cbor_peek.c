/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* apiVersion and kind of an object that is not decoded yet. */
#include <errno.h>

#include "core/api/cbor_decode.h"

struct peek {
	struct ks_cbor_decoder d;
	struct ks_str api_version, kind;
	bool has_api_version, has_kind;
	struct ks_cbor_open_struct all; /* of which two fields are looked at */
};

static bool peek_text(struct peek *p, struct ks_str *place, const char *name)
{
	struct ks_cbor_decoder *d = &p->d;
	struct ks_cbor_item item;
	bool ok, valid;

	d->root_type = "v1.TypeMeta";
	d->root_field = name;
	if (!ks_cbor_item(d, &item, &ok) || !ok)
		return !d->r.failed;
	if (item.head.major == KS_CBOR_BYTES || item.head.major == KS_CBOR_TEXT)
		ok = ks_cbor_text(d, &item.head, place, &valid);
	else
		ok = ks_cbor_refuse(d, &item.head, "string", NULL);
	d->root_field = NULL;
	d->later = 0;
	return ok;
}

static bool peek_pair(struct peek *p)
{
	struct ks_cbor_decoder *d = &p->d;
	struct ks_value kept = {.kind = KS_STRING};
	struct ks_cbor_open_struct *o = &p->all;
	struct ks_cbor_head head;
	struct ks_str key;
	bool valid, *seen;

	if (!ks_cbor_next(&d->r, &head))
		return false;
	if (head.major == KS_CBOR_UINT || head.major == KS_CBOR_NEGATIVE)
		return ks_cbor_number_key(d, o, &head);
	if (head.major != KS_CBOR_BYTES && head.major != KS_CBOR_TEXT)
		return ks_cbor_other_key(d, &head);
	if (!ks_cbor_string(&d->r, &head, &key, &valid))
		return false;
	if (!valid)
		return ks_cbor_save(d, "cbor: invalid UTF-8 string") && ks_cbor_skip(&d->r);
	seen = ks_str_is(key, "kind") ? &p->has_kind : ks_str_is(key, "apiVersion") ? &p->has_api_version : NULL;
	if (!seen)
		return ks_cbor_unknown(d, o, key, &kept);
	if (*seen)
		return ks_cbor_duplicate(d, &o->repeats, NULL, key, o->index) && ks_cbor_skip(&d->r);
	*seen = true;
	return peek_text(p, seen == &p->has_kind ? &p->kind : &p->api_version, seen == &p->has_kind ? "kind" : "apiVersion");
}

static bool peek_map(struct peek *p, const struct ks_cbor_head *head)
{
	uint32_t at;
	bool more;

	if (!ks_cbor_enter(&p->d.r, head) || !ks_cbor_more(&p->d.r, head, 0, &more))
		return false;
	for (; more; p->all.index++)
		if (!peek_pair(p) || !ks_cbor_more(&p->d.r, head, p->all.index + 1, &more))
			return false;
	p->d.r.depth--;
	if (!ks_cbor_check_many(&p->d, 0, &at))
		return false;
	return at == UINT32_MAX || ks_cbor_duplicate(&p->d, &p->all.repeats, &p->d.cells[at * 2 + 1].value, p->d.cells[at * 2].key, at);
}

static bool peek_root(struct peek *p)
{
	struct ks_cbor_item item;
	const char *detail = NULL;
	bool ok;

	if (!ks_cbor_item(&p->d, &item, &ok) || !ok)
		return !p->d.r.failed;
	if (item.head.major == KS_CBOR_MAP)
		return peek_map(p, &item.head);
	if (item.head.major == KS_CBOR_LIST)
		detail = "cannot decode CBOR array to struct without toarray option";
	return ks_cbor_refuse(&p->d, &item.head, "v1.TypeMeta", detail);
}

int ks_cbor_peek_kind(struct ks_arena *arena, struct ks_str data, struct ks_str *api_version_r, struct ks_str *kind_r, const char **message_r)
{
	struct peek p = {0};
	int result;

	if (data.n == 0) {
		*message_r = "EOF";
		return -EINVAL;
	}
	ks_cbor_begin(&p.d, arena, NULL, data);
	result = ks_cbor_finish(&p.d, peek_root(&p), message_r);
	if (result == 0) {
		*api_version_r = p.api_version;
		*kind_r = p.kind;
	}
	return result;
}
