/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/validate/warn_objects.h"

#include <stdio.h>

#include "core/registry/validate/pem.h"

#define BETA_CLASS "volume.beta.kubernetes.io/storage-class"
#define BETA_OPTIONS "volume.beta.kubernetes.io/mount-options"

static struct ks_check begin(struct ks_registry_context *ctx)
{
	return (struct ks_check){.schema = ctx->schema, .arena = ctx->arena, .user = ctx};
}

static const struct ks_value *note(struct ks_check *c, const struct ks_value *object, const char *name)
{
	const struct ks_value *notes = object ? MAP(IN(object, "metadata"), "annotations") : NULL;

	return notes ? ks_value_get_str(c->schema, notes, ks_str_from(name)) : NULL;
}

/* -- labels of nodes that have new names -------------------------------------------------------------------------- */

static const struct {
	const char *old, *since, *now;
} labels[] = {
	{"beta.kubernetes.io/arch", "v1.14", "kubernetes.io/arch"},
	{"beta.kubernetes.io/os", "v1.14", "kubernetes.io/os"},
	{"failure-domain.beta.kubernetes.io/region", "v1.17", "topology.kubernetes.io/region"},
	{"failure-domain.beta.kubernetes.io/zone", "v1.17", "topology.kubernetes.io/zone"},
	{"beta.kubernetes.io/instance-type", "v1.17", "node.kubernetes.io/instance-type"},
};

/* `named`: the message names the label, too. */
static void warn_label(struct ks_check *c, const struct ks_path *path, struct ks_str key, bool named)
{
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		if (!ks_str_is(key, labels[i].old))
			continue;
		ks_warn_at(c, path, "key", "%s%sdeprecated since %s; use \"%s\" instead", named ? labels[i].old : "", named ? " is " : "", labels[i].since,
			labels[i].now);
		return;
	}
}

/* -- volumes ------------------------------------------------------------------------------------------------------ */

static const struct {
	const char *field, *shown, *words;
} plugins[] = {
	{"cephfs", "spec.cephFS", "deprecated in v1.28, non-functional in v1.31+"},
	{"photonPersistentDisk", "spec.photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
	{"scaleIO", "spec.scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
	{"storageos", "spec.storageOS", "deprecated in v1.22, non-functional in v1.25+"},
	{"glusterfs", "spec.glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
	{"rbd", "spec.rbd", "deprecated in v1.28, non-functional in v1.31+"},
};

static void warn_class_note(struct ks_check *c, const struct ks_value *object)
{
	if (note(c, object, BETA_CLASS))
		ks_warn_at(c, NULL, "metadata.annotations[" BETA_CLASS "]", "deprecated since v1.8; use \"storageClassName\" attribute instead");
}

static void warn_terms(struct ks_check *c, const struct ks_value *terms)
{
	struct ks_path path = ks_path_root("spec.nodeAffinity.required.nodeSelectorTerms");

	EACH(i, terms) {
		const struct ks_value *list = LIST(&terms->items[i], "matchExpressions");
		struct ks_path item = ks_path_index(&path, i), at = ks_path_child(&item, "matchExpressions");

		EACH(k, list) {
			struct ks_path below = ks_path_index(&at, k);

			warn_label(c, &below, TEXT(&list->items[k], "key"), true);
		}
	}
}

void ks_warn_persistentvolume(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	const struct ks_value *spec = IN(object, "spec");

	(void)old;
	warn_class_note(c, object);
	if (note(c, object, BETA_OPTIONS))
		ks_warn_at(c, NULL, "metadata.annotations[" BETA_OPTIONS "]", "deprecated since v1.31; use \"mountOptions\" attribute instead");
	if (ks_str_is(TEXT(spec, "persistentVolumeReclaimPolicy"), "Recycle"))
		ks_warn_at(c, NULL, "spec.persistentVolumeReclaimPolicy",
			"The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.");
	warn_terms(c, LIST(IN(IN(spec, "nodeAffinity"), "required"), "nodeSelectorTerms"));
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
		if (ks_value_present(ks_value_get(c->schema, spec, plugins[i].field)))
			ks_warn_at(c, NULL, plugins[i].shown, "%s", plugins[i].words);
}

void ks_warn_persistentvolumeclaim(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	struct ks_path requests = ks_path_root("spec.resources.requests"), limits = ks_path_root("spec.resources.limits");
	const struct ks_value *resources = IN(IN(object, "spec"), "resources");

	(void)old;
	warn_class_note(c, object);
	ks_warn_fraction(c, &requests, MAP(resources, "requests"), KS_STR_LIT("storage"));
	ks_warn_fraction(c, &limits, MAP(resources, "limits"), KS_STR_LIT("storage"));
}

void ks_warn_storageclass(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	const struct ks_value *terms = LIST(object, "allowedTopologies");
	struct ks_path path = ks_path_root("allowedTopologies");

	(void)old;
	EACH(i, terms) {
		const struct ks_value *list = LIST(&terms->items[i], "matchLabelExpressions");
		struct ks_path item = ks_path_index(&path, i), at = ks_path_child(&item, "matchLabelExpressions");

		EACH(k, list) {
			struct ks_path below = ks_path_index(&at, k);

			warn_label(c, &below, TEXT(&list->items[k], "key"), false);
		}
	}
}

void ks_warn_csidriver(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	const struct ks_value *spec = IN(object, "spec");

	(void)old;
	if (ks_value_count(LIST(spec, "tokenRequests")) && !IN(spec, "serviceAccountTokenInSecrets"))
		ks_warn_at(c, NULL, NULL, "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of "
			"tokens in volume attributes");
}

/* -- the network -------------------------------------------------------------------------------------------------- */

void ks_warn_service(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	const struct ks_value *spec = IN(object, "spec");
	bool external = ks_str_is(TEXT(spec, "type"), "ExternalName");

	(void)old;
	if (note(c, object, "service.kubernetes.io/topology-aware-hints"))
		ks_warn_at(c, NULL, NULL, "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead");
	ks_warn_service_addresses(c, spec);
	if (external && ks_value_count(LIST(spec, "externalIPs")))
		ks_warn_at(c, NULL, NULL, "spec.externalIPs is ignored when spec.type is \"ExternalName\"");
	else if (ks_value_count(LIST(spec, "externalIPs")))
		ks_warn_at(c, NULL, NULL, "spec.externalIPs is deprecated and may no longer be implemented in some clusters");
	if (!external && TEXT(spec, "externalName").n)
		ks_warn_at(c, NULL, NULL, "spec.externalName is ignored when spec.type is not \"ExternalName\"");
	if (ks_str_is(TEXT(spec, "trafficDistribution"), "PreferClose"))
		ks_warn_at(c, NULL, "spec.trafficDistribution", "\"PreferClose\" is deprecated; use \"PreferSameZone\"");
}

void ks_warn_endpointslice(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	if (!old && ks_str_is(TEXT(object, "addressType"), "FQDN"))
		ks_warn_at(c, NULL, "spec.addressType", "FQDN endpoints are deprecated");
}

void ks_warn_ingress(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	if (!old && note(c, object, "kubernetes.io/ingress.class"))
		ks_warn_at(c, NULL, NULL, "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead");
}

/* -- secrets ------------------------------------------------------------------------------------------------------ */

/* What the text has: blocks that are wanted, and the types of others in front of them. */
struct blocks {
	bool found;
	unsigned skipped;
	char type[64]; /* of the last that was skipped */
};

static struct blocks look_for(struct ks_str base64, const char *wanted)
{
	struct blocks b = {.found = false};
	struct ks_pem block;
	struct ks_str rest;
	struct ks_buf pem;

	ks_buf_init(&pem);
	if (base64.n && ks_bytes_of(base64, &pem)) {
		rest = ks_buf_str(&pem);
		while (!b.found && ks_pem_next(&rest, &block)) {
			b.found = ks_str_ends_with(block.type, wanted);
			b.skipped += !b.found;
			snprintf(b.type, sizeof(b.type), "%.*s", (int)block.type.n, block.type.p);
		}
	}
	ks_buf_fini(&pem);
	return b;
}

void ks_warn_secret(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;
	const struct ks_value *data = MAP(object, "data");
	struct blocks b;

	(void)old;
	if (!ks_str_is(TEXT(object, "type"), "kubernetes.io/tls") || !data)
		return;
	b = look_for(ks_value_str(ks_value_get(c->schema, data, "tls.crt")), "CERTIFICATE");
	if (!b.found && !b.skipped)
		ks_warn_at(c, NULL, NULL, "tls: failed to find any PEM data in certificate input");
	else if (!b.found && b.skipped == 1 && ks_str_ends_with(ks_str_from(b.type), "PRIVATE KEY"))
		ks_warn_at(c, NULL, NULL, "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched");
	else if (!b.found)
		ks_warn_at(c, NULL, NULL, "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [%s]", b.type);
	if (!b.found)
		return;
	b = look_for(ks_value_str(ks_value_get(c->schema, data, "tls.key")), "PRIVATE KEY");
	if (!b.found && !b.skipped)
		ks_warn_at(c, NULL, NULL, "tls: failed to find any PEM data in key input");
	else if (!b.found && b.skipped == 1 && !strcmp(b.type, "CERTIFICATE"))
		ks_warn_at(c, NULL, NULL, "tls: found a certificate rather than a key in the PEM for the private key");
}

/* -- nodes and accounts ------------------------------------------------------------------------------------------- */

void ks_warn_node(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	struct ks_path path = ks_path_root("spec");

	(void)old;
	ks_warn_cidrs(c, &path, "podCIDRs", LIST(IN(object, "spec"), "podCIDRs"));
	if (TEXT(IN(object, "spec"), "externalID").n)
		ks_warn_at(c, NULL, "spec.externalID", "this field is deprecated, and is unused by Kubernetes");
}

void ks_warn_serviceaccount(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old)
{
	struct ks_check run = begin(ctx), *c = &run;

	if (note(c, object, "kubernetes.io/enforce-mountable-secrets") && !note(c, old, "kubernetes.io/enforce-mountable-secrets"))
		ks_warn_at(c, NULL, "metadata.annotations[kubernetes.io/enforce-mountable-secrets]",
			"deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets");
}
