/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Who a client certificate names: CN is the user, each O a group, as Kubernetes reads certificates. */
#ifndef KS_X509_IDENTITY_H
#define KS_X509_IDENTITY_H

#include <gnutls/x509.h>
#include <keelson/authn.h>

/* Allocated as one block: views point behind the struct. */
struct identity {
	struct ks_view name, uid, credential;
	struct ks_view *groups;
	size_t n_groups;
	int64_t valid_until_ms; /* of the shortest-lived certificate of the chain */
};

enum identity_result {
	IDENTITY_FOUND,
	IDENTITY_UNTRUSTED, /* no chain to our authorities, or a certificate that isn't for clients */
	IDENTITY_NAMELESS,  /* trusted, but without a common name */
	IDENTITY_NO_MEMORY
};

/* Verifies `chain` (DER, leaf first) against `trust` now, and reads the leaf. `why` gets a few words on failure. */
enum identity_result ks_x509_identify(gnutls_x509_trust_list_t trust, const struct ks_view *chain, size_t n,
	struct identity **identity_r, char *why, size_t why_size);

#endif
