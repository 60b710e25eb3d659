/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* One request looked at by all policies that match it. */
#ifndef KS_LUA_EVALUATION_H
#define KS_LUA_EVALUATION_H

#include "admission/lua/state.h"

/* Runs the policies of the state; `give_back` gets the state when no more is needed of it (before the operation completes).
 * KS_DONE, KS_PENDING when it goes on elsewhere, or negative. */
int ks_lua_evaluate(struct lua_state *state, const struct ks_host *host, struct ks_op *op, const struct ks_admission_request *request,
	struct ks_admission_result *result, void (*give_back)(void *arg, struct lua_state *state), void *arg);

#endif
