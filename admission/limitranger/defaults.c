/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Requests and limits that containers don't name come from the namespace's limit range. */
#include <stdlib.h>
#include <string.h>

#include <keelson/sdk/podspec.h>

#include "admission/limitranger/limitranger.h"

static int compare_views(const void *a, const void *b)
{
	const struct ks_view *x = a, *y = b;
	size_t n = x->n < y->n ? x->n : y->n;
	int c = n ? memcmp(x->p, y->p, n) : 0;

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

static struct ks_view join(const struct ks_admit *call, struct ks_view head, const char *between, struct ks_view tail)
{
	if (!head.n)
		return tail;
	return ks_admit_printf(call, "%.*s%s%.*s", KS_VIEW_ARGS(head), between, KS_VIEW_ARGS(tail));
}

/* Resources' names may hold '/', which a pointer writes as ~1. */
static struct ks_view pointer_part(const struct ks_admit *call, struct ks_view name)
{
	char *out = call->host->op_alloc(call->op, name.n * 2 + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < name.n; i++) {
		if (name.p[i] == '/')
			out[n++] = '~';
		out[n++] = name.p[i] == '/' ? '1' : name.p[i];
	}
	return (struct ks_view){out, out ? n : 0};
}

static void set_one(struct ks_limits *l, const struct ks_podspec_walk *at, const char *which, const struct ks_named_amount *value)
{
	struct ks_view part = pointer_part(&l->call, value->name);
	char text[KS_AMOUNT_TEXT];

	ks_amount_print(&value->amount, text);
	l->result = part.p ? ks_admit_set_text(&l->call, ks_view_lit(text), "/spec/%s/%zu/resources/%s/%.*s", ks_container_list(at->kind), at->index,
				     which, KS_VIEW_ARGS(part))
			   : KS_ERR_NOMEM;
}

/* Sets what the container does not say of `which`, and notes "cpu, memory request for container a". */
static void default_list(struct ks_limits *l, const struct ks_podspec_walk *at, const char *which, const char *one, const struct ks_amounts *defaults)
{
	const struct ks_admit *call = &l->call;
	struct ks_val list = ks_admit_member(call, ks_admit_member(call, at->container, "resources"), which);
	struct ks_view *names = call->host->op_alloc(call->op, (defaults->n + 1) * sizeof(*names)), text = {0};
	size_t n = 0;

	if (!names)
		l->result = KS_ERR_NOMEM;
	for (size_t i = 0; l->result == KS_DONE && i < defaults->n; i++) {
		if (call->host->values->kind(call->host->values->member(list, defaults->items[i].name)))
			continue;
		names[n++] = defaults->items[i].name;
		set_one(l, at, which, &defaults->items[i]);
	}
	if (l->result != KS_DONE || !n)
		return;
	qsort(names, n, sizeof(*names), compare_views);
	for (size_t i = 0; i < n; i++)
		text = join(call, text, ", ", names[i]);
	text = ks_admit_printf(call, "%.*s %s for %s %.*s", KS_VIEW_ARGS(text), one, ks_container_words(at->kind),
		KS_VIEW_ARGS(ks_admit_text(call, at->container, "name")));
	l->defaulted = join(call, l->defaulted, "; ", text);
	if (!l->defaulted.p)
		l->result = KS_ERR_NOMEM;
}

static void default_containers(struct ks_limits *l, uint32_t kind, const struct ks_amounts *requests, const struct ks_amounts *limits)
{
	struct ks_podspec_walk walk = {
		.values = l->call.host->values, .spec = ks_admit_member(&l->call, ks_admit_object(&l->call), "spec"), .kind = kind};

	while (l->result == KS_DONE && ks_podspec_next(&walk) && walk.kind == kind) {
		default_list(l, &walk, "requests", "request", requests);
		if (l->result == KS_DONE)
			default_list(l, &walk, "limits", "limit", limits);
	}
}

void ks_limits_default(struct ks_limits *l, struct ks_val range)
{
	const struct ks_admit *call = &l->call;
	struct ks_val list = ks_admit_member(call, ks_admit_member(call, range, "spec"), "limits");
	struct ks_amounts requests = {0}, limits = {0};

	for (size_t i = 0; i < call->host->values->length(list); i++) {
		struct ks_val limit = call->host->values->item(list, i);

		if (!ks_view_is(ks_admit_text(call, limit, "type"), "Container"))
			continue;
		ks_amounts_read(call, ks_admit_member(call, limit, "defaultRequest"), &requests);
		ks_amounts_read(call, ks_admit_member(call, limit, "default"), &limits);
	}
	if (requests.failed || limits.failed)
		l->result = KS_ERR_NOMEM;
	l->defaulted = (struct ks_view){0};
	default_containers(l, KS_CONTAINER_MAIN, &requests, &limits);
	default_containers(l, KS_CONTAINER_INIT, &requests, &limits);
	if (l->result == KS_DONE && l->defaulted.n)
		l->result = ks_admit_set_text(call, ks_admit_printf(call, "LimitRanger plugin set: %.*s", KS_VIEW_ARGS(l->defaulted)),
			"/metadata/annotations/kubernetes.io~1limit-ranger");
}
