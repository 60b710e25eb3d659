/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The table of what is special per resource. */
#include "core/registry/registry.h"

#include "core/registry/strategies.h"
#include "core/registry/validate/kinds.h"
#include "core/registry/validate/pods.h"
#include "core/registry/validate/warn_objects.h"

#define RBAC "rbac.authorization.k8s.io"
#define STORAGE "storage.k8s.io"
#define ADMISSION "admissionregistration.k8s.io"

static const struct ks_strategy nothing_special = {.group = "", .resource = ""};

static const struct ks_strategy *const with_files[] = {
	&ks_strategy_services, &ks_strategy_namespaces, &ks_strategy_nodes, &ks_strategy_pods, &ks_strategy_podtemplates, &ks_strategy_replicationcontrollers,
	&ks_strategy_secrets, &ks_strategy_configmaps, &ks_strategy_persistentvolumes, &ks_strategy_persistentvolumeclaims,
	&ks_strategy_deployments, &ks_strategy_replicasets, &ks_strategy_statefulsets, &ks_strategy_daemonsets, &ks_strategy_jobs,
	&ks_strategy_cronjobs, &ks_strategy_networkpolicies, &ks_strategy_customresourcedefinitions, &ks_strategy_horizontalpodautoscalers,
	&ks_strategy_rolebindings, &ks_strategy_clusterrolebindings, &ks_strategy_limitranges, &ks_strategy_certificatesigningrequests,
	&ks_strategy_resourceclaims, &ks_strategy_resourceslices, &ks_strategy_resourceclaimtemplates, &ks_strategy_priorityclasses, &ks_strategy_csidrivers,
};

/* Flags alone make the difference. */
static const struct ks_strategy plain[] = {
	{.group = "apps", .resource = "controllerrevisions", .validate = ks_validate_controllerrevision},
	{.group = "", .resource = "endpoints", .flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_VALIDATES_METADATA_AGAIN, .validate = ks_validate_endpoints, .warnings = ks_warn_endpoints},
	{.group = "", .resource = "events", .flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_NO_COLLECTION, .names = KS_NAME_PATH,
		.validate = ks_validate_event},
	{.group = "", .resource = "resourcequotas", .flags = KS_STRATEGY_RETURNS_DELETED, .validate = ks_validate_resourcequota},
	{.group = "", .resource = "serviceaccounts", .flags = KS_STRATEGY_RETURNS_DELETED | KS_STRATEGY_VALIDATES_METADATA_AGAIN, .warnings = ks_warn_serviceaccount},
	{.group = "events.k8s.io", .resource = "events", .flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_NO_COLLECTION, .validate = ks_validate_event},
	{.group = "coordination.k8s.io", .resource = "leases", .flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_NEEDS_REVISION, .validate = ks_validate_lease},
	{.group = RBAC, .resource = "roles", .flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_VALIDATES_METADATA_AGAIN, .names = KS_NAME_PATH, .validate = ks_validate_role},
	{.group = RBAC, .resource = "clusterroles", .flags = KS_STRATEGY_CREATE_ON_UPDATE | KS_STRATEGY_VALIDATES_METADATA_AGAIN, .names = KS_NAME_PATH, .validate = ks_validate_clusterrole},
	{.group = "networking.k8s.io", .resource = "ingresses", .generation = KS_GENERATION_SPEC, .validate = ks_validate_ingress, .warnings = ks_warn_ingress},
	{.group = "networking.k8s.io", .resource = "ipaddresses", .names = KS_NAME_PATH, .validate = ks_validate_ipaddress},
	{.group = "networking.k8s.io", .resource = "servicecidrs", .flags = KS_STRATEGY_STATUS_KEEPS_METADATA, .validate = ks_validate_servicecidr},
	{.group = "networking.k8s.io", .resource = "ingressclasses", .generation = KS_GENERATION_SPEC, .validate = ks_validate_ingressclass},
	{.group = "policy", .resource = "poddisruptionbudgets", .flags = KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_SPEC, .validate = ks_validate_poddisruptionbudget},
	{.group = "node.k8s.io", .resource = "runtimeclasses", .flags = KS_STRATEGY_NEEDS_REVISION, .validate = ks_validate_runtimeclass},
	{.group = "discovery.k8s.io", .resource = "endpointslices", .generation = KS_GENERATION_LABELS, .validate = ks_validate_endpointslice, .warnings = ks_warn_endpointslice},
	{.group = "apiregistration.k8s.io", .resource = "apiservices", .flags = KS_STRATEGY_STATUS_KEEPS_METADATA | KS_STRATEGY_NEEDS_REVISION, .names = KS_NAME_PATH, .validate = ks_validate_apiservice},
	{.group = STORAGE, .resource = "storageclasses", .flags = KS_STRATEGY_RETURNS_DELETED, .validate = ks_validate_storageclass, .warnings = ks_warn_storageclass},
	{.group = STORAGE, .resource = "volumeattachments", .flags = KS_STRATEGY_STATUS_KEEPS_METADATA | KS_STRATEGY_RETURNS_DELETED | KS_STRATEGY_NEEDS_REVISION, .validate = ks_validate_volumeattachment},
	{.group = STORAGE, .resource = "csinodes", .flags = KS_STRATEGY_RETURNS_DELETED | KS_STRATEGY_NEEDS_REVISION, .validate = ks_validate_csinode},
	{.group = STORAGE, .resource = "csistoragecapacities", .flags = KS_STRATEGY_NEEDS_REVISION, .validate = ks_validate_csistoragecapacity},
	{.group = STORAGE, .resource = "volumeattributesclasses", .flags = KS_STRATEGY_RETURNS_DELETED, .validate = ks_validate_volumeattributesclass},
	{.group = ADMISSION, .resource = "validatingwebhookconfigurations", .flags = KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_CONTENT, .validate = ks_validate_validatingwebhookconfiguration},
	{.group = ADMISSION, .resource = "mutatingwebhookconfigurations", .flags = KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_CONTENT, .validate = ks_validate_mutatingwebhookconfiguration},
	{.group = ADMISSION, .resource = "validatingadmissionpolicies", .flags = KS_STRATEGY_STATUS_KEEPS_METADATA | KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_SPEC, .validate = ks_validate_validatingadmissionpolicy},
	{.group = ADMISSION, .resource = "validatingadmissionpolicybindings", .flags = KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_SPEC, .validate = ks_validate_validatingadmissionpolicybinding},
	{.group = ADMISSION, .resource = "mutatingadmissionpolicies", .flags = KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_SPEC, .validate = ks_validate_mutatingadmissionpolicy},
	{.group = ADMISSION, .resource = "mutatingadmissionpolicybindings", .flags = KS_STRATEGY_NEEDS_REVISION, .generation = KS_GENERATION_SPEC, .validate = ks_validate_mutatingadmissionpolicybinding},
	{.group = "flowcontrol.apiserver.k8s.io", .resource = "flowschemas", .flags = KS_STRATEGY_STATUS_KEEPS_METADATA, .generation = KS_GENERATION_SPEC, .validate = ks_validate_flowschema},
	{.group = "flowcontrol.apiserver.k8s.io", .resource = "prioritylevelconfigurations", .flags = KS_STRATEGY_STATUS_KEEPS_METADATA, .generation = KS_GENERATION_SPEC, .validate = ks_validate_prioritylevel},
	{.group = "resource.k8s.io", .resource = "deviceclasses", .generation = KS_GENERATION_SPEC, .validate = ks_validate_deviceclass},
};

const struct ks_strategy *ks_registry_find(const struct ks_schema *schema, uint16_t resource)
{
	const char *group, *name;

	if (resource >= schema->n_resources)
		return &nothing_special;
	resource = schema->resources[resource].parent;
	group = ks_schema_text(schema, schema->resources[resource].group);
	name = ks_schema_text(schema, schema->resources[resource].resource);
	for (size_t i = 0; i < sizeof(with_files) / sizeof(with_files[0]); i++)
		if (!strcmp(with_files[i]->resource, name) && !strcmp(with_files[i]->group, group))
			return with_files[i];
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(plain[i].resource, name) && !strcmp(plain[i].group, group))
			return &plain[i];
	return &nothing_special;
}
