/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 over real sockets: with nghttp2's client, and with frames made by hand where a good client would not send them. */
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/net-harness.h"

enum { MAX_ANSWERS = 600 };

struct answer {
	int32_t id;
	int status;
	bool got_continue, closed;
	uint32_t error;
	size_t n_body;
	char body[4096]; /* the first bytes of it */
};

static struct net_client client;
static nghttp2_session *session;
static struct answer answers[MAX_ANSWERS];
static unsigned n_answers, n_closed;
static bool goaway;
static uint32_t goaway_error;
static int32_t goaway_last;
static const char *upload;
static size_t upload_left;

/* -- the client ------------------------------------------------------------------------------------------------ */

static ssize_t on_send(nghttp2_session *s, const uint8_t *data, size_t n, int flags, void *user)
{
	(void)s;
	(void)flags;
	(void)user;
	net_send(&client, data, n);
	return (ssize_t)n;
}

static struct answer *find(int32_t id)
{
	for (unsigned i = 0; i < n_answers; i++)
		if (answers[i].id == id)
			return &answers[i];
	fail_msg("no stream %d", id);
	return NULL;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
	uint8_t flags, void *user)
{
	struct answer *answer = find(frame->hd.stream_id);

	(void)s;
	(void)flags;
	(void)user;
	if (n_name != 7 || memcmp(name, ":status", 7) != 0)
		return 0;
	assert_int_equal(n_value, 3);
	answer->status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + value[2] - '0';
	answer->got_continue |= answer->status == 100;
	return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t n, void *user)
{
	struct answer *answer = find(id);
	size_t room = sizeof(answer->body) - 1 - answer->n_body;

	(void)s;
	(void)flags;
	(void)user;
	if (answer->n_body < sizeof(answer->body) - 1)
		memcpy(answer->body + answer->n_body, data, n < room ? n : room);
	answer->n_body += n;
	return 0;
}

static int on_close(nghttp2_session *s, int32_t id, uint32_t error, void *user)
{
	struct answer *answer = find(id);

	(void)s;
	(void)user;
	answer->closed = true;
	answer->error = error;
	n_closed++;
	return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *user)
{
	(void)s;
	(void)user;
	if (frame->hd.type != NGHTTP2_GOAWAY)
		return 0;
	goaway = true;
	goaway_error = frame->goaway.error_code;
	goaway_last = frame->goaway.last_stream_id;
	return 0;
}

static ssize_t read_upload(nghttp2_session *s, int32_t id, uint8_t *buf, size_t n, uint32_t *flags, nghttp2_data_source *source, void *user)
{
	(void)s;
	(void)id;
	(void)source;
	(void)user;
	if (n > upload_left)
		n = upload_left;
	memcpy(buf, upload, n);
	upload += n;
	upload_left -= n;
	if (upload_left == 0)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

#define NV(name, value) {(uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, strlen(value), NGHTTP2_NV_FLAG_NONE}

static int32_t submit(const char *method, const char *path, const char *body, size_t n_body, const char *extra_name, const char *extra_value)
{
	nghttp2_nv nv[] = {NV(":method", method), NV(":scheme", "https"), NV(":path", path), NV(":authority", "example"), NV("x", "")};
	nghttp2_data_provider provider = {.read_callback = read_upload};
	int32_t id;

	if (extra_name) {
		nv[4].name = (uint8_t *)extra_name;
		nv[4].namelen = strlen(extra_name);
		nv[4].value = (uint8_t *)extra_value;
		nv[4].valuelen = strlen(extra_value);
	}
	upload = body;
	upload_left = n_body;
	assert_true(n_answers < MAX_ANSWERS);
	id = nghttp2_submit_request(session, NULL, nv, extra_name ? 5 : 4, body ? &provider : NULL, NULL);
	assert_true(id > 0);
	answers[n_answers++] = (struct answer){.id = id};
	return id;
}

static int32_t get(const char *path)
{
	return submit("GET", path, NULL, 0, NULL, NULL);
}

/* Sends what is ready, reads once. False at the end of the connection. */
static bool step(void)
{
	static uint8_t data[65536];
	size_t n;

	assert_int_equal(nghttp2_session_send(session), 0);
	n = net_receive(&client, data, sizeof(data));
	if (n == 0)
		return false;
	assert_int_equal(nghttp2_session_mem_recv(session, data, n), n);
	assert_int_equal(nghttp2_session_send(session), 0);
	return true;
}

static void run_until_closed(unsigned n)
{
	while (n_closed < n)
		assert_true(step());
}

static void new_session(uint32_t window)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_settings_entry setting = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window};

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_client_new(&session, callbacks, NULL);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &setting, 1);
	n_answers = n_closed = 0;
	goaway = false;
}

static int setup(void **state)
{
	(void)state;
	net_start(NULL);
	net_open(&client, "h2", false);
	new_session(65535);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nghttp2_session_del(session);
	net_close(&client);
	net_stop();
	return 0;
}

/* -- answers --------------------------------------------------------------------------------------------------- */

static void a_request_is_answered(void **state)
{
	(void)state;
	get("/hello");
	run_until_closed(1);
	assert_int_equal(answers[0].status, 200);
	assert_string_equal(answers[0].body, "hello");
}

static void the_request_is_seen_whole(void **state)
{
	(void)state;
	get("/where?a=b");
	run_until_closed(1);
	assert_string_equal(answers[0].body, "/where|a=b|example|127.0.0.1");
}

static void head_has_no_body(void **state)
{
	(void)state;
	submit("HEAD", "/hello", NULL, 0, NULL, NULL);
	run_until_closed(1);
	assert_int_equal(answers[0].status, 200);
	assert_int_equal(answers[0].n_body, 0);
}

static void streams_are_independent(void **state)
{
	(void)state;
	get("/later");
	get("/watch");
	for (int i = 0; i < 50; i++)
		get("/hello");
	run_until_closed(51);
	assert_false(answers[1].closed);
	assert_string_equal(answers[1].body, "begun\n");
	for (int i = 0; i < 52; i++)
		assert_int_equal(answers[i].status, 200);
}

static void a_streamed_answer_ends(void **state)
{
	(void)state;
	get("/stream");
	run_until_closed(1);
	assert_string_equal(answers[0].body, "tick\ntick\ntick\n");
	assert_int_equal(answers[0].error, 0);
}

static void a_large_answer_arrives_whole(void **state)
{
	(void)state;
	get("/big?10000000");
	run_until_closed(1);
	assert_int_equal(answers[0].n_body, 10000000);
	assert_memory_equal(answers[0].body + 26, "abcdefghijklmnopqrstuvwxyz", 26);
	net_wait(&net_released, 3);
}

static void a_stream_without_window_does_not_stop_another(void **state)
{
	(void)state;
	nghttp2_session_del(session);
	new_session(1000);
	get("/pour");
	while (answers[0].n_body < 1000)
		assert_true(step());
	nghttp2_settings_entry setting = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0};
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, &setting, 1);
	submit("HEAD", "/hello", NULL, 0, NULL, NULL);
	run_until_closed(1);
	assert_true(answers[1].closed);
	assert_true(net_drained < 200);
}

static void a_reset_by_us_is_seen_by_the_client(void **state)
{
	(void)state;
	get("/reset");
	run_until_closed(1);
	assert_int_equal(answers[0].error, NGHTTP2_INTERNAL_ERROR);
	net_wait(&net_closed, 1);
}

static void a_reset_by_the_client_closes_the_stream(void **state)
{
	(void)state;
	get("/watch");
	get("/never");
	while (answers[0].n_body == 0)
		assert_true(step());
	nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, answers[0].id, NGHTTP2_CANCEL);
	nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, answers[1].id, NGHTTP2_CANCEL);
	assert_int_equal(nghttp2_session_send(session), 0);
	net_wait(&net_closed, 2);
}

static void a_lost_connection_closes_its_streams(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		get("/watch");
	while (answers[19].n_body == 0)
		assert_true(step());
	shutdown(client.fd, SHUT_RDWR);
	net_wait(&net_closed, 20);
}

static void a_reset_connection_closes_streams_that_have_much_to_send(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++)
		get("/pour");
	get("/big?10000000");
	nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, 100000000);
	while (answers[19].n_body == 0)
		assert_true(step());
	usleep(50000); /* the socket is full by then */
	net_abort(&client);
	net_wait(&net_closed, 21);
}

/* -- bodies ---------------------------------------------------------------------------------------------------- */

static char block[10000000];

static void a_body_is_read(void **state)
{
	(void)state;
	submit("POST", "/echo", "hello world", 11, NULL, NULL);
	run_until_closed(1);
	assert_string_equal(answers[0].body, "hello world");
}

static void a_body_over_the_window_is_read(void **state)
{
	(void)state;
	submit("POST", "/echo", block, 1 << 20, NULL, NULL);
	run_until_closed(1);
	assert_int_equal(answers[0].status, 200);
	assert_int_equal(answers[0].n_body, 1 << 20);
}

static void a_body_that_is_too_large_is_413_and_spared(void **state)
{
	(void)state;
	submit("POST", "/echo", block, sizeof(block), NULL, NULL);
	run_until_closed(1);
	assert_int_equal(answers[0].status, 413);
	assert_true(upload_left > 0);
}

static void an_unread_body_is_held_back_by_its_window(void **state)
{
	(void)state;
	submit("POST", "/never", block, sizeof(block), NULL, NULL);
	while (sizeof(block) - upload_left < 256 * 1024)
		assert_true(step());
	submit("HEAD", "/hello", NULL, 0, NULL, NULL);
	upload_left = sizeof(block) - 256 * 1024; /* submit has set it to 0 */
	upload = block;
	run_until_closed(1);
	assert_int_equal(upload_left, sizeof(block) - 256 * 1024);
}

static void an_upload_of_usual_size_may_end_after_its_answer(void **state)
{
	(void)state;
	submit("POST", "/refuse", block, 3 << 20, NULL, NULL);
	run_until_closed(1);
	assert_int_equal(answers[0].status, 403);
	assert_int_equal(answers[0].error, 0);
	assert_int_equal(upload_left, 0);
}

static void many_unread_bodies_do_not_use_up_the_connection(void **state)
{
	(void)state;
	/* Each is answered at once, the rest of it reset; the connection's window must be whole again afterwards. */
	for (int i = 0; i < 100; i++) {
		submit("POST", "/refuse", block, sizeof(block), NULL, NULL);
		run_until_closed((unsigned)i + 1);
		assert_int_equal(answers[i].status, 403);
	}
	submit("POST", "/echo", block, 1 << 20, NULL, NULL);
	run_until_closed(101);
	assert_int_equal(answers[100].n_body, 1 << 20);
}

static void continue_is_said_when_the_body_is_read(void **state)
{
	(void)state;
	submit("POST", "/echo", "ok", 2, "expect", "100-continue");
	run_until_closed(1);
	assert_int_equal(answers[0].status, 200);
}

/* -- limits ---------------------------------------------------------------------------------------------------- */

static void headers_over_the_limit_are_431(void **state)
{
	static char value[20001];

	(void)state;
	nghttp2_session_del(session);
	net_close(&client);
	net_stop();
	net_start(&(struct ks_server_config){.header_limit_bytes = 16384});
	net_open(&client, "h2", false);
	new_session(65535);
	memset(value, 'x', sizeof(value) - 1);
	submit("GET", "/hello", NULL, 0, "a", value);
	get("/hello");
	run_until_closed(2);
	assert_int_equal(answers[0].status, 431);
	assert_int_equal(answers[1].status, 200);
	assert_int_equal(net_requests, 1);
}

static void a_malformed_header_resets_the_stream(void **state)
{
	(void)state;
	submit("GET", "/hello", NULL, 0, "x-bad", "a\x01");
	run_until_closed(1);
	assert_int_equal(answers[0].error, NGHTTP2_PROTOCOL_ERROR);
	assert_int_equal(net_requests, 0);
}

/* -- floods, by hand ------------------------------------------------------------------------------------------- */

static void say_frame(uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t n)
{
	uint8_t frame[64] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n, type, flags, (uint8_t)(id >> 24), (uint8_t)(id >> 16),
		(uint8_t)(id >> 8), (uint8_t)id};

	assert_true(n <= sizeof(frame) - 9);
	memcpy(frame + 9, payload, n);
	net_send(&client, frame, n + 9);
}

static void say_preface(void)
{
	net_say(&client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	say_frame(NGHTTP2_SETTINGS, 0, 0, "", 0);
}

/* ":method: GET, :scheme: https, :path: /, :authority: a" in HPACK. */
static const uint8_t small_request[] = {0x82, 0x87, 0x84, 0x41, 0x01, 'a'};

/* Reads frames until the end; true when a GOAWAY with that error was among them. */
static bool receives_goaway(uint32_t error)
{
	static uint8_t data[1 << 20];
	size_t n = 0, part;
	bool found = false;

	do {
		part = net_receive(&client, data + n, sizeof(data) - n);
		n += part;
	} while (part && n < sizeof(data));
	for (size_t at = 0; at + 9 <= n;) {
		size_t length = (size_t)data[at] << 16 | (size_t)data[at + 1] << 8 | data[at + 2];

		if (data[at + 3] == NGHTTP2_GOAWAY && at + 17 <= n && data[at + 16] == error)
			found = true;
		at += 9 + length;
	}
	return found;
}

static void rapid_resets_are_told_to_calm_down(void **state)
{
	(void)state;
	say_preface();
	for (uint32_t id = 1; id < 4001; id += 2) {
		say_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id, small_request, sizeof(small_request));
		say_frame(NGHTTP2_RST_STREAM, 0, id, "\0\0\0\x08", 4);
	}
	assert_true(receives_goaway(NGHTTP2_ENHANCE_YOUR_CALM));
	assert_true(net_requests <= 600);
}

static void resets_that_the_server_is_made_to_send_count_too(void **state)
{
	(void)state;
	say_preface();
	for (uint32_t id = 1; id < 4001; id += 2) {
		say_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, id, small_request, sizeof(small_request));
		say_frame(NGHTTP2_WINDOW_UPDATE, 0, id, "\0\0\0\0", 4);
	}
	(void)receives_goaway(0); /* nghttp2 may call it a protocol error of the connection */
	assert_true(net_requests <= 600);
}

static void a_ping_flood_is_told_to_calm_down(void **state)
{
	(void)state;
	say_preface();
	for (int i = 0; i < 5000; i++)
		say_frame(NGHTTP2_PING, 0, 0, "12345678", 8);
	assert_true(receives_goaway(NGHTTP2_ENHANCE_YOUR_CALM));
}

static void a_settings_flood_is_told_to_calm_down(void **state)
{
	(void)state;
	say_preface();
	for (int i = 0; i < 5000; i++)
		say_frame(NGHTTP2_SETTINGS, 0, 0, "", 0);
	assert_true(receives_goaway(NGHTTP2_ENHANCE_YOUR_CALM));
}

static void a_continuation_flood_ends_the_connection(void **state)
{
	(void)state;
	say_preface();
	say_frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, small_request, sizeof(small_request));
	for (int i = 0; i < 1000; i++)
		say_frame(NGHTTP2_CONTINUATION, 0, 1, "", 0);
	(void)receives_goaway(0);
	assert_int_equal(net_requests, 0);
}

static void what_is_not_http2_ends_the_connection(void **state)
{
	(void)state;
	net_say(&client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	(void)receives_goaway(0);
	assert_int_equal(net_requests, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_answered),
		TEST(the_request_is_seen_whole),
		TEST(head_has_no_body),
		TEST(streams_are_independent),
		TEST(a_streamed_answer_ends),
		TEST(a_large_answer_arrives_whole),
		TEST(a_stream_without_window_does_not_stop_another),
		TEST(a_reset_by_us_is_seen_by_the_client),
		TEST(a_reset_by_the_client_closes_the_stream),
		TEST(a_lost_connection_closes_its_streams),
		TEST(a_reset_connection_closes_streams_that_have_much_to_send),
		TEST(a_body_is_read),
		TEST(a_body_over_the_window_is_read),
		TEST(a_body_that_is_too_large_is_413_and_spared),
		TEST(an_unread_body_is_held_back_by_its_window),
		TEST(an_upload_of_usual_size_may_end_after_its_answer),
		TEST(many_unread_bodies_do_not_use_up_the_connection),
		TEST(continue_is_said_when_the_body_is_read),
		TEST(headers_over_the_limit_are_431),
		TEST(a_malformed_header_resets_the_stream),
		TEST(rapid_resets_are_told_to_calm_down),
		TEST(resets_that_the_server_is_made_to_send_count_too),
		TEST(a_ping_flood_is_told_to_calm_down),
		TEST(a_settings_flood_is_told_to_calm_down),
		TEST(a_continuation_flood_ends_the_connection),
		TEST(what_is_not_http2_ends_the_connection),
	};

	return cmocka_run_group_tests(tests, net_group_setup, net_group_teardown);
}
