/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/user.h"

static struct ks_view *views(struct ks_arena *arena, const struct ks_str *from, size_t n)
{
	struct ks_view *to = ks_arena_zalloc(arena, n + 1, sizeof(*to));

	for (size_t i = 0; to && i < n; i++)
		to[i] = (struct ks_view){from[i].p, from[i].n};
	return to;
}

bool ks_user_view(struct ks_arena *arena, const struct ks_user_info *user, struct ks_user *out_r)
{
	struct ks_authn_extra *extra = NULL;

	*out_r = (struct ks_user){.size = sizeof(*out_r), .name = {user->name.p, user->name.n}, .uid = {user->uid.p, user->uid.n}};
	out_r->groups = views(arena, user->groups, user->n_groups);
	out_r->n_groups = user->n_groups;
	if (user->n_extra)
		extra = ks_arena_zalloc(arena, user->n_extra, sizeof(*extra));
	if (!out_r->groups || (user->n_extra && !extra))
		return false;
	for (size_t i = 0; i < user->n_extra; i++) {
		extra[i].key = (struct ks_view){user->extra[i].key.p, user->extra[i].key.n};
		extra[i].values = views(arena, user->extra[i].values, user->extra[i].n_values);
		extra[i].n_values = user->extra[i].n_values;
		if (!extra[i].values)
			return false;
	}
	out_r->extra = extra;
	out_r->n_extra = user->n_extra;
	return true;
}
