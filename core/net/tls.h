/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* TLS: credentials that can be replaced while the server runs, and sessions made from them. */
#ifndef KS_NET_TLS_H
#define KS_NET_TLS_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "core/net/http.h"

/* Certificate, key and CA names as read once; shared by the sessions made from them. */
struct ks_tls_credentials;

int ks_tls_credentials_new(const struct ks_server_config *config, struct ks_tls_credentials **out_r, struct ks_error *err)
	__attribute__((warn_unused_result));
struct ks_tls_credentials *ks_tls_credentials_ref(struct ks_tls_credentials *credentials);
/* NULL is safe. Any thread. */
void ks_tls_credentials_unref(struct ks_tls_credentials *credentials);

/* What all sessions of a server share for its whole life: cipher order and the key of session tickets. */
struct ks_tls_policy;

int ks_tls_policy_new(struct ks_tls_policy **out_r, struct ks_error *err) __attribute__((warn_unused_result));
void ks_tls_policy_free(struct ks_tls_policy **policy);

/* A server's side of a new session; it uses the credentials, which must outlive it. NULL when out of memory. */
gnutls_session_t ks_tls_session_new(const struct ks_tls_policy *policy, struct ks_tls_credentials *credentials)
	__attribute__((warn_unused_result));
/* After the handshake: did the peer choose HTTP/2? */
bool ks_tls_is_http2(gnutls_session_t session);
/* Copies the peer's chain into one block, `*out_r` (freed by free(); NULL and 0 when it showed none). 0 or -ENOMEM. */
int ks_tls_copy_peer(gnutls_session_t session, struct ks_str **out_r, size_t *n_r) __attribute__((warn_unused_result));

#endif
