/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "storage/sqlite/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUARD_BYTES 4096
#define GUARD_MAGIC 0x4b53475244303031u

/* Written in place by one process; the kernel keeps it when the process dies, and it may lag after a power cut. */
struct sqlite_guard_page {
	uint64_t magic;
	uint64_t revision;
};

static int refuse(struct sqlite_guard *guard, struct ks_plugin_error *error, const char *path, const char *what)
{
	snprintf(error->text, sizeof(error->text), "%s-guard: %s", path, what);
	ks_sqlite_guard_close(guard);
	return KS_ERR;
}

/* Real bytes, so that a full disk is an error here and not a fault later. */
static int fill(int fd)
{
	char zeros[GUARD_BYTES] = {0};
	struct stat st;

	if (fstat(fd, &st))
		return -1;
	if (st.st_size >= GUARD_BYTES)
		return 0;
	return pwrite(fd, zeros, sizeof(zeros), 0) == (ssize_t)sizeof(zeros) ? 0 : -1;
}

int ks_sqlite_guard_open(struct sqlite_guard *guard, const char *path, struct ks_plugin_error *error)
{
	char name[4096];
	void *page;

	*guard = SQLITE_GUARD_CLOSED;
	if ((size_t)snprintf(name, sizeof(name), "%s-guard", path) >= sizeof(name))
		return refuse(guard, error, path, "the path is too long");
	guard->fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (guard->fd < 0)
		return refuse(guard, error, path, strerror(errno));
	if (flock(guard->fd, LOCK_EX | LOCK_NB))
		return refuse(guard, error, path, errno == EWOULDBLOCK ? "another server has this database open" : strerror(errno));
	if (fill(guard->fd))
		return refuse(guard, error, path, strerror(errno));
	page = mmap(NULL, GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, guard->fd, 0);
	if (page == MAP_FAILED)
		return refuse(guard, error, path, strerror(errno));
	guard->page = page;
	if (guard->page->magic != GUARD_MAGIC)
		*guard->page = (struct sqlite_guard_page){GUARD_MAGIC, 0};
	return KS_DONE;
}

void ks_sqlite_guard_close(struct sqlite_guard *guard)
{
	if (guard->page)
		munmap(guard->page, GUARD_BYTES);
	if (guard->fd >= 0)
		close(guard->fd);
	*guard = SQLITE_GUARD_CLOSED;
}

uint64_t ks_sqlite_guard_revision(const struct sqlite_guard *guard)
{
	return guard->page->revision;
}

void ks_sqlite_guard_note(struct sqlite_guard *guard, uint64_t revision)
{
	guard->page->revision = revision;
}
