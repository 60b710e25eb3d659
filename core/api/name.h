/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms that names, labels and keys may have, and what is said of one that hasn't.
 * All messages are constants, worded as upstream words them. Any thread.
 */
#ifndef KS_API_NAME_H
#define KS_API_NAME_H

#include <stdbool.h>

#include "core/util/arena.h"
#include "core/util/str.h"

struct ks_name_errors {
	const char *text[5];
	unsigned n;
};

enum ks_name_form {
	KS_NAME_DNS1123_LABEL,     /* my-name: namespaces, container names */
	KS_NAME_DNS1123_SUBDOMAIN, /* example.com: most objects */
	KS_NAME_DNS1035_LABEL,     /* a label that starts with a letter: services */
	KS_NAME_LABEL_KEY,         /* [example.com/]MyName, also called a qualified name */
	KS_NAME_LABEL_VALUE,
	KS_NAME_PATH_SEGMENT,      /* roles and others: no slash, no percent sign */
	KS_NAME_CONFIG_KEY,        /* keys of config maps and secrets */
	KS_NAME_PORT,              /* IANA service names */
	KS_NAME_C_IDENTIFIER,
	KS_NAME_ENVIRONMENT,       /* relaxed: printable ASCII without '=' */
	KS_NAME_HTTP_HEADER,
	KS_NAME_WILDCARD_SUBDOMAIN, /* *.example.com */
	KS_NAME_PERCENT,           /* 25% */
	KS_NAME_SEARCH_DOMAIN,     /* a subdomain with underscores: search paths of resolvers */
};

/* True when `value` has the form; else the messages, in upstream's order. `errors_r` may be NULL. */
bool ks_name_check(enum ks_name_form form, struct ks_str value, struct ks_name_errors *errors_r);
/* The same for metadata.generateName: something will be appended, so a dash may end it. */
bool ks_name_check_prefix(enum ks_name_form form, struct ks_str value, struct ks_name_errors *errors_r);
/* Messages joined, in arena memory; NULL when out of memory. */
const char *ks_name_errors_join(struct ks_arena *arena, const struct ks_name_errors *errors, const char *separator) __attribute__((warn_unused_result));

#endif
