/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions in linear time: RE2 behind a C interface. */
#ifndef KS_LUA_REGEX_H
#define KS_LUA_REGEX_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_lua_regex;

/* NULL when out of memory or malformed; `why` then has RE2's words. */
struct ks_lua_regex *ks_lua_regex_new(const char *pattern, size_t n, char *why, size_t why_size);
void ks_lua_regex_free(struct ks_lua_regex *regex);
/* 1: the pattern is found somewhere in the text. */
int ks_lua_regex_matches(const struct ks_lua_regex *regex, const char *text, size_t n);

#ifdef __cplusplus
}
#endif

#endif
