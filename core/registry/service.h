/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Services, inside of core/registry: what a service needs, and where addresses and ports come from. */
#ifndef KS_REGISTRY_SERVICE_H
#define KS_REGISTRY_SERVICE_H

#include "core/registry/kit.h"

bool ks_service_is_type(struct ks_registry_context *ctx, const struct ks_value *service, const char *type);
bool ks_service_needs_address(struct ks_registry_context *ctx, const struct ks_value *service); /* all but ExternalName */
bool ks_service_needs_node_ports(struct ks_registry_context *ctx, const struct ks_value *service);
bool ks_service_needs_health_port(struct ks_registry_context *ctx, const struct ks_value *service);
bool ks_service_is_headless(struct ks_registry_context *ctx, const struct ks_value *service);
bool ks_service_has_selector(struct ks_registry_context *ctx, const struct ks_value *service);

/* An IPv4 address in host order. False when it is none. */
bool ks_parse_ipv4(struct ks_str text, uint32_t *out_r);
bool ks_is_ipv6(struct ks_str text);
/* "10.0.0.0/16": the address of the network and how many addresses there are. False when it is none or holds fewer than 4 or more than 2^20. */
bool ks_parse_service_range(const char *text, uint32_t *network_r, uint32_t *count_r);

/* strategy.allocate and .release */
int ks_service_allocate(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status);
void ks_service_release(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *service);
/* Causes for what is wrong with clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy; `old` is NULL on create. */
void ks_service_validate_addresses(
	struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *old, struct ks_status *status);

#endif
