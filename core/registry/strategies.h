/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The strategies that have a file of their own. */
#ifndef KS_REGISTRY_STRATEGIES_H
#define KS_REGISTRY_STRATEGIES_H

#include "core/registry/registry.h"

extern const struct ks_strategy ks_strategy_services;
extern const struct ks_strategy ks_strategy_namespaces;
extern const struct ks_strategy ks_strategy_nodes;
extern const struct ks_strategy ks_strategy_pods;
extern const struct ks_strategy ks_strategy_podtemplates;
extern const struct ks_strategy ks_strategy_replicationcontrollers;
extern const struct ks_strategy ks_strategy_secrets;
extern const struct ks_strategy ks_strategy_configmaps;
extern const struct ks_strategy ks_strategy_persistentvolumes;
extern const struct ks_strategy ks_strategy_persistentvolumeclaims;
extern const struct ks_strategy ks_strategy_limitranges;
extern const struct ks_strategy ks_strategy_certificatesigningrequests;
extern const struct ks_strategy ks_strategy_resourceclaims;
extern const struct ks_strategy ks_strategy_resourceslices;
extern const struct ks_strategy ks_strategy_resourceclaimtemplates;
extern const struct ks_strategy ks_strategy_priorityclasses;
extern const struct ks_strategy ks_strategy_csidrivers;
extern const struct ks_strategy ks_strategy_deployments;
extern const struct ks_strategy ks_strategy_replicasets;
extern const struct ks_strategy ks_strategy_statefulsets;
extern const struct ks_strategy ks_strategy_daemonsets;
extern const struct ks_strategy ks_strategy_jobs;
extern const struct ks_strategy ks_strategy_cronjobs;
extern const struct ks_strategy ks_strategy_networkpolicies;
extern const struct ks_strategy ks_strategy_customresourcedefinitions;
extern const struct ks_strategy ks_strategy_horizontalpodautoscalers;
extern const struct ks_strategy ks_strategy_rolebindings;
extern const struct ks_strategy ks_strategy_clusterrolebindings;

#endif
