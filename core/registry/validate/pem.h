/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Blocks of PEM, as far as their types go. */
#ifndef KS_REGISTRY_VALIDATE_PEM_H
#define KS_REGISTRY_VALIDATE_PEM_H

#include <stdbool.h>

#include "core/util/str.h"

/* The type of the next block (a view); `*rest` is moved behind it. False when there is no more. */
bool ks_pem_next(struct ks_str *rest, struct ks_str *type_r, bool *headers_r);

#endif
