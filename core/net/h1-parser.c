/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/net/h1-parser.h"

#include <strings.h>

/* -- characters ------------------------------------------------------------------------------------------------ */

enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8, HEX = 16 };

#define A (TOKEN | VALUE | TARGET | HOST)
#define X (A | HEX)
/* RFC 9110: tokens; RFC 9112: field values, request targets; RFC 3986: host and port. */
static const uint8_t classes[256] = {
	['\t'] = VALUE, [' '] = VALUE,
	['!'] = A, ['"'] = VALUE | TARGET, ['#'] = TOKEN | VALUE | TARGET, ['$'] = A, ['%'] = A, ['&'] = A, ['\''] = A,
	['('] = VALUE | TARGET | HOST, [')'] = VALUE | TARGET | HOST, ['*'] = A, ['+'] = A, [','] = VALUE | TARGET | HOST, ['-'] = A, ['.'] = A,
	['/'] = VALUE | TARGET, ['0' ... '9'] = X, [':'] = VALUE | TARGET | HOST, [';'] = VALUE | TARGET | HOST, ['<'] = VALUE | TARGET,
	['='] = VALUE | TARGET | HOST, ['>'] = VALUE | TARGET, ['?'] = VALUE | TARGET, ['@'] = VALUE | TARGET,
	['A' ... 'F'] = X, ['G' ... 'Z'] = A, ['['] = VALUE | TARGET | HOST, ['\\'] = VALUE | TARGET, [']'] = VALUE | TARGET | HOST,
	['^'] = TOKEN | VALUE | TARGET, ['_'] = A, ['`'] = TOKEN | VALUE | TARGET, ['a' ... 'f'] = X, ['g' ... 'z'] = A,
	['{'] = VALUE | TARGET, ['|'] = TOKEN | VALUE | TARGET, ['}'] = VALUE | TARGET, ['~'] = A,
	[0x80 ... 0xff] = VALUE | TARGET,
};
#undef A
#undef X

static bool is_all(struct ks_str s, uint8_t class)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(classes[(unsigned char)s.p[i]] & class))
			return false;
	return true;
}

static bool is_word(struct ks_str s, const char *word)
{
	return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

static struct ks_str trim(struct ks_str s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t'))
		s = ks_str_of(s.p + 1, s.n - 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* -- answers to what is no request ----------------------------------------------------------------------------- */

#define ANSWER(line, text) \
	KS_STR_LIT("HTTP/1.1 " line "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" text)

struct ks_str ks_h1_error_answer(enum ks_h1_error error)
{
	switch (error) {
	case KS_H1_NO_HOST:
		return ANSWER("400 Bad Request: missing required Host header", "400 Bad Request: missing required Host header");
	case KS_H1_MANY_HOSTS:
		return ANSWER("400 Bad Request: too many Host headers", "400 Bad Request: too many Host headers");
	case KS_H1_BAD_HOST:
		return ANSWER("400 Bad Request: malformed Host header", "400 Bad Request: malformed Host header");
	case KS_H1_BAD_NAME:
		return ANSWER("400 Bad Request: invalid header name", "400 Bad Request: invalid header name");
	case KS_H1_BAD_VALUE:
		return ANSWER("400 Bad Request: invalid header value", "400 Bad Request: invalid header value");
	case KS_H1_TOO_LARGE:
		return ANSWER("431 Request Header Fields Too Large", "431 Request Header Fields Too Large");
	case KS_H1_BAD_ENCODING:
		return ANSWER("501 Not Implemented", "Unsupported transfer encoding");
	case KS_H1_BAD_VERSION:
		return ANSWER("505 HTTP Version Not Supported: unsupported protocol version",
			"505 HTTP Version Not Supported: unsupported protocol version");
	default:
		return ANSWER("400 Bad Request", "400 Bad Request");
	}
}

/* -- the head -------------------------------------------------------------------------------------------------- */

ssize_t ks_h1_head_end(struct ks_h1_scan *scan, const char *p, size_t n)
{
	if (n && !(classes[(unsigned char)p[0]] & TOKEN))
		return -1;
	while (scan->pos < n) {
		const char *newline = memchr(p + scan->pos, '\n', n - scan->pos);
		size_t at;

		if (!newline) {
			scan->pos = n;
			break;
		}
		at = (size_t)(newline - p);
		if (at == scan->line || p[at - 1] != '\r')
			return -1; /* a bare line feed: some take it for the end of a line, some don't */
		if (at - 1 == scan->line)
			return (ssize_t)(at + 1);
		scan->line = scan->pos = at + 1;
		scan->n_lines++;
	}
	return 0;
}

static enum ks_h1_error parse_version(struct ks_h1_head *head, struct ks_str version)
{
	if (version.n != 8 || memcmp(version.p, "HTTP/", 5) != 0 || version.p[6] != '.')
		return KS_H1_BAD_REQUEST;
	if (version.p[5] < '0' || version.p[5] > '9' || version.p[7] < '0' || version.p[7] > '9')
		return KS_H1_BAD_REQUEST;
	if (version.p[5] != '1' || version.p[7] > '1')
		return KS_H1_BAD_VERSION;
	head->minor = version.p[7] - '0';
	return KS_H1_OK;
}

/* Of "http://authority/path" only the path is the target. */
static enum ks_h1_error split_absolute(struct ks_h1_head *head)
{
	struct ks_str rest = head->target;
	size_t scheme, n = 0;

	if (rest.n > 7 && strncasecmp(rest.p, "http://", 7) == 0)
		scheme = 7;
	else if (rest.n > 8 && strncasecmp(rest.p, "https://", 8) == 0)
		scheme = 8;
	else
		return KS_H1_BAD_REQUEST;
	rest = ks_str_of(rest.p + scheme, rest.n - scheme);
	while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
		n++;
	head->authority = ks_str_of(rest.p, n);
	if (n == 0 || !is_all(head->authority, HOST) || (n < rest.n && rest.p[n] != '/'))
		return KS_H1_BAD_REQUEST;
	head->target = n < rest.n ? ks_str_of(rest.p + n, rest.n - n) : KS_STR_LIT("/");
	return KS_H1_OK;
}

static enum ks_h1_error parse_request_line(struct ks_h1_head *head, struct ks_str line)
{
	const char *first = memchr(line.p, ' ', line.n);
	const char *last = memrchr(line.p, ' ', line.n);
	enum ks_h1_error error;

	if (!first || first == last)
		return KS_H1_BAD_REQUEST;
	head->method = ks_str_of(line.p, (size_t)(first - line.p));
	head->target = ks_str_of(first + 1, (size_t)(last - first - 1));
	error = parse_version(head, ks_str_of(last + 1, line.n - (size_t)(last + 1 - line.p)));
	if (error)
		return error;
	if (head->method.n == 0 || !is_all(head->method, TOKEN) || head->target.n == 0 || !is_all(head->target, TARGET))
		return KS_H1_BAD_REQUEST;
	if (head->target.p[0] == '/' || ks_str_is(head->target, "*"))
		return KS_H1_OK;
	return split_absolute(head);
}

/* Digits and nothing else, said once: two parsers that disagree about a length are how requests get smuggled. */
static enum ks_h1_error take_content_length(struct ks_h1_head *head, struct ks_str value)
{
	int64_t length = 0;

	if (head->content_length >= 0 || value.n == 0 || value.n > 18)
		return KS_H1_BAD_REQUEST;
	for (size_t i = 0; i < value.n; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return KS_H1_BAD_REQUEST;
		length = length * 10 + (value.p[i] - '0');
	}
	head->content_length = length;
	return KS_H1_OK;
}

static enum ks_h1_error take_transfer_encoding(struct ks_h1_head *head, struct ks_str value)
{
	if (head->chunked || head->minor == 0)
		return KS_H1_BAD_REQUEST;
	if (!is_word(value, "chunked"))
		return KS_H1_BAD_ENCODING;
	head->chunked = true;
	return KS_H1_OK;
}

static enum ks_h1_error take_connection(struct ks_h1_head *head, struct ks_str value)
{
	while (value.n) {
		const char *comma = memchr(value.p, ',', value.n);
		size_t n = comma ? (size_t)(comma - value.p) : value.n;
		struct ks_str word = trim(ks_str_of(value.p, n));

		if (is_word(word, "close"))
			head->keep_alive = false;
		else if (is_word(word, "keep-alive") && head->minor == 0)
			head->keep_alive = true;
		n += comma != NULL;
		value = ks_str_of(value.p + n, value.n - n);
	}
	return KS_H1_OK;
}

static enum ks_h1_error take_host(struct ks_h1_head *head, struct ks_str value)
{
	if (head->has_host)
		return KS_H1_MANY_HOSTS;
	if (!is_all(value, HOST))
		return KS_H1_BAD_HOST;
	head->has_host = true;
	if (!head->authority.n)
		head->authority = value;
	return KS_H1_OK;
}

static enum ks_h1_error take_expect(struct ks_h1_head *head, struct ks_str value)
{
	head->expect_continue = head->minor > 0 && is_word(value, "100-continue");
	return KS_H1_OK;
}

static enum ks_h1_error take_special(struct ks_h1_head *head, const struct ks_header *header)
{
	static const struct {
		struct ks_str name;
		enum ks_h1_error (*take)(struct ks_h1_head *head, struct ks_str value);
	} special[] = {
		{KS_STR_LIT("host"), take_host},
		{KS_STR_LIT("connection"), take_connection},
		{KS_STR_LIT("content-length"), take_content_length},
		{KS_STR_LIT("transfer-encoding"), take_transfer_encoding},
		{KS_STR_LIT("expect"), take_expect},
	};

	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (ks_str_eq(header->name, special[i].name))
			return special[i].take(head, header->value);
	return KS_H1_OK;
}

static enum ks_h1_error parse_header(struct ks_h1_head *head, char *line, size_t n)
{
	char *colon = memchr(line, ':', n);
	struct ks_header *header;

	if (line[0] == ' ' || line[0] == '\t')
		return KS_H1_BAD_REQUEST; /* a folded line */
	if (!colon)
		return KS_H1_BAD_REQUEST;
	if (head->n_headers == head->max_headers)
		return KS_H1_TOO_LARGE;
	header = &head->headers[head->n_headers];
	header->name = ks_str_of(line, (size_t)(colon - line));
	header->value = trim(ks_str_of(colon + 1, n - header->name.n - 1));
	if (header->name.n == 0 || !is_all(header->name, TOKEN))
		return KS_H1_BAD_NAME;
	if (!is_all(header->value, VALUE))
		return KS_H1_BAD_VALUE;
	for (char *c = line; c < colon; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c |= 0x20;
	head->n_headers++;
	return take_special(head, header);
}

static enum ks_h1_error check_whole(const struct ks_h1_head *head)
{
	if (head->chunked && head->content_length >= 0)
		return KS_H1_BAD_REQUEST;
	if (head->minor > 0 && !head->has_host)
		return KS_H1_NO_HOST;
	if (ks_str_is(head->method, "CONNECT"))
		return KS_H1_BAD_REQUEST;
	return KS_H1_OK;
}

enum ks_h1_error ks_h1_head_parse(struct ks_h1_head *head, char *p, size_t n)
{
	char *end = memchr(p, '\n', n);
	enum ks_h1_error error;

	head->n_headers = 0;
	head->content_length = -1;
	if (!end || end == p)
		return KS_H1_BAD_REQUEST;
	error = parse_request_line(head, ks_str_of(p, (size_t)(end - 1 - p)));
	head->keep_alive = head->minor > 0;
	while (!error) {
		char *line = end + 1;

		end = line < p + n ? memchr(line, '\n', n - (size_t)(line - p)) : NULL;
		if (!end || end == line)
			return KS_H1_BAD_REQUEST;
		if (end == line + 1)
			return check_whole(head);
		error = parse_header(head, line, (size_t)(end - 1 - line));
	}
	return error;
}

/* -- chunks ---------------------------------------------------------------------------------------------------- */

enum { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LF, DONE };
enum { MAX_OVERHEAD = 16384 };

bool ks_h1_chunks_done(const struct ks_h1_chunks *chunks)
{
	return chunks->state == DONE;
}

static int hex_value(unsigned char c)
{
	if (!(classes[c] & HEX))
		return -1;
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

static bool chunk_size(struct ks_h1_chunks *chunks, unsigned char c)
{
	int digit = hex_value(c);

	if (digit >= 0) {
		chunks->remaining = chunks->remaining << 4 | (unsigned)digit;
		return ++chunks->digits <= 15;
	}
	if (chunks->digits == 0)
		return false;
	if (c == '\r')
		chunks->state = SIZE_LF;
	else if (c == ';')
		chunks->state = EXTENSION;
	else
		return false;
	return true;
}

static bool chunk_extension(struct ks_h1_chunks *chunks, unsigned char c)
{
	if (c == '\r')
		chunks->state = SIZE_LF;
	else if (!(classes[c] & VALUE))
		return false;
	return ++chunks->overhead <= MAX_OVERHEAD;
}

static bool chunk_trailer(struct ks_h1_chunks *chunks, unsigned char c)
{
	if (c == '\r') {
		chunks->state = TRAILER_LF;
		return true;
	}
	/* No folded lines, and no trailer without a name. */
	if (chunks->line_length == 0 && !(classes[c] & TOKEN))
		return false;
	if (!(classes[c] & VALUE))
		return false;
	chunks->line_length = 1;
	return ++chunks->overhead <= MAX_OVERHEAD;
}

static bool chunk_line_feed(struct ks_h1_chunks *chunks, unsigned char c)
{
	if (c != '\n')
		return false;
	switch (chunks->state) {
	case SIZE_LF:
		chunks->state = chunks->remaining ? DATA : TRAILER;
		chunks->line_length = 0;
		break;
	case DATA_LF:
		chunks->state = SIZE;
		chunks->digits = 0;
		break;
	default:
		chunks->state = chunks->line_length ? TRAILER : DONE;
		chunks->line_length = 0;
	}
	return true;
}

static bool chunk_byte(struct ks_h1_chunks *chunks, unsigned char c)
{
	switch (chunks->state) {
	case SIZE:
		return chunk_size(chunks, c);
	case EXTENSION:
		return chunk_extension(chunks, c);
	case TRAILER:
		return chunk_trailer(chunks, c);
	case DATA_CR:
		chunks->state = DATA_LF;
		return c == '\r';
	default:
		return chunk_line_feed(chunks, c);
	}
}

ssize_t ks_h1_chunks_next(struct ks_h1_chunks *chunks, const char *p, size_t n, struct ks_str *data_r)
{
	size_t eaten = 0;

	*data_r = ks_str_of(p, 0);
	while (eaten < n && chunks->state != DATA && chunks->state != DONE)
		if (!chunk_byte(chunks, (unsigned char)p[eaten++]))
			return -1;
	if (chunks->state != DATA || eaten == n)
		return (ssize_t)eaten;
	data_r->p = p + eaten;
	data_r->n = n - eaten < chunks->remaining ? n - eaten : (size_t)chunks->remaining;
	chunks->remaining -= data_r->n;
	if (chunks->remaining == 0)
		chunks->state = DATA_CR;
	return (ssize_t)(eaten + data_r->n);
}
