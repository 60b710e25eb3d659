/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One request against the quotas of its namespace. */
#include <stdlib.h>
#include <string.h>

#include "admission/resourcequota/quota.h"

struct check {
	const struct ks_admit *call;
	struct ks_amounts delta; /* what the request adds */
	struct ks_quota_change **changes;
	int result;
};

static int compare_named(const void *a, const void *b)
{
	const struct ks_named_amount *x = a, *y = b;
	size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
	int c = n ? memcmp(x->name.p, y->name.p, n) : 0;

	return c ? c : (x->name.n > y->name.n) - (x->name.n < y->name.n);
}

static void sort(struct ks_amounts *amounts)
{
	if (amounts->n)
		qsort(amounts->items, amounts->n, sizeof(*amounts->items), compare_named);
}

/* "a=1,b=2" of those that `names` has; an amount that is missing is left out. */
static struct ks_view print(const struct ks_admit *call, const struct ks_amounts *names, const struct ks_amounts *amounts)
{
	struct ks_view text = {0};

	for (size_t i = 0; i < names->n; i++) {
		const struct ks_amount *amount = ks_amounts_get(amounts, names->items[i].name);
		char value[KS_AMOUNT_TEXT];

		if (!amount)
			continue;
		ks_amount_print(amount, value);
		text = ks_admit_printf(call, "%.*s%s%.*s=%s", KS_VIEW_ARGS(text), text.n ? "," : "", KS_VIEW_ARGS(names->items[i].name), value);
	}
	return text;
}

/* {"a":"1","b":"2"} */
static struct ks_view print_json(const struct ks_admit *call, const struct ks_amounts *amounts)
{
	struct ks_view text = {0};

	for (size_t i = 0; i < amounts->n; i++) {
		char value[KS_AMOUNT_TEXT];

		ks_amount_print(&amounts->items[i].amount, value);
		text = ks_admit_printf(call, "%.*s%s%.*s:\"%s\"", KS_VIEW_ARGS(text), text.n ? "," : "",
			KS_VIEW_ARGS(ks_admit_json(call, amounts->items[i].name)), value);
	}
	return ks_admit_printf(call, "{%.*s}", KS_VIEW_ARGS(text));
}

static int deny(struct check *c, struct ks_view message)
{
	c->result = message.p ? ks_admit_deny(c->call, "%.*s", KS_VIEW_ARGS(message)) : KS_ERR_NOMEM;
	return 1;
}

/* The names that the quota has and this kind of object uses, with their limits. */
static struct ks_amounts relevant(const struct ks_admit *call, const struct ks_amounts *hard)
{
	struct ks_amounts out = {.failed = hard->failed};

	for (size_t i = 0; i < hard->n; i++)
		if (ks_quota_counts(call, hard->items[i].name))
			ks_amounts_set(call, &out, hard->items[i].name, &hard->items[i].amount);
	sort(&out);
	return out;
}

/* Some limits whose use nobody has counted yet. */
static int is_uncounted(const struct ks_amounts *hard, const struct ks_amounts *used)
{
	for (size_t i = 0; i < hard->n; i++)
		if (!ks_amounts_get(used, hard->items[i].name))
			return 1;
	return 0;
}

static struct ks_view names_text(const struct ks_admit *call, const struct ks_amounts *amounts)
{
	struct ks_view text = {0};

	for (size_t i = 0; i < amounts->n; i++)
		text = ks_admit_printf(call, "%.*s%s%.*s", KS_VIEW_ARGS(text), i ? "," : "", KS_VIEW_ARGS(amounts->items[i].name));
	return text;
}

static int was_written(const struct check *c, struct ks_view name)
{
	for (const struct ks_quota_change *w = *c->changes; w; w = w->next)
		if (w->written && ks_view_eq(w->name, name))
			return 1;
	return 0;
}

static int note_change(struct check *c, struct ks_view name, struct ks_view revision, const struct ks_amounts *used)
{
	struct ks_quota_change *change = c->call->host->op_alloc(c->call->op, sizeof(*change));

	if (!change) {
		c->result = KS_ERR_NOMEM;
		return 1;
	}
	*change = (struct ks_quota_change){
		.next = *c->changes,
		.name = ks_admit_printf(c->call, "%.*s", KS_VIEW_ARGS(name)),
		.body = ks_admit_printf(c->call, "{\"metadata\":{\"resourceVersion\":\"%.*s\"},\"status\":{\"used\":%.*s}}", KS_VIEW_ARGS(revision),
			KS_VIEW_ARGS(print_json(c->call, used))),
	};
	*c->changes = change;
	if (!change->name.p || !change->body.p)
		c->result = KS_ERR_NOMEM;
	return c->result != KS_DONE;
}

/* Adds the request to what is used; tells what would be too much. */
static int add_request(struct check *c, struct ks_val metadata, const struct ks_amounts *hard, struct ks_amounts *used)
{
	struct ks_amounts requested = {0}, exceeded = {0};
	struct ks_view name = ks_admit_text(c->call, metadata, "name");
	int changes = 0;

	for (size_t i = 0; i < c->delta.n; i++) {
		const struct ks_named_amount *d = &c->delta.items[i];
		const struct ks_amount *limit = ks_amounts_get(hard, d->name), *before = ks_amounts_get(used, d->name);
		struct ks_amount sum = before ? *before : d->amount;

		if (!limit)
			continue;
		if (before)
			ks_amount_add(&sum, &d->amount);
		ks_amounts_set(c->call, &requested, d->name, &sum);
		if (ks_amount_cmp(&sum, limit) > 0)
			ks_amounts_set(c->call, &exceeded, d->name, limit);
		changes |= ks_amount_sign(&d->amount) != 0;
	}
	sort(&exceeded);
	if (requested.failed || exceeded.failed) {
		c->result = KS_ERR_NOMEM;
		return 1;
	}
	if (exceeded.n)
		return deny(c,
			ks_admit_printf(c->call, "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s", KS_VIEW_ARGS(name),
				KS_VIEW_ARGS(print(c->call, &exceeded, &c->delta)), KS_VIEW_ARGS(print(c->call, &exceeded, used)),
				KS_VIEW_ARGS(print(c->call, &exceeded, hard))));
	for (size_t i = 0; i < requested.n; i++)
		ks_amounts_set(c->call, used, requested.items[i].name, &requested.items[i].amount);
	return changes && note_change(c, name, ks_admit_text(c->call, metadata, "resourceVersion"), used);
}

static int check_quota(void *arg, struct ks_val quota)
{
	struct check *c = arg;
	const struct ks_admit *call = c->call;
	struct ks_val metadata = ks_admit_member(call, quota, "metadata"), status = ks_admit_member(call, quota, "status");
	struct ks_amounts hard = {0}, used = {0}, ours;
	struct ks_view name = ks_admit_text(call, metadata, "name"), missing = {0};

	ks_amounts_read(call, ks_admit_member(call, status, "hard"), &hard);
	ks_amounts_read(call, ks_admit_member(call, status, "used"), &used);
	ours = relevant(call, &hard);
	if (!ours.n || was_written(c, name) || !ks_quota_in_scope(call, quota, call->request->object))
		return 0;
	if (ours.failed || used.failed) {
		c->result = KS_ERR_NOMEM;
		return 1;
	}
	if (ks_quota_kind_of(call->request) == KS_QUOTA_POD)
		missing = ks_quota_missing(call, &ours, call->request->object);
	if (missing.n)
		return deny(c, ks_admit_printf(call, "failed quota: %.*s: %.*s", KS_VIEW_ARGS(name), KS_VIEW_ARGS(missing)));
	if (is_uncounted(&ours, &used))
		return deny(c,
			ks_admit_printf(
				call, "status unknown for quota: %.*s, resources: %.*s", KS_VIEW_ARGS(name), KS_VIEW_ARGS(names_text(call, &ours))));
	return add_request(c, metadata, &hard, &used);
}

/* An update uses only what it uses more than before. */
static int measure(struct check *c)
{
	const struct ks_admit *call = c->call;
	struct ks_amounts before = {0};
	int any = 0;

	ks_quota_usage(call, call->request->object, &c->delta);
	if (call->request->operation == KS_OPERATION_UPDATE)
		ks_quota_usage(call, call->request->old_object, &before);
	for (size_t i = 0; i < c->delta.n; i++) {
		struct ks_amount *amount = &c->delta.items[i].amount;
		const struct ks_amount *old = ks_amounts_get(&before, c->delta.items[i].name);

		if (old)
			ks_amount_sub(amount, old);
		if (ks_amount_sign(amount) < 0)
			*amount = ks_amount_of(0);
		any |= ks_amount_sign(amount) > 0;
	}
	if (c->delta.failed || before.failed)
		c->result = KS_ERR_NOMEM;
	return any;
}

int ks_quota_check(const struct ks_admit *call, struct ks_quota_change **changes)
{
	static const struct ks_view group = {"", 0}, version = {"v1", 2}, resource = {"resourcequotas", 14};
	struct check c = {.call = call, .changes = changes};
	int rc;

	if (!measure(&c) || c.result != KS_DONE)
		return c.result;
	rc = call->host->cached_list(call->op, group, version, resource, call->request->namespace_, check_quota, &c);
	return rc == KS_DONE ? c.result : rc;
}
