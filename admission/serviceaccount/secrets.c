/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Which secrets a pod may refer to. */
#include <string.h>

#include <keelson/sdk/podspec.h>

#include "admission/serviceaccount/serviceaccount.h"

/* -- mirror pods --------------------------------------------------------------------------------------------------- */

/* Members of a volume that name a secret, in the source's member of the second name. */
static const char *const volume_secrets[][2] = {
	{"azureFile", "secretName"},
	{"cephfs", "secretRef"},
	{"cinder", "secretRef"},
	{"flexVolume", "secretRef"},
	{"rbd", "secretRef"},
	{"secret", NULL},
	{"scaleIO", "secretRef"},
	{"iscsi", "secretRef"},
	{"storageos", "secretRef"},
	{"csi", "nodePublishSecretRef"},
};

static int projects(const struct ks_admit *call, struct ks_val volume, const char *source)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val sources = ks_admit_member(call, ks_admit_member(call, volume, "projected"), "sources");

	for (size_t i = 0; i < values->length(sources); i++)
		if (ks_admit_has(call, values->item(sources, i), source))
			return 1;
	return 0;
}

static int volume_has_secret(const struct ks_admit *call, struct ks_val volume)
{
	for (size_t i = 0; i < sizeof(volume_secrets) / sizeof(*volume_secrets); i++) {
		const char *inner = volume_secrets[i][1];
		struct ks_val source = ks_admit_member(call, volume, volume_secrets[i][0]);

		if (inner ? ks_admit_has(call, source, inner) : call->host->values->kind(source) > KS_VAL_NULL)
			return 1;
	}
	return projects(call, volume, "secret");
}

static struct ks_val env_secret(const struct ks_admit *call, struct ks_val env)
{
	return ks_admit_member(call, ks_admit_member(call, env, "valueFrom"), "secretKeyRef");
}

static int container_has_secret(const struct ks_admit *call, struct ks_val container)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val env = ks_admit_member(call, container, "env"), from = ks_admit_member(call, container, "envFrom");

	for (size_t i = 0; i < values->length(from); i++)
		if (ks_admit_has(call, values->item(from, i), "secretRef"))
			return 1;
	for (size_t i = 0; i < values->length(env); i++)
		if (values->kind(env_secret(call, values->item(env, i))) > KS_VAL_NULL)
			return 1;
	return 0;
}

static int has_secret(const struct ks_admit *call, struct ks_val spec)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_podspec_walk walk = {.values = values, .spec = spec};
	struct ks_val volumes = ks_admit_member(call, spec, "volumes");

	if (values->length(ks_admit_member(call, spec, "imagePullSecrets")))
		return 1;
	while (ks_podspec_next(&walk))
		if (container_has_secret(call, walk.container))
			return 1;
	for (size_t i = 0; i < values->length(volumes); i++)
		if (volume_has_secret(call, values->item(volumes, i)))
			return 1;
	return 0;
}

int ks_sa_check_mirror(const struct ks_admit *call)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val spec = ks_admit_member(call, call->request->object, "spec"), volumes = ks_admit_member(call, spec, "volumes");

	if (ks_admit_text(call, spec, "serviceAccountName").n)
		return ks_admit_deny(call, "a mirror pod may not reference service accounts");
	if (has_secret(call, spec))
		return ks_admit_deny(call, "a mirror pod may not reference secrets");
	for (size_t i = 0; i < values->length(volumes); i++)
		if (projects(call, values->item(volumes, i), "serviceAccountToken"))
			return ks_admit_deny(call, "a mirror pod may not use ServiceAccountToken volume projections");
	return KS_DONE;
}

/* -- accounts that list their secrets ------------------------------------------------------------------------------- */

static int lists(const struct ks_admit *call, struct ks_val references, struct ks_view name)
{
	const struct ks_value_ops *values = call->host->values;

	for (size_t i = 0; i < values->length(references); i++)
		if (ks_view_eq(ks_admit_text(call, values->item(references, i), "name"), name))
			return 1;
	return 0;
}

/* As Go's strconv.ParseBool. */
static int is_true(struct ks_view text)
{
	static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		if (ks_view_is(text, yes[i]))
			return 1;
	return 0;
}

struct account {
	struct ks_val secrets, pull_secrets;
	struct ks_view name;
};

static int check_volumes(const struct ks_admit *call, const struct account *account, struct ks_val spec)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val volumes = ks_admit_member(call, spec, "volumes");

	for (size_t i = 0; i < values->length(volumes); i++) {
		struct ks_val source = ks_admit_member(call, values->item(volumes, i), "secret");
		struct ks_view name = ks_admit_text(call, source, "secretName");

		if (values->kind(source) > KS_VAL_NULL && !lists(call, account->secrets, name))
			return ks_admit_deny(call,
				"volume with secret.secretName=\"%.*s\" is not allowed because service account %.*s does not reference that secret",
				KS_VIEW_ARGS(name), KS_VIEW_ARGS(account->name));
	}
	return KS_DONE;
}

static int check_env(const struct ks_admit *call, const struct account *account, const struct ks_podspec_walk *at)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val env = ks_admit_member(call, at->container, "env");
	struct ks_view container = ks_admit_text(call, at->container, "name");

	for (size_t i = 0; i < values->length(env); i++) {
		struct ks_val item = values->item(env, i), reference = env_secret(call, item);
		struct ks_view variable = ks_admit_text(call, item, "name"), name = ks_admit_text(call, reference, "name");

		if (values->kind(reference) > KS_VAL_NULL && !lists(call, account->secrets, name))
			return ks_admit_deny(call,
				"%s %.*s with envVar %.*s referencing secret.secretName=\"%.*s\" is not allowed because service account %.*s does "
				"not "
				"reference that secret",
				ks_container_words(at->kind), KS_VIEW_ARGS(container), KS_VIEW_ARGS(variable), KS_VIEW_ARGS(name),
				KS_VIEW_ARGS(account->name));
	}
	return KS_DONE;
}

static int check_env_from(const struct ks_admit *call, const struct account *account, const struct ks_podspec_walk *at)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val from = ks_admit_member(call, at->container, "envFrom");
	struct ks_view container = ks_admit_text(call, at->container, "name");

	for (size_t i = 0; i < values->length(from); i++) {
		struct ks_val reference = ks_admit_member(call, values->item(from, i), "secretRef");
		struct ks_view name = ks_admit_text(call, reference, "name");

		if (values->kind(reference) > KS_VAL_NULL && !lists(call, account->secrets, name))
			return ks_admit_deny(call,
				"%s %.*s with envFrom referencing secret.secretName=\"%.*s\" is not allowed because service account %.*s does not "
				"reference that secret",
				ks_container_words(at->kind), KS_VIEW_ARGS(container), KS_VIEW_ARGS(name), KS_VIEW_ARGS(account->name));
	}
	return KS_DONE;
}

static int check_containers(const struct ks_admit *call, const struct account *account, struct ks_val spec, int ephemeral)
{
	struct ks_podspec_walk walk = {.values = call->host->values, .spec = spec};
	int rc = KS_DONE;

	while (rc == KS_DONE && !ks_sa_refused(call) && ks_podspec_next(&walk)) {
		if ((walk.kind == KS_CONTAINER_EPHEMERAL) != (ephemeral != 0))
			continue;
		rc = check_env(call, account, &walk);
		if (rc == KS_DONE && !ks_sa_refused(call))
			rc = check_env_from(call, account, &walk);
	}
	return rc;
}

static int check_pull_secrets(const struct ks_admit *call, const struct account *account, struct ks_val spec)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val list = ks_admit_member(call, spec, "imagePullSecrets");

	for (size_t i = 0; i < values->length(list); i++) {
		struct ks_view name = ks_admit_text(call, values->item(list, i), "name");

		if (!lists(call, account->pull_secrets, name))
			return ks_admit_deny(call,
				"imagePullSecrets[%zu].name=\"%.*s\" is not allowed because service account %.*s does not reference that "
				"imagePullSecret",
				i, KS_VIEW_ARGS(name), KS_VIEW_ARGS(account->name));
	}
	return KS_DONE;
}

int ks_sa_check_secrets(const struct ks_admit *call, struct ks_val object, int ephemeral)
{
	struct ks_val metadata = ks_admit_member(call, object, "metadata"), annotations = ks_admit_member(call, metadata, "annotations");
	struct ks_val spec = ks_admit_member(call, ks_admit_object(call), "spec");
	const struct account account = {
		ks_admit_member(call, object, "secrets"), ks_admit_member(call, object, "imagePullSecrets"), ks_admit_text(call, metadata, "name")};
	int rc = KS_DONE;

	if (!is_true(ks_admit_text(call, annotations, "kubernetes.io/enforce-mountable-secrets")))
		return KS_DONE;
	if (!ephemeral)
		rc = check_volumes(call, &account, spec);
	if (rc == KS_DONE && !ks_sa_refused(call))
		rc = check_containers(call, &account, spec, ephemeral);
	if (rc == KS_DONE && !ks_sa_refused(call) && !ephemeral)
		rc = check_pull_secrets(call, &account, spec);
	return rc;
}
