/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Warnings about kinds other than pods and workloads: strategy.warnings of registry.h. */
#ifndef KS_REGISTRY_VALIDATE_WARN_OBJECTS_H
#define KS_REGISTRY_VALIDATE_WARN_OBJECTS_H

#include "core/registry/validate/warnings.h"

ks_warner ks_warn_persistentvolume, ks_warn_persistentvolumeclaim, ks_warn_storageclass, ks_warn_csidriver, ks_warn_service, ks_warn_endpointslice,
	ks_warn_secret, ks_warn_node, ks_warn_serviceaccount, ks_warn_ingress, ks_warn_networkpolicy, ks_warn_endpoints;

void ks_warn_service_addresses(struct ks_check *c, const struct ks_value *spec);

#endif
