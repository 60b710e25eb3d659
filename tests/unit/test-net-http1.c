/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.x over real sockets. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/net-harness.h"

static struct net_client client;

static int setup(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", false);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	net_close(&client);
	net_stop();
	return 0;
}

#define assert_has(text, part) assert_non_null(strstr(text, part))
#define assert_has_not(text, part) assert_null(strstr(text, part))

static const char *body_of(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");

	return end ? end + 4 : "";
}

/* -- answers --------------------------------------------------------------------------------------------------- */

static void a_connection_is_kept_for_the_next_request(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
		const char *answer = net_expect(&client, "\r\n\r\nhello");

		assert_has(answer, "HTTP/1.1 200 OK\r\n");
		assert_has(answer, "content-length: 5\r\n");
		assert_has(answer, "\r\ndate: ");
		assert_has_not(answer, "connection: close");
	}
}

static void the_request_is_seen_whole(void **state)
{
	(void)state;
	net_say(&client, "GET /where?a=b&c HTTP/1.1\r\nHost: example:1\r\n\r\n");
	assert_has(net_expect(&client, "127.0.0.1"), "/where|a=b&c|example:1|127.0.0.1");
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	(void)state;
	net_say(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\nGET /big?3 HTTP/1.1\r\nHost: a\r\n\r\n"
		"GET /where HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n");
	const char *answers = net_receive_all(&client);
	const char *first = strstr(answers, "\r\n\r\nhello"), *second = strstr(answers, "\r\n\r\nabc"), *third = strstr(answers, "|last|");

	assert_true(first && second && third && first < second && second < third);
	assert_has(third - 200 < answers ? answers : third - 200, "connection: close");
}

static void a_request_in_single_bytes_is_answered(void **state)
{
	static const char request[] = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < sizeof(request) - 1; i++)
		net_send(&client, request + i, 1);
	net_expect(&client, "\r\n\r\nabc");
}

static void head_gets_the_length_and_no_body(void **state)
{
	(void)state;
	net_say(&client, "HEAD /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	const char *answer = net_receive_all(&client);

	assert_has(answer, "content-length: 5\r\n");
	assert_string_equal(body_of(answer), "");
}

static void a_streamed_answer_comes_in_chunks(void **state)
{
	(void)state;
	net_say(&client, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
	const char *answer = net_expect(&client, "0\r\n\r\n");

	assert_has(answer, "transfer-encoding: chunked\r\n");
	assert_string_equal(body_of(answer), "5\r\ntick\n\r\n5\r\ntick\n\r\n5\r\ntick\n\r\n0\r\n\r\n");
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "\r\n\r\nhello");
}

static void http10_gets_what_it_understands(void **state)
{
	(void)state;
	net_say(&client, "GET /stream HTTP/1.0\r\n\r\n");
	const char *answer = net_receive_all(&client);

	assert_has(answer, "HTTP/1.0 200 OK\r\n");
	assert_has_not(answer, "chunked");
	assert_string_equal(body_of(answer), "tick\ntick\ntick\n");
}

static void http10_may_keep_the_connection(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		net_say(&client, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
		assert_has(net_expect(&client, "\r\n\r\nhello"), "connection: keep-alive");
	}
}

static void a_large_answer_arrives_whole(void **state)
{
	enum { SIZE = 20 * 1000 * 1000 };

	(void)state;
	net_say(&client, "GET /big?20000000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	usleep(100000); /* so that the socket is full meanwhile */
	const char *body = body_of(net_receive_all(&client));

	assert_int_equal(strlen(body), SIZE);
	for (size_t i = 0; i < SIZE; i += 9973)
		assert_int_equal(body[i], 'a' + i % 26);
	net_wait(&net_closed, 1);
	assert_int_equal(net_released, 3);
}

static void a_reset_ends_the_connection(void **state)
{
	(void)state;
	net_say(&client, "GET /reset HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_string_equal(net_receive_all(&client), "");
	net_wait(&net_closed, 1);
}

/* -- bodies ---------------------------------------------------------------------------------------------------- */

static void a_body_with_a_length_is_read(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello");
	net_say(&client, " worldGET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
	const char *answers = net_receive_all(&client);

	assert_has(answers, "\r\n\r\nhello world");
	assert_has(answers, "\r\n\r\nhello");
	assert_int_equal(net_requests, 2);
}

static void an_empty_body_is_read(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
	net_expect(&client, "content-length: 0\r\n");
}

static void a_body_at_the_limit_is_read(void **state)
{
	static char body[1 << 20];

	(void)state;
	memset(body, 'x', sizeof(body));
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\nConnection: close\r\n\r\n");
	net_send(&client, body, sizeof(body));
	assert_int_equal(strlen(body_of(net_receive_all(&client))), sizeof(body));
}

static void a_body_that_says_it_is_too_large_is_413_at_once(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n");
	assert_has(net_receive_all(&client), "HTTP/1.1 413 Request Entity Too Large\r\n");
}

static void a_chunked_body_that_gets_too_large_is_413(void **state)
{
	static char block[65536];

	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 20; i++) {
		net_say(&client, "10000\r\n");
		net_send(&client, block, sizeof(block));
		net_say(&client, "\r\n");
	}
	assert_has(net_receive_all(&client), "HTTP/1.1 413 Request Entity Too Large\r\n");
}

static void malformed_chunks_are_told_to_the_reader(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n");
	const char *answer = net_receive_all(&client);

	assert_has(answer, "HTTP/1.1 400 Bad Request\r\n");
	assert_has(answer, "connection: close\r\n");
}

static void a_small_unread_body_does_not_cost_the_connection(void **state)
{
	(void)state;
	net_say(&client, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
	net_expect(&client, "\r\n\r\nno");
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "\r\n\r\nhello");
}

static void a_large_unread_body_does(void **state)
{
	static char block[65536];

	(void)state;
	net_say(&client, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n");
	for (int i = 0; i < 4; i++)
		net_send(&client, block, sizeof(block));
	const char *answer = net_receive_all(&client);

	assert_has(answer, "HTTP/1.1 403 Forbidden\r\n");
	assert_has(answer, "connection: close\r\n");
}

static void continue_is_said_when_the_body_is_read(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	net_expect(&client, "HTTP/1.1 100 Continue\r\n\r\n");
	net_say(&client, "ok");
	net_expect(&client, "\r\n\r\nok");
}

static void continue_is_not_said_when_it_is_not(void **state)
{
	(void)state;
	net_say(&client, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	const char *answer = net_receive_all(&client);

	assert_has_not(answer, "100 Continue");
	assert_has(answer, "connection: close\r\n");
}

/* -- bad requests ---------------------------------------------------------------------------------------------- */

static void garbage_is_400(void **state)
{
	(void)state;
	net_say(&client, "\x01\x02garbage\r\n\r\n");
	assert_string_equal(net_receive_all(&client),
		"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request");
	assert_int_equal(net_requests, 0);
}

static void garbage_after_a_request_does_not_spoil_its_answer(void **state)
{
	(void)state;
	net_say(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n\x01\x02garbage\r\n\r\n");
	const char *answers = net_receive_all(&client);

	assert_has(answers, "\r\n\r\nhelloHTTP/1.1 400 Bad Request\r\n");
}

static void two_lengths_are_400(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
		"0\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_has(net_receive_all(&client), "HTTP/1.1 400 Bad Request\r\n");
	assert_int_equal(net_requests, 0);
}

static void headers_over_the_limit_are_431(void **state)
{
	char line[1024];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "a: ", 3);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n");
	for (int i = 0; i < 1025; i++)
		net_send(&client, line, sizeof(line));
	assert_has(net_receive_all(&client), "HTTP/1.1 431 Request Header Fields Too Large\r\n");
	assert_int_equal(net_requests, 0);
}

static void too_many_headers_are_431(void **state)
{
	(void)state;
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n");
	for (int i = 0; i < 1001; i++)
		net_say(&client, "a: b\r\n");
	net_say(&client, "\r\n");
	assert_has(net_receive_all(&client), "HTTP/1.1 431 Request Header Fields Too Large\r\n");
}

/* -- clients that go ------------------------------------------------------------------------------------------- */

static void a_watch_is_closed_when_the_client_goes(void **state)
{
	(void)state;
	net_say(&client, "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "begun\n");
	assert_int_equal(net_closed, 0);
	shutdown(client.fd, SHUT_RDWR);
	net_wait(&net_closed, 1);
}

static void a_watch_is_closed_when_the_client_goes_though_it_has_sent_more(void **state)
{
	static char block[100000]; /* more than is read ahead, less than the socket holds besides */

	(void)state;
	memset(block, 'x', sizeof(block));
	net_say(&client, "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "begun\n");
	net_send(&client, block, sizeof(block));
	shutdown(client.fd, SHUT_RDWR);
	net_wait(&net_closed, 1);
}

static void a_watch_is_closed_when_the_connection_is_reset_though_it_is_not_read(void **state)
{
	static char block[100000];

	(void)state;
	memset(block, 'x', sizeof(block));
	net_say(&client, "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "begun\n");
	net_send(&client, block, sizeof(block));
	usleep(20000); /* the server has stopped reading by then */
	net_abort(&client);
	net_wait(&net_closed, 1);
}

static void a_half_closed_client_gets_its_answer(void **state)
{
	(void)state;
	net_say(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	net_half_close(&client);
	assert_has(net_receive_all(&client), "\r\n\r\nhello");
}

/* The last bytes of the answer may be in a buffer when it turns out that the body will never come. */
static void a_missing_body_does_not_cut_off_the_answer(void **state)
{
	for (size_t size = 3000000; size < 6000000; size += 100000) {
		char request[100];
		int n = snprintf(request, sizeof(request), "GET /big?%zu HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", size);

		net_close(&client);
		net_open(&client, NULL, false);
		net_send(&client, request, (size_t)n);
		net_half_close(&client);
		usleep(10000); /* what does not fit into the socket waits in the server */
		assert_int_equal(strlen(body_of(net_receive_all(&client))), size);
	}
	(void)state;
}

static void a_half_closed_client_gets_all_its_answers(void **state)
{
	(void)state;
	net_say(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
		"GET /big?3 HTTP/1.1\r\nHost: a\r\n\r\nGET /half HTTP/1.1\r\nHo");
	net_half_close(&client);
	const char *answers = net_receive_all(&client);

	assert_has(answers, "\r\n\r\nhello");
	assert_has(answers, "\r\n\r\nbody");
	assert_has(answers, "\r\n\r\nabc");
	assert_int_equal(net_requests, 3);
}

static void a_client_that_goes_in_its_body_closes_the_stream(void **state)
{
	(void)state;
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel");
	net_wait(&net_requests, 1);
	shutdown(client.fd, SHUT_RDWR);
	net_wait(&net_closed, 1);
	assert_int_equal(net_bodies, 0);
}

static void a_client_that_reads_slowly_bounds_what_is_queued(void **state)
{
	(void)state;
	net_say(&client, "GET /pour HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "200 OK");
	unsigned before;

	do {
		before = net_drained;
		usleep(50000);
	} while (net_drained != before); /* until all buffers are full */
	assert_true(net_drained < 2000);
	net_abort(&client);
	net_wait(&net_closed, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_connection_is_kept_for_the_next_request),
		TEST(the_request_is_seen_whole),
		TEST(pipelined_requests_are_answered_in_order),
		TEST(a_request_in_single_bytes_is_answered),
		TEST(head_gets_the_length_and_no_body),
		TEST(a_streamed_answer_comes_in_chunks),
		TEST(http10_gets_what_it_understands),
		TEST(http10_may_keep_the_connection),
		TEST(a_large_answer_arrives_whole),
		TEST(a_reset_ends_the_connection),
		TEST(a_body_with_a_length_is_read),
		TEST(an_empty_body_is_read),
		TEST(a_body_at_the_limit_is_read),
		TEST(a_body_that_says_it_is_too_large_is_413_at_once),
		TEST(a_chunked_body_that_gets_too_large_is_413),
		TEST(malformed_chunks_are_told_to_the_reader),
		TEST(a_small_unread_body_does_not_cost_the_connection),
		TEST(a_large_unread_body_does),
		TEST(continue_is_said_when_the_body_is_read),
		TEST(continue_is_not_said_when_it_is_not),
		TEST(garbage_is_400),
		TEST(garbage_after_a_request_does_not_spoil_its_answer),
		TEST(two_lengths_are_400),
		TEST(headers_over_the_limit_are_431),
		TEST(too_many_headers_are_431),
		TEST(a_watch_is_closed_when_the_client_goes),
		TEST(a_watch_is_closed_when_the_client_goes_though_it_has_sent_more),
		TEST(a_watch_is_closed_when_the_connection_is_reset_though_it_is_not_read),
		TEST(a_half_closed_client_gets_its_answer),
		TEST(a_half_closed_client_gets_all_its_answers),
		TEST(a_missing_body_does_not_cut_off_the_answer),
		TEST(a_client_that_goes_in_its_body_closes_the_stream),
		TEST(a_client_that_reads_slowly_bounds_what_is_queued),
	};

	return cmocka_run_group_tests(tests, net_group_setup, net_group_teardown);
}
