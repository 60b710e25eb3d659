/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The second stage: until when the request must be answered. */
#include <stdint.h>

#include "core/api/time.h"
#include "core/pipeline/chain.h"
#include "core/pipeline/inner.h"
#include "core/pipeline/server.h"

#define NS_PER_MS UINT64_C(1000000)

enum { DEFAULT_TIMEOUT_MS = 60000 };

/* Watches, and what is a conversation rather than an answer. */
static bool is_long_running(const struct ks_request_info *info)
{
	static const char *const subresources[] = {"attach", "exec", "proxy", "log", "portforward"};

	if (!info->is_resource)
		return false;
	if (ks_str_is(info->verb, "watch") || ks_str_is(info->verb, "proxy"))
		return true;
	for (size_t i = 0; info->subresource.n && i < sizeof(subresources) / sizeof(*subresources); i++)
		if (ks_str_is(info->subresource, subresources[i]))
			return true;
	return false;
}

static uint64_t configured_ns(const struct ks_request *request)
{
	const struct ks_config *config = request->server->config;

	return NS_PER_MS * (config && config->server.request_timeout_ms ? config->server.request_timeout_ms : DEFAULT_TIMEOUT_MS);
}

enum ks_stage_result ks_stage_deadline(struct ks_request *request)
{
	struct ks_str asked = {0};
	uint64_t most = configured_ns(request);
	const char *message = "out of memory";
	int64_t wanted;

	if (is_long_running(&request->info)) {
		request->long_running = true;
		return KS_STAGE_NEXT;
	}
	if (request->raw_query.n && memmem(request->raw_query.p, request->raw_query.n, "timeout", 7))
		asked = ks_request_query(request, "timeout");
	if (asked.n > 0) {
		if (ks_duration_parse(&request->arena, asked, &wanted, &message) != 0) {
			ks_status_bad_request(&request->status, &request->arena, "invalid timeout specified in the request URL - %s", message);
			return KS_STAGE_FAILED;
		}
		if (wanted > 0 && (uint64_t)wanted < most)
			most = (uint64_t)wanted;
	}
	request->deadline_ns = request->received_ns + most;
	if (request->inner && request->inner->deadline_ns && request->inner->deadline_ns < request->deadline_ns)
		request->deadline_ns = request->inner->deadline_ns;
	return KS_STAGE_NEXT;
}
