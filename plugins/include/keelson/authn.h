/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* keelson/authn.h: who is asking. */
#ifndef KEELSON_AUTHN_H
#define KEELSON_AUTHN_H

#include <keelson/host.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KS_AUTHN_VERSION 1

/* ks_interface.flags: which credentials it reads. It is called only when one of them was presented. */
enum ks_authn_flag {
	KS_AUTHN_TOKEN = 1 << 0,        /* Authorization: Bearer */
	KS_AUTHN_CERTIFICATE = 1 << 1,  /* TLS client certificates */
	KS_AUTHN_HEADERS = 1 << 2,      /* other headers, by request->header */
	KS_AUTHN_NO_CREDENTIAL = 1 << 3 /* called when nothing was presented, refused or failed: anonymous */
};

enum ks_authn_decision {
	KS_AUTHN_NOT_MINE = 0,      /* the next one is asked */
	KS_AUTHN_AUTHENTICATED = 1,
	KS_AUTHN_REJECTED = 2       /* it is mine and it is bad: 401 unless another one accepts */
};

struct ks_authn_request {
	uint32_t size;
	struct ks_view token;                 /* bearer token; empty when none */
	const struct ks_view *certificates;   /* DER, leaf first, unverified */
	size_t n_certificates;
	struct ks_view remote_address;
	/* First value of a header (lower-case name); empty when absent. */
	struct ks_view (*header)(const struct ks_authn_request *request, const char *name);
	const struct ks_view *audiences;      /* wanted; none: the server's own */
	size_t n_audiences;
	struct ks_view path;                  /* of the request, without the query */
};

struct ks_authn_extra {
	struct ks_view key;
	const struct ks_view *values;
	size_t n_values;
};

/* Zeroed by the host before the call; memory it points to is the operation's (host->op_alloc) or the instance's. */
struct ks_authn_result {
	uint32_t size;
	uint32_t decision;       /* enum ks_authn_decision */
	struct ks_view name, uid;
	const struct ks_view *groups; /* the host adds system:authenticated (not to system:anonymous) */
	size_t n_groups;
	const struct ks_authn_extra *extra;
	size_t n_extra;
	const struct ks_view *audiences;
	size_t n_audiences;
	int64_t valid_until_ms;  /* unix milliseconds; 0: no limit known */
};

struct ks_authn_ops {
	uint32_t size;
	/* On a worker (or the blocking pool). KS_DONE with the result filled, KS_PENDING, or negative: the next authenticator is asked and the
	 * failure logged. */
	int (*authenticate)(void *self, struct ks_op *op, const struct ks_authn_request *request, struct ks_authn_result *result);
};

#ifdef __cplusplus
}
#endif

#endif
