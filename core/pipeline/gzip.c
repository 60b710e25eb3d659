/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 8, LEAST_ROOM = 4096, MOST_AT_ONCE = 1 << 30 };

struct ks_gzip {
	z_stream z;
};

struct ks_gzip *ks_gzip_new(void)
{
	struct ks_gzip *gzip = calloc(1, sizeof(*gzip));

	if (gzip && deflateInit2(&gzip->z, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	return gzip;
}

void ks_gzip_free(struct ks_gzip **gzip)
{
	if (!*gzip)
		return;
	deflateEnd(&(*gzip)->z);
	free(*gzip);
	*gzip = NULL;
}

/* Until the input is used up, and with Z_FINISH until the end is written. */
static int deflate_all(z_stream *z, int flush, struct ks_buf *out)
{
	int rc;

	do {
		if (!ks_buf_reserve(out, LEAST_ROOM + z->avail_in / 4))
			return -ENOMEM;
		z->next_out = (unsigned char *)out->data + out->len;
		z->avail_out = (unsigned)(out->cap - out->len > MOST_AT_ONCE ? MOST_AT_ONCE : out->cap - out->len);
		rc = deflate(z, flush);
		out->len = (size_t)((char *)z->next_out - out->data);
		if (rc == Z_STREAM_ERROR)
			return -EINVAL;
	} while (flush == Z_FINISH ? rc != Z_STREAM_END : z->avail_in > 0 || z->avail_out == 0);
	return 0;
}

int ks_gzip_write(struct ks_gzip *gzip, struct ks_str bytes, bool last, struct ks_buf *out)
{
	z_stream *z = &gzip->z;
	int rc = 0;

	while (bytes.n > 0 && rc == 0) {
		z->next_in = (unsigned char *)bytes.p;
		z->avail_in = (unsigned)(bytes.n > MOST_AT_ONCE ? MOST_AT_ONCE : bytes.n);
		bytes = ks_str_of(bytes.p + z->avail_in, bytes.n - z->avail_in);
		rc = deflate_all(z, Z_NO_FLUSH, out);
	}
	if (rc == 0 && last)
		rc = deflate_all(z, Z_FINISH, out);
	return rc;
}
