/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The validators of kinds other than pods and workloads: strategy.validate of registry.h. Metadata has been checked before. */
#ifndef KS_REGISTRY_VALIDATE_KINDS_H
#define KS_REGISTRY_VALIDATE_KINDS_H

#include "core/registry/registry.h"

typedef void ks_validator(struct ks_registry_context *ctx, const struct ks_value *object, const struct ks_value *old, struct ks_status *status);

/* storage.c */
ks_validator ks_validate_storageclass, ks_validate_volumeattributesclass, ks_validate_csidriver, ks_validate_csinode,
	ks_validate_csistoragecapacity, ks_validate_volumeattachment;
/* volume.c, claim.c */
ks_validator ks_validate_persistentvolume, ks_validate_persistentvolumeclaim;
/* service.c, endpoints.c */
ks_validator ks_validate_service, ks_validate_endpoints, ks_validate_endpointslice;
/* network.c, ingress.c */
ks_validator ks_validate_networkpolicy, ks_validate_ipaddress, ks_validate_servicecidr, ks_validate_ingress, ks_validate_ingressclass;
/* config.c */
ks_validator ks_validate_secret, ks_validate_configmap, ks_validate_event, ks_validate_lease, ks_validate_namespace;
/* limits.c */
ks_validator ks_validate_limitrange, ks_validate_resourcequota;
/* node.c */
ks_validator ks_validate_node, ks_validate_runtimeclass;
/* rbac.c, policy.c, certificates.c */
ks_validator ks_validate_role, ks_validate_clusterrole, ks_validate_rolebinding, ks_validate_clusterrolebinding, ks_validate_poddisruptionbudget,
	ks_validate_priorityclass, ks_validate_certificatesigningrequest;
/* autoscaling.c */
ks_validator ks_validate_horizontalpodautoscaler;
/* resource.c, resourceslice.c, resourcestatus.c */
ks_validator ks_validate_resourceclaim, ks_validate_resourceclaimtemplate, ks_validate_deviceclass, ks_validate_resourceslice;
/* webhooks.c, admissionpolicy.c */
ks_validator ks_validate_validatingwebhookconfiguration, ks_validate_mutatingwebhookconfiguration, ks_validate_validatingadmissionpolicy,
	ks_validate_mutatingadmissionpolicy, ks_validate_validatingadmissionpolicybinding, ks_validate_mutatingadmissionpolicybinding;
/* flowcontrol.c, apiservice.c */
ks_validator ks_validate_flowschema, ks_validate_prioritylevel, ks_validate_apiservice;

#endif
