/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation of the network layer fails in turn: a client may lose its
 * connection or its request, never the server. Linked with --wrap for malloc,
 * calloc, realloc and aligned_alloc.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/net-harness.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static _Atomic int until_failure = -1; /* negative: none fails */
static _Thread_local bool is_worker;

static bool fails(void)
{
	return is_worker && !net_allocates && until_failure >= 0 && until_failure-- == 0;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

static void worker_started(struct ks_loop *loop, void *arg)
{
	(void)loop;
	(void)arg;
	is_worker = true;
}

/* Whatever comes, until the end of the connection. */
static void converse(const char *protocol, const char *requests, size_t n)
{
	struct net_client client = {0};
	static char data[65536];

	client.fd = -1;
	if (!net_try_open(&client, protocol))
		return;
	net_send(&client, requests, n);
	if (strcmp(protocol, "h2") != 0)
		net_half_close(&client);
	while (net_receive(&client, data, sizeof(data)))
		;
	net_close(&client);
}

static const char http1[] =
	"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
	"GET /big?300000 HTTP/1.1\r\nHost: a\r\n\r\n"
	"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	"GET /later HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/* Preface, SETTINGS, GET /big?99, POST /echo with "hello", GOAWAY: it ends when all is answered. */
static const char http2[] =
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
	"\0\0\16\1\5\0\0\0\1\x82\x87\x04\x07/big?99\x41\1a"
	"\0\0\14\1\4\0\0\0\3\x83\x87\x04\x05/echo\x41\1a"
	"\0\0\5\0\1\0\0\0\3hello"
	"\0\0\10\7\0\0\0\0\0\0\0\0\0\0\0\0\0";

/* One server per failure, so that nothing is left over in its pools. */
static bool check_one(const char *protocol, const char *requests, size_t n, int failure)
{
	unsigned before;
	bool failed;

	net_start(&(struct ks_server_config){.n_workers = 1, .worker_started = worker_started});
	until_failure = failure;
	converse(protocol, requests, n);
	failed = until_failure < 0;
	until_failure = -1;
	before = net_requests;
	converse("http/1.1", http1, sizeof(http1) - 1);
	assert_int_equal(net_requests - before, 4);
	net_stop();
	return failed;
}

static void check_each(const char *protocol, const char *requests, size_t n)
{
	int failure = 0;

	while (check_one(protocol, requests, n, failure))
		assert_true(++failure < 500);
	assert_true(failure > 3);
}

static void http1_survives_each_failure(void **state)
{
	(void)state;
	check_each("http/1.1", http1, sizeof(http1) - 1);
}

static void http2_survives_each_failure(void **state)
{
	(void)state;
	check_each("h2", http2, sizeof(http2) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http1_survives_each_failure),
		cmocka_unit_test(http2_survives_each_failure),
	};

	return cmocka_run_group_tests(tests, net_group_setup, net_group_teardown);
}
