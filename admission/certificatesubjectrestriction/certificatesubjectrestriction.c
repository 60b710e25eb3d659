/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * certificatesubjectrestriction: nobody asks for a client certificate of the group that may do everything:
 * who could, could never be stopped again.
 */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>

#include <keelson/sdk/admit.h>

#define SIGNER "kubernetes.io/kube-apiserver-client"
#define MASTERS "system:masters"

enum { NAME_MOST = 1024, GROUPS_MOST = 1000 };

struct restriction {
	const struct ks_host *host;
	const struct ks_path *signer, *request;
};

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	static const struct ks_admit_path paths[] = {
		{offsetof(struct restriction, signer), "spec.signerName"},
		{offsetof(struct restriction, request), "spec.request"},
	};
	struct restriction *r = calloc(1, sizeof(*r));

	(void)config;
	(void)error;
	if (!r || ks_admit_paths(host, r, paths, sizeof(paths) / sizeof(*paths)) != KS_DONE) {
		free(r);
		return KS_ERR_NOMEM;
	}
	r->host = host;
	*self = r;
	return KS_DONE;
}

/* Organizations of a subject are the groups of who presents the certificate. A name that is too long to be read is another one. */
static int asks_for_masters(gnutls_x509_crq_t crq)
{
	for (unsigned int i = 0; i < GROUPS_MOST; i++) {
		char name[NAME_MOST];
		size_t n = sizeof(name);
		int rc = gnutls_x509_crq_get_dn_by_oid(crq, GNUTLS_OID_X520_ORGANIZATION_NAME, i, 0, name, &n);

		if (rc == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			return 0;
		if (rc >= 0 && ks_view_is((struct ks_view){name, n}, MASTERS))
			return 1;
	}
	return 0;
}

/* Base64 of PEM. 0, or a code of GnuTLS. */
static int read_request(struct ks_view text, gnutls_x509_crq_t crq)
{
	gnutls_datum_t base64 = {(unsigned char *)(uintptr_t)text.p, (unsigned int)text.n}, pem = {0};
	int rc = gnutls_base64_decode2(&base64, &pem);

	if (rc >= 0)
		rc = gnutls_x509_crq_import(crq, &pem, GNUTLS_X509_FMT_PEM);
	gnutls_free(pem.data);
	return rc;
}

static int judge(const struct ks_admit *call, struct ks_view text)
{
	gnutls_x509_crq_t crq;
	int rc, refused;

	if (gnutls_x509_crq_init(&crq) < 0)
		return KS_ERR_NOMEM;
	rc = read_request(text, crq);
	refused = rc >= 0 && asks_for_masters(crq);
	gnutls_x509_crq_deinit(crq);
	if (rc < 0)
		return ks_admit_deny(call, "failed to parse CSR: %s", gnutls_strerror(rc));
	if (refused)
		return ks_admit_deny(call, "use of " SIGNER " signer with " MASTERS " group is not allowed");
	return ks_admit_allow(call);
}

static int validate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	const struct restriction *r = self;
	const struct ks_admit call = {r->host, op, request, result};
	const struct ks_value_ops *values = r->host->values;

	if (!ks_view_is(values->string(values->get(request->object, r->signer)), SIGNER))
		return ks_admit_allow(&call);
	return judge(&call, values->string(values->get(request->object, r->request)));
}

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE, "certificates.k8s.io", "certificatesigningrequests"}};

static const struct ks_lifecycle life = {.size = sizeof(life), .create = create, .destroy = free};

static const struct ks_admission_ops ops = {
	.size = sizeof(ops),
	.matches = matches,
	.n_matches = sizeof(matches) / sizeof(*matches),
	.validate = validate,
};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.name = "certificatesubjectrestriction",
	.lifecycle = &life,
	.ops = &ops,
};

KS_PLUGIN(certificatesubjectrestriction) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Refuses to sign client certificates of the group system:masters",
};
