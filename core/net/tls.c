/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/net/tls.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/*
 * AES-128 first: it is the fastest where there are AES instructions, and a client without them names ChaCha20 in its own list. Only
 * authenticated ciphers and forward secrecy (HTTP/2 asks for both).
 */
static const char priorities[] =
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-DHE-RSA:-CIPHER-ALL:+AES-128-GCM:+CHACHA20-POLY1305:+AES-256-GCM:"
	"-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:%SERVER_PRECEDENCE:%SAFE_RENEGOTIATION";

struct ks_tls_credentials {
	_Atomic uint32_t refs;
	gnutls_certificate_credentials_t gnutls;
};

struct ks_tls_policy {
	gnutls_priority_t priorities;
	gnutls_datum_t ticket_key;
};

static int load(gnutls_certificate_credentials_t gnutls, const struct ks_server_config *config, struct ks_error *err)
{
	int r = gnutls_certificate_set_x509_key_file2(gnutls, config->certificate_file, config->key_file, GNUTLS_X509_FMT_PEM, NULL, 0);

	if (r < 0)
		return ks_error_set(err, -EINVAL, "can't use certificate %s with key %s: %s", config->certificate_file, config->key_file,
			gnutls_strerror(r));
	if (!config->client_ca_file)
		return 0;
	r = gnutls_certificate_set_x509_trust_file(gnutls, config->client_ca_file, GNUTLS_X509_FMT_PEM);
	if (r <= 0)
		return ks_error_set(err, -EINVAL, "can't use client CA file %s: %s", config->client_ca_file,
			r ? gnutls_strerror(r) : "no certificate in it");
	return 0;
}

int ks_tls_credentials_new(const struct ks_server_config *config, struct ks_tls_credentials **out_r, struct ks_error *err)
{
	struct ks_tls_credentials *credentials;
	int r;

	if (!config->certificate_file || !config->key_file)
		return ks_error_set(err, -EINVAL, "a certificate file and a key file are needed");
	credentials = calloc(1, sizeof(*credentials));
	if (!credentials || gnutls_certificate_allocate_credentials(&credentials->gnutls) < 0) {
		free(credentials);
		return ks_error_set(err, -ENOMEM, "out of memory");
	}
	atomic_init(&credentials->refs, 1);
	r = load(credentials->gnutls, config, err);
	if (r < 0) {
		ks_tls_credentials_unref(credentials);
		return r;
	}
	*out_r = credentials;
	return 0;
}

struct ks_tls_credentials *ks_tls_credentials_ref(struct ks_tls_credentials *credentials)
{
	atomic_fetch_add_explicit(&credentials->refs, 1, memory_order_relaxed);
	return credentials;
}

void ks_tls_credentials_unref(struct ks_tls_credentials *credentials)
{
	if (!credentials || atomic_fetch_sub_explicit(&credentials->refs, 1, memory_order_acq_rel) != 1)
		return;
	gnutls_certificate_free_credentials(credentials->gnutls);
	free(credentials);
}

int ks_tls_policy_new(struct ks_tls_policy **out_r, struct ks_error *err)
{
	struct ks_tls_policy *policy = calloc(1, sizeof(*policy));
	const char *where = NULL;
	int r;

	if (!policy)
		return ks_error_set(err, -ENOMEM, "out of memory");
	r = gnutls_priority_init(&policy->priorities, priorities, &where);
	if (r >= 0)
		r = gnutls_session_ticket_key_generate(&policy->ticket_key);
	if (r < 0) {
		ks_tls_policy_free(&policy);
		return ks_error_set(err, -EIO, "can't set up TLS: %s", gnutls_strerror(r));
	}
	*out_r = policy;
	return 0;
}

void ks_tls_policy_free(struct ks_tls_policy **policy)
{
	struct ks_tls_policy *p = *policy;

	if (!p)
		return;
	*policy = NULL;
	if (p->priorities)
		gnutls_priority_deinit(p->priorities);
	if (p->ticket_key.data) {
		gnutls_memset(p->ticket_key.data, 0, p->ticket_key.size);
		gnutls_free(p->ticket_key.data);
	}
	free(p);
}

static int set_up(gnutls_session_t session, const struct ks_tls_policy *policy, struct ks_tls_credentials *credentials)
{
	static const gnutls_datum_t protocols[] = {
		{(unsigned char *)"h2", 2},
		{(unsigned char *)"http/1.1", 8},
	};
	int r = gnutls_priority_set(session, policy->priorities);

	if (r >= 0)
		r = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials->gnutls);
	if (r >= 0)
		r = gnutls_alpn_set_protocols(session, protocols, 2, GNUTLS_ALPN_MANDATORY | GNUTLS_ALPN_SERVER_PRECEDENCE);
	if (r >= 0)
		r = gnutls_session_ticket_enable_server(session, &policy->ticket_key);
	if (r >= 0)
		gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUEST);
	return r;
}

gnutls_session_t ks_tls_session_new(const struct ks_tls_policy *policy, struct ks_tls_credentials *credentials)
{
	gnutls_session_t session;

	if (gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0)
		return NULL;
	if (set_up(session, policy, credentials) < 0) {
		gnutls_deinit(session);
		return NULL;
	}
	return session;
}

bool ks_tls_is_http2(gnutls_session_t session)
{
	gnutls_datum_t chosen;

	return gnutls_alpn_get_selected_protocol(session, &chosen) == 0 && chosen.size == 2 && memcmp(chosen.data, "h2", 2) == 0;
}

int ks_tls_copy_peer(gnutls_session_t session, struct ks_str **out_r, size_t *n_r)
{
	unsigned int n = 0;
	const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
	size_t size = 0;
	char *bytes;

	*out_r = NULL;
	*n_r = 0;
	if (!chain || n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		size += sizeof(struct ks_str) + chain[i].size;
	*out_r = malloc(size);
	if (!*out_r)
		return -ENOMEM;
	bytes = (char *)(*out_r + n);
	for (unsigned int i = 0; i < n; i++) {
		memcpy(bytes, chain[i].data, chain[i].size);
		(*out_r)[i] = ks_str_of(bytes, chain[i].size);
		bytes += chain[i].size;
	}
	*n_r = n;
	return 0;
}
