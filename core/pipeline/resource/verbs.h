/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The verbs, each in the file of its name. Called once; they put what goes on later into request->handler_data. */
#ifndef KS_PIPELINE_RESOURCE_VERBS_H
#define KS_PIPELINE_RESOURCE_VERBS_H

#include "core/pipeline/request.h"

/* What ks_resource_handle finds in request->handler_data when the stage is called again. */
struct ks_handler_run {
	enum ks_stage_result (*run)(struct ks_handler_run *handler);
};

enum ks_stage_result ks_resource_create(struct ks_request *request);
enum ks_stage_result ks_resource_get(struct ks_request *request);
enum ks_stage_result ks_resource_list(struct ks_request *request);
enum ks_stage_result ks_resource_watch(struct ks_request *request);
enum ks_stage_result ks_resource_update(struct ks_request *request);
enum ks_stage_result ks_resource_patch(struct ks_request *request);
enum ks_stage_result ks_resource_delete(struct ks_request *request);
enum ks_stage_result ks_resource_delete_collection(struct ks_request *request);
enum ks_stage_result ks_resource_get_scale(struct ks_request *request);
enum ks_stage_result ks_resource_component(struct ks_request *request);
/* POST: a pod is put on a node; a pod is asked to go. */
enum ks_stage_result ks_resource_bind(struct ks_request *request);
enum ks_stage_result ks_resource_evict(struct ks_request *request);
/* PUT and PATCH. */
enum ks_stage_result ks_resource_write_scale(struct ks_request *request);

#endif
