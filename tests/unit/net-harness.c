/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/net-harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

_Atomic unsigned net_requests, net_closed, net_bodies, net_drained, net_released;
struct ks_server *net_server;
struct ks_loop *net_loop;
char net_certificate_file[64], net_key_file[64];

static char directory[] = "/tmp/keelson-test-XXXXXX";
static pthread_t main_thread;

/* -- the server ------------------------------------------------------------------------------------------------ */

struct job {
	struct ks_timer timer;
	struct ks_stream *stream;
	unsigned n;
};

_Thread_local volatile bool net_allocates; /* volatile: the compiler knows what calloc does, and would leave it out */

static void *allocate(size_t n)
{
	void *p;

	net_allocates = true;
	p = calloc(1, n ? n : 1);
	net_allocates = false;
	assert_non_null(p);
	return p;
}

static const struct ks_header text_headers[] = {{KS_STR_LIT("content-type"), KS_STR_LIT("text/plain")}};

static void count_release(void *owner)
{
	free(owner);
	net_released++;
}

static struct ks_piece make_piece(const void *p, size_t n)
{
	char *copy = allocate(n);

	if (n)
		memcpy(copy, p, n);
	return (struct ks_piece){copy, n, count_release, copy};
}

static void respond(struct ks_stream *stream, int status, const char *text, size_t n)
{
	struct ks_piece piece = make_piece(text, n);
	int r = ks_stream_respond(stream, status, text_headers, 1, &piece, 1);

	(void)r;
}

static void respond_text(struct ks_stream *stream, const char *text)
{
	respond(stream, 200, text, strlen(text));
}

static void on_body(struct ks_stream *stream, int code, struct ks_str body)
{
	net_bodies++;
	if (code == 0)
		respond(stream, 200, body.p, body.n);
	else
		respond(stream, code, "bad body", 8);
}

static void respond_big(struct ks_stream *stream, struct ks_str query)
{
	size_t n = strtoul(query.p, NULL, 10);
	struct ks_piece pieces[3];
	char *text = allocate(n);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + i % 26);
	pieces[0] = make_piece(text, n / 3);
	pieces[1] = make_piece(text + n / 3, 0);
	pieces[2] = make_piece(text + n / 3, n - n / 3);
	free(text);
	ks_stream_respond(stream, 200, text_headers, 1, pieces, 3);
}

static struct job *start_job(struct ks_stream *stream, void (*fire)(struct ks_timer *timer))
{
	struct job *job = allocate(sizeof(*job));

	job->stream = stream;
	job->timer.fire = fire;
	ks_stream_set_data(stream, job);
	ks_timer_start(ks_stream_loop(stream), &job->timer, 20);
	return job;
}

static void fire_later(struct ks_timer *timer)
{
	respond_text(((struct job *)timer)->stream, "hello");
}

static void fire_tick(struct ks_timer *timer)
{
	struct job *job = (struct job *)timer;
	struct ks_piece piece = make_piece("tick\n", 5);

	ks_stream_write(job->stream, &piece, 1);
	if (++job->n < 3)
		ks_timer_start(ks_stream_loop(job->stream), timer, 10);
	else
		ks_stream_end(job->stream);
}

static void pour(struct ks_stream *stream)
{
	static const char block[65536];
	struct ks_piece piece = {block, sizeof(block), NULL, NULL};

	net_drained++;
	assert_true(ks_stream_queued(stream) <= sizeof(block));
	if (ks_stream_write(stream, &piece, 1) == 0)
		ks_stream_on_drained(stream, sizeof(block), pour);
}

static void respond_peer(struct ks_stream *stream)
{
	const struct ks_http_request *request = ks_stream_request(stream);
	char text[64];

	snprintf(text, sizeof(text), "%zu:%zu", request->n_peer_certificates,
		request->n_peer_certificates ? request->peer_certificates[0].n : 0);
	respond_text(stream, text);
}

static void respond_where(struct ks_stream *stream)
{
	const struct ks_http_request *request = ks_stream_request(stream);
	char text[256];

	snprintf(text, sizeof(text), "%.*s|%.*s|%.*s|%.9s", (int)request->path.n, request->path.p, (int)request->query.n, request->query.p,
		(int)request->authority.n, request->authority.p, request->remote_address);
	respond_text(stream, text);
}

static void let_go(struct ks_timer *timer)
{
	struct job *job = (struct job *)timer;

	assert_true(ks_str_is(ks_stream_request(job->stream)->path, "/hold"));
	assert_int_equal(ks_stream_respond(job->stream, 200, NULL, 0, NULL, 0), net_closed ? -ECONNRESET : -EALREADY);
	ks_stream_unref(job->stream);
	free(job);
	net_released++;
}

static void hold(struct ks_stream *stream)
{
	struct job *job = start_job(stream, let_go);

	ks_timer_start(ks_stream_loop(stream), &job->timer, 50);
	ks_stream_set_data(stream, NULL); /* it outlives closed() */
	ks_stream_ref(stream);
	respond_text(stream, "hello");
}

static void begin(struct ks_stream *stream, const char *path)
{
	if (ks_stream_begin(stream, 200, text_headers, 1) < 0)
		return;
	if (strcmp(path, "/stream") == 0) {
		start_job(stream, fire_tick);
	} else if (strcmp(path, "/watch") == 0) {
		struct ks_piece piece = make_piece("begun\n", 6);

		ks_stream_write(stream, &piece, 1);
	} else {
		ks_stream_on_drained(stream, 0, pour);
	}
}

static void on_request(struct ks_stream *stream, void *arg)
{
	const struct ks_http_request *request = ks_stream_request(stream);
	char path[64];

	(void)arg;
	net_requests++;
	snprintf(path, sizeof(path), "%.*s", (int)request->path.n, request->path.p);
	if (strcmp(path, "/echo") == 0)
		ks_stream_read_body(stream, 1 << 20, on_body);
	else if (strcmp(path, "/refuse") == 0)
		respond(stream, 403, "no", 2);
	else if (strcmp(path, "/later") == 0)
		start_job(stream, fire_later);
	else if (strcmp(path, "/big") == 0)
		respond_big(stream, request->query);
	else if (strcmp(path, "/stream") == 0 || strcmp(path, "/watch") == 0 || strcmp(path, "/pour") == 0)
		begin(stream, path);
	else if (strcmp(path, "/peer") == 0)
		respond_peer(stream);
	else if (strcmp(path, "/where") == 0)
		respond_where(stream);
	else if (strcmp(path, "/hold") == 0)
		hold(stream);
	else if (strcmp(path, "/reset") == 0)
		ks_stream_reset(stream);
	else if (strcmp(path, "/never") != 0)
		respond_text(stream, "hello");
}

static void on_closed(struct ks_stream *stream, void *arg)
{
	struct job *job = ks_stream_data(stream);

	(void)arg;
	net_closed++;
	if (!job)
		return;
	ks_timer_cancel(&job->timer);
	free(job);
}

static void *run_main(void *arg)
{
	ks_loop_run(arg);
	return NULL;
}

void net_start(const struct ks_server_config *config)
{
	const struct ks_http_callbacks callbacks = {on_request, on_closed, NULL};
	struct ks_server_config c = config ? *config : (struct ks_server_config){0};
	struct ks_error err;

	net_requests = net_closed = net_bodies = net_drained = net_released = 0;
	c.bind_address = "127.0.0.1";
	c.certificate_file = net_certificate_file;
	c.key_file = net_key_file;
	if (c.n_workers == 0)
		c.n_workers = 2;
	net_loop = ks_loop_new(KS_LOOP_NO_INDEX);
	assert_non_null(net_loop);
	if (ks_server_start(net_loop, &c, &callbacks, &net_server, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pthread_create(&main_thread, NULL, run_main, net_loop), 0);
}

void net_stop(void)
{
	ks_loop_stop(net_loop);
	pthread_join(main_thread, NULL);
	ks_server_free(&net_server);
	ks_loop_free(&net_loop);
	assert_int_equal(net_requests, net_closed);
}

static uint64_t now_ms(void)
{
	return ks_monotonic_ns() / 1000000;
}

void net_wait(_Atomic unsigned *counter, unsigned at_least)
{
	uint64_t until = now_ms() + 10000;

	while (*counter < at_least) {
		assert_true(now_ms() < until);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

/* -- files ----------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const gnutls_datum_t *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text->data, 1, text->size, file), text->size);
	fclose(file);
}

static void make_certificate(void)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t certificate;
	gnutls_datum_t text;
	time_t now = time(NULL);

	gnutls_x509_privkey_init(&key);
	gnutls_x509_crt_init(&certificate);
	assert_int_equal(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
	gnutls_x509_crt_set_version(certificate, 3);
	gnutls_x509_crt_set_serial(certificate, "\1", 1);
	gnutls_x509_crt_set_activation_time(certificate, now - 3600);
	gnutls_x509_crt_set_expiration_time(certificate, now + 86400);
	gnutls_x509_crt_set_dn(certificate, "CN=localhost", NULL);
	gnutls_x509_crt_set_key(certificate, key);
	assert_int_equal(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), 0);
	gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text);
	write_file(net_key_file, &text);
	gnutls_free(text.data);
	gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text);
	write_file(net_certificate_file, &text);
	gnutls_free(text.data);
	gnutls_x509_crt_deinit(certificate);
	gnutls_x509_privkey_deinit(key);
}

int net_group_setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(net_key_file, sizeof(net_key_file), "%s/key.pem", directory);
	snprintf(net_certificate_file, sizeof(net_certificate_file), "%s/cert.pem", directory);
	make_certificate();
	return 0;
}

int net_group_teardown(void **state)
{
	(void)state;
	unlink(net_key_file);
	unlink(net_certificate_file);
	return rmdir(directory);
}

/* -- the client ------------------------------------------------------------------------------------------------ */

int net_connect(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(ks_server_port(net_server)),
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};
	struct timeval limit = {.tv_sec = 10};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int try_open(struct net_client *client, const char *protocol, bool with_certificate)
{
	gnutls_datum_t name = {(unsigned char *)protocol, protocol ? (unsigned)strlen(protocol) : 0};
	int r;

	client->fd = net_connect();
	gnutls_init(&client->tls, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
	gnutls_set_default_priority(client->tls);
	gnutls_certificate_allocate_credentials(&client->credentials);
	if (with_certificate)
		assert_int_equal(gnutls_certificate_set_x509_key_file(client->credentials, net_certificate_file, net_key_file,
			GNUTLS_X509_FMT_PEM), 0);
	gnutls_credentials_set(client->tls, GNUTLS_CRD_CERTIFICATE, client->credentials);
	if (protocol)
		gnutls_alpn_set_protocols(client->tls, &name, 1, 0);
	if (client->ticket.data)
		gnutls_session_set_data(client->tls, client->ticket.data, client->ticket.size);
	gnutls_transport_set_int(client->tls, client->fd);
	do
		r = gnutls_handshake(client->tls);
	while (r < 0 && !gnutls_error_is_fatal(r));
	return r;
}

void net_open(struct net_client *client, const char *protocol, bool with_certificate)
{
	int r = try_open(client, protocol, with_certificate);

	if (r < 0)
		fail_msg("handshake: %s", gnutls_strerror(r));
}

bool net_try_open(struct net_client *client, const char *protocol)
{
	if (try_open(client, protocol, false) == 0)
		return true;
	net_close(client);
	return false;
}

void net_close(struct net_client *client)
{
	gnutls_deinit(client->tls);
	gnutls_certificate_free_credentials(client->credentials);
	if (client->fd >= 0)
		close(client->fd);
}

void net_abort(struct net_client *client)
{
	struct linger now = {.l_onoff = 1};

	setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(client->fd);
	client->fd = -1;
}

void net_half_close(struct net_client *client)
{
	gnutls_bye(client->tls, GNUTLS_SHUT_WR);
	shutdown(client->fd, SHUT_WR);
}

void net_send(struct net_client *client, const void *p, size_t n)
{
	const char *next = p;

	while (n) {
		ssize_t r = gnutls_record_send(client->tls, next, n);

		if (r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED)
			fail_msg("the server takes nothing");
		if (r <= 0)
			return; /* it has closed, which the test will see */
		next += r;
		n -= (size_t)r;
	}
}

size_t net_receive(struct net_client *client, void *p, size_t n)
{
	ssize_t r;

	errno = 0;
	do
		r = gnutls_record_recv(client->tls, p, n);
	while (r == GNUTLS_E_INTERRUPTED || (r == GNUTLS_E_AGAIN && errno == 0));
	if (r == GNUTLS_E_AGAIN)
		fail_msg("the server says nothing");
	return r > 0 ? (size_t)r : 0;
}

static char *received;
static size_t received_length;

static const char *receive(struct net_client *client, const char *until)
{
	size_t n;

	free(received);
	received = malloc(1);
	received_length = 0;
	received[0] = '\0';
	do {
		received = realloc(received, received_length + 65537);
		assert_non_null(received);
		n = net_receive(client, received + received_length, 65536);
		received_length += n;
		received[received_length] = '\0';
		if (until && strstr(received, until))
			return received;
	} while (n);
	if (until)
		fail_msg("\"%s\" did not come, but: %s", until, received);
	return received;
}

const char *net_receive_all(struct net_client *client)
{
	return receive(client, NULL);
}

const char *net_expect(struct net_client *client, const char *text)
{
	return receive(client, text);
}
