/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Rules for names, label keys and label values, with the words that clients know. */
#ifndef KS_REGISTRY_NAMES_H
#define KS_REGISTRY_NAMES_H

#include <stddef.h>

#include "core/util/str.h"

/* What is wrong with a text; constants. */
struct ks_name_problems {
	const char *items[6];
	size_t n; /* 0: it is fine */
};

void ks_name_check_subdomain(struct ks_str name, struct ks_name_problems *out);
void ks_name_check_label(struct ks_str name, struct ks_name_problems *out);
void ks_name_check_label_1035(struct ks_str name, struct ks_name_problems *out);
/* As a path segment; a prefix may be "." or "..". */
void ks_name_check_path(struct ks_str name, bool prefix, struct ks_name_problems *out);
/* "[prefix/]name". With `fold` capital letters of the prefix are taken as small ones (annotations). */
void ks_name_check_qualified(struct ks_str name, bool fold, struct ks_name_problems *out);
void ks_name_check_label_value(struct ks_str value, struct ks_name_problems *out);

#endif
