/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The generic resource handlers: create, get, list, watch, update, patch, delete and
 * deletecollection of every stored kind, /status and /scale, out of the schema tables
 * and the registry's strategies. They are the last stage's work for resource requests.
 */
#ifndef KS_PIPELINE_RESOURCE_HANDLERS_H
#define KS_PIPELINE_RESOURCE_HANDLERS_H

#include "core/pipeline/request.h"

/* Dispatch calls it for a resource request whose info.resource_index is served, and again, like any stage, after KS_STAGE_PENDING. */
enum ks_stage_result ks_resource_handle(struct ks_request *request);

#endif
