/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in schema tables. */
#include "core/api/schema.h"

#include <string.h>
#include <strings.h>

#define FNV_START 2166136261u
#define FNV_PRIME 16777619u

static uint32_t hash_more(uint32_t h, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * FNV_PRIME;
	return h;
}

uint32_t ks_schema_hash(const char *name, size_t n)
{
	return hash_more(FNV_START, name, n);
}

bool ks_schema_hash_fill(uint16_t *table, uint32_t size, const uint32_t *hashes, uint32_t n)
{
	if (size == 0 || (size & (size - 1)) != 0 || n > size / 2 || n >= KS_NO_SLOT)
		return false;
	for (uint32_t i = 0; i < size; i++)
		table[i] = KS_NO_SLOT;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = hashes[i] & (size - 1);

		while (table[at] != KS_NO_SLOT)
			at = (at + 1) & (size - 1);
		table[at] = (uint16_t)i;
	}
	return true;
}

uint16_t ks_schema_slot(const struct ks_schema *s, uint16_t type, const char *name, size_t n)
{
	const struct ks_type *t = &s->types[type];
	const uint16_t *table = s->slots + t->name_table;
	uint32_t mask = t->name_table_size - 1u;
	uint32_t at;

	if (t->name_table_size == 0)
		return KS_NO_SLOT;
	at = ks_schema_hash(name, n) & mask;
	while (table[at] != KS_NO_SLOT) {
		const struct ks_field *f = &s->fields[t->first_field + table[at]];

		if (f->name_n == n && memcmp(s->strings + f->name, name, n) == 0)
			return table[at];
		at = (at + 1) & mask;
	}
	return KS_NO_SLOT;
}

uint16_t ks_schema_slot_fold(const struct ks_schema *s, uint16_t type, const char *name, size_t n)
{
	const struct ks_type *t = &s->types[type];
	uint16_t slot = ks_schema_slot(s, type, name, n);

	if (slot != KS_NO_SLOT)
		return slot;
	for (uint16_t i = 0; i < t->n_fields; i++) {
		const struct ks_field *f = &s->fields[t->first_field + i];

		if (f->name_n == n && strncasecmp(s->strings + f->name, name, n) == 0)
			return i;
	}
	return KS_NO_SLOT;
}

static bool text_is(const struct ks_schema *s, uint32_t offset, struct ks_str text)
{
	const char *own = s->strings + offset;

	return strlen(own) == text.n && (text.n == 0 || memcmp(own, text.p, text.n) == 0);
}

static bool resource_is(
	const struct ks_schema *s, uint16_t index, struct ks_str group, struct ks_str version, struct ks_str resource)
{
	const struct ks_resource *r = &s->resources[index];

	return text_is(s, r->resource, resource) && text_is(s, r->group, group) && text_is(s, r->version, version);
}

static uint16_t scan_resources(
	const struct ks_schema *s, struct ks_str group, struct ks_str version, struct ks_str resource)
{
	for (uint32_t i = 0; i < s->n_resources; i++) {
		if (resource_is(s, (uint16_t)i, group, version, resource))
			return (uint16_t)i;
	}
	return KS_NO_RESOURCE;
}

uint16_t ks_schema_find_resource(
	const struct ks_schema *s, struct ks_str group, struct ks_str version, struct ks_str resource)
{
	uint32_t mask = s->resource_table_size - 1u;
	uint32_t h = FNV_START;

	if (s->resource_table_size == 0)
		return scan_resources(s, group, version, resource);
	h = hash_more(h, group.p, group.n);
	h = hash_more(h, "/", 1);
	h = hash_more(h, version.p, version.n);
	h = hash_more(h, "/", 1);
	h = hash_more(h, resource.p, resource.n);
	for (uint32_t at = h & mask; s->resource_table[at] != KS_NO_SLOT; at = (at + 1) & mask) {
		if (resource_is(s, s->resource_table[at], group, version, resource))
			return s->resource_table[at];
	}
	return KS_NO_RESOURCE;
}

static int compare_text(const struct ks_schema *s, uint32_t offset, struct ks_str text)
{
	return ks_str_cmp(ks_str_from(s->strings + offset), text);
}

const struct ks_kind *ks_schema_find_kind(
	const struct ks_schema *s, struct ks_str group, struct ks_str version, struct ks_str kind)
{
	uint32_t low = 0, high = s->n_kinds;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct ks_kind *k = &s->kinds[middle];
		int c = compare_text(s, k->kind, kind);

		if (c == 0)
			c = compare_text(s, k->group, group);
		if (c == 0)
			c = compare_text(s, k->version, version);
		if (c == 0)
			return k;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

uint16_t ks_schema_find_type(const struct ks_schema *s, const char *name)
{
	for (uint32_t i = 1; i < s->n_types; i++) {
		if (strcmp(s->strings + s->types[i].name, name) == 0)
			return (uint16_t)i;
	}
	return 0;
}

/* Row `i` of a table of descriptions, which may not be there. */
static const char *described(const struct ks_descriptions *d, const uint32_t *table, size_t i)
{
	return table ? d->texts + table[i] : "";
}

const char *ks_schema_type_description(const struct ks_schema *s, uint16_t type)
{
	return s->descriptions ? described(s->descriptions, s->descriptions->types, type) : "";
}

const char *ks_schema_field_description(const struct ks_schema *s, const struct ks_field *f)
{
	return s->descriptions ? described(s->descriptions, s->descriptions->fields, (size_t)(f - s->fields)) : "";
}

const char *ks_schema_column_description(const struct ks_schema *s, const struct ks_column *c)
{
	if (c->description)
		return ks_schema_text(s, c->description);
	return s->descriptions ? described(s->descriptions, s->descriptions->columns, (size_t)(c - s->columns)) : "";
}
