/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What is true of every connection: TLS, time-outs, limits, and the end. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/net-harness.h"

static struct net_client client;

static int stop(void **state)
{
	(void)state;
	net_stop();
	return 0;
}

#define assert_has(text, part) assert_non_null(strstr(text, part))

/* Everything that a plain socket says until its end. */
static const char *read_plain(int fd)
{
	static char text[65536];
	size_t n = 0;
	ssize_t r;

	while ((r = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)r;
	text[n] = '\0';
	return text;
}

/* -- TLS ------------------------------------------------------------------------------------------------------- */

static void plain_http_is_told_so(void **state)
{
	int fd;

	(void)state;
	net_start(NULL);
	fd = net_connect();
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27, 0), 27);
	assert_string_equal(read_plain(fd), "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
	close(fd);
}

static void garbage_ends_the_handshake(void **state)
{
	int fd;

	(void)state;
	net_start(NULL);
	fd = net_connect();
	assert_int_equal(send(fd, "\x16\x03\x01\xff\xff garbage\r\n\r\n", 18, 0), 18);
	read_plain(fd);
	close(fd);
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "hello");
	net_close(&client);
}

static void without_alpn_it_is_http1(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, NULL, false);
	net_say(&client, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "\r\n\r\n0:0");
	net_close(&client);
}

static void a_client_certificate_is_passed_on(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", true);
	net_say(&client, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_has(net_expect(&client, "\r\n\r\n1:"), "content-length: 5\r\n");
	net_close(&client);
}

static void a_resumed_session_keeps_its_certificate(void **state)
{
	struct net_client second = {0};

	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", true);
	net_say(&client, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "\r\n\r\n1:");
	assert_int_equal(gnutls_session_get_data2(client.tls, &second.ticket), 0);
	net_open(&second, "http/1.1", true);
	assert_true(gnutls_session_is_resumed(second.tls));
	net_say(&second, "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&second, "\r\n\r\n1:");
	gnutls_free(second.ticket.data);
	net_close(&second);
	net_close(&client);
}

static void a_key_update_is_survived(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", false);
	for (int i = 0; i < 3; i++) {
		net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
		net_expect(&client, "hello");
		assert_int_equal(gnutls_session_key_update(client.tls, GNUTLS_KU_PEER), 0);
	}
	net_close(&client);
}

static void new_certificates_are_used_after_a_reload(void **state)
{
	struct ks_server_config config = {.certificate_file = "/nonexistent", .key_file = net_key_file};
	struct ks_error err;

	(void)state;
	net_start(NULL);
	assert_true(ks_server_reload_tls(net_server, &config, &err) < 0);
	assert_has(err.text, "/nonexistent");
	config.certificate_file = net_certificate_file;
	net_open(&client, "http/1.1", false);
	assert_int_equal(ks_server_reload_tls(net_server, &config, &err), 0);
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "hello");
	net_close(&client);
	net_open(&client, "http/1.1", false);
	net_close(&client);
}

/* -- time-outs ------------------------------------------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	return ks_monotonic_ns() / 1000000;
}

static void a_silent_client_is_dropped(void **state)
{
	uint64_t start = now_ms();
	int fd;

	(void)state;
	net_start(&(struct ks_server_config){.handshake_timeout_seconds = 1});
	fd = net_connect();
	assert_string_equal(read_plain(fd), "");
	assert_in_range(now_ms() - start, 1000, 4000);
	close(fd);
}

static void an_idle_connection_is_dropped(void **state)
{
	(void)state;
	net_start(&(struct ks_server_config){.idle_timeout_seconds = 1});
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
	assert_has(net_receive_all(&client), "hello");
	net_close(&client);
}

static void a_watch_is_not_idle(void **state)
{
	uint64_t start = now_ms();

	(void)state;
	net_start(&(struct ks_server_config){
		.idle_timeout_seconds = 1, .write_timeout_seconds = 1, .body_timeout_seconds = 1, .header_timeout_seconds = 1});
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "begun");
	while (now_ms() - start < 2500) {
		assert_int_equal(net_closed, 0);
		usleep(50000);
	}
	net_close(&client);
}

static void half_a_head_is_dropped(void **state)
{
	(void)state;
	net_start(&(struct ks_server_config){.header_timeout_seconds = 1});
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /hello HTTP/1.1\r\nHost:");
	assert_string_equal(net_receive_all(&client), "");
	net_close(&client);
}

static void half_a_body_is_dropped(void **state)
{
	(void)state;
	net_start(&(struct ks_server_config){.body_timeout_seconds = 1});
	net_open(&client, "http/1.1", false);
	net_say(&client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf");
	assert_string_equal(net_receive_all(&client), "");
	net_wait(&net_closed, 1);
	net_close(&client);
}

static void an_answer_that_nobody_takes_is_dropped(void **state)
{
	(void)state;
	net_start(&(struct ks_server_config){.write_timeout_seconds = 1});
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /big?50000000 HTTP/1.1\r\nHost: a\r\n\r\n");
	net_wait(&net_closed, 1);
	assert_int_equal(net_released, 3);
	net_close(&client);
}

static void a_silent_http2_client_is_dropped(void **state)
{
	(void)state;
	net_start(&(struct ks_server_config){.header_timeout_seconds = 1});
	net_open(&client, "h2", false);
	net_receive_all(&client);
	net_close(&client);
}

/* -- limits ---------------------------------------------------------------------------------------------------- */

static void a_second_server_on_the_port_is_refused(void **state)
{
	const struct ks_http_callbacks callbacks = {0};
	struct ks_server_config config = {
		.bind_address = "127.0.0.1", .n_workers = 1, .certificate_file = net_certificate_file, .key_file = net_key_file};
	struct ks_server *second = NULL;
	struct ks_loop *loop = ks_loop_new(KS_LOOP_NO_INDEX);
	struct ks_error err;

	(void)state;
	net_start(NULL);
	config.port = ks_server_port(net_server);
	assert_int_equal(ks_server_start(loop, &config, &callbacks, &second, &err), -EADDRINUSE);
	assert_null(second);
	assert_has(err.text, "can't listen on 127.0.0.1 port ");
	assert_has(err.text, "Address already in use");
	ks_loop_free(&loop);
}

static void connections_over_the_limit_are_refused(void **state)
{
	int fds[6];
	char byte;

	(void)state;
	net_start(&(struct ks_server_config){.max_connections = 4});
	for (int i = 0; i < 6; i++) {
		fds[i] = net_connect();
		usleep(2000);
	}
	assert_true(recv(fds[5], &byte, 1, 0) <= 0);
	assert_int_equal(recv(fds[0], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
}

static _Atomic unsigned n_started, n_stopped;

static void worker_started(struct ks_loop *loop, void *arg)
{
	(void)arg;
	assert_true(ks_loop_index(loop) < 3);
	n_started++;
}

static void worker_stopped(struct ks_loop *loop, void *arg)
{
	(void)loop;
	(void)arg;
	n_stopped++;
}

static void each_worker_starts_and_stops_once(void **state)
{
	(void)state;
	n_started = n_stopped = 0;
	net_start(&(struct ks_server_config){.n_workers = 3, .worker_started = worker_started, .worker_stopped = worker_stopped});
	assert_int_equal(ks_server_n_workers(net_server), 3);
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "begun");
	net_stop();
	assert_int_equal(n_started, 3);
	assert_int_equal(n_stopped, 3);
	net_close(&client);
}

static void a_stream_that_is_referred_to_outlives_its_connection_and_delays_the_end(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "hello");
	net_abort(&client);
	net_wait(&net_closed, 1);
	net_stop();
	assert_int_equal(net_released, 2);
	net_close(&client);
}

/* Many threads, each with connections of its own. */
static void *run_client(void *arg)
{
	(void)arg;
	for (int i = 0; i < 8; i++) {
		struct net_client c = {0};
		char data[4096];

		net_open(&c, i % 2 ? "http/1.1" : NULL, i % 3 == 0);
		for (int j = 0; j < 20; j++) {
			net_say(&c, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
			if (j == 19 && i % 2)
				break; /* leaves without waiting */
			assert_true(net_receive(&c, data, sizeof(data)) > 0);
			if (j == 5)
				break;
		}
		net_close(&c);
	}
	return NULL;
}

static void many_clients_are_served_by_all_workers(void **state)
{
	pthread_t threads[8];

	(void)state;
	net_start(NULL);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_client, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	assert_true(net_requests >= 8 * 8 * 6);
}

/* -- the end --------------------------------------------------------------------------------------------------- */

static _Atomic unsigned drained;

static void on_drained(void *arg)
{
	(void)arg;
	drained++;
}

struct drain_task {
	struct ks_task task;
	uint64_t deadline_ms;
};

static struct drain_task drain_task;

static void run_drain(struct ks_task *task)
{
	ks_server_drain(net_server, ((struct drain_task *)task)->deadline_ms, on_drained, NULL);
}

static void drain(uint64_t deadline_ms)
{
	drained = 0;
	drain_task = (struct drain_task){.task.run = run_drain, .deadline_ms = deadline_ms};
	ks_loop_post(net_loop, &drain_task.task);
}

static void draining_without_connections_is_over_at_once(void **state)
{
	uint64_t start = now_ms();

	(void)state;
	net_start(NULL);
	drain(60000);
	net_wait(&drained, 1);
	assert_true(now_ms() - start < 5000);
}

static void draining_closes_idle_connections_and_finishes_requests(void **state)
{
	struct net_client idle = {0};

	(void)state;
	net_start(NULL);
	net_open(&idle, "http/1.1", false);
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
	net_wait(&net_requests, 1);
	drain(60000);
	const char *answer = net_receive_all(&client);

	assert_has(answer, "connection: close\r\n");
	assert_has(answer, "\r\n\r\nhello");
	assert_string_equal(net_receive_all(&idle), "");
	net_close(&client);
	net_close(&idle);
	net_wait(&drained, 1);
}

static void run_cut(struct ks_task *task)
{
	(void)task;
	ks_server_cut(net_server);
	ks_server_cut(net_server); /* once is enough */
}

static void a_drain_that_is_cut_is_over_at_once(void **state)
{
	static struct ks_task task = {.run = run_cut};

	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
	net_wait(&net_requests, 1);
	drain(60000);
	ks_loop_post(net_loop, &task);
	net_wait(&drained, 1);
	net_close(&client);
}

static void draining_http2_says_goaway(void **state)
{
	static char data[65536];
	size_t n = 0, part;
	unsigned goaways = 0;

	(void)state;
	net_start(NULL);
	net_open(&client, "h2", false);
	net_say(&client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0");
	/* GET /, whose answer comes before the end */
	net_say(&client, "\0\0\6\1\5\0\0\0\1\x82\x87\x84\x41\1a");
	net_wait(&net_requests, 1);
	drain(60000);
	while ((part = net_receive(&client, data + n, sizeof(data) - n)))
		n += part;
	for (size_t at = 0; at + 9 <= n; at += 9 + ((size_t)(unsigned char)data[at + 1] << 8 | (unsigned char)data[at + 2]))
		goaways += data[at + 3] == 7;
	assert_int_equal(goaways, 2);
	net_close(&client);
	net_wait(&drained, 1);
}

static void the_deadline_ends_what_does_not_end_itself(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, "http/1.1", false);
	net_say(&client, "GET /watch HTTP/1.1\r\nHost: a\r\n\r\n");
	net_expect(&client, "begun");
	drain(200);
	net_wait(&drained, 1);
	assert_int_equal(net_closed, 1);
	net_close(&client);
}

static void nothing_is_accepted_while_draining(void **state)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	int fd, again;

	(void)state;
	net_start(NULL);
	fd = net_connect();
	getpeername(fd, (struct sockaddr *)&address, &length);
	drain(60000);
	net_wait(&drained, 1);
	again = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(again, (struct sockaddr *)&address, length), -1);
	close(again);
	close(fd);
}

static int nothing(void **state)
{
	(void)state;
	return 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_teardown(f, stop)
	const struct CMUnitTest tests[] = {
		TEST(plain_http_is_told_so),
		TEST(garbage_ends_the_handshake),
		TEST(without_alpn_it_is_http1),
		TEST(a_client_certificate_is_passed_on),
		TEST(a_resumed_session_keeps_its_certificate),
		TEST(a_key_update_is_survived),
		TEST(new_certificates_are_used_after_a_reload),
		TEST(a_silent_client_is_dropped),
		TEST(an_idle_connection_is_dropped),
		TEST(a_watch_is_not_idle),
		TEST(half_a_head_is_dropped),
		TEST(half_a_body_is_dropped),
		TEST(an_answer_that_nobody_takes_is_dropped),
		TEST(a_silent_http2_client_is_dropped),
		TEST(a_second_server_on_the_port_is_refused),
		TEST(connections_over_the_limit_are_refused),
		cmocka_unit_test_teardown(each_worker_starts_and_stops_once, nothing),
		cmocka_unit_test_teardown(a_stream_that_is_referred_to_outlives_its_connection_and_delays_the_end, nothing),
		TEST(many_clients_are_served_by_all_workers),
		TEST(draining_without_connections_is_over_at_once),
		TEST(draining_closes_idle_connections_and_finishes_requests),
		TEST(a_drain_that_is_cut_is_over_at_once),
		TEST(draining_http2_says_goaway),
		TEST(the_deadline_ends_what_does_not_end_itself),
		TEST(nothing_is_accepted_while_draining),
	};

	return cmocka_run_group_tests(tests, net_group_setup, net_group_teardown);
}
