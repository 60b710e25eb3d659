/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/api/document.h"

#include <errno.h>
#include <gnutls/crypto.h>

void ks_document_init(struct ks_document *doc)
{
	ks_buf_init(&doc->out);
	doc->comma = false;
}

void ks_document_fini(struct ks_document *doc)
{
	ks_buf_fini(&doc->out);
}

struct ks_bytes *ks_document_finish(struct ks_document *doc)
{
	struct ks_bytes *bytes = doc->out.failed ? NULL : ks_bytes_dup(doc->out.data, doc->out.len);

	ks_document_fini(doc);
	return bytes;
}

static void separate(struct ks_document *doc)
{
	if (doc->comma)
		ks_buf_add_char(&doc->out, ',');
	doc->comma = true;
}

void ks_document_open(struct ks_document *doc, char bracket)
{
	separate(doc);
	ks_buf_add_char(&doc->out, bracket);
	doc->comma = false;
}

void ks_document_close(struct ks_document *doc, char bracket)
{
	ks_buf_add_char(&doc->out, bracket);
	doc->comma = true;
}

static void add_quoted(struct ks_buf *out, struct ks_str text)
{
	size_t from = 0;

	ks_buf_add_char(out, '"');
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		ks_buf_add(out, text.p + from, i - from);
		if (c < 0x20)
			ks_buf_printf(out, "\\u%04x", c);
		else
			ks_buf_printf(out, "\\%c", c);
		from = i + 1;
	}
	ks_buf_add(out, text.p + from, text.n - from);
	ks_buf_add_char(out, '"');
}

void ks_document_key(struct ks_document *doc, const char *key)
{
	separate(doc);
	add_quoted(&doc->out, ks_str_from(key));
	ks_buf_add_char(&doc->out, ':');
	doc->comma = false;
}

void ks_document_text(struct ks_document *doc, struct ks_str text)
{
	separate(doc);
	add_quoted(&doc->out, text);
}

void ks_document_raw(struct ks_document *doc, const char *json)
{
	separate(doc);
	ks_buf_add_str(&doc->out, json);
}

void ks_document_add(struct ks_document *doc, const char *key, const char *text)
{
	ks_document_key(doc, key);
	ks_document_text(doc, ks_str_from(text));
}

void ks_document_add_raw(struct ks_document *doc, const char *key, const char *json)
{
	ks_document_key(doc, key);
	ks_document_raw(doc, json);
}

void ks_document_enter(struct ks_document *doc, const char *key, char bracket)
{
	ks_document_key(doc, key);
	ks_document_open(doc, bracket);
}

int ks_document_hash(const void *p, size_t n, char hash_r[KS_DOCUMENT_HASH_SIZE])
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned char digest[64];

	if (gnutls_hash_fast(GNUTLS_DIG_SHA512, p, n, digest) != 0)
		return -EIO;
	for (size_t i = 0; i < sizeof(digest); i++) {
		hash_r[2 * i] = digits[digest[i] >> 4];
		hash_r[2 * i + 1] = digits[digest[i] & 15];
	}
	hash_r[KS_DOCUMENT_HASH_SIZE - 1] = '\0';
	return 0;
}
