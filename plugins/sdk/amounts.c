/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <keelson/sdk/amounts.h>

#include <string.h>

#include <keelson/sdk/podspec.h>

static struct ks_amount *find(const struct ks_amounts *amounts, struct ks_view name)
{
	for (size_t i = 0; i < amounts->n; i++)
		if (ks_view_eq(amounts->items[i].name, name))
			return &amounts->items[i].amount;
	return NULL;
}

const struct ks_amount *ks_amounts_get(const struct ks_amounts *amounts, struct ks_view name)
{
	return find(amounts, name);
}

void ks_amounts_set(const struct ks_admit *call, struct ks_amounts *amounts, struct ks_view name, const struct ks_amount *amount)
{
	struct ks_amount *there = find(amounts, name);

	if (there) {
		*there = *amount;
		return;
	}
	if (amounts->n == amounts->cap) {
		size_t cap = amounts->cap ? amounts->cap * 2 : 8;
		struct ks_named_amount *items = call->host->op_alloc(call->op, cap * sizeof(*items));

		amounts->failed |= !items;
		if (!items)
			return;
		if (amounts->n)
			memcpy(items, amounts->items, amounts->n * sizeof(*items));
		amounts->items = items;
		amounts->cap = cap;
	}
	amounts->items[amounts->n++] = (struct ks_named_amount){name, *amount};
}

void ks_amounts_read(const struct ks_admit *call, struct ks_val list, struct ks_amounts *amounts)
{
	struct ks_val_iter iter = {0};
	struct ks_val_item item;

	while (call->host->values->iterate(list, &iter, &item, 1)) {
		struct ks_amount amount;

		if (ks_amount_parse(call->host->values->string(item.value), &amount))
			ks_amounts_set(call, amounts, item.key, &amount);
	}
}

void ks_amounts_add(const struct ks_admit *call, struct ks_amounts *into, const struct ks_amounts *more)
{
	into->failed |= more->failed;
	for (size_t i = 0; i < more->n; i++) {
		struct ks_amount *there = find(into, more->items[i].name);

		if (there)
			ks_amount_add(there, &more->items[i].amount);
		else
			ks_amounts_set(call, into, more->items[i].name, &more->items[i].amount);
	}
}

void ks_amounts_max(const struct ks_admit *call, struct ks_amounts *into, const struct ks_amounts *other)
{
	into->failed |= other->failed;
	for (size_t i = 0; i < other->n; i++) {
		const struct ks_amount *there = find(into, other->items[i].name);

		if (!there || ks_amount_cmp(&other->items[i].amount, there) > 0)
			ks_amounts_set(call, into, other->items[i].name, &other->items[i].amount);
	}
}

/* -- pods ---------------------------------------------------------------------------------------------------------- */

static void read_resources(const struct ks_admit *call, struct ks_val holder, const char *which, struct ks_amounts *out)
{
	ks_amounts_read(call, ks_admit_member(call, ks_admit_member(call, holder, "resources"), which), out);
}

/* Of one init container and those before it that go on running. */
static void add_init(const struct ks_admit *call, struct ks_val container, const struct ks_amounts *own, struct ks_amounts *running,
	struct ks_amounts *all, struct ks_amounts *most)
{
	struct ks_amounts at_once = {0};

	if (ks_view_is(ks_admit_text(call, container, "restartPolicy"), "Always")) {
		ks_amounts_add(call, all, own);
		ks_amounts_add(call, running, own);
	} else {
		ks_amounts_add(call, &at_once, own);
	}
	ks_amounts_add(call, &at_once, running);
	ks_amounts_max(call, most, &at_once);
}

static void add_containers(const struct ks_admit *call, struct ks_val spec, const char *which, struct ks_amounts *all)
{
	struct ks_podspec_walk walk = {.values = call->host->values, .spec = spec};
	struct ks_amounts running = {0}, most = {0};

	while (ks_podspec_next(&walk) && walk.kind != KS_CONTAINER_EPHEMERAL) {
		struct ks_amounts own = {0};

		read_resources(call, walk.container, which, &own);
		if (walk.kind == KS_CONTAINER_INIT)
			add_init(call, walk.container, &own, &running, all, &most);
		else
			ks_amounts_add(call, all, &own);
	}
	ks_amounts_max(call, all, &most);
}

/* What can be said for a pod as a whole. */
static int is_of_pods(struct ks_view name)
{
	static const char huge[] = "hugepages-";

	return ks_view_is(name, "cpu") || ks_view_is(name, "memory") || (name.n > sizeof(huge) - 1 && memcmp(name.p, huge, sizeof(huge) - 1) == 0);
}

void ks_pod_amounts(const struct ks_admit *call, struct ks_val spec, const char *which, struct ks_amounts *out)
{
	struct ks_amounts own = {0}, overhead = {0};

	add_containers(call, spec, which, out);
	read_resources(call, spec, which, &own);
	for (size_t i = 0; i < own.n; i++)
		if (is_of_pods(own.items[i].name))
			ks_amounts_set(call, out, own.items[i].name, &own.items[i].amount);
	ks_amounts_read(call, ks_admit_member(call, spec, "overhead"), &overhead);
	for (size_t i = 0; i < overhead.n; i++) {
		struct ks_amount *there = find(out, overhead.items[i].name);

		if (there)
			ks_amount_add(there, &overhead.items[i].amount);
		else if (strcmp(which, "requests") == 0)
			ks_amounts_set(call, out, overhead.items[i].name, &overhead.items[i].amount);
	}
	out->failed |= own.failed | overhead.failed;
}
