/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Long answers, compressed a part at a time: the worker is given back between the parts. */
#ifndef KS_PIPELINE_GZIP_ANSWER_H
#define KS_PIPELINE_GZIP_ANSWER_H

#include "core/pipeline/request.h"

/* Does the client take gzip, and can the answer to this request be streamed? */
bool ks_gzip_wanted(const struct ks_request *request);
/* Takes over the pieces and answers with them. False when there was no memory to begin: nothing was taken or sent. */
bool ks_gzip_answer(struct ks_request *request, int code, const char *content_type, const struct ks_header *headers, size_t n_headers,
	const struct ks_piece *pieces, size_t n_pieces) __attribute__((warn_unused_result));

#endif
