/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Services, inside of core/registry: what a service needs, and where addresses and ports come from. */
#ifndef KS_REGISTRY_SERVICE_H
#define KS_REGISTRY_SERVICE_H

#include "core/registry/allocate/ports.h"
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

/* Policy and families where they are not said; on update, what a change of the policy means. 0 or the code set in `status`. */
int ks_service_init_families(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status);
/* It prefers two families, and so it did, and nothing of that is changed: its addresses are left alone. */
bool ks_service_prefers_as_before(struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *old);

/* strategy.allocate and .release */
int ks_service_allocate(struct ks_registry_context *ctx, struct ks_value *service, const struct ks_value *old, struct ks_status *status);
void ks_service_release(struct ks_registry_context *ctx, const struct ks_value *old, const struct ks_value *service);
/* Ports that were taken go back when the write fails. False when out of memory: they have gone back at once. */
bool ks_service_note_ports(struct ks_registry_context *ctx, const struct ks_port_claim *claims, size_t n);
/* Causes for what is wrong with clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy; `old` is NULL on create. */
void ks_service_validate_addresses(
	struct ks_registry_context *ctx, const struct ks_value *service, const struct ks_value *old, struct ks_status *status);

#endif
