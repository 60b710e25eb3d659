/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Paths inside of volumes. */
#include "core/registry/validate/pod.h"

bool ks_check_no_backsteps(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	for (size_t i = 0; i + 2 <= value.n; i++) {
		if (value.p[i] != '.' || value.p[i + 1] != '.' || (i && value.p[i - 1] != '/') || (i + 2 < value.n && value.p[i + 2] != '/'))
			continue;
		ks_err_invalid_text(c, path, name, value, "must not contain '..'");
		return false;
	}
	return true;
}

bool ks_check_descending_path(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	bool relative = !value.n || value.p[0] != '/';

	if (!relative)
		ks_err_invalid_text(c, path, name, value, "must be a relative path");
	return ks_check_no_backsteps(c, path, name, value) && relative;
}

bool ks_check_local_path(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value)
{
	bool good = ks_check_descending_path(c, path, name, value);

	if (!ks_str_starts(value, KS_STR_LIT("..")) || ks_str_starts(value, KS_STR_LIT("../")) || value.n == 2)
		return good;
	ks_err_invalid_text(c, path, name, value, "must not start with '..'");
	return false;
}

void ks_check_file_mode(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *mode)
{
	int64_t n = ks_value_int_or(mode, 0);

	if (n < 0 || n > 0777)
		ks_err_invalid_int(c, path, name, n, "must be a number between 0 and 0777 (octal), both inclusive");
}
