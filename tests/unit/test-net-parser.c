/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/net/h1-parser.h"

static struct ks_header headers[16];
static struct ks_h1_head head;
static char text[4096];

static enum ks_h1_error parse(const char *request)
{
	struct ks_h1_scan scan = {0};
	ssize_t end = ks_h1_head_end(&scan, request, strlen(request));

	assert_true(end <= (ssize_t)strlen(request));
	if (end <= 0)
		return KS_H1_BAD_REQUEST;
	head = (struct ks_h1_head){.headers = headers, .max_headers = 16};
	memcpy(text, request, (size_t)end);
	return ks_h1_head_parse(&head, text, (size_t)end);
}

#define assert_str(view, expected) assert_true(ks_str_is(view, expected))

static void a_request_is_taken_apart(void **state)
{
	(void)state;
	assert_int_equal(parse("GET /api?watch=1 HTTP/1.1\r\nHost: a:1\r\nX-Thing:  two words \t\r\n\r\n"), KS_H1_OK);
	assert_str(head.method, "GET");
	assert_str(head.target, "/api?watch=1");
	assert_str(head.authority, "a:1");
	assert_int_equal(head.n_headers, 2);
	assert_str(headers[1].name, "x-thing");
	assert_str(headers[1].value, "two words");
	assert_true(head.keep_alive);
	assert_int_equal(head.content_length, -1);
}

static void the_end_is_found_when_bytes_come_one_by_one(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
	struct ks_h1_scan scan = {0};

	(void)state;
	for (size_t n = 1; n < 27; n++)
		assert_int_equal(ks_h1_head_end(&scan, request, n), 0);
	assert_int_equal(ks_h1_head_end(&scan, request, 31), 27);
	assert_int_equal(scan.n_lines, 2);
}

static void bare_line_feeds_are_refused(void **state)
{
	struct ks_h1_scan scan = {0};

	(void)state;
	assert_true(ks_h1_head_end(&scan, "GET / HTTP/1.1\nHost: a\n\n", 24) < 0);
	scan = (struct ks_h1_scan){0};
	assert_true(ks_h1_head_end(&scan, "GET / HTTP/1.1\r\nHost: a\r\n\n", 26) < 0);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n"), KS_H1_BAD_VALUE);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nx: a\rb\r\n\r\n"), KS_H1_BAD_VALUE);
}

static void what_begins_like_no_method_is_refused_at_once(void **state)
{
	struct ks_h1_scan scan = {0};

	(void)state;
	assert_true(ks_h1_head_end(&scan, "\x16\x03\x01", 3) < 0);
	scan = (struct ks_h1_scan){0};
	assert_true(ks_h1_head_end(&scan, "\r\n", 2) < 0);
}

static void an_absolute_target_gives_the_authority(void **state)
{
	(void)state;
	assert_int_equal(parse("GET http://b:80/p?q HTTP/1.1\r\nHost: a\r\n\r\n"), KS_H1_OK);
	assert_str(head.target, "/p?q");
	assert_str(head.authority, "b:80");
	assert_int_equal(parse("GET https://b HTTP/1.1\r\nHost: a\r\n\r\n"), KS_H1_OK);
	assert_str(head.target, "/");
	assert_int_equal(parse("GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n"), KS_H1_BAD_REQUEST);
	assert_int_equal(parse("GET b/ HTTP/1.1\r\nHost: a\r\n\r\n"), KS_H1_BAD_REQUEST);
}

static void bad_request_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"GET /", "GET", "GET  HTTP/1.1", "GET / HTTP/1.1 ", "G@T / HTTP/1.1", "GET /a b HTTP/1.1", "GET /\x7f HTTP/1.1", "GET / http/1.1",
		"GET / HTTP/1.12", "GET / HTTP/x.1", "CONNECT a:1 HTTP/1.1", "GET /\t HTTP/1.1",
	};
	char request[128];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(request, sizeof(request), "%s\r\nHost: a\r\n\r\n", lines[i]);
		assert_int_equal(parse(request), KS_H1_BAD_REQUEST);
	}
}

static void other_versions_are_refused(void **state)
{
	(void)state;
	assert_int_equal(parse("PRI * HTTP/2.0\r\n\r\n"), KS_H1_BAD_VERSION);
	assert_int_equal(parse("GET / HTTP/0.9\r\nHost: a\r\n\r\n"), KS_H1_BAD_VERSION);
	assert_int_equal(parse("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), KS_H1_BAD_VERSION);
}

static void host_is_needed_once_and_well_formed(void **state)
{
	(void)state;
	assert_int_equal(parse("GET / HTTP/1.1\r\n\r\n"), KS_H1_NO_HOST);
	assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n"), KS_H1_OK);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), KS_H1_MANY_HOSTS);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), KS_H1_BAD_HOST);
}

static void headers_that_can_be_read_in_two_ways_are_refused(void **state)
{
	(void)state;
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), KS_H1_BAD_REQUEST);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), KS_H1_BAD_NAME);
	assert_int_equal(parse("GET / HTTP/1.1\r\n: a\r\n\r\n"), KS_H1_BAD_NAME);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost\r\n\r\n"), KS_H1_BAD_REQUEST);
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nx: \x01\r\n\r\n"), KS_H1_BAD_VALUE);
}

static void lengths_that_can_be_read_in_two_ways_are_refused(void **state)
{
	static const char *const lengths[] = {
		"Content-Length: 1\r\nContent-Length: 1", "Content-Length: +1", "Content-Length: 1, 1", "Content-Length: ", "Content-Length: 0x1",
		"Content-Length: -1", "Content-Length: 1234567890123456789", "Content-Length: 1\r\nTransfer-Encoding: chunked",
		"Transfer-Encoding: chunked\r\nContent-Length: 1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
	};
	char request[256];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		snprintf(request, sizeof(request), "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", lengths[i]);
		assert_int_equal(parse(request), KS_H1_BAD_REQUEST);
	}
	assert_int_equal(parse("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), KS_H1_BAD_REQUEST);
}

static void only_chunked_is_understood(void **state)
{
	(void)state;
	assert_int_equal(parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"), KS_H1_OK);
	assert_true(head.chunked);
	assert_int_equal(parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), KS_H1_BAD_ENCODING);
	assert_int_equal(parse("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0b" "chunked\r\n\r\n"), KS_H1_BAD_VALUE);
}

static void connection_decides_about_keeping_alive(void **state)
{
	(void)state;
	assert_int_equal(parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade , CLOSE\r\n\r\n"), KS_H1_OK);
	assert_false(head.keep_alive);
	assert_int_equal(parse("GET / HTTP/1.0\r\n\r\n"), KS_H1_OK);
	assert_false(head.keep_alive);
	assert_int_equal(parse("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), KS_H1_OK);
	assert_true(head.keep_alive);
}

static void more_headers_than_there_is_room_for_are_too_large(void **state)
{
	char request[512] = "GET / HTTP/1.1\r\nHost: a\r\n";

	(void)state;
	for (int i = 0; i < 16; i++)
		strcat(request, "a: b\r\n");
	strcat(request, "\r\n");
	assert_int_equal(parse(request), KS_H1_TOO_LARGE);
}

/* -- chunks ---------------------------------------------------------------------------------------------------- */

/* Decodes in steps of so many bytes; the body, "bad", or "more" when the end is missing. */
static const char *decode(const char *chunked, size_t step)
{
	static char body[256];
	struct ks_h1_chunks chunks = {0};
	size_t n = strlen(chunked), used = 0, length = 0;

	while (used < n && !ks_h1_chunks_done(&chunks)) {
		struct ks_str data;
		size_t part = n - used < step ? n - used : step;
		ssize_t eaten = ks_h1_chunks_next(&chunks, chunked + used, part, &data);

		if (eaten < 0)
			return "bad";
		memcpy(body + length, data.p, data.n);
		length += data.n;
		used += (size_t)eaten;
	}
	body[length] = '\0';
	return ks_h1_chunks_done(&chunks) ? body : "more";
}

static void chunks_are_joined_however_they_are_cut(void **state)
{
	(void)state;
	for (size_t step = 1; step < 40; step++) {
		assert_string_equal(decode("5\r\nhello\r\n00006;x=\"y\"\r\n world\r\n0\r\nTrailer: 1\r\n\r\n", step), "hello world");
		assert_string_equal(decode("A\r\n0123456789\r\n0\r\n\r\n", step), "0123456789");
	}
}

static void malformed_chunks_are_refused(void **state)
{
	(void)state;
	assert_string_equal(decode("5\nhello\r\n0\r\n\r\n", 100), "bad");
	assert_string_equal(decode("5\r\nhello0\r\n\r\n", 100), "bad");
	assert_string_equal(decode("5\r\nhello\n0\r\n\r\n", 100), "bad");
	assert_string_equal(decode("\r\nhello\r\n", 100), "bad");
	assert_string_equal(decode("-1\r\n", 100), "bad");
	assert_string_equal(decode("0x5\r\nhello\r\n", 100), "bad");
	assert_string_equal(decode("5 \r\nhello\r\n", 100), "bad");
	assert_string_equal(decode("1234567890abcdef\r\n", 100), "bad");
	assert_string_equal(decode("0\r\n folded\r\n\r\n", 100), "bad");
	assert_string_equal(decode("0\r\n", 100), "more");
	assert_string_equal(decode("5\r\nhel", 100), "more");
}

static void endless_trailers_are_refused(void **state)
{
	struct ks_h1_chunks chunks = {0};
	struct ks_str data;
	ssize_t eaten = ks_h1_chunks_next(&chunks, "0\r\n", 3, &data);
	int lines = 0;

	(void)state;
	assert_int_equal(eaten, 3);
	while (lines < 100000 && ks_h1_chunks_next(&chunks, "a: b\r\n", 6, &data) == 6)
		lines++;
	assert_true(lines < 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_taken_apart),
		cmocka_unit_test(the_end_is_found_when_bytes_come_one_by_one),
		cmocka_unit_test(bare_line_feeds_are_refused),
		cmocka_unit_test(what_begins_like_no_method_is_refused_at_once),
		cmocka_unit_test(an_absolute_target_gives_the_authority),
		cmocka_unit_test(bad_request_lines_are_refused),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(host_is_needed_once_and_well_formed),
		cmocka_unit_test(headers_that_can_be_read_in_two_ways_are_refused),
		cmocka_unit_test(lengths_that_can_be_read_in_two_ways_are_refused),
		cmocka_unit_test(only_chunked_is_understood),
		cmocka_unit_test(connection_decides_about_keeping_alive),
		cmocka_unit_test(more_headers_than_there_is_room_for_are_too_large),
		cmocka_unit_test(chunks_are_joined_however_they_are_cut),
		cmocka_unit_test(malformed_chunks_are_refused),
		cmocka_unit_test(endless_trailers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
