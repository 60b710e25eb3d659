/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Content negotiation: what the client can read, and what it has sent.
 *
 * JSON, YAML and protobuf are read and served, and CBOR where its feature gate is open. Watches come in all of these but
 * YAML; a Table has no form in protobuf.
 */
#ifndef KS_PIPELINE_NEGOTIATE_H
#define KS_PIPELINE_NEGOTIATE_H

#include <stdbool.h>

#include "core/api/status.h"
#include "core/util/arena.h"
#include "core/util/str.h"

enum ks_media_format { KS_MEDIA_JSON, KS_MEDIA_YAML, KS_MEDIA_PROTOBUF, KS_MEDIA_CBOR };

/* `as=` of Accept: another kind in place of the object. */
enum ks_media_as { KS_AS_OBJECT, KS_AS_TABLE, KS_AS_PARTIAL, KS_AS_PARTIAL_LIST, KS_AS_DISCOVERY };

struct ks_media {
	bool chosen;             /* negotiation has been done */
	bool pretty;
	unsigned char format;    /* enum ks_media_format */
	unsigned char as;        /* enum ks_media_as */
	struct ks_str as_version; /* "v1", "v1beta1", "v2" */
	bool no_peer;            /* profile=nopeer of discovery */
};

enum ks_media_allowed {
	KS_ALLOW_TABLE = 1 << 0,     /* as=Table;v=v1 or v1beta1;g=meta.k8s.io */
	KS_ALLOW_PARTIAL = 1 << 1,   /* as=PartialObjectMetadata and ...List */
	KS_ALLOW_DISCOVERY = 1 << 2, /* as=APIGroupDiscoveryList;v=v2 or v2beta1;g=apidiscovery.k8s.io */
	KS_ALLOW_WATCH = 1 << 3,     /* a watch is asked for: no YAML, messages name the stream types */
	KS_ALLOW_CBOR = 1 << 4,      /* the feature gate is open */
};

/* "application/json" and so on: the Content-Type of an answer. */
const char *ks_media_name(const struct ks_media *media);

/* `accept`: the header, empty when absent. 0, or 406 with `status` set. */
int ks_negotiate(struct ks_arena *arena, struct ks_str accept, unsigned allowed, struct ks_media *media_r, struct ks_status *status)
	__attribute__((warn_unused_result));
/* Does one of the comma-separated media ranges of `accept` name one of `types` (without parameters), or everything? An absent header does. This is the
 * coarse test that comes before the handler. */
bool ks_accepts(struct ks_str accept, const char *const *types, size_t n_types);
/* The same, and which one: the first that a range names, 0 for everything; -1: none. */
int ks_accepted(struct ks_str accept, const char *const *types, size_t n_types);

/* The body's form by Content-Type (empty: JSON); of `allowed` KS_ALLOW_CBOR counts. 0, or 415 with `status` set. */
int ks_negotiate_body(struct ks_arena *arena, struct ks_str content_type, unsigned allowed, enum ks_media_format *format_r, struct ks_status *status)
	__attribute__((warn_unused_result));
/* One media type out of `types` (their texts; PATCH has its own): its index, or -1 with 415 in `status`. Parameters are not looked at. */
int ks_negotiate_type(struct ks_arena *arena, struct ks_str content_type, const char *const *types, size_t n_types, struct ks_status *status)
	__attribute__((warn_unused_result));

#endif
