/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* For the pool that ks_plugins_new makes. Private to plugins/host. */
#ifndef KS_PLUGINS_CALLS_H
#define KS_PLUGINS_CALLS_H

#include "plugins/host/internal.h"

/* Makes the call of an operation that was submitted to the pool. */
int ks_call_run_blocking(struct ks_op *op);

#endif
