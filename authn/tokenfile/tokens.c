/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authn/tokenfile/tokens.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGEST = 32, MAX_FILE = 16 * 1024 * 1024, MAX_FIELDS = 4 };

struct entry {
	unsigned char digest[DIGEST]; /* SHA-256 of the token: looked up by it, so timing can't walk a token byte by byte */
	struct token_user user;
	struct ks_view *groups;
};

struct tokens {
	const struct ks_host *host;
	char *text; /* the file; fields are unquoted in place and point into it */
	size_t text_len;
	struct entry *entries; /* sorted by digest */
	size_t n, cap;
};

static int digest_token(struct ks_view token, unsigned char *digest)
{
	return gnutls_hash_fast(GNUTLS_DIG_SHA256, token.p, token.n, digest);
}

static int read_file(struct tokens *t, const char *path, struct ks_plugin_error *error)
{
	FILE *file = fopen(path, "re");
	struct stat st;
	size_t n;

	if (!file || fstat(fileno(file), &st) < 0 || st.st_size > MAX_FILE) {
		snprintf(error->text, sizeof(error->text), "%s: %s", path, file ? "not a file of at most 16 MiB" : strerror(errno));
		goto failed;
	}
	t->text = malloc((size_t)st.st_size + 1);
	if (!t->text) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		goto failed;
	}
	n = fread(t->text, 1, (size_t)st.st_size, file);
	t->text[n] = '\0';
	t->text_len = n;
	fclose(file);
	return 0;
failed:
	if (file)
		fclose(file);
	return -1;
}

/* One CSV field from *at, unquoted in place; *at moves behind its separator. Returns 0, or -1 for a stray quote. */
static int next_field(char **at, struct ks_view *field, int *last)
{
	char *from = *at, *to = from, *start = from;

	if (*from == '"') {
		for (from++; *from && !(from[0] == '"' && from[1] != '"'); from++) {
			if (*from == '"')
				from++;
			*to++ = *from;
		}
		if (*from++ != '"')
			return -1;
	} else {
		while (*from && *from != ',' && *from != '"')
			*to++ = *from++;
	}
	if (*from && *from != ',')
		return -1;
	*last = *from == '\0';
	*field = (struct ks_view){start, (size_t)(to - start)};
	*at = *last ? from : from + 1;
	return 0;
}

static struct ks_view trim(struct ks_view v)
{
	while (v.n && (*v.p == ' ' || *v.p == '\t')) {
		v.p++;
		v.n--;
	}
	while (v.n && (v.p[v.n - 1] == ' ' || v.p[v.n - 1] == '\t' || v.p[v.n - 1] == '\r'))
		v.n--;
	return v;
}

static int split_groups(struct entry *entry, struct ks_view list)
{
	size_t n = 1;

	for (size_t i = 0; i < list.n; i++)
		n += list.p[i] == ',';
	entry->groups = calloc(n, sizeof(*entry->groups));
	if (!entry->groups)
		return -1;
	for (size_t i = 0, start = 0; i <= list.n; i++) {
		if (i < list.n && list.p[i] != ',')
			continue;
		struct ks_view group = trim((struct ks_view){list.p + start, i - start});
		if (group.n)
			entry->groups[entry->user.n_groups++] = group;
		start = i + 1;
	}
	entry->user.groups = entry->groups;
	return 0;
}

static int add_entry(struct tokens *t, const struct ks_view *fields, size_t n)
{
	struct entry *entry;

	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16;
		struct entry *entries = realloc(t->entries, cap * sizeof(*entries));

		if (!entries)
			return -1;
		t->entries = entries;
		t->cap = cap;
	}
	entry = &t->entries[t->n];
	memset(entry, 0, sizeof(*entry));
	if (digest_token(fields[0], entry->digest) < 0)
		return -1;
	entry->user.name = fields[1];
	entry->user.uid = fields[2];
	t->n++;
	return n > 3 ? split_groups(entry, fields[3]) : 0;
}

static const char *parse_line(struct tokens *t, char *line)
{
	struct ks_view fields[MAX_FIELDS];
	size_t n = 0;
	int last = 0;

	while (!last) {
		struct ks_view field;

		if (next_field(&line, &field, &last) < 0)
			return "a quote is not closed or stands inside a field";
		if (n < MAX_FIELDS)
			fields[n++] = trim(field);
	}
	if (n < 3)
		return "at least token, user name and user uid are needed, separated by commas";
	if (fields[0].n == 0)
		return "the token is empty";
	if (fields[1].n == 0)
		return "the user name is empty";
	return add_entry(t, fields, n) < 0 ? "out of memory" : NULL;
}

static int parse_file(struct tokens *t, const char *path, struct ks_plugin_error *error)
{
	char *line = t->text;

	for (unsigned number = 1; line; number++) {
		char *end = strchr(line, '\n');
		const char *problem = NULL;

		if (end)
			*end = '\0';
		if (trim((struct ks_view){line, strlen(line)}).n && line[0] != '#')
			problem = parse_line(t, line);
		if (problem) {
			snprintf(error->text, sizeof(error->text), "%s:%u: %s", path, number, problem);
			return -1;
		}
		line = end ? end + 1 : NULL;
	}
	return 0;
}

static int compare_digests(const void *a, const void *b)
{
	return memcmp(((const struct entry *)a)->digest, ((const struct entry *)b)->digest, DIGEST);
}

static int sort_entries(struct tokens *t, const char *path, struct ks_plugin_error *error)
{
	if (t->n)
		qsort(t->entries, t->n, sizeof(*t->entries), compare_digests);
	for (size_t i = 1; i < t->n; i++)
		if (compare_digests(&t->entries[i - 1], &t->entries[i]) == 0) {
			snprintf(error->text, sizeof(error->text), "%s: the same token is given to two lines (one is of user %.*s)", path,
				(int)t->entries[i].user.name.n, t->entries[i].user.name.p);
			return -1;
		}
	return 0;
}

struct tokens *ks_tokenfile_read(const char *path, const struct ks_host *host, struct ks_plugin_error *error)
{
	struct tokens *t = calloc(1, sizeof(*t));

	if (!t) {
		snprintf(error->text, sizeof(error->text), "out of memory");
		return NULL;
	}
	t->host = host;
	if (read_file(t, path, error) < 0 || parse_file(t, path, error) < 0 || sort_entries(t, path, error) < 0) {
		ks_tokenfile_free(t);
		return NULL;
	}
	return t;
}

void ks_tokenfile_free(struct tokens *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->entries[i].groups);
	free(t->entries);
	if (t->text)
		t->host->wipe(t->text, t->text_len);
	free(t->text);
	free(t);
}

const struct token_user *ks_tokenfile_find(const struct tokens *t, struct ks_view token)
{
	struct entry wanted;
	const struct entry *found;

	if (t->n == 0 || digest_token(token, wanted.digest) < 0)
		return NULL;
	found = bsearch(&wanted, t->entries, t->n, sizeof(*t->entries), compare_digests);
	return found ? &found->user : NULL;
}
