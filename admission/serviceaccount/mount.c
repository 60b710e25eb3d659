/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The volume with the account's token, and where containers find it. */
#include <string.h>
#include <sys/random.h>

#include <keelson/sdk/podspec.h>

#include "admission/serviceaccount/serviceaccount.h"

#define MOUNT_PATH "/var/run/secrets/kubernetes.io/serviceaccount"
#define PREFIX "kube-api-access-"

/* Tokens live a year when the client can't read a new one in time; the kubelet renews them every hour. */
#define SOURCES                                                                                                 \
	"[{\"serviceAccountToken\":{\"path\":\"token\",\"expirationSeconds\":3607}},"                           \
	"{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":\"ca.crt\"}]}}," \
	"{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}]"

/* The letters and digits that Kubernetes makes names of; no vowels, so no words. */
static int make_name(const struct ks_admit *call, struct ks_view *name_r)
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	unsigned char random[5];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return call->host->op_error(call->op, "no random numbers for the name of a volume");
	for (size_t i = 0; i < sizeof(random); i++)
		random[i] = (unsigned char)letters[random[i] % (sizeof(letters) - 1)];
	*name_r = ks_admit_printf(call, PREFIX "%.5s", (const char *)random);
	return name_r->p ? KS_DONE : KS_ERR_NOMEM;
}

static struct ks_view find_volume(const struct ks_admit *call, struct ks_val spec)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val volumes = ks_admit_member(call, spec, "volumes");

	for (size_t i = 0; i < values->length(volumes); i++) {
		struct ks_view name = ks_admit_text(call, values->item(volumes, i), "name");

		if (name.n >= sizeof(PREFIX) - 1 && memcmp(name.p, PREFIX, sizeof(PREFIX) - 1) == 0)
			return name;
	}
	return (struct ks_view){0};
}

static int has_mount(const struct ks_admit *call, struct ks_val container)
{
	const struct ks_value_ops *values = call->host->values;
	struct ks_val mounts = ks_admit_member(call, container, "volumeMounts");

	for (size_t i = 0; i < values->length(mounts); i++)
		if (ks_view_is(ks_admit_text(call, values->item(mounts, i), "mountPath"), MOUNT_PATH))
			return 1;
	return 0;
}

/* Edits don't show in the walk: it goes through the pod as it came, so that indexes stay what they are. */
static int mount_all(const struct ks_admit *call, struct ks_val spec, struct ks_view volume, size_t *n_r)
{
	struct ks_podspec_walk walk = {.values = call->host->values, .spec = spec};
	int rc = KS_DONE;

	while (rc == KS_DONE && ks_podspec_next(&walk)) {
		if (walk.kind == KS_CONTAINER_EPHEMERAL || has_mount(call, walk.container))
			continue;
		rc = ks_admit_set(call,
			ks_admit_printf(call, "{\"name\":\"%.*s\",\"readOnly\":true,\"mountPath\":\"" MOUNT_PATH "\"}", KS_VIEW_ARGS(volume)),
			"/spec/%s/%zu/volumeMounts/-", ks_container_list(walk.kind), walk.index);
		*n_r += 1;
	}
	return rc;
}

int ks_sa_mount(const struct ks_admit *call)
{
	struct ks_val spec = ks_admit_member(call, call->request->object, "spec");
	struct ks_view existing, volume;
	size_t n = 0;
	int rc = KS_DONE;

	existing = volume = find_volume(call, spec);
	if (!existing.n)
		rc = make_name(call, &volume);
	if (rc == KS_DONE)
		rc = mount_all(call, spec, volume, &n);
	if (rc != KS_DONE || n == 0 || existing.n)
		return rc;
	return ks_admit_set(
		call, ks_admit_printf(call, "{\"name\":\"%.*s\",\"projected\":{\"sources\":" SOURCES "}}", KS_VIEW_ARGS(volume)), "/spec/volumes/-");
}
