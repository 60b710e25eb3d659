/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "admission/lua/regex.h"

#include <cstdio>
#include <new>
#include <re2/re2.h>

struct ks_lua_regex {
	RE2 re;
	ks_lua_regex(const re2::StringPiece &pattern, const RE2::Options &options) : re(pattern, options) {}
};

extern "C" struct ks_lua_regex *ks_lua_regex_new(const char *pattern, size_t n, char *why, size_t why_size)
{
	ks_lua_regex *regex = nullptr;

	try {
		RE2::Options options;

		options.set_log_errors(false);
		options.set_max_mem(1 << 20);
		regex = new ks_lua_regex(re2::StringPiece(pattern, n), options);
		if (regex->re.ok())
			return regex;
		std::snprintf(why, why_size, "%s", regex->re.error().c_str());
	} catch (const std::bad_alloc &) {
		std::snprintf(why, why_size, "out of memory");
	}
	delete regex;
	return nullptr;
}

extern "C" void ks_lua_regex_free(struct ks_lua_regex *regex)
{
	delete regex;
}

extern "C" int ks_lua_regex_matches(const struct ks_lua_regex *regex, const char *text, size_t n)
{
	try {
		return RE2::PartialMatch(re2::StringPiece(text, n), regex->re);
	} catch (const std::bad_alloc &) {
		return 0;
	}
}
