/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Blocks of PEM. */
#ifndef KS_REGISTRY_VALIDATE_PEM_H
#define KS_REGISTRY_VALIDATE_PEM_H

#include <stdbool.h>

#include "core/util/str.h"

struct ks_pem {
	struct ks_str type, body; /* views: the name of the block and its base64 */
	bool headers;
};

/* The next block; `*rest` is moved behind it. False when there is no more. */
bool ks_pem_next(struct ks_str *rest, struct ks_pem *block_r);

#endif
