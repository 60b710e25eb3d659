/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KS_API_OPENAPI_MESSAGE_H
#define KS_API_OPENAPI_MESSAGE_H

#include "core/util/buf.h"

/* An OpenAPI v2 document, given as JSON, as the protobuf message openapi.v2.Document: the only form that Go clients ask for. Extensions (x-...) are in it
 * as the text of their YAML. 0, -EINVAL when it is no JSON, -ENOMEM. */
int ks_openapi_v2_message(const struct ks_bytes *json, struct ks_bytes **out_r) __attribute__((warn_unused_result));

#endif
