/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/documents.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { WORTH_COMPRESSING = 16 * 1024, HEADERS_MOST = 8 };

enum state { WANTED, MADE };

/* A request that waits. In the request's arena. */
struct waiter {
	struct waiter *next;
	struct ks_task task;
	struct ks_request *request;
};

struct entry {
	struct entry *next;
	enum state state;
	bool stale; /* forgotten while it was being made */
	struct ks_made_document *document;
	struct waiter *waiters;
	size_t key_n;
	char key[];
};

struct ks_documents {
	ks_document_maker make;
	void *arg;
	pthread_mutex_t lock;
	pthread_cond_t wanted;
	struct entry *entries;
	pthread_t thread;
	bool started, ending;
};

/* Held by a request. */
struct hold {
	struct ks_request_end end;
	struct ks_made_document *document;
};

static void unref(struct ks_made_document *document)
{
	if (!document || atomic_fetch_sub_explicit(&document->refs, 1, memory_order_acq_rel) != 1)
		return;
	ks_bytes_unref(document->bytes);
	ks_bytes_unref(document->gzip);
	free(document);
}

/* -- the maker's thread ---------------------------------------------------------------------------------------- */

static struct ks_bytes *compress_bytes(const struct ks_bytes *bytes)
{
	z_stream z = {0};
	struct ks_bytes *out = NULL, *exact = NULL;

	if (bytes->len < WORTH_COMPRESSING || bytes->len > UINT32_MAX || deflateInit2(&z, 4, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return NULL;
	out = ks_bytes_new(deflateBound(&z, bytes->len));
	if (out) {
		z.next_in = (unsigned char *)(uintptr_t)bytes->data;
		z.avail_in = (uInt)bytes->len;
		z.next_out = (unsigned char *)out->data;
		z.avail_out = (uInt)out->len;
		if (deflate(&z, Z_FINISH) == Z_STREAM_END)
			exact = ks_bytes_dup(out->data, z.total_out);
	}
	deflateEnd(&z);
	ks_bytes_unref(out);
	return exact;
}

static void make(struct ks_documents *documents, struct ks_str key, struct ks_made_document *document)
{
	char hash[KS_DOCUMENT_HASH_SIZE] = "";

	document->result = documents->make(documents->arg, key, &document->bytes, hash);
	if (document->result != 0)
		return;
	if (!hash[0])
		document->result = ks_document_hash(document->bytes->data, document->bytes->len, hash);
	snprintf(document->etag, sizeof(document->etag), "\"%s\"", hash);
	document->gzip = compress_bytes(document->bytes);
}

static void resume_waiter(struct ks_task *task)
{
	struct waiter *waiter = (struct waiter *)((char *)task - offsetof(struct waiter, task));
	struct ks_request *request = waiter->request;

	ks_request_resume(request);
	ks_request_unpin(request);
}

static struct entry *first_wanted(struct ks_documents *documents)
{
	struct entry *entry = documents->entries;

	while (entry && entry->state != WANTED)
		entry = entry->next;
	return entry;
}

/* With the lock held: makes one entry, without it. */
static void make_entry(struct ks_documents *documents, struct entry *entry)
{
	struct ks_made_document *document = entry->document;
	struct waiter *waiters;

	entry->stale = false;
	pthread_mutex_unlock(&documents->lock);
	make(documents, ks_str_of(entry->key, entry->key_n), document);
	pthread_mutex_lock(&documents->lock);
	entry->state = MADE;
	waiters = entry->waiters;
	entry->waiters = NULL;
	while (waiters) {
		struct waiter *next = waiters->next;

		ks_loop_post(waiters->request->loop, &waiters->task);
		waiters = next;
	}
}

static void *run_maker(void *arg)
{
	struct ks_documents *documents = arg;
	struct entry *entry;

	pthread_mutex_lock(&documents->lock);
	while (!documents->ending) {
		entry = first_wanted(documents);
		if (entry)
			make_entry(documents, entry);
		else
			pthread_cond_wait(&documents->wanted, &documents->lock);
	}
	pthread_mutex_unlock(&documents->lock);
	return NULL;
}

/* -- life ------------------------------------------------------------------------------------------------------ */

struct ks_documents *ks_documents_new(ks_document_maker make_one, void *arg)
{
	struct ks_documents *documents = calloc(1, sizeof(*documents));

	if (!documents)
		return NULL;
	documents->make = make_one;
	documents->arg = arg;
	pthread_mutex_init(&documents->lock, NULL);
	pthread_cond_init(&documents->wanted, NULL);
	return documents;
}

void ks_documents_free(struct ks_documents **documents)
{
	struct ks_documents *d = *documents;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->ending = true;
	pthread_cond_signal(&d->wanted);
	pthread_mutex_unlock(&d->lock);
	if (d->started)
		pthread_join(d->thread, NULL);
	while (d->entries) {
		struct entry *entry = d->entries;

		d->entries = entry->next;
		unref(entry->document);
		free(entry);
	}
	pthread_cond_destroy(&d->wanted);
	pthread_mutex_destroy(&d->lock);
	free(d);
	*documents = NULL;
}

void ks_documents_forget(struct ks_documents *documents)
{
	pthread_mutex_lock(&documents->lock);
	for (struct entry *entry = documents->entries; entry; entry = entry->next)
		entry->stale = true;
	pthread_mutex_unlock(&documents->lock);
}

/* -- asking ---------------------------------------------------------------------------------------------------- */

static struct ks_made_document *new_document(void)
{
	struct ks_made_document *document = calloc(1, sizeof(*document));

	if (document)
		atomic_store_explicit(&document->refs, 1, memory_order_relaxed);
	return document;
}

static struct entry *find(struct ks_documents *documents, struct ks_str key)
{
	struct entry *entry = documents->entries;

	while (entry && !ks_str_eq(ks_str_of(entry->key, entry->key_n), key))
		entry = entry->next;
	return entry;
}

/* With the lock held: the entry of `key`, asked for if it isn't there or is stale. NULL when out of memory. */
static struct entry *want(struct ks_documents *documents, struct ks_str key)
{
	struct entry *entry = find(documents, key);
	struct ks_made_document *document;

	if (entry && !(entry->state == MADE && entry->stale))
		return entry;
	document = new_document();
	if (!document)
		return NULL;
	if (entry) {
		unref(entry->document);
	} else {
		entry = calloc(1, sizeof(*entry) + key.n + 1);
		if (!entry) {
			free(document);
			return NULL;
		}
		memcpy(entry->key, key.p, key.n);
		entry->key_n = key.n;
		entry->next = documents->entries;
		documents->entries = entry;
	}
	entry->document = document;
	entry->state = WANTED;
	return entry;
}

static bool start_maker(struct ks_documents *documents)
{
	if (!documents->started)
		documents->started = pthread_create(&documents->thread, NULL, run_maker, documents) == 0;
	pthread_cond_signal(&documents->wanted);
	return documents->started;
}

static void release_hold(struct ks_request_end *end)
{
	unref(((struct hold *)end)->document);
}

enum ks_stage_result ks_documents_get(struct ks_documents *documents, struct ks_request *request, struct ks_str key, struct ks_made_document **out_r)
{
	struct hold *hold = ks_arena_zalloc(&request->arena, 1, sizeof(*hold));
	struct waiter *waiter = ks_arena_zalloc(&request->arena, 1, sizeof(*waiter));
	enum ks_stage_result stage = KS_STAGE_FAILED;
	struct entry *entry = NULL;

	pthread_mutex_lock(&documents->lock);
	if (hold && waiter)
		entry = want(documents, key);
	if (entry && entry->state == MADE) {
		hold->document = entry->document;
		atomic_fetch_add_explicit(&hold->document->refs, 1, memory_order_relaxed);
		stage = KS_STAGE_NEXT;
	} else if (entry && start_maker(documents)) {
		*waiter = (struct waiter){.next = entry->waiters, .task.run = resume_waiter, .request = request};
		entry->waiters = waiter;
		ks_request_pin(request);
		stage = KS_STAGE_PENDING;
	}
	pthread_mutex_unlock(&documents->lock);
	if (stage == KS_STAGE_NEXT) {
		ks_request_on_end(request, &hold->end, release_hold);
		*out_r = hold->document;
	} else if (stage == KS_STAGE_FAILED) {
		ks_status_internal(&request->status, &request->arena, "out of memory");
	}
	return stage;
}

/* -- answering ------------------------------------------------------------------------------------------------- */

static void release_bytes(void *bytes)
{
	ks_bytes_unref(bytes);
}

static bool accepts_gzip(struct ks_str accepted)
{
	if (!accepted.p || !memmem(accepted.p, accepted.n, "gzip", 4))
		return false;
	return !memmem(accepted.p, accepted.n, "gzip;q=0", 8);
}

/* Is it one of the tags of an If-None-Match? Weak ones count, too. */
static bool is_known(struct ks_str tags, const char *etag)
{
	size_t n = strlen(etag);

	if (ks_str_is(tags, "*"))
		return true;
	for (size_t i = 0; i + n <= tags.n; i++)
		if (tags.p[i] == '"' && memcmp(tags.p + i, etag, n) == 0)
			return true;
	return false;
}

void ks_documents_respond(
	struct ks_request *request, struct ks_made_document *document, const char *content_type, const struct ks_header *headers, size_t n_headers)
{
	struct ks_header all[HEADERS_MOST];
	struct ks_bytes *bytes = document->bytes;
	struct ks_piece piece;
	size_t n = 0;

	for (; n < n_headers && n < HEADERS_MOST - 3; n++)
		all[n] = headers[n];
	all[n++] = (struct ks_header){KS_STR_LIT("etag"), ks_str_from(document->etag)};
	if (document->gzip)
		all[n++] = (struct ks_header){KS_STR_LIT("vary"), KS_STR_LIT("Accept-Encoding")};
	if (is_known(ks_request_header(request, "if-none-match"), document->etag)) {
		ks_request_respond(request, 304, NULL, all, n, NULL, 0);
		return;
	}
	if (document->gzip && accepts_gzip(ks_request_header(request, "accept-encoding"))) {
		bytes = document->gzip;
		all[n++] = (struct ks_header){KS_STR_LIT("content-encoding"), KS_STR_LIT("gzip")};
	}
	piece = (struct ks_piece){.data = bytes->data, .len = bytes->len, .release = release_bytes, .owner = ks_bytes_ref(bytes)};
	ks_request_respond(request, 200, content_type, all, n, &piece, 1);
}
