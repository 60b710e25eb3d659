/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* ComponentStatus: a kind of before that has no objects. It is there so that clients which ask for it get an answer. */
#include "core/pipeline/resource/verbs.h"
#include "core/pipeline/server.h"

enum ks_stage_result ks_resource_component(struct ks_request *request)
{
	struct ks_buf json;

	if (ks_str_is(request->info.verb, "watch")) {
		ks_status_set(&request->status, &request->arena, 405, "MethodNotAllowed",
			"watch is not supported on resources of kind \"componentstatuses\"");
		request->status.has_details = true;
		request->status.kind = "componentstatuses";
		return KS_STAGE_FAILED;
	}
	if (ks_str_is(request->info.verb, "get")) {
		ks_status_not_found(&request->status, &request->arena, "", "componentstatus", request->info.name);
		return KS_STAGE_FAILED;
	}
	if (ks_request_negotiate(request, 0))
		return KS_STAGE_FAILED;
	ks_buf_init(&json);
	ks_buf_add_str(&json, "{\"kind\":\"ComponentStatusList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[]}\n");
	ks_request_respond_json(request, 200, &json);
	return KS_STAGE_ANSWERED;
}
