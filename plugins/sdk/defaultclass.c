/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <keelson/sdk/defaultclass.h>

#include <string.h>

struct search {
	const struct ks_admit *call;
	const struct ks_default_class *classes;
	struct ks_view name, created; /* the best so far */
	int failed;
};

static int compare(struct ks_view a, struct ks_view b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int is_default(const struct search *s, struct ks_val metadata)
{
	struct ks_val annotations = ks_admit_member(s->call, metadata, "annotations");

	for (size_t i = 0; i < 2; i++)
		if (s->classes->annotations[i] && ks_view_is(ks_admit_text(s->call, annotations, s->classes->annotations[i]), "true"))
			return 1;
	return 0;
}

/* Times in RFC 3339 without fractions are in the order of their texts; names come in order, so the first one of a second stays. */
static int look(void *arg, struct ks_val object)
{
	struct search *s = arg;
	struct ks_val metadata = ks_admit_member(s->call, object, "metadata");
	struct ks_view created = ks_admit_text(s->call, metadata, "creationTimestamp");

	if (!is_default(s, metadata) || (s->name.n && compare(created, s->created) <= 0))
		return 0;
	s->name = ks_admit_printf(s->call, "%.*s", KS_VIEW_ARGS(ks_admit_text(s->call, metadata, "name")));
	s->created = ks_admit_printf(s->call, "%.*s", KS_VIEW_ARGS(created));
	s->failed = !s->name.p || !s->created.p;
	return s->failed;
}

int ks_default_class_find(const struct ks_admit *call, const struct ks_default_class *classes, struct ks_view *name_r)
{
	struct search search = {.call = call, .classes = classes};
	int rc = call->host->cached_list(call->op, ks_view_lit(classes->group), ks_view_lit(classes->version), ks_view_lit(classes->resource),
		(struct ks_view){0}, look, &search);

	if (rc == KS_DONE && search.failed)
		rc = KS_ERR_NOMEM;
	if (rc == KS_DONE)
		*name_r = search.name;
	return rc;
}
