/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.x: any bytes, as one stream of requests. What was found must lie inside
 * the input, must not depend on how the bytes were cut, and must not allow two
 * readings.
 *
 * With -DKS_LIBFUZZER a target of libFuzzer; else a program that replays the
 * files named as arguments, or the corpus in $srcdir.
 */
#include <assert.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/net/h1-parser.h"

enum { MAX_HEADERS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_view(struct ks_str view, const char *p, size_t n)
{
	assert(view.n == 0 || (view.p >= p && view.p + view.n <= p + n) || ks_str_is(view, "/"));
	for (size_t i = 0; i < view.n; i++)
		assert(view.p[i] != '\r' && view.p[i] != '\n' && view.p[i] != '\0');
}

static void check_head(const struct ks_h1_head *head, const char *p, size_t n)
{
	check_view(head->method, p, n);
	check_view(head->target, p, n);
	check_view(head->authority, p, n);
	assert(head->method.n && head->target.n);
	assert(!(head->chunked && head->content_length >= 0));
	assert(head->minor == 0 || head->minor == 1);
	for (size_t i = 0; i < head->n_headers; i++) {
		check_view(head->headers[i].name, p, n);
		check_view(head->headers[i].value, p, n);
		assert(head->headers[i].name.n);
	}
}

/* The same end must be found whether the bytes come at once or one by one. */
static ssize_t find_end(const char *p, size_t n)
{
	struct ks_h1_scan whole = {0}, slow = {0};
	ssize_t end = ks_h1_head_end(&whole, p, n), same = 0;

	for (size_t i = 1; i <= n && same == 0; i++)
		same = ks_h1_head_end(&slow, p, i);
	assert(end == same);
	return end;
}

static size_t read_chunks(const char *p, size_t n, size_t step, uint64_t *sum_r)
{
	struct ks_h1_chunks chunks = {0};
	size_t used = 0;

	*sum_r = 0;
	while (used < n && !ks_h1_chunks_done(&chunks)) {
		size_t part = n - used < step ? n - used : step;
		struct ks_str body;
		ssize_t eaten = ks_h1_chunks_next(&chunks, p + used, part, &body);

		if (eaten < 0)
			return SIZE_MAX;
		assert(eaten > 0 && (size_t)eaten <= part && body.n <= (size_t)eaten);
		for (size_t i = 0; i < body.n; i++)
			*sum_r = *sum_r * 31 + (unsigned char)body.p[i];
		used += (size_t)eaten;
	}
	return ks_h1_chunks_done(&chunks) ? used : SIZE_MAX;
}

static size_t read_body(const struct ks_h1_head *head, const char *p, size_t n)
{
	uint64_t at_once, by_bytes;
	size_t used;

	if (!head->chunked)
		return head->content_length > 0 ? (size_t)head->content_length : 0;
	used = read_chunks(p, n, n + 1, &at_once);
	assert(used == read_chunks(p, n, 1, &by_bytes));
	assert(used == SIZE_MAX || at_once == by_bytes);
	return used;
}

/* Bytes of the first request; 0 when there is no more. */
static size_t read_request(const char *p, size_t n)
{
	struct ks_header headers[MAX_HEADERS];
	struct ks_h1_head head = {.headers = headers, .max_headers = MAX_HEADERS};
	ssize_t end = find_end(p, n);
	enum ks_h1_error error;
	size_t body = 0;
	char *copy;

	if (end <= 0)
		return 0;
	copy = malloc((size_t)end);
	assert(copy);
	memcpy(copy, p, (size_t)end);
	error = ks_h1_head_parse(&head, copy, (size_t)end);
	if (!error) {
		check_head(&head, copy, (size_t)end);
		body = read_body(&head, p + end, n - (size_t)end);
	}
	free(copy);
	if (error)
		assert(ks_h1_error_answer(error).n > 0);
	return error || body > n - (size_t)end ? 0 : (size_t)end + body;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data;
	size_t used;

	if (size > 8192)
		return 0; /* byte by byte is quadratic in the number of requests */
	while (size && (used = read_request(p, size))) {
		p += used;
		size -= used;
	}
	return 0;
}

#ifndef KS_LIBFUZZER
static int replay(const char *path)
{
	static uint8_t data[65536];
	FILE *file = fopen(path, "rb");
	uint8_t *exact;
	size_t n;

	if (!file) {
		fprintf(stderr, "fuzz-http1: can't read %s\n", path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), file);
	fclose(file);
	exact = malloc(n ? n : 1); /* no byte more than there is, for the sanitizer to see */
	if (!exact)
		return 1;
	memcpy(exact, data, n);
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

static int replay_corpus(void)
{
	const char *srcdir = getenv("srcdir");
	char pattern[4096];
	int failed = 0;
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/tests/fuzz/corpus/http1/*", srcdir ? srcdir : ".");
	if (glob(pattern, 0, NULL, &files) != 0) {
		fprintf(stderr, "fuzz-http1: nothing is %s\n", pattern);
		return 1;
	}
	for (size_t i = 0; i < files.gl_pathc; i++)
		failed |= replay(files.gl_pathv[i]);
	globfree(&files);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc == 1)
		return replay_corpus();
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
#endif
