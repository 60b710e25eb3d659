/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What is served, as the discovery and the OpenAPI documents tell it. Private to core/pipeline. */
#ifndef KS_PIPELINE_DISCOVERY_STATE_H
#define KS_PIPELINE_DISCOVERY_STATE_H

#include "core/api/discovery.h"
#include "core/pipeline/documents.h"

struct ks_discovery_state {
	const struct ks_server_state *server;
	const struct ks_schema *schemas[1];
	struct ks_discovery served;
	struct ks_documents *documents;
	char address[128];
};

#endif
