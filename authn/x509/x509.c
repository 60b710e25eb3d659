/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * x509: client certificates signed by one of our authorities.
 *
 * Verifying a signature costs some 100 microseconds and a client sends the same certificate
 * with each request, so each worker remembers the identities it has verified, by the
 * certificate's bytes, for at most a minute and never past the certificate's end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "authn/x509/identity.h"

enum { SLOTS = 64, MAX_WORKERS = 256, REMEMBER_MS = 60 * 1000 };

struct config {
	const char *ca_file;
};

struct slot {
	char *leaf; /* DER */
	size_t n;
	struct identity *identity;
	int64_t until_ms;
};

struct x509 {
	const struct ks_host *host;
	gnutls_x509_trust_list_t trust;
	struct slot *workers[MAX_WORKERS]; /* SLOTS each; a worker touches its own only */
};

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	const char *file = ((const struct config *)config)->ca_file;
	struct x509 *x = calloc(1, sizeof(*x));
	int n;

	if (!x)
		return KS_ERR_NOMEM;
	x->host = host;
	if (gnutls_x509_trust_list_init(&x->trust, 0) < 0) {
		free(x);
		return KS_ERR_NOMEM;
	}
	n = gnutls_x509_trust_list_add_trust_file(x->trust, file, NULL, GNUTLS_X509_FMT_PEM, GNUTLS_TL_NO_DUPLICATES, 0);
	if (n <= 0) {
		snprintf(error->text, sizeof(error->text), "caFile %s: %s", file, n < 0 ? gnutls_strerror(n) : "no certificate in it");
		gnutls_x509_trust_list_deinit(x->trust, 1);
		free(x);
		return KS_ERR_CONFIG;
	}
	*self = x;
	return KS_DONE;
}

static int worker_attach(void *self, uint32_t worker)
{
	struct x509 *x = self;

	if (worker >= MAX_WORKERS)
		return KS_DONE; /* it works without remembering */
	x->workers[worker] = calloc(SLOTS, sizeof(struct slot));
	return x->workers[worker] ? KS_DONE : KS_ERR_NOMEM;
}

static void clear_slot(struct slot *slot)
{
	free(slot->leaf);
	free(slot->identity);
	*slot = (struct slot){0};
}

static void worker_detach(void *self, uint32_t worker)
{
	struct x509 *x = self;

	if (worker >= MAX_WORKERS || !x->workers[worker])
		return;
	for (int i = 0; i < SLOTS; i++)
		clear_slot(&x->workers[worker][i]);
	free(x->workers[worker]);
	x->workers[worker] = NULL;
}

/* The place where a certificate would be remembered. The signature is at the end and as good as random. */
static struct slot *find_slot(struct x509 *x, uint32_t worker, struct ks_view leaf)
{
	uint32_t tail = 0;

	if (worker >= MAX_WORKERS || !x->workers[worker] || leaf.n < sizeof(tail))
		return NULL;
	memcpy(&tail, leaf.p + leaf.n - sizeof(tail), sizeof(tail));
	return &x->workers[worker][tail % SLOTS];
}

static int remembers(const struct slot *slot, struct ks_view leaf)
{
	return slot && slot->identity && slot->n == leaf.n && memcmp(slot->leaf, leaf.p, leaf.n) == 0 && slot->until_ms > now_ms();
}

/* Takes the identity over, or frees it when it can't be kept. */
static void remember(struct slot *slot, struct ks_view leaf, struct identity *identity)
{
	char *copy = slot ? malloc(leaf.n) : NULL;
	int64_t until = now_ms() + REMEMBER_MS;

	if (!copy) {
		free(identity);
		return;
	}
	memcpy(copy, leaf.p, leaf.n);
	clear_slot(slot);
	*slot = (struct slot){.leaf = copy, .n = leaf.n, .identity = identity};
	slot->until_ms = until < identity->valid_until_ms ? until : identity->valid_until_ms;
}

static int copy_view(const struct x509 *x, struct ks_op *op, struct ks_view from, struct ks_view *to)
{
	char *p = x->host->op_alloc(op, from.n + 1);

	if (!p)
		return -1;
	memcpy(p, from.p, from.n);
	*to = (struct ks_view){p, from.n};
	return 0;
}

static int add_credential_id(const struct x509 *x, struct ks_op *op, struct ks_view id, struct ks_authn_result *result)
{
	static const char key[] = "authentication.kubernetes.io/credential-id";
	struct ks_authn_extra *extra = x->host->op_alloc(op, sizeof(*extra));
	struct ks_view *value = x->host->op_alloc(op, sizeof(*value));

	if (!extra || !value || copy_view(x, op, id, value) < 0)
		return -1;
	*extra = (struct ks_authn_extra){.key = {key, sizeof(key) - 1}, .values = value, .n_values = 1};
	result->extra = extra;
	result->n_extra = 1;
	return 0;
}

/* The slot may be taken by another certificate while the request lives: it gets copies. */
static int answer(const struct x509 *x, struct ks_op *op, const struct identity *id, struct ks_authn_result *result)
{
	struct ks_view *groups = x->host->op_alloc(op, (id->n_groups + 1) * sizeof(*groups));

	if (!groups || copy_view(x, op, id->name, &result->name) < 0 || copy_view(x, op, id->uid, &result->uid) < 0)
		return KS_ERR_NOMEM;
	for (size_t i = 0; i < id->n_groups; i++)
		if (copy_view(x, op, id->groups[i], &groups[i]) < 0)
			return KS_ERR_NOMEM;
	if (add_credential_id(x, op, id->credential, result) < 0)
		return KS_ERR_NOMEM;
	result->groups = groups;
	result->n_groups = id->n_groups;
	result->valid_until_ms = id->valid_until_ms;
	result->decision = KS_AUTHN_AUTHENTICATED;
	return KS_DONE;
}

static int authenticate(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result)
{
	struct x509 *x = self;
	struct slot *slot;
	struct identity *identity = NULL;
	char why[256];
	int code;

	if (request->n_certificates == 0)
		return KS_DONE;
	slot = find_slot(x, x->host->op_worker(op), request->certificates[0]);
	if (remembers(slot, request->certificates[0]))
		return answer(x, op, slot->identity, result);
	switch (ks_x509_identify(x->trust, request->certificates, request->n_certificates, &identity, why, sizeof(why))) {
	case IDENTITY_FOUND:
		break;
	case IDENTITY_NO_MEMORY:
		return KS_ERR_NOMEM;
	case IDENTITY_NAMELESS:
		return KS_DONE;
	case IDENTITY_UNTRUSTED:
		x->host->log(x->host, KS_HOST_LOG_INFO, "audit_id=%s client certificate refused: %s", x->host->op_audit_id(op), why);
		result->decision = KS_AUTHN_REJECTED;
		return KS_DONE;
	}
	code = answer(x, op, identity, result);
	remember(slot, request->certificates[0], identity);
	return code;
}

static void destroy(void *self)
{
	struct x509 *x = self;

	gnutls_x509_trust_list_deinit(x->trust, 1);
	free(x);
}

static const struct ks_config_key keys[] = {
	{.name = "caFile", .type = KS_CONFIG_PATH, .flags = KS_CONFIG_REQUIRED, .offset = offsetof(struct config, ca_file),
		.help = "PEM file with the authorities that sign client certificates."},
};

static const struct ks_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.create = create,
	.worker_attach = worker_attach,
	.worker_detach = worker_detach,
	.destroy = destroy,
};
static const struct ks_authn_ops ops = {.size = sizeof(ops), .authenticate = authenticate};

static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_AUTHENTICATOR,
	.version = KS_AUTHN_VERSION,
	.threads = KS_THREADS_CONCURRENT,
	.blocking = KS_CALLS_INLINE,
	.flags = KS_AUTHN_CERTIFICATE,
	.name = "x509",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(x509) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1",
	.description = "Authenticates client certificates: CN is the user, O the groups",
};
