/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Reads that the cache can't answer: of one key, of a range. */
#include <stdlib.h>

#include "core/store/internal.h"

/* -- one key ---------------------------------------------------------------------------------------------------- */

struct read_state {
	struct ks_op op;
	struct ks_store_kv kv;
	int found;
	int answer;
};

_Static_assert(sizeof(struct read_state) <= sizeof(((struct ks_store_read *)0)->private_), "the private part of a read holds its state");

static void finish_read(struct ks_store_read *read, int result)
{
	struct read_state *s = (struct read_state *)read->private_;

	read->result = result;
	read->found = result == KS_DONE && s->found;
	if (read->found) {
		read->value = ks_store_bytes(s->kv.value);
		read->mod_revision = s->kv.mod_revision;
		read->create_revision = s->kv.create_revision;
		read->lease_until_ms = s->kv.lease_until_ms;
	}
	ks_store_op_words(&s->op, read->error, sizeof(read->error));
	ks_op_fini(&s->op);
	read->done(read);
}

static void read_answered(struct ks_op *op, int result)
{
	finish_read(op->arg, result);
}

static void run_read(struct ks_task *task)
{
	struct ks_store_read *read = (struct ks_store_read *)((char *)task - offsetof(struct ks_store_read, task));

	finish_read(read, ((struct read_state *)read->private_)->answer);
}

void ks_store_read_start(const struct ks_store *store, struct ks_store_read *read)
{
	struct read_state *s = (struct read_state *)read->private_;
	int result;

	*s = (struct read_state){0};
	read->value = NULL;
	read->mod_revision = read->create_revision = read->lease_until_ms = 0;
	read->task.run = run_read;
	ks_store_op_init(&s->op, read->loop, read->deadline_ns, read->audit_id, read_answered, read);
	result = ks_store_op_begin(&s->op, store);
	if (!result)
		result = ks_op_end(&s->op, store->ops->get(store->self, &s->op, ks_store_view(&read->key), read->revision, &s->found, &s->kv));
	if (result == KS_PENDING)
		return;
	s->answer = result;
	ks_loop_post(read->loop, &read->task);
}

/* -- a range ---------------------------------------------------------------------------------------------------- */

struct list_state {
	struct ks_op op;
	struct ks_store_range range;
	struct ks_store_range_result result;
	int answer;
	bool no_memory;
};

_Static_assert(sizeof(struct list_state) <= sizeof(((struct ks_store_list *)0)->private_), "the private part of a list holds its state");

static bool grow(struct ks_store_list *list)
{
	size_t cap = list->cap ? list->cap * 2 : 64;
	struct ks_store_item *items;

	if (list->n < list->cap)
		return true;
	items = realloc(list->items, cap * sizeof(*items));
	if (!items)
		return false;
	list->items = items;
	list->cap = cap;
	return true;
}

static int collect(void *arg, const struct ks_store_kv *kv)
{
	struct ks_store_list *list = arg;
	char *key = malloc(kv->key.n + 1);

	if (!key || !grow(list)) {
		((struct list_state *)list->private_)->no_memory = true;
		ks_bytes_unref(ks_store_bytes(kv->value));
		free(key);
		return 1;
	}
	memcpy(key, kv->key.p, kv->key.n);
	list->items[list->n++] = (struct ks_store_item){.key = ks_str_of(key, kv->key.n),
		.value = ks_store_bytes(kv->value),
		.mod_revision = kv->mod_revision,
		.create_revision = kv->create_revision,
		.lease_until_ms = kv->lease_until_ms};
	return 0;
}

static void finish_list(struct ks_store_list *list, int result)
{
	struct list_state *s = (struct list_state *)list->private_;

	list->result = result == KS_DONE && s->no_memory ? KS_ERR_NOMEM : result;
	list->more = s->result.more;
	list->read_revision = s->result.revision;
	list->count = s->result.count;
	ks_store_op_words(&s->op, list->error, sizeof(list->error));
	ks_op_fini(&s->op);
	list->done(list);
}

static void list_answered(struct ks_op *op, int result)
{
	finish_list(op->arg, result);
}

static void run_list(struct ks_task *task)
{
	struct ks_store_list *list = (struct ks_store_list *)((char *)task - offsetof(struct ks_store_list, task));

	finish_list(list, ((struct list_state *)list->private_)->answer);
}

void ks_store_list_start(const struct ks_store *store, struct ks_store_list *list)
{
	struct list_state *s = (struct list_state *)list->private_;
	int result;

	*s = (struct list_state){0};
	list->items = NULL;
	list->n = list->cap = 0;
	list->task.run = run_list;
	s->range = (struct ks_store_range){.size = sizeof(s->range),
		.prefix = ks_store_view(&list->prefix),
		.start = ks_store_view(&list->start),
		.limit = list->limit,
		.revision = list->revision,
		.emit = collect,
		.arg = list};
	s->result.size = sizeof(s->result);
	ks_store_op_init(&s->op, list->loop, list->deadline_ns, list->audit_id, list_answered, list);
	result = ks_store_op_begin(&s->op, store);
	if (!result)
		result = ks_op_end(&s->op, store->ops->range(store->self, &s->op, &s->range, &s->result));
	if (result == KS_PENDING)
		return;
	s->answer = result;
	ks_loop_post(list->loop, &list->task);
}

void ks_store_list_fini(struct ks_store_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free((char *)list->items[i].key.p);
		ks_bytes_unref(list->items[i].value);
	}
	free(list->items);
	list->items = NULL;
	list->n = list->cap = 0;
}

int ks_store_range_wait(
	const struct ks_store *store, const struct ks_store_range *range, struct ks_store_range_result *result_r, struct ks_error *err)
{
	struct ks_op op;
	int result;

	ks_store_op_init(&op, NULL, ks_monotonic_ns() + 10 * KS_STORE_TIMEOUT_S * UINT64_C(1000000000), NULL, NULL, NULL);
	result = ks_store_op_begin(&op, store);
	if (!result)
		result = ks_op_end(&op, store->ops->range(store->self, &op, range, result_r));
	result = ks_op_wait(&op, result);
	if (result != KS_DONE)
		ks_error_set(err, result, "store %s: %s", store->name, op.error ? op.error : "a range failed");
	ks_op_fini(&op);
	return result;
}
