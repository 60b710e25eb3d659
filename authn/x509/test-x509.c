/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include <keelson/authn.h>

#include "tests/unit/fake-host.h"

extern const struct ks_plugin ks_plugin_x509;

enum { DAY = 24 * 3600 };

struct certificate {
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	unsigned char der[4096];
	size_t n;
};

/* What a test's certificate says. */
struct wish {
	const char *cn, *groups[3], *purpose;
	int is_ca;
	time_t from, until;
};

static void make_certificate(struct certificate *c, const struct wish *wish, const struct certificate *issuer)
{
	static unsigned char serial;

	serial++;
	assert_int_equal(gnutls_x509_privkey_init(&c->key), 0);
	assert_int_equal(gnutls_x509_privkey_generate(c->key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), 0);
	assert_int_equal(gnutls_x509_crt_init(&c->crt), 0);
	gnutls_x509_crt_set_version(c->crt, 3);
	gnutls_x509_crt_set_serial(c->crt, &serial, 1);
	gnutls_x509_crt_set_key(c->crt, c->key);
	gnutls_x509_crt_set_activation_time(c->crt, time(NULL) + wish->from);
	gnutls_x509_crt_set_expiration_time(c->crt, time(NULL) + (wish->until ? wish->until : DAY));
	if (wish->cn)
		gnutls_x509_crt_set_dn_by_oid(c->crt, GNUTLS_OID_X520_COMMON_NAME, 0, wish->cn, (unsigned)strlen(wish->cn));
	for (size_t i = 0; i < 3 && wish->groups[i]; i++)
		gnutls_x509_crt_set_dn_by_oid(c->crt, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, wish->groups[i], (unsigned)strlen(wish->groups[i]));
	gnutls_x509_crt_set_basic_constraints(c->crt, (unsigned)wish->is_ca, -1);
	gnutls_x509_crt_set_key_usage(c->crt, wish->is_ca ? GNUTLS_KEY_KEY_CERT_SIGN : GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (wish->purpose)
		gnutls_x509_crt_set_key_purpose_oid(c->crt, wish->purpose, 0);
	assert_int_equal(gnutls_x509_crt_sign2(c->crt, issuer ? issuer->crt : c->crt, issuer ? issuer->key : c->key, GNUTLS_DIG_SHA256, 0), 0);
	c->n = sizeof(c->der);
	assert_int_equal(gnutls_x509_crt_export(c->crt, GNUTLS_X509_FMT_DER, c->der, &c->n), 0);
}

static void drop_certificate(struct certificate *c)
{
	gnutls_x509_crt_deinit(c->crt);
	gnutls_x509_privkey_deinit(c->key);
}

struct fixture {
	struct certificate ca;
	struct ks_fake_host *fake;
	const struct ks_interface *iface;
	void *self;
	char path[64];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char pem[4096], config_text[96];
	const char *const config[] = {config_text, NULL};
	size_t n = sizeof(pem);
	int fd;

	make_certificate(&f->ca, &(struct wish){.cn = "test authority", .is_ca = 1}, NULL);
	assert_int_equal(gnutls_x509_crt_export(f->ca.crt, GNUTLS_X509_FMT_PEM, pem, &n), 0);
	strcpy(f->path, "/tmp/test-x509-XXXXXX");
	fd = mkstemp(f->path);
	assert_int_equal(write(fd, pem, n), (ssize_t)n);
	close(fd);
	snprintf(config_text, sizeof(config_text), "caFile=%s", f->path);
	f->fake = ks_fake_host_new("x509");
	f->iface = ks_fake_interface(&ks_plugin_x509, KS_KIND_AUTHENTICATOR);
	assert_int_equal(ks_fake_start(f->fake, f->iface, config, &f->self), KS_DONE);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ks_fake_stop(f->fake, f->iface, f->self);
	ks_fake_host_free(&f->fake);
	drop_certificate(&f->ca);
	unlink(f->path);
	free(f);
	return 0;
}

/* The answer lives until the operation is freed by the caller. */
static struct ks_op *ask(struct fixture *f, const struct certificate *c, struct ks_authn_result *result)
{
	const struct ks_authn_ops *ops = f->iface->ops;
	struct ks_view der = {(const char *)c->der, c->n};
	struct ks_authn_request request = {.size = sizeof(request), .certificates = &der, .n_certificates = 1};
	struct ks_op *op = ks_fake_op_new(f->fake);

	*result = (struct ks_authn_result){.size = sizeof(*result)};
	assert_int_equal(ks_fake_op_wait(op, ops->authenticate(f->self, op, &request, result)), KS_DONE);
	return op;
}

static uint32_t decision(struct fixture *f, const struct wish *wish, const struct certificate *issuer)
{
	struct ks_authn_result result;
	struct certificate c;
	struct ks_op *op;

	make_certificate(&c, wish, issuer);
	op = ask(f, &c, &result);
	ks_fake_op_free(&op);
	drop_certificate(&c);
	return result.decision;
}

static void the_subject_names_user_and_groups(void **state)
{
	struct fixture *f = *state;
	struct certificate c;

	make_certificate(&c, &(struct wish){.cn = "jane", .groups = {"dev", "ops"}, .purpose = GNUTLS_KP_TLS_WWW_CLIENT}, &f->ca);
	for (int round = 0; round < 2; round++) { /* verified, then remembered */
		struct ks_authn_result result;
		struct ks_op *op = ask(f, &c, &result);

		assert_int_equal(result.decision, KS_AUTHN_AUTHENTICATED);
		assert_int_equal(result.name.n, 4);
		assert_memory_equal(result.name.p, "jane", 4);
		assert_int_equal(result.n_groups, 2);
		assert_memory_equal(result.groups[0].p, "dev", 3);
		assert_memory_equal(result.groups[1].p, "ops", 3);
		assert_int_equal(result.n_extra, 1);
		assert_memory_equal(result.extra[0].values[0].p, "X509SHA256=", 11);
		assert_int_equal(result.extra[0].values[0].n, 11 + 64);
		assert_true(result.valid_until_ms > (int64_t)time(NULL) * 1000);
		ks_fake_op_free(&op);
	}
	drop_certificate(&c);
}

static void what_is_not_ours_or_not_valid_is_rejected(void **state)
{
	struct fixture *f = *state;
	struct certificate other;

	make_certificate(&other, &(struct wish){.cn = "test authority", .is_ca = 1}, NULL);
	assert_int_equal(decision(f, &(struct wish){.cn = "jane", .purpose = GNUTLS_KP_TLS_WWW_CLIENT}, &other), KS_AUTHN_REJECTED);
	assert_int_equal(decision(f, &(struct wish){.cn = "jane", .purpose = GNUTLS_KP_TLS_WWW_CLIENT}, NULL), KS_AUTHN_REJECTED);
	assert_int_equal(decision(f, &(struct wish){.cn = "jane", .purpose = GNUTLS_KP_TLS_WWW_SERVER}, &f->ca), KS_AUTHN_REJECTED);
	assert_int_equal(decision(f, &(struct wish){.cn = "jane", .from = -2 * DAY, .until = -DAY}, &f->ca), KS_AUTHN_REJECTED);
	assert_int_equal(decision(f, &(struct wish){.cn = "jane", .from = DAY, .until = 2 * DAY}, &f->ca), KS_AUTHN_REJECTED);
	drop_certificate(&other);
}

static void a_certificate_without_a_name_is_nobody(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(decision(f, &(struct wish){.groups = {"dev"}, .purpose = GNUTLS_KP_TLS_WWW_CLIENT}, &f->ca), KS_AUTHN_NOT_MINE);
}

static void garbage_is_rejected(void **state)
{
	struct fixture *f = *state;
	struct certificate c = {.n = 300};
	struct ks_authn_result result;
	struct ks_op *op;

	memset(c.der, 0x30, c.n);
	op = ask(f, &c, &result);
	assert_int_equal(result.decision, KS_AUTHN_REJECTED);
	ks_fake_op_free(&op);
}

static void a_missing_authority_file_is_told(void **state)
{
	const char *const config[] = {"caFile=/nonexistent/ca.crt", NULL};
	struct fixture *f = *state;
	void *self = NULL;

	assert_int_equal(ks_fake_create(f->fake, f->iface, config, &self), KS_ERR_CONFIG);
	assert_non_null(strstr(ks_fake_error(f->fake), "caFile /nonexistent/ca.crt: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_subject_names_user_and_groups, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_ours_or_not_valid_is_rejected, setup, teardown),
		cmocka_unit_test_setup_teardown(a_certificate_without_a_name_is_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(garbage_is_rejected, setup, teardown),
		cmocka_unit_test_setup_teardown(a_missing_authority_file_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
