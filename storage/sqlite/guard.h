/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The small file beside the database, FILE-guard: its lock keeps a second server out, and
 * it remembers the highest revision that was ever given. A database that is behind it was
 * put back from a copy, and must not give the same revisions again.
 */
#ifndef KS_SQLITE_GUARD_H
#define KS_SQLITE_GUARD_H

#include <keelson/plugin.h>
#include <stdint.h>

struct sqlite_guard {
	int fd;
	struct sqlite_guard_page *page;
};

#define SQLITE_GUARD_CLOSED ((struct sqlite_guard){-1, NULL})

int ks_sqlite_guard_open(struct sqlite_guard *guard, const char *path, struct ks_plugin_error *error) __attribute__((warn_unused_result));
void ks_sqlite_guard_close(struct sqlite_guard *guard);
/* 0: the file is new. */
uint64_t ks_sqlite_guard_revision(const struct sqlite_guard *guard);
/* Costs one store to memory. */
void ks_sqlite_guard_note(struct sqlite_guard *guard, uint64_t revision);

#endif
