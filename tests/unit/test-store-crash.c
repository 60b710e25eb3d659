/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 while several threads write; what was acknowledged must be there afterwards. The
 * child tells each acknowledgement through a pipe, so that the parent knows what it may ask for.
 *
 *     test-store-crash [ROUNDS [FOLDER]]
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/store-suite.h"

#define WRITERS 8
#define KEYS_EACH 16

extern const struct ks_plugin ks_plugin_sqlite;

/* One acknowledgement: less than PIPE_BUF, so that a write of it is whole. */
struct ack {
	uint32_t writer, key;
	uint64_t number, revision;
	uint32_t deleted;
};

static char folder[256], path_pair[300];
static const char *config[] = {path_pair, "history=500", "wal=1Mi", NULL};
static struct ack known[WRITERS][KEYS_EACH];
static uint64_t last_told[WRITERS]; /* number of each writer's last acknowledged write; the one behind it may have happened, too */
static int pipe_out;

static void suite_init(struct ks_store_suite *suite)
{
	*suite = (struct ks_store_suite){.fake = ks_fake_host_new("crash"), .config = config};
	suite->iface = ks_fake_interface(&ks_plugin_sqlite, KS_KIND_STORE);
}

static void key_of(char *key, size_t n, uint32_t writer, uint32_t number)
{
	snprintf(key, n, "/crash/%u/%u", writer, number);
}

struct writer {
	struct ks_store_suite *suite;
	uint32_t index;
	uint64_t number;
};

/* Until it is killed. */
static void *writer_main(void *arg)
{
	struct writer *w = arg;
	struct ks_store_write_result r;
	char key[64], value[1200];
	struct ack ack;

	for (;;) {
		memset(&ack, 0, sizeof(ack));
		ack.writer = w->index;
		ack.key = (uint32_t)(w->number % KEYS_EACH);
		ack.number = ++w->number;
		ack.deleted = ack.number % 11 == 0;
		key_of(key, sizeof(key), ack.writer, ack.key);
		memset(value, 'v', sizeof(value) - 1);
		value[sizeof(value) - 1] = '\0';
		value[snprintf(value, sizeof(value), "%llu", (unsigned long long)ack.number)] = ' ';
		if (ks_store_suite_write(w->suite, key, ack.deleted ? NULL : value, KS_STORE_EXPECT_ANY, 0, &r) != KS_DONE)
			_exit(3);
		ack.revision = r.revision;
		if (write(pipe_out, &ack, sizeof(ack)) != (ssize_t)sizeof(ack))
			_exit(0);
	}
	return NULL;
}

static void child(uint64_t first)
{
	struct writer writers[WRITERS];
	struct ks_store_suite suite;
	pthread_t thread;
	uint32_t i;

	suite_init(&suite);
	if (ks_store_suite_start(&suite)) {
		fprintf(stderr, "%s\n", suite.failure);
		_exit(2);
	}
	for (i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){&suite, i, first};
		if (pthread_create(&thread, NULL, writer_main, &writers[i]))
			_exit(4);
	}
	for (;;)
		pause();
}

/* What stands there is the acknowledged write, or the one that was on its way and not told of any more. */
static int check_key(struct ks_store_suite *suite, struct ack *a)
{
	uint64_t untold = last_told[a->writer] + 1, found;
	int on_its_way = (untold - 1) % KEYS_EACH == a->key, result, ok;
	char key[64], *text;

	key_of(key, sizeof(key), a->writer, a->key);
	text = ks_store_suite_get(suite, key, 0, &result);
	found = text ? strtoull(text, NULL, 10) : 0;
	ok = result == KS_DONE && (found == (a->deleted ? 0 : a->number) || (on_its_way && found == (untold % 11 == 0 ? 0 : untold)));
	if (!ok)
		fprintf(stderr, "%s: acknowledged write %llu is lost: found %.20s\n", key, (unsigned long long)a->number, text ? text : "nothing");
	free(text);
	if (ok && found != (a->deleted ? 0 : a->number)) { /* from now on that one is known */
		a->number = untold;
		a->deleted = untold % 11 == 0;
	}
	return ok ? 0 : -1;
}

static int check(uint64_t highest)
{
	struct ks_store_suite suite;
	uint64_t current = 0, oldest;
	uint32_t i, k;
	int failed;

	suite_init(&suite);
	failed = ks_store_suite_start(&suite);
	if (failed) {
		fprintf(stderr, "%s\n", suite.failure);
		ks_fake_host_free(&suite.fake);
		return failed;
	}
	((const struct ks_store_ops *)suite.iface->ops)->revision(suite.self, &current, &oldest);
	if (current < highest) {
		fprintf(stderr, "the revision went back from %llu to %llu\n", (unsigned long long)highest, (unsigned long long)current);
		failed = -1;
	}
	for (i = 0; i < WRITERS; i++)
		for (k = 0; k < KEYS_EACH; k++)
			failed |= check_key(&suite, &known[i][k]);
	ks_store_suite_stop(&suite);
	ks_fake_host_free(&suite.fake);
	return failed;
}

/* Kills the child after some hundred acknowledgements, then reads those that were on their way. */
static int crash_once(uint64_t *number, uint64_t *highest, unsigned limit)
{
	int fds[2], status;
	unsigned n = 0;
	struct ack a;
	pid_t pid;

	if (pipe(fds) || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		close(fds[0]);
		pipe_out = fds[1];
		child(*number);
	}
	close(fds[1]);
	for (unsigned w = 0; w < WRITERS; w++)
		last_told[w] = *number;
	while (read(fds[0], &a, sizeof(a)) == (ssize_t)sizeof(a)) {
		known[a.writer][a.key] = a;
		last_told[a.writer] = a.number;
		*number = a.number > *number ? a.number : *number;
		*highest = a.revision > *highest ? a.revision : *highest;
		if (++n == limit)
			kill(pid, SIGKILL);
	}
	close(fds[0]);
	waitpid(pid, &status, 0);
	/* Numbers go on behind everything that may have been written. */
	*number += 2 * KEYS_EACH;
	return WIFSIGNALED(status) ? 0 : -1;
}

static void clean(void)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-guard"};
	char name[320];
	size_t i;

	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		snprintf(name, sizeof(name), "%s/crash.db%s", folder, suffixes[i]);
		unlink(name);
	}
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20, i;
	uint64_t number = 0, highest = 0;
	int failed = 0;

	snprintf(folder, sizeof(folder), "%s", argc > 2 ? argv[2] : "/tmp/keelson-crash-XXXXXX");
	if (argc <= 2 && !mkdtemp(folder))
		return 99;
	for (uint32_t w = 0; w < WRITERS; w++)
		for (uint32_t k = 0; k < KEYS_EACH; k++)
			known[w][k] = (struct ack){.writer = w, .key = k, .deleted = 1};
	snprintf(path_pair, sizeof(path_pair), "file=%s/crash.db", folder);
	for (i = 0; i < rounds && !failed; i++) {
		failed = crash_once(&number, &highest, 50 + (i * 7919) % 700);
		if (!failed)
			failed = check(highest);
	}
	printf("%s %u: %u crashes, revision %llu\n", failed ? "not ok" : "ok", 1, i, (unsigned long long)highest);
	clean();
	if (argc <= 2)
		rmdir(folder);
	return failed ? 1 : 0;
}
