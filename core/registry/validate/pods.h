/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The validators of pods and workloads: strategy.validate of registry.h. Metadata has been checked before. */
#ifndef KS_REGISTRY_VALIDATE_PODS_H
#define KS_REGISTRY_VALIDATE_PODS_H

#include "core/registry/validate/kinds.h"

/* pod.c */
ks_validator ks_validate_pod, ks_validate_podtemplate;
/* workload.c, statefulset.c */
ks_validator ks_validate_deployment, ks_validate_replicaset, ks_validate_daemonset, ks_validate_replicationcontroller, ks_validate_statefulset,
	ks_validate_controllerrevision;
/* job.c */
ks_validator ks_validate_job, ks_validate_cronjob;

#endif
