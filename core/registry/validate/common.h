/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the validators of several kinds share, beyond core/api/validate.h. Checks are true when all is well. */
#ifndef KS_REGISTRY_VALIDATE_COMMON_H
#define KS_REGISTRY_VALIDATE_COMMON_H

#include "core/api/validate.h"
#include "core/registry/registry.h"

static inline struct ks_check ks_check_begin(struct ks_registry_context *ctx, struct ks_status *status)
{
	return (struct ks_check){.schema = ctx->schema, .arena = ctx->arena, .status = status, .user = ctx};
}

/* A STRUCT field of `owner`; one with nothing in it when it is absent, so that its type is known in any case. */
struct ks_value ks_struct_in(const struct ks_check *c, const struct ks_value *owner, const char *field);

/* Invalid, showing the field of a STRUCT as upstream's internal type; what is absent is null or the zero value. */
void ks_err_invalid_slot(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *owner, const char *field,
	const char *detail);
/* The same of the struct itself. */
void ks_err_invalid_struct(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *v, const char *detail);
void ks_err_not_supported_slot(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *owner, const char *field,
	const char *const *supported);
/* "field is immutable" when the two differ in `field`; shows that of `owner`. */
bool ks_check_slot_immutable(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *owner,
	const struct ks_value *old, const char *field);
/* Forbidden with `intro` and a diff of two JSON texts (see gojson.h) behind it. */
void ks_err_forbidden_diff(struct ks_check *c, const struct ks_path *path, const char *name, const char *intro, const struct ks_buf *before,
	const struct ks_buf *after);

/* Required when empty, else of the form. */
bool ks_check_required_name(struct ks_check *c, const struct ks_path *path, const char *name, enum ks_name_form form, struct ks_str value);
/* One of the texts, when there is one. */
bool ks_check_one_of(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const char *const *set);
/* "example.com/controller" */
void ks_check_domain_path(struct ks_check *c, const struct ks_path *path, struct ks_str text);
bool ks_check_csi_driver_name(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
/* A NodeSelector. */
bool ks_check_node_selector(struct ks_check *c, const struct ks_path *path, const struct ks_value *selector);
/* Addresses and ranges; legacy forms are taken when `old` (may be NULL) has the same text anywhere in it. */
bool ks_check_new_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_value *old);
bool ks_check_new_canonical_ip(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_value *old);
bool ks_check_new_cidr(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value, const struct ks_value *old);
/* Neither unspecified nor loopback nor link-local. */
bool ks_check_ip_not_special(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
/* No conditions may repeat, each has a proper type, status, reason and time (metav1.Condition). */
void ks_check_conditions(struct ks_check *c, const struct ks_path *path, const struct ks_value *conditions);

/* The bytes that a base64 text stands for. False when it is none, or when out of memory. */
bool ks_bytes_of(struct ks_str text, struct ks_buf *out);

/* Is there an amount in the map? "0" when there is none. */
bool ks_quantity_in(const struct ks_check *c, const struct ks_value *map, struct ks_str key, struct ks_str *text_r);
/* Amounts: an absent text is zero. */
int ks_quantity_text_cmp(struct ks_str a, struct ks_str b);

static inline bool ks_str_has(struct ks_str text, const char *part)
{
	return text.n && memmem(text.p, text.n, part, strlen(part)) != NULL;
}
static inline bool ks_str_starts_with(struct ks_str text, const char *prefix)
{
	return ks_str_starts(text, ks_str_from(prefix));
}
static inline bool ks_str_ends_with(struct ks_str text, const char *suffix)
{
	size_t n = strlen(suffix);

	return text.n >= n && !memcmp(text.p + text.n - n, suffix, n);
}
/* Is a LIST of texts one that holds `text`? */
static inline bool ks_list_has(const struct ks_value *list, struct ks_str text)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++)
		if (ks_str_eq(ks_value_str(&list->items[i]), text))
			return true;
	return false;
}

#endif
