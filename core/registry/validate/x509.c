/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/validate/x509.h"

#include <gnutls/x509.h>

/* -- DER ---------------------------------------------------------------------------------------------------------- */

enum { SEQUENCE = 0x30, LONG_TAG = 0x1f, LONG_LENGTH = 0x80 };

struct tlv {
	unsigned char tag;
	size_t head, length; /* of what is before the content, and of the content */
};

/* NULL when there is a tag and a length. */
static const char *read_head(struct ks_str der, struct tlv *t)
{
	const unsigned char *p = (const unsigned char *)der.p;
	size_t more;

	if (!der.n)
		return "asn1: syntax error: sequence truncated";
	if (der.n < 2)
		return "asn1: syntax error: truncated tag or length";
	t->tag = p[0];
	t->head = 2;
	t->length = p[1];
	if (p[1] < LONG_LENGTH)
		return NULL;
	more = p[1] - LONG_LENGTH;
	if (!more)
		return "asn1: syntax error: indefinite length found (not DER)";
	for (t->length = 0; more; more--) {
		if (t->head == der.n)
			return "asn1: syntax error: truncated tag or length";
		if (t->length >= 1U << 23)
			return "asn1: structure error: length too large";
		t->length = t->length << 8 | p[t->head++];
		if (!t->length)
			return "asn1: structure error: superfluous leading zeros in length";
	}
	return t->length < LONG_LENGTH ? "asn1: structure error: non-minimal length" : NULL;
}

static const char *wrong_sequence(struct ks_check *c, struct ks_str der, const char *name)
{
	struct tlv t = {0};
	const char *wrong = read_head(der, &t);

	if (wrong)
		return wrong;
	if (t.tag != SEQUENCE)
		return ks_err_detail(c, "asn1: structure error: tags don't match (16 vs {class:%d tag:%d length:%zu isCompound:%s}) {optional:false "
			"explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} %s @%zu",
			t.tag >> 6, t.tag & LONG_TAG, t.length, t.tag & 0x20 ? "true" : "false", name, t.head);
	if (t.length > der.n - t.head)
		return "asn1: syntax error: data truncated";
	if (!t.length)
		return "asn1: syntax error: sequence truncated";
	return t.length < der.n - t.head ? "asn1: syntax error: trailing data" : NULL;
}

/* -- what it is --------------------------------------------------------------------------------------------------- */

static const char *unverified(gnutls_x509_crq_t request)
{
	int algorithm = gnutls_x509_crq_get_pk_algorithm(request, NULL);

	if (algorithm < 0)
		return "asn1: structure error: not a request";
	if (gnutls_x509_crq_verify(request, GNUTLS_VERIFY_ALLOW_BROKEN) >= 0)
		return NULL;
	if (algorithm == GNUTLS_PK_ECDSA)
		return "x509: ECDSA verification failure";
	return algorithm == GNUTLS_PK_EDDSA_ED25519 ? "x509: Ed25519 verification failure" : "crypto/rsa: verification error";
}

const char *ks_x509_wrong_request(struct ks_check *c, struct ks_str der)
{
	gnutls_datum_t data = {.data = (unsigned char *)der.p, .size = (unsigned)der.n};
	const char *wrong = wrong_sequence(c, der, "certificateRequest");
	gnutls_x509_crq_t request;

	if (wrong || gnutls_x509_crq_init(&request) < 0)
		return wrong;
	wrong = gnutls_x509_crq_import(request, &data, GNUTLS_X509_FMT_DER) < 0 ? "asn1: structure error: not a request" : unverified(request);
	gnutls_x509_crq_deinit(request);
	return wrong;
}

const char *ks_x509_wrong_certificates(struct ks_str der)
{
	if (!der.n)
		return "found CERTIFICATE PEM block containing 0 certificates";
	for (bool good = true; der.n; good = true) {
		gnutls_datum_t data = {.data = (unsigned char *)der.p};
		gnutls_x509_crt_t certificate;
		struct tlv t = {0};

		if (read_head(der, &t) || t.tag != SEQUENCE || t.length > der.n - t.head)
			return "x509: malformed certificate";
		data.size = (unsigned)(t.head + t.length);
		der = ks_str_of(der.p + data.size, der.n - data.size);
		if (gnutls_x509_crt_init(&certificate) >= 0) {
			good = gnutls_x509_crt_import(certificate, &data, GNUTLS_X509_FMT_DER) >= 0;
			gnutls_x509_crt_deinit(certificate);
		}
		if (!good)
			return "x509: malformed certificate";
	}
	return NULL;
}
