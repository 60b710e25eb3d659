/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a limit range: least, most, and how far limits may be above requests. */
#include <stdio.h>

#include <keelson/sdk/podspec.h>

#include "admission/limitranger/limitranger.h"

/* Where thousandths of a value still fit into 64 bits. */
#define MOST_MILLI (INT64_MAX / 1000)

/* What one thing, of a type such as "Container", asks for and may use. */
struct use {
	struct ks_view type;
	struct ks_amounts requests, limits;
	int limits_unknown; /* a claim has no limits */
};

/* One bound, and the values that are compared with it: in thousandths when all are small enough. */
struct bound {
	struct ks_view name;
	struct ks_amount enforced;
	const struct ks_amount *request, *limit;
	int64_t enforced_n, request_n, limit_n;
};

/* Notes a problem once. */
static void tell(struct ks_limits *l, struct ks_view text)
{
	struct ks_limits_problem *problem;

	for (problem = l->problems; problem; problem = problem->before)
		if (ks_view_eq(problem->text, text))
			return;
	problem = l->call.host->op_alloc(l->call.op, sizeof(*problem));
	if (!problem || !text.p) {
		l->result = KS_ERR_NOMEM;
		return;
	}
	*problem = (struct ks_limits_problem){l->problems, text};
	l->problems = problem;
	l->n_problems++;
}

struct ks_view ks_limits_problems(const struct ks_limits *l)
{
	struct ks_view text = l->problems->text;

	for (const struct ks_limits_problem *p = l->problems->before; p; p = p->before)
		text = ks_admit_printf(&l->call, "%.*s, %.*s", KS_VIEW_ARGS(p->text), KS_VIEW_ARGS(text));
	return l->n_problems > 1 ? ks_admit_printf(&l->call, "[%.*s]", KS_VIEW_ARGS(text)) : text;
}

static struct bound make_bound(const struct use *use, const struct ks_named_amount *named)
{
	static const struct ks_amount nothing;
	struct bound b = {.name = named->name, .enforced = named->amount};
	const struct ks_amount *request, *limit;

	b.request = ks_amounts_get(&use->requests, b.name);
	b.limit = ks_amounts_get(&use->limits, b.name);
	request = b.request ? b.request : &nothing;
	limit = b.limit ? b.limit : &nothing;
	b.enforced_n = ks_amount_value(&b.enforced);
	b.request_n = ks_amount_value(request);
	b.limit_n = ks_amount_value(limit);
	if (b.enforced_n <= MOST_MILLI && b.request_n <= MOST_MILLI && b.limit_n <= MOST_MILLI) {
		b.enforced_n = ks_amount_milli(&b.enforced);
		b.request_n = ks_amount_milli(request);
		b.limit_n = ks_amount_milli(limit);
	}
	return b;
}

/* "minimum cpu usage per Pod is 1", and what is wrong with it. */
static void tell_bound(
	struct ks_limits *l, const struct use *use, const struct bound *b, const char *word, const char *but, const struct ks_amount *value)
{
	char enforced[KS_AMOUNT_TEXT], text[KS_AMOUNT_TEXT] = "";

	ks_amount_print(&b->enforced, enforced);
	if (value)
		ks_amount_print(value, text);
	tell(l,
		ks_admit_printf(
			&l->call, "%s %.*s usage per %.*s is %s%s%s", word, KS_VIEW_ARGS(b->name), KS_VIEW_ARGS(use->type), enforced, but, text));
}

static void check_min(struct ks_limits *l, const struct use *use, const struct bound *b)
{
	if (!b->request)
		tell_bound(l, use, b, "minimum", ".  No request is specified", NULL);
	else if (b->request_n < b->enforced_n)
		tell_bound(l, use, b, "minimum", ", but request is ", b->request);
	else if (b->limit && b->limit_n < b->enforced_n)
		tell_bound(l, use, b, "minimum", ", but limit is ", b->limit);
}

static void check_max(struct ks_limits *l, const struct use *use, const struct bound *b)
{
	if (use->limits_unknown && !b->request)
		tell_bound(l, use, b, "maximum", ".  No request is specified", NULL);
	else if (!use->limits_unknown && !b->limit)
		tell_bound(l, use, b, "maximum", ".  No limit is specified", NULL);
	else if (b->limit && b->limit_n > b->enforced_n)
		tell_bound(l, use, b, "maximum", ", but limit is ", b->limit);
	else if (b->request && b->request_n > b->enforced_n)
		tell_bound(l, use, b, "maximum", ", but request is ", b->request);
}

static void check_ratio(struct ks_limits *l, const struct use *use, const struct bound *b)
{
	double ratio = b->request_n ? (double)b->limit_n / (double)b->request_n : 0, most = (double)ks_amount_value(&b->enforced), seen = ratio;
	char enforced[KS_AMOUNT_TEXT], but[64] = "";

	ks_amount_print(&b->enforced, enforced);
	if (ks_amount_value(&b->enforced) <= MOST_MILLI) {
		seen = ratio * 1000;
		most = (double)ks_amount_milli(&b->enforced);
	}
	if (!b->request || !b->request_n)
		snprintf(but, sizeof(but), "no request is specified or request is 0");
	else if (!b->limit || !b->limit_n)
		snprintf(but, sizeof(but), "no limit is specified or limit is 0");
	else if (seen > most)
		snprintf(but, sizeof(but), "provided ratio is %f", ratio);
	if (but[0])
		tell(l,
			ks_admit_printf(&l->call, "%.*s max limit to request ratio per %.*s is %s, but %s", KS_VIEW_ARGS(b->name),
				KS_VIEW_ARGS(use->type), enforced, but));
}

typedef void (*check_fn)(struct ks_limits *l, const struct use *use, const struct bound *b);

static void check_list(struct ks_limits *l, const struct use *use, struct ks_val limit, const char *member, check_fn check)
{
	struct ks_amounts bounds = {0};

	ks_amounts_read(&l->call, ks_admit_member(&l->call, limit, member), &bounds);
	if (bounds.failed || use->requests.failed || use->limits.failed)
		l->result = KS_ERR_NOMEM;
	for (size_t i = 0; l->result == KS_DONE && i < bounds.n; i++) {
		struct bound b = make_bound(use, &bounds.items[i]);

		check(l, use, &b);
	}
}

static void check_use(struct ks_limits *l, const struct use *use, struct ks_val limit)
{
	check_list(l, use, limit, "min", check_min);
	check_list(l, use, limit, "max", check_max);
	if (!use->limits_unknown)
		check_list(l, use, limit, "maxLimitRequestRatio", check_ratio);
}

static void check_containers(struct ks_limits *l, struct ks_val spec, uint32_t kind, struct ks_val limit)
{
	const struct ks_admit *call = &l->call;
	struct ks_podspec_walk walk = {.values = call->host->values, .spec = spec, .kind = kind};

	while (l->result == KS_DONE && ks_podspec_next(&walk) && walk.kind == kind) {
		struct ks_val resources = ks_admit_member(call, walk.container, "resources");
		struct use use = {.type = ks_view_lit("Container")};

		ks_amounts_read(call, ks_admit_member(call, resources, "requests"), &use.requests);
		ks_amounts_read(call, ks_admit_member(call, resources, "limits"), &use.limits);
		check_use(l, &use, limit);
	}
}

static void check_whole_pod(struct ks_limits *l, struct ks_val spec, struct ks_val limit)
{
	struct use use = {.type = ks_view_lit("Pod")};

	ks_pod_amounts(&l->call, spec, "requests", &use.requests);
	ks_pod_amounts(&l->call, spec, "limits", &use.limits);
	check_use(l, &use, limit);
}

static struct ks_val limits_of(const struct ks_limits *l, struct ks_val range)
{
	return ks_admit_member(&l->call, ks_admit_member(&l->call, range, "spec"), "limits");
}

void ks_limits_check_pod(struct ks_limits *l, struct ks_val range)
{
	const struct ks_value_ops *values = l->call.host->values;
	struct ks_val spec = ks_admit_member(&l->call, l->object, "spec"), list = limits_of(l, range);

	for (size_t i = 0; l->result == KS_DONE && i < values->length(list); i++) {
		struct ks_val limit = values->item(list, i);
		struct ks_view type = ks_admit_text(&l->call, limit, "type");

		if (ks_view_is(type, "Container")) {
			check_containers(l, spec, KS_CONTAINER_MAIN, limit);
			check_containers(l, spec, KS_CONTAINER_INIT, limit);
		} else if (ks_view_is(type, "Pod")) {
			check_whole_pod(l, spec, limit);
		}
	}
}

void ks_limits_check_claim(struct ks_limits *l, struct ks_val range)
{
	const struct ks_admit *call = &l->call;
	struct ks_val spec = ks_admit_member(call, l->object, "spec"), list = limits_of(l, range);
	struct use use = {.type = ks_view_lit("PersistentVolumeClaim"), .limits_unknown = 1};

	ks_amounts_read(call, ks_admit_member(call, ks_admit_member(call, spec, "resources"), "requests"), &use.requests);
	for (size_t i = 0; l->result == KS_DONE && i < call->host->values->length(list); i++) {
		struct ks_val limit = call->host->values->item(list, i);

		if (ks_view_eq(ks_admit_text(call, limit, "type"), use.type))
			check_use(l, &use, limit);
	}
}
