/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of the network layer alone: a server on one core that answers every
 * request with 200 bytes (/large: 1 MiB), loaded by h2load from the other core;
 * then nghttpd in the same way. Prints one JSON line per measurement, with the
 * server's processor time per request (which other load on the machine disturbs
 * less), and the ratios.
 *
 *   bench-net              measures
 *   bench-net serve PORT   only serves, on 127.0.0.1, until it is killed
 */
#include <gnutls/x509.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/net/http.h"

static const char body[200] = "{\"kind\":\"Status\",\"apiVersion\":\"v1\"}";
static char directory[] = "/tmp/keelson-bench-XXXXXX";
static char large_body[1 << 20];
static char key_file[64], certificate_file[64], page_file[64], large_file[64];

/* -- the server ------------------------------------------------------------------------------------------------ */

static void on_request(struct ks_stream *stream, void *arg)
{
	static const struct ks_header headers[] = {{KS_STR_LIT("content-type"), KS_STR_LIT("application/json")}};
	static const struct ks_piece piece = {body, sizeof(body), NULL, NULL};
	static const struct ks_piece large = {large_body, sizeof(large_body), NULL, NULL};
	bool is_large = ks_str_is(ks_stream_request(stream)->path, "/large");

	(void)arg;
	if (ks_stream_respond(stream, 200, headers, 1, is_large ? &large : &piece, 1) < 0)
		ks_stream_reset(stream);
}

static void on_closed(struct ks_stream *stream, void *arg)
{
	(void)stream;
	(void)arg;
}

static int serve(uint16_t port)
{
	const struct ks_http_callbacks callbacks = {on_request, on_closed, NULL};
	const struct ks_server_config config = {
		.bind_address = "127.0.0.1",
		.port = port,
		.n_workers = 1,
		.certificate_file = certificate_file,
		.key_file = key_file,
	};
	struct ks_loop *loop = ks_loop_new(KS_LOOP_NO_INDEX);
	struct ks_server *server;
	struct ks_error err;

	if (!loop || ks_server_start(loop, &config, &callbacks, &server, &err) < 0) {
		fprintf(stderr, "bench-net: %s\n", loop ? err.text : "out of memory");
		return 1;
	}
	printf("listening on %u\n", ks_server_port(server));
	fflush(stdout);
	ks_loop_run(loop);
	ks_server_free(&server);
	ks_loop_free(&loop);
	return 0;
}

/* -- files ----------------------------------------------------------------------------------------------------- */

static int write_file(const char *path, const void *p, size_t n)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	if (fwrite(p, 1, n, file) != n) {
		fclose(file);
		return -1;
	}
	return fclose(file);
}

static int write_pem(gnutls_x509_privkey_t key, gnutls_x509_crt_t certificate)
{
	gnutls_datum_t text;

	if (gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text) < 0 || write_file(key_file, text.data, text.size) < 0)
		return -1;
	gnutls_free(text.data);
	if (gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text) < 0 || write_file(certificate_file, text.data, text.size) < 0)
		return -1;
	gnutls_free(text.data);
	return 0;
}

static int make_certificate(void)
{
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t certificate;
	time_t now = time(NULL);

	gnutls_x509_privkey_init(&key);
	gnutls_x509_crt_init(&certificate);
	if (gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) < 0)
		return -1;
	gnutls_x509_crt_set_version(certificate, 3);
	gnutls_x509_crt_set_serial(certificate, "\1", 1);
	gnutls_x509_crt_set_activation_time(certificate, now - 3600);
	gnutls_x509_crt_set_expiration_time(certificate, now + 86400);
	gnutls_x509_crt_set_dn(certificate, "CN=localhost", NULL);
	gnutls_x509_crt_set_key(certificate, key);
	if (gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0) < 0)
		return -1;
	return write_pem(key, certificate);
}

static int make_files(void)
{
	if (!mkdtemp(directory))
		return -1;
	snprintf(key_file, sizeof(key_file), "%s/key.pem", directory);
	snprintf(certificate_file, sizeof(certificate_file), "%s/cert.pem", directory);
	snprintf(page_file, sizeof(page_file), "%s/page", directory);
	snprintf(large_file, sizeof(large_file), "%s/large", directory);
	if (write_file(page_file, body, sizeof(body)) < 0 || write_file(large_file, large_body, sizeof(large_body)) < 0)
		return -1;
	return make_certificate();
}

static void remove_files(void)
{
	unlink(key_file);
	unlink(certificate_file);
	unlink(page_file);
	unlink(large_file);
	rmdir(directory);
}

/* -- measuring ------------------------------------------------------------------------------------------------- */

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		fprintf(stderr, "bench-net: only one core: server and load share it\n");
}

static pid_t start_server(bool ours, uint16_t port)
{
	char port_text[8];
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	pin(0);
	if (!freopen("/dev/null", "w", stdout))
		_exit(1);
	if (ours)
		_exit(serve(port));
	snprintf(port_text, sizeof(port_text), "%u", port);
	execlp("nghttpd", "nghttpd", "-n1", "-a", "127.0.0.1", "-d", directory, port_text, key_file, certificate_file, (char *)NULL);
	_exit(127);
}

/* Microseconds of processor time that a process has used. */
static double used_us(pid_t pid)
{
	struct timespec used = {0};
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &used);
	return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

struct result {
	double per_second, cpu_us;
};

static struct result run_load(pid_t server, const char *name, uint16_t port, const char *page, int connections, int streams, int requests)
{
	char command[256], line[512];
	double rate = 0, before = used_us(server);
	struct result result;
	FILE *load;

	snprintf(command, sizeof(command), "taskset -c 1 h2load -t1 -n%d -c%d -m%d -w20 -W20 https://127.0.0.1:%u/%s", requests,
		connections, streams, port, page);
	load = popen(command, "r");
	if (!load)
		return (struct result){0};
	while (fgets(line, sizeof(line), load)) {
		if (sscanf(line, "finished in %*[^,], %lf req/s", &rate) == 1)
			continue;
		if (strncmp(line, "requests:", 9) == 0 && !strstr(line, " 0 failed"))
			fprintf(stderr, "bench-net: %s", line);
	}
	pclose(load);
	result = (struct result){rate, (used_us(server) - before) / requests};
	printf("{\"bench\":\"net\",\"server\":\"%s\",\"page\":\"%s\",\"connections\":%d,\"streams\":%d,\"requests\":%d,\"per_second\":%.0f,"
		"\"cpu_us\":%.2f}\n", name, page, connections, streams, requests, result.per_second, result.cpu_us);
	fflush(stdout);
	return result;
}

static int wait_ready(uint16_t port)
{
	char command[128];

	snprintf(command, sizeof(command), "curl -sk -o /dev/null --max-time 1 https://127.0.0.1:%u/page", port);
	for (int i = 0; i < 100; i++) {
		if (system(command) == 0)
			return 0;
		usleep(20000);
	}
	return -1;
}

static int measure(bool ours, uint16_t port, struct result results[3])
{
	const char *name = ours ? "keelson-net" : "nghttpd";
	pid_t pid = start_server(ours, port);
	int r = wait_ready(port);

	if (r == 0) {
		results[0] = run_load(pid, name, port, "page", 16, 1, 100000);
		results[1] = run_load(pid, name, port, "page", 64, 10, 500000);
		results[2] = run_load(pid, name, port, "large", 8, 4, 3000);
	} else {
		fprintf(stderr, "bench-net: %s did not start\n", name);
	}
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	return r;
}

/* Above 1: we are faster. */
static void print_ratios(const struct result ours[3], const struct result theirs[3])
{
	static const char *const names[] = {"16x1", "64x10", "large"};

	for (int i = 0; i < 3; i++)
		printf("{\"bench\":\"net\",\"load\":\"%s\",\"ratio\":%.2f,\"ratio_cpu\":%.2f}\n", names[i],
			ours[i].per_second / theirs[i].per_second, theirs[i].cpu_us / ours[i].cpu_us);
}

int main(int argc, char **argv)
{
	struct result ours[3], theirs[3];
	int r;

	if (make_files() < 0) {
		fprintf(stderr, "bench-net: can't write to %s\n", directory);
		return 1;
	}
	if (argc == 3 && strcmp(argv[1], "serve") == 0) {
		r = serve((uint16_t)atoi(argv[2]));
		remove_files();
		return r;
	}
	r = measure(true, 18443, ours) < 0 || measure(false, 18444, theirs) < 0;
	if (r == 0)
		print_ratios(ours, theirs);
	remove_files();
	return r;
}
