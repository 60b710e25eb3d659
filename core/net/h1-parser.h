/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of HTTP/1.x requests, strictly: what two parsers could read
 * differently is refused. Nothing here does I/O or allocates.
 */
#ifndef KS_NET_H1_PARSER_H
#define KS_NET_H1_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/net/http.h"

enum ks_h1_error {
	KS_H1_OK,
	KS_H1_BAD_REQUEST,
	KS_H1_NO_HOST,
	KS_H1_MANY_HOSTS,
	KS_H1_BAD_HOST,
	KS_H1_BAD_NAME,
	KS_H1_BAD_VALUE,
	KS_H1_TOO_LARGE,
	KS_H1_BAD_ENCODING,
	KS_H1_BAD_VERSION,
	KS_H1_N_ERRORS,
};

/* The whole answer to such a request; the connection ends after it. */
struct ks_str ks_h1_error_answer(enum ks_h1_error error);

/* Where the search for the end of a request's head stands. Zeroed before the first byte. */
struct ks_h1_scan {
	size_t line;    /* start of the line that is being read */
	size_t pos;     /* what is before has been looked at */
	size_t n_lines; /* whole lines so far, the request line among them */
};

/* `p` are the bytes from the start of a request. Bytes of the whole head, the empty line included; 0: not all there yet; negative: no
 * request can begin like this. */
ssize_t ks_h1_head_end(struct ks_h1_scan *scan, const char *p, size_t n);

struct ks_h1_head {
	struct ks_header *headers; /* the caller's array */
	size_t max_headers;
	size_t n_headers;
	struct ks_str method, target; /* target: path and query, or "*" */
	struct ks_str authority;      /* of an absolute target, else the Host header */
	int minor;                    /* HTTP/1.minor: 0 or 1 */
	int64_t content_length;       /* -1 when not said */
	bool chunked;
	bool keep_alive;              /* by version and Connection */
	bool expect_continue;
	bool has_host, has_expect;    /* private */
};

/* Parses a head as ks_h1_head_end found it, in place: names become lower case, views point into `p`. */
enum ks_h1_error ks_h1_head_parse(struct ks_h1_head *head, char *p, size_t n);

/* Decoder of a chunked body. Zeroed before the first byte. */
struct ks_h1_chunks {
	uint64_t remaining;   /* of the chunk's data */
	uint32_t overhead;    /* bytes of extensions and trailers so far */
	uint16_t line_length; /* of the trailer line that is being read */
	uint8_t digits;
	uint8_t state;
};

/* Eats some of the bytes; `data_r` is what of them is body (often nothing). Bytes eaten, > 0 when n > 0 and it is not done; -1: malformed. */
ssize_t ks_h1_chunks_next(struct ks_h1_chunks *chunks, const char *p, size_t n, struct ks_str *data_r);
bool ks_h1_chunks_done(const struct ks_h1_chunks *chunks);

#endif
