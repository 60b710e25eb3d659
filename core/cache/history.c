/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/cache/history.h"

#include <errno.h>
#include <stdlib.h>

int ks_history_init(struct ks_history *history, uint32_t events_most, uint64_t bytes_most)
{
	enum { BY_BYTES = 16 }; /* chunks that a full ring has at least when bytes close them */

	*history = (struct ks_history){.events_most = events_most, .bytes_most = bytes_most, .chunk_bytes_most = bytes_most / BY_BYTES + 1};
	history->n_slots = events_most / KS_HISTORY_CHUNK + 2 * BY_BYTES + 2;
	history->slots = calloc(history->n_slots, sizeof(*history->slots));
	return history->slots ? 0 : -ENOMEM;
}

static void free_chunk(struct ks_history_chunk *chunk)
{
	for (uint32_t i = 0, n = atomic_load(&chunk->n); i < n; i++) {
		ks_object_unref(chunk->entries[i].object);
		ks_object_unref(chunk->entries[i].previous);
	}
	free(chunk);
}

static void free_chunk_later(struct ks_rcu_head *head)
{
	free_chunk((struct ks_history_chunk *)((char *)head - offsetof(struct ks_history_chunk, rcu)));
}

void ks_history_fini(struct ks_history *history)
{
	if (!history->slots)
		return;
	for (uint64_t i = history->chunk_first; i < history->chunk_end; i++)
		free_chunk(history->slots[i % history->n_slots]);
	free(history->spare);
	free(history->slots);
	history->slots = NULL;
}

/* -- the applier ------------------------------------------------------------------------------------------------ */

static struct ks_history_chunk *last_chunk(const struct ks_history *history)
{
	uint64_t end = atomic_load_explicit(&history->chunk_end, memory_order_relaxed);

	if (end == atomic_load_explicit(&history->chunk_first, memory_order_relaxed))
		return NULL;
	return atomic_load_explicit(&history->slots[(end - 1) % history->n_slots], memory_order_relaxed);
}

static uint32_t count(const struct ks_history_chunk *chunk)
{
	return atomic_load_explicit(&chunk->n, memory_order_relaxed);
}

static bool is_full(const struct ks_history *history, const struct ks_history_chunk *chunk)
{
	return !chunk || count(chunk) == KS_HISTORY_CHUNK || chunk->bytes >= history->chunk_bytes_most;
}

int ks_history_reserve(struct ks_history *history)
{
	if (history->spare || !is_full(history, last_chunk(history)))
		return 0;
	history->spare = malloc(sizeof(*history->spare));
	return history->spare ? 0 : -ENOMEM;
}

static void drop_oldest(struct ks_history *history)
{
	uint64_t index = atomic_load_explicit(&history->chunk_first, memory_order_relaxed);
	struct ks_history_chunk *chunk = atomic_load_explicit(&history->slots[index % history->n_slots], memory_order_relaxed);

	/* a reader that sees the new beginning must see the new floor */
	atomic_store_explicit(&history->floor, chunk->entries[count(chunk) - 1].revision, memory_order_release);
	atomic_store_explicit(&history->first, chunk->base + count(chunk), memory_order_release);
	atomic_store_explicit(&history->chunk_first, index + 1, memory_order_release);
	history->bytes -= chunk->bytes;
	ks_rcu_defer(&chunk->rcu, free_chunk_later);
}

static struct ks_history_chunk *add_chunk(struct ks_history *history)
{
	struct ks_history_chunk *chunk = history->spare;
	uint64_t end = atomic_load_explicit(&history->chunk_end, memory_order_relaxed);

	if (end - atomic_load_explicit(&history->chunk_first, memory_order_relaxed) == history->n_slots)
		drop_oldest(history); /* one batch has filled the whole ring */
	history->spare = NULL;
	chunk->base = history->next;
	chunk->bytes = sizeof(*chunk);
	atomic_init(&chunk->n, 0);
	history->bytes += chunk->bytes;
	atomic_store_explicit(&history->slots[end % history->n_slots], chunk, memory_order_release);
	atomic_store_explicit(&history->chunk_end, end + 1, memory_order_release);
	return chunk;
}

void ks_history_append(struct ks_history *history, uint64_t revision, struct ks_object *object, struct ks_object *previous)
{
	struct ks_history_chunk *chunk = last_chunk(history);
	uint32_t n;
	uint64_t bytes = object ? object->json->len + sizeof(*object) : 0;

	if (is_full(history, chunk))
		chunk = add_chunk(history);
	n = count(chunk);
	chunk->entries[n] = (struct ks_history_entry){revision, object ? ks_object_ref(object) : NULL, previous ? ks_object_ref(previous) : NULL};
	atomic_store_explicit(&chunk->n, n + 1, memory_order_release);
	chunk->bytes += bytes;
	history->bytes += bytes;
	history->next++;
}

void ks_history_publish(struct ks_history *history)
{
	atomic_store_explicit(&history->end, history->next, memory_order_release);
	for (;;) {
		uint64_t index = atomic_load_explicit(&history->chunk_first, memory_order_relaxed);
		struct ks_history_chunk *oldest;
		uint64_t kept;

		if (atomic_load_explicit(&history->chunk_end, memory_order_relaxed) - index < 2)
			return; /* the chunk that is being filled stays */
		oldest = atomic_load_explicit(&history->slots[index % history->n_slots], memory_order_relaxed);
		kept = history->next - oldest->base - count(oldest);
		if (kept < history->events_most && history->bytes <= history->bytes_most)
			return;
		drop_oldest(history);
	}
}

/* -- readers ---------------------------------------------------------------------------------------------------- */

/* The chunk that holds `number`. A slot may be used again while we look: then what is found doesn't fit and the caller looks where the ring begins
 * now. */
static const struct ks_history_chunk *find_chunk(const struct ks_history *history, uint64_t number)
{
	uint64_t low = atomic_load_explicit(&history->chunk_first, memory_order_acquire);
	uint64_t high = atomic_load_explicit(&history->chunk_end, memory_order_acquire);
	const struct ks_history_chunk *found = NULL;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const struct ks_history_chunk *chunk = atomic_load_explicit(&history->slots[middle % history->n_slots], memory_order_acquire);

		if (chunk->base > number) {
			high = middle;
		} else {
			found = chunk;
			low = middle + 1;
		}
	}
	return found && number - found->base < atomic_load_explicit(&found->n, memory_order_acquire) ? found : NULL;
}

int ks_history_get_below(const struct ks_history *history, uint64_t number, uint64_t end, struct ks_history_entry *out_r)
{
	const struct ks_history_chunk *chunk;

	if (number >= end)
		return -EAGAIN;
	for (;;) {
		if (number < atomic_load_explicit(&history->first, memory_order_acquire))
			return -ENOENT;
		chunk = find_chunk(history, number);
		if (chunk) {
			*out_r = chunk->entries[number - chunk->base];
			return 0;
		}
	}
}

int ks_history_get(const struct ks_history *history, uint64_t number, struct ks_history_entry *out_r)
{
	return ks_history_get_below(history, number, atomic_load_explicit(&history->end, memory_order_acquire), out_r);
}

uint64_t ks_history_find(const struct ks_history *history, uint64_t revision, uint64_t end)
{
	uint64_t low = atomic_load_explicit(&history->first, memory_order_acquire), high = end;
	struct ks_history_entry entry;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (ks_history_get_below(history, middle, end, &entry))
			low = atomic_load_explicit(&history->first, memory_order_acquire); /* it has just fallen out */
		else if (entry.revision > revision)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool ks_history_reaches(const struct ks_history *history, uint64_t revision)
{
	uint64_t from = atomic_load_explicit(&history->gap_from, memory_order_acquire);
	uint64_t to = atomic_load_explicit(&history->gap_to, memory_order_acquire);

	if (revision > from && revision < to)
		return false;
	return revision >= atomic_load_explicit(&history->floor, memory_order_acquire);
}
