/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/registry/reset_fields.h"

static const char *const status[] = {"status", NULL};
static const char *const spec[] = {"spec", NULL};
static const char *const spec_status[] = {"spec", "status", NULL};
static const char *const spec_metadata[] = {"spec", "metadata", NULL};
static const char *const deployment_status[] = {"spec", "metadata.labels", NULL};
static const char *const pod_status[] = {"spec", "metadata.deletionTimestamp", "metadata.ownerReferences", NULL};
static const char *const csr_approval[] = {"spec", "status.certificate", NULL};
static const char *const csr_status[] = {"spec", "status.conditions", NULL};

/*
 * Mostly a resource that has a status resets it, and /status resets the spec. What deviates:
 *
 * - metadata counts as reset by /status where upstream restores it whole (spec_metadata), and in part for pods and deployments;
 * - a certificate signing request's own updates change neither spec nor status, and its subresources share the status out;
 * - servicecidrs reset nothing: upstream names them by a group that doesn't exist;
 * - pods/resize and pods/ephemeralcontainers reset nothing: upstream's filters are not reached by its handlers;
 * - /scale and what only takes a POST record nothing about the resource's own fields.
 */
static const struct ks_reset_fields table[] = {
	{"", "namespaces", status},
	{"", "namespaces/finalize", status},
	{"", "namespaces/status", spec},
	{"", "nodes", status},
	{"", "nodes/status", spec},
	{"", "persistentvolumeclaims", status},
	{"", "persistentvolumeclaims/status", spec},
	{"", "persistentvolumes", status},
	{"", "persistentvolumes/status", spec},
	{"", "pods", status},
	{"", "pods/status", pod_status},
	{"", "replicationcontrollers", status},
	{"", "replicationcontrollers/status", spec},
	{"", "resourcequotas", status},
	{"", "resourcequotas/status", spec},
	{"", "services", status},
	{"", "services/status", spec},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies", status},
	{"admissionregistration.k8s.io", "validatingadmissionpolicies/status", spec_metadata},
	{"apiextensions.k8s.io", "customresourcedefinitions", status},
	{"apiextensions.k8s.io", "customresourcedefinitions/status", spec},
	{"apiregistration.k8s.io", "apiservices", status},
	{"apiregistration.k8s.io", "apiservices/status", spec_metadata},
	{"apps", "daemonsets", status},
	{"apps", "daemonsets/status", spec},
	{"apps", "deployments", status},
	{"apps", "deployments/status", deployment_status},
	{"apps", "replicasets", status},
	{"apps", "replicasets/status", spec},
	{"apps", "statefulsets", status},
	{"apps", "statefulsets/status", spec},
	{"autoscaling", "horizontalpodautoscalers", status},
	{"autoscaling", "horizontalpodautoscalers/status", spec},
	{"batch", "cronjobs", status},
	{"batch", "cronjobs/status", spec},
	{"batch", "jobs", status},
	{"batch", "jobs/status", spec},
	{"certificates.k8s.io", "certificatesigningrequests", spec_status},
	{"certificates.k8s.io", "certificatesigningrequests/approval", csr_approval},
	{"certificates.k8s.io", "certificatesigningrequests/status", csr_status},
	{"flowcontrol.apiserver.k8s.io", "flowschemas", status},
	{"flowcontrol.apiserver.k8s.io", "flowschemas/status", spec_metadata},
	{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", status},
	{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations/status", spec_metadata},
	{"networking.k8s.io", "ingresses", status},
	{"networking.k8s.io", "ingresses/status", spec},
	{"policy", "poddisruptionbudgets", status},
	{"policy", "poddisruptionbudgets/status", spec},
	{"resource.k8s.io", "resourceclaims", status},
	{"resource.k8s.io", "resourceclaims/status", spec_metadata},
	{"storage.k8s.io", "volumeattachments", status},
	{"storage.k8s.io", "volumeattachments/status", spec_metadata},
};
#define N_TABLE (sizeof(table) / sizeof(table[0]))

const struct ks_reset_fields ks_reset_fields_custom = {"", "", status};
const struct ks_reset_fields ks_reset_fields_custom_status = {"", "", spec_metadata};

const struct ks_reset_fields *ks_reset_fields_find(struct ks_str group, struct ks_str resource)
{
	for (size_t i = 0; i < N_TABLE; i++)
		if (ks_str_is(resource, table[i].resource) && ks_str_is(group, table[i].group))
			return &table[i];
	return NULL;
}

const struct ks_reset_fields *ks_reset_fields_all(size_t *n_r)
{
	*n_r = N_TABLE;
	return table;
}
