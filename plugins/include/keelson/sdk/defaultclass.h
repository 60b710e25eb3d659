/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/sdk/defaultclass.h: the class that objects get which name none. Link with -lkeelson-sdk. */
#ifndef KEELSON_SDK_DEFAULTCLASS_H
#define KEELSON_SDK_DEFAULTCLASS_H

#include <keelson/sdk/admit.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_default_class {
	const char *group, *version, *resource;
	const char *annotations[2]; /* either is "true" on a class that is the default; NULL: none */
};

/* The name of the default class, in the operation's memory: the newest, the first by name of those that are as old. Empty: there is none.
 * KS_DONE or negative. */
int ks_default_class_find(const struct ks_admit *call, const struct ks_default_class *classes, struct ks_view *name_r);

#ifdef __cplusplus
}
#endif

#endif
