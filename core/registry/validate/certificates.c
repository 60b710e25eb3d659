/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Requests for certificates. */
#include "core/api/gojson.h"
#include "core/registry/validate/common.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/pem.h"
#include "core/registry/validate/x509.h"

static const char *const usages[] = {"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
	"decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement",
	"key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping", NULL};

/* What is lax because the stored request is so already, and what the path of the request may change. */
struct options {
	bool free_usages, repeated_usages, both_decisions, repeated_types, empty_types, any_certificate;
	bool may_decide, may_certify;
};

/* -- PEM ---------------------------------------------------------------------------------------------------------- */

/* The bytes of the next block whose base64 is sound. */
static bool next_block(struct ks_str *rest, struct ks_pem *block, struct ks_buf *der)
{
	while (ks_pem_next(rest, block)) {
		der->len = 0;
		if (ks_bytes_of(block->body, der))
			return true;
	}
	return false;
}

/* These are NULL when it is fine. */
static const char *wrong_request(struct ks_check *c, struct ks_str base64)
{
	const char *wrong = "PEM block type must be CERTIFICATE REQUEST";
	struct ks_pem block;
	struct ks_buf pem, der;
	struct ks_str rest;

	ks_buf_init(&pem);
	ks_buf_init(&der);
	if (ks_bytes_of(base64, &pem)) {
		rest = ks_buf_str(&pem);
		if (next_block(&rest, &block, &der) && ks_str_is(block.type, "CERTIFICATE REQUEST"))
			wrong = ks_x509_wrong_request(c, ks_buf_str(&der));
	}
	ks_buf_fini(&der);
	ks_buf_fini(&pem);
	return wrong;
}

static const char *wrong_block(struct ks_check *c, const struct ks_pem *block, struct ks_str der)
{
	if (!ks_str_is(block->type, "CERTIFICATE"))
		return ks_err_detail(c, "only CERTIFICATE PEM blocks are allowed, found \"%.*s\"", (int)block->type.n, block->type.p);
	if (block->headers)
		return "no PEM block headers are permitted";
	return ks_x509_wrong_certificates(der);
}

static const char *wrong_certificate(struct ks_check *c, struct ks_str base64)
{
	const char *wrong = NULL;
	struct ks_buf pem, der;
	struct ks_pem block;
	struct ks_str rest;
	unsigned blocks = 0;

	if (!base64.n)
		return NULL;
	ks_buf_init(&pem);
	ks_buf_init(&der);
	if (ks_bytes_of(base64, &pem)) {
		rest = ks_buf_str(&pem);
		for (; !wrong && next_block(&rest, &block, &der); blocks++)
			wrong = wrong_block(c, &block, ks_buf_str(&der));
	}
	ks_buf_fini(&der);
	ks_buf_fini(&pem);
	return wrong || blocks ? wrong : "must contain at least one CERTIFICATE PEM block";
}

/* -- names of signers --------------------------------------------------------------------------------------------- */

/* Each part between dots is of the form; complaints show the whole. */
static void check_labels(struct ks_check *c, const struct ks_path *path, struct ks_str whole, enum ks_name_form form)
{
	struct ks_name_errors errors;

	for (size_t i = 0; i <= whole.n;) {
		size_t end = i;

		while (end < whole.n && whole.p[end] != '.')
			end++;
		if (!ks_name_check(form, ks_str_of(whole.p + i, end - i), &errors))
			for (unsigned k = 0; k < errors.n; k++)
				ks_err_invalid_text(c, path, NULL, whole, ks_err_detail(c, "validating label \"%.*s\": %s", (int)(end - i), whole.p + i, errors.text[k]));
		i = end + 1;
	}
}

static void check_signer(struct ks_check *c, const struct ks_path *path, struct ks_str name)
{
	const char *slash = name.n ? memchr(name.p, '/', name.n) : NULL;
	struct ks_str domain, rest;

	if (!name.n) {
		ks_err_required(c, path, NULL, "");
		return;
	}
	domain = slash ? ks_str_of(name.p, (size_t)(slash - name.p)) : name;
	rest = slash ? ks_str_of(slash + 1, name.n - domain.n - 1) : (struct ks_str){0};
	if (!slash || (rest.n && memchr(rest.p, '/', rest.n))) {
		ks_err_invalid_text(c, path, NULL, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
		return;
	}
	if (!ks_str_has(domain, "."))
		ks_err_invalid_text(c, path, NULL, domain, "should be a domain with at least two segments separated by dots");
	check_labels(c, path, domain, KS_NAME_DNS1123_LABEL);
	check_labels(c, path, rest, KS_NAME_DNS1123_SUBDOMAIN);
	if (name.n > 253 + 1 + 253 + 64)
		ks_err_too_long(c, path, NULL, 571);
}

/* -- the request -------------------------------------------------------------------------------------------------- */

static void check_usages(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *list, const struct options *options)
{
	struct ks_path path = ks_path_child(spec_path, "usages");

	if (!ks_value_count(list))
		ks_err_required(c, &path, NULL, "");
	for (uint32_t i = 0; !options->free_usages && i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);

		ks_check_one_of(c, &item, NULL, ks_value_str(&list->items[i]), usages);
	}
	for (uint32_t i = 1; !options->repeated_usages && i < ks_value_count(list); i++) {
		struct ks_path item = ks_path_index(&path, i);
		bool seen = false;

		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_value_equal(&list->items[i], &list->items[k]);
		if (seen)
			ks_err_duplicate(c, &item, NULL, &list->items[i]);
	}
}

static bool is_decision(struct ks_str type)
{
	return ks_str_is(type, "Approved") || ks_str_is(type, "Denied");
}

static bool seen_type(struct ks_check *c, const struct ks_value *list, uint32_t before, const char *type)
{
	for (uint32_t i = 0; i < before; i++)
		if (ks_str_is(KS_IN_TEXT(c, &list->items[i], "type"), type))
			return true;
	return false;
}

static void check_conditions(struct ks_check *c, const struct ks_value *list, const struct options *options)
{
	static const char *const only_true[] = {"True", NULL}, *const any[] = {"False", "True", "Unknown", NULL};
	struct ks_path path = ks_path_root("status.conditions");

	for (uint32_t i = 0; i < ks_value_count(list); i++) {
		const struct ks_value *v = &list->items[i];
		struct ks_path item = ks_path_index(&path, i);
		struct ks_str type = KS_IN_TEXT(c, v, "type"), state = KS_IN_TEXT(c, v, "status");
		bool seen = false;

		if (!type.n && !options->empty_types)
			ks_err_required(c, &item, "type", "");
		if (!state.n)
			ks_err_required(c, &item, "status", "");
		else
			ks_check_one_of(c, &item, "status", state, is_decision(type) || ks_str_is(type, "Failed") ? only_true : any);
		if (!options->both_decisions && is_decision(type) && seen_type(c, list, i, ks_str_is(type, "Approved") ? "Denied" : "Approved"))
			ks_err_invalid_text(c, &path, NULL, type, "Approved and Denied conditions are mutually exclusive");
		for (uint32_t k = 0; k < i && !seen; k++)
			seen = ks_str_eq(type, KS_IN_TEXT(c, &list->items[k], "type"));
		if (seen && !options->repeated_types)
			ks_err_duplicate_text(c, &item, "type", type);
	}
}

static void check_request(struct ks_check *c, const struct ks_value *object, const struct options *options, bool legacy_signer)
{
	struct ks_path path = ks_path_root("spec"), signer = ks_path_child(&path, "signerName"), certificate = ks_path_root("status.certificate");
	const struct ks_value *spec = KS_IN(c, object, "spec"), *state = KS_IN(c, object, "status");
	struct ks_str name = KS_IN_TEXT(c, spec, "signerName");
	int64_t seconds = KS_IN_INT(c, spec, "expirationSeconds", 600);
	const char *wrong = wrong_request(c, KS_IN_TEXT(c, spec, "request"));

	if (wrong)
		ks_err_invalid(c, &path, "request", KS_IN(c, spec, "request"), wrong);
	check_usages(c, &path, KS_IN_LIST(c, spec, "usages"), options);
	if (ks_str_is(name, "kubernetes.io/legacy-unknown") && !legacy_signer)
		ks_err_invalid_text(c, &signer, NULL, name, "the legacy signerName is not allowed via this API version");
	else
		check_signer(c, &signer, name);
	if (seconds < 600)
		ks_err_invalid_int(c, &path, "expirationSeconds", seconds, "may not specify a duration less than 600 seconds (10 minutes)");
	check_conditions(c, KS_IN_LIST(c, state, "conditions"), options);
	wrong = options->any_certificate ? NULL : wrong_certificate(c, KS_IN_TEXT(c, state, "certificate"));
	if (wrong)
		ks_err_invalid_text(c, &certificate, NULL, KS_STR_LIT("<certificate data>"), wrong);
}

/* -- update ------------------------------------------------------------------------------------------------------- */

static struct options options_of(struct ks_check *c, const struct ks_value *object, const struct ks_value *old)
{
	const struct ks_value *used = KS_IN_LIST(c, KS_IN(c, old, "spec"), "usages"), *list = KS_IN_LIST(c, KS_IN(c, old, "status"), "conditions");
	struct ks_str certificate = KS_IN_TEXT(c, KS_IN(c, old, "status"), "certificate");
	struct options o = {.both_decisions = seen_type(c, list, ks_value_count(list), "Approved") && seen_type(c, list, ks_value_count(list), "Denied"),
		.empty_types = seen_type(c, list, ks_value_count(list), "")};

	for (uint32_t i = 0; i < ks_value_count(used); i++) {
		o.free_usages |= !ks_str_in(ks_value_str(&used->items[i]), usages);
		for (uint32_t k = 0; k < i; k++)
			o.repeated_usages |= ks_value_equal(&used->items[i], &used->items[k]);
	}
	for (uint32_t i = 1; i < ks_value_count(list); i++)
		for (uint32_t k = 0; k < i; k++)
			o.repeated_types |= ks_str_eq(KS_IN_TEXT(c, &list->items[i], "type"), KS_IN_TEXT(c, &list->items[k], "type"));
	o.any_certificate = ks_str_eq(certificate, KS_IN_TEXT(c, KS_IN(c, object, "status"), "certificate")) || wrong_certificate(c, certificate);
	return o;
}

static uint32_t count_type(struct ks_check *c, const struct ks_value *list, const char *type)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ks_value_count(list); i++)
		n += ks_str_is(KS_IN_TEXT(c, &list->items[i], "type"), type);
	return n;
}

static const struct ks_value *nth_of_type(struct ks_check *c, const struct ks_value *list, const char *type, uint32_t n)
{
	for (uint32_t i = 0; i < ks_value_count(list); i++)
		if (ks_str_is(KS_IN_TEXT(c, &list->items[i], "type"), type) && !n--)
			return &list->items[i];
	return NULL;
}

static bool same_of_type(struct ks_check *c, const struct ks_value *now, const struct ks_value *before, const char *type)
{
	for (uint32_t i = 0; i < count_type(c, now, type); i++)
		if (!ks_value_same(nth_of_type(c, now, type, i), nth_of_type(c, before, type, i)))
			return false;
	return true;
}

static void write_of_type(struct ks_check *c, const struct ks_value *list, const char *type, struct ks_buf *out)
{
	ks_buf_add_char(out, '[');
	for (uint32_t i = 0; i < count_type(c, list, type); i++) {
		const struct ks_value *v = nth_of_type(c, list, type, i);

		if (i)
			ks_buf_add_char(out, ',');
		ks_gojson_write(c->schema, v->type, false, v, out);
	}
	ks_buf_add_char(out, ']');
}

static void check_changed(struct ks_check *c, const struct ks_path *path, const struct ks_value *now, const struct ks_value *before, const char *type)
{
	struct ks_buf was, is;

	if (count_type(c, now, type) > count_type(c, before, type)) {
		ks_err_forbidden(c, path, NULL, ks_err_detail(c, "updates may not add a condition of type \"%s\"", type));
		return;
	}
	if (count_type(c, now, type) < count_type(c, before, type) || same_of_type(c, now, before, type))
		return;
	ks_buf_init(&was);
	ks_buf_init(&is);
	write_of_type(c, before, type, &was);
	write_of_type(c, now, type, &is);
	ks_err_forbidden_diff(c, path, NULL, ks_err_detail(c, "updates may not modify a condition of type \"%s\"", type), &was, &is);
	ks_buf_fini(&was);
	ks_buf_fini(&is);
}

static void check_update(struct ks_check *c, const struct ks_value *object, const struct ks_value *old, const struct options *options)
{
	static const char *const kept[] = {"Approved", "Denied", "Failed"};
	const struct ks_value *now = KS_IN_LIST(c, KS_IN(c, object, "status"), "conditions");
	const struct ks_value *before = KS_IN_LIST(c, KS_IN(c, old, "status"), "conditions");
	struct ks_str certificate = KS_IN_TEXT(c, KS_IN(c, object, "status"), "certificate");
	struct ks_str had = KS_IN_TEXT(c, KS_IN(c, old, "status"), "certificate");
	struct ks_path path = ks_path_root("status.conditions"), at = ks_path_root("status.certificate");

	for (size_t i = 0; i < 3; i++)
		if (count_type(c, now, kept[i]) < count_type(c, before, kept[i]))
			ks_err_forbidden(c, &path, NULL, ks_err_detail(c, "updates may not remove a condition of type \"%s\"", kept[i]));
	for (size_t i = 0; !options->may_decide && i < 2; i++)
		check_changed(c, &path, now, before, kept[i]);
	if (ks_str_eq(certificate, had))
		return;
	if (!options->may_certify)
		ks_err_forbidden(c, &at, NULL, "updates may not set certificate content");
	else if (had.n)
		ks_err_forbidden(c, &at, NULL, "updates may not modify existing certificate content");
}

void ks_validate_certificatesigningrequest(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old,
	struct ks_status *status)
{
	struct ks_check c = ks_check_begin(ctx, status);
	struct options options = {0};

	if (old)
		options = options_of(&c, object, old);
	options.may_decide = ks_str_is(ctx->subresource, "approval");
	options.may_certify = ks_str_is(ctx->subresource, "status");
	check_request(&c, object, &options, old && ks_str_is(KS_IN_TEXT(&c, KS_IN(&c, old, "spec"), "signerName"), "kubernetes.io/legacy-unknown"));
	if (old)
		check_update(&c, object, old, &options);
}
