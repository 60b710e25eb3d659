/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "authn/x509/identity.h"

#include <gnutls/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_CHAIN = 10, MAX_ATTRIBUTES = 256, MAX_ATTRIBUTE = 1024, MAX_TEXT = 64 * 1024, DIGEST = 32 };

/* Kubernetes' object identifier for a user's uid in the subject (k8s.io/apiserver x509 authenticator, KEP-1672). */
static const char uid_oid[] = "1.3.6.1.4.1.57683.2";

struct subject {
	char text[MAX_TEXT]; /* all attributes, one after the other */
	size_t used;
	struct ks_view name, uid, groups[MAX_ATTRIBUTES];
	size_t n_groups;
};

static int import_chain(const struct ks_view *chain, size_t n, gnutls_x509_crt_t *certs)
{
	for (size_t i = 0; i < n; i++) {
		gnutls_datum_t der = {(unsigned char *)chain[i].p, (unsigned)chain[i].n};

		if (gnutls_x509_crt_init(&certs[i]) < 0)
			return -1;
		if (gnutls_x509_crt_import(certs[i], &der, GNUTLS_X509_FMT_DER) < 0)
			return -1;
	}
	return 0;
}

static void free_chain(gnutls_x509_crt_t *certs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (certs[i])
			gnutls_x509_crt_deinit(certs[i]);
}

static int is_trusted(gnutls_x509_trust_list_t trust, gnutls_x509_crt_t *certs, size_t n, char *why, size_t why_size)
{
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
	gnutls_datum_t words = {0};
	unsigned status = 0;

	if (gnutls_x509_trust_list_verify_crt2(trust, certs, (unsigned)n, &purpose, 1, 0, &status, NULL) == 0 && status == 0)
		return 1;
	if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0) == 0)
		snprintf(why, why_size, "%s", (const char *)words.data);
	gnutls_free(words.data);
	return 0;
}

/* The attribute number `index` of kind `oid` in the leaf's subject; 1: found, 0: there is none. */
static int next_attribute(gnutls_x509_crt_t leaf, const char *oid, unsigned index, struct subject *s, struct ks_view *out)
{
	size_t size = MAX_ATTRIBUTE;

	if (s->used + size > sizeof(s->text))
		return 0;
	if (gnutls_x509_crt_get_dn_by_oid(leaf, oid, index, 0, s->text + s->used, &size) < 0)
		return 0;
	*out = (struct ks_view){s->text + s->used, size};
	s->used += size;
	return 1;
}

static void read_subject(gnutls_x509_crt_t leaf, struct subject *s)
{
	struct ks_view last;

	/* Go's pkix.Name keeps the last common name of several. */
	for (unsigned i = 0; i < MAX_ATTRIBUTES && next_attribute(leaf, GNUTLS_OID_X520_COMMON_NAME, i, s, &last); i++)
		s->name = last;
	next_attribute(leaf, uid_oid, 0, s, &s->uid);
	while (s->n_groups < MAX_ATTRIBUTES &&
		next_attribute(leaf, GNUTLS_OID_X520_ORGANIZATION_NAME, (unsigned)s->n_groups, s, &s->groups[s->n_groups]))
		s->n_groups++;
}

static struct ks_view append(char **at, struct ks_view text)
{
	struct ks_view copy = {*at, text.n};

	if (text.n)
		memcpy(*at, text.p, text.n);
	*at += text.n;
	return copy;
}

static char *hex(char *out, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out += sprintf(out, "%02x", bytes[i]);
	return out;
}

/* The text of `authentication.kubernetes.io/credential-id`: X509SHA256= and the leaf's digest. */
static struct ks_view append_credential(char **at, struct ks_view der)
{
	unsigned char digest[DIGEST];
	char *start = *at;

	if (gnutls_hash_fast(GNUTLS_DIG_SHA256, der.p, der.n, digest) < 0)
		return (struct ks_view){0};
	memcpy(*at, "X509SHA256=", 11);
	*at = hex(*at + 11, digest, sizeof(digest));
	return (struct ks_view){start, (size_t)(*at - start)};
}

static struct identity *make_identity(const struct subject *s, struct ks_view leaf_der, int64_t valid_until_ms)
{
	size_t size = sizeof(struct identity) + s->n_groups * sizeof(struct ks_view) + s->used + 11 + 2 * DIGEST + 1;
	struct identity *id = calloc(1, size);
	char *at;

	if (!id)
		return NULL;
	id->groups = (struct ks_view *)(id + 1);
	at = (char *)(id->groups + s->n_groups);
	id->name = append(&at, s->name);
	id->uid = append(&at, s->uid);
	for (size_t i = 0; i < s->n_groups; i++)
		id->groups[id->n_groups++] = append(&at, s->groups[i]);
	id->credential = append_credential(&at, leaf_der);
	id->valid_until_ms = valid_until_ms;
	return id;
}

static int64_t earliest_end_ms(gnutls_x509_crt_t *certs, size_t n)
{
	int64_t earliest = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		int64_t end = (int64_t)gnutls_x509_crt_get_expiration_time(certs[i]) * 1000;

		if (end < earliest)
			earliest = end;
	}
	return earliest;
}

static enum identity_result identify(gnutls_x509_trust_list_t trust, const struct ks_view *chain, gnutls_x509_crt_t *certs, size_t n,
	struct identity **identity_r, char *why, size_t why_size)
{
	struct subject *subject;

	if (!is_trusted(trust, certs, n, why, why_size))
		return IDENTITY_UNTRUSTED;
	subject = calloc(1, sizeof(*subject));
	if (!subject)
		return IDENTITY_NO_MEMORY;
	read_subject(certs[0], subject);
	*identity_r = subject->name.n ? make_identity(subject, chain[0], earliest_end_ms(certs, n)) : NULL;
	if (!*identity_r) {
		enum identity_result result = subject->name.n ? IDENTITY_NO_MEMORY : IDENTITY_NAMELESS;

		free(subject);
		return result;
	}
	free(subject);
	return IDENTITY_FOUND;
}

enum identity_result ks_x509_identify(gnutls_x509_trust_list_t trust, const struct ks_view *chain, size_t n,
	struct identity **identity_r, char *why, size_t why_size)
{
	gnutls_x509_crt_t certs[MAX_CHAIN] = {0};
	enum identity_result result = IDENTITY_UNTRUSTED;

	snprintf(why, why_size, "the certificate can't be read");
	if (n > MAX_CHAIN)
		n = MAX_CHAIN;
	if (import_chain(chain, n, certs) == 0)
		result = identify(trust, chain, certs, n, identity_r, why, why_size);
	free_chain(certs, n);
	return result;
}
