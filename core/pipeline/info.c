/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The first stage: what is asked for. The rules are those of k8s.io/apiserver's RequestInfo, which authorization policies depend on. */
#include <errno.h>

#include "core/pipeline/chain.h"
#include "core/pipeline/metrics.h"
#include "core/pipeline/server.h"

/* Takes the part before the next slash. */
static struct ks_str next_part(struct ks_str *rest)
{
	const char *slash = rest->n ? memchr(rest->p, '/', rest->n) : NULL;
	struct ks_str part = *rest;

	if (!slash) {
		*rest = (struct ks_str){0};
		return part;
	}
	part.n = (size_t)(slash - rest->p);
	*rest = ks_str_of(slash + 1, rest->n - part.n - 1);
	return part;
}

/* Parts left, as strings.Split counts them: `rest.p` NULL means none. */
static size_t count_parts(struct ks_str rest)
{
	size_t n = rest.p != NULL;

	for (size_t i = 0; i < rest.n; i++)
		n += rest.p[i] == '/';
	return n;
}

static struct ks_str trim_slashes(struct ks_str path)
{
	while (path.n > 0 && path.p[0] == '/')
		path = ks_str_of(path.p + 1, path.n - 1);
	while (path.n > 0 && path.p[path.n - 1] == '/')
		path.n--;
	return path.n ? path : (struct ks_str){0};
}

static struct ks_str lower_method(struct ks_request *request)
{
	static const char *const known[][2] = {
		{"GET", "get"}, {"POST", "post"}, {"PUT", "put"}, {"PATCH", "patch"}, {"DELETE", "delete"}, {"HEAD", "head"}, {"OPTIONS", "options"}};
	char *lower;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (ks_str_is(request->method, known[i][0]))
			return ks_str_from(known[i][1]);
	lower = ks_arena_dup(&request->arena, request->method.p, request->method.n);
	if (!lower)
		return (struct ks_str){0};
	for (size_t i = 0; i < request->method.n; i++)
		if (lower[i] >= 'A' && lower[i] <= 'Z')
			lower[i] = (char)(lower[i] - 'A' + 'a');
	return ks_str_of(lower, request->method.n);
}

static struct ks_str verb_of_method(struct ks_str method)
{
	static const char *const verbs[][2] = {
		{"GET", "get"}, {"POST", "create"}, {"HEAD", "get"}, {"PUT", "update"}, {"PATCH", "patch"}, {"DELETE", "delete"}};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (ks_str_is(method, verbs[i][0]))
			return ks_str_from(verbs[i][1]);
	return KS_STR_LIT("");
}

/* A name that can stand in a path. */
static bool is_segment_name(struct ks_str name)
{
	if (name.n == 0 || ks_str_is(name, ".") || ks_str_is(name, ".."))
		return false;
	return !memchr(name.p, '/', name.n) && !memchr(name.p, '%', name.n);
}

static bool mentions(struct ks_str query, const char *key)
{
	return query.n && memmem(query.p, query.n, key, strlen(key));
}

/* A list of fieldSelector=metadata.name=x is a request for x. */
static void name_from_selector(struct ks_request *request)
{
	struct ks_field_requirement *terms;
	const char *message;
	uint32_t n;

	if (!mentions(request->raw_query, "fieldSelector"))
		return;
	if (ks_field_selector_parse(&request->arena, ks_request_query(request, "fieldSelector"), &terms, &n, &message) != 0)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (ks_str_is(terms[i].path, "metadata.name") && !terms[i].not_equal) {
			if (is_segment_name(terms[i].value)) {
				request->info.name = terms[i].value;
				request->info.name_from_selector = true;
			}
			return;
		}
}

static bool asks_for_watch(struct ks_request *request)
{
	struct ks_str value;

	if (!mentions(request->raw_query, "watch"))
		return false;
	value = ks_request_query(request, "watch");
	if (!value.p || ks_str_is(value, "0"))
		return false;
	return !(value.n == 5 && strncasecmp(value.p, "false", 5) == 0);
}

static void name_verb(struct ks_request *request)
{
	struct ks_request_info *info = &request->info;

	if (info->name.n > 0)
		return;
	if (ks_str_is(info->verb, "get")) {
		info->verb = asks_for_watch(request) ? KS_STR_LIT("watch") : KS_STR_LIT("list");
		name_from_selector(request);
	}
	if (info->name.n == 0 && ks_str_is(info->verb, "delete"))
		info->verb = KS_STR_LIT("deletecollection");
}

static bool is_namespace_subresource(struct ks_str part)
{
	return ks_str_is(part, "status") || ks_str_is(part, "finalize");
}

/* namespaces/NS/... : where the resource begins. */
static struct ks_str take_namespace(struct ks_request_info *info, struct ks_str parts)
{
	struct ks_str rest = parts, after;

	if (!ks_str_is(next_part(&rest), "namespaces") || !rest.p)
		return parts;
	info->ns = next_part(&rest);
	if (!rest.p)
		return parts;
	after = rest;
	return is_namespace_subresource(next_part(&rest)) ? parts : after;
}

/* resource/name/subresource/... */
static void take_resource(struct ks_request_info *info, struct ks_str parts)
{
	info->n_parts = (uint16_t)(count_parts(parts) < UINT16_MAX ? count_parts(parts) : UINT16_MAX);
	info->resource = next_part(&parts);
	if (!parts.p)
		return;
	info->name = next_part(&parts);
	if (!parts.p || ks_str_is(info->verb, "proxy"))
		return;
	info->subresource = next_part(&parts);
	if (parts.p)
		info->rest = ks_str_of(parts.p - 1, parts.n + 1);
}

/* The index of what is asked for in the schema. */
static uint16_t find_resource(struct ks_request *request)
{
	const struct ks_request_info *info = &request->info;
	const struct ks_schema *schema = request->server->schema;
	struct ks_str name = info->resource;
	char both[256];

	if (info->resource.n == 0)
		return KS_NO_RESOURCE;
	if (info->subresource.n > 0) {
		if (info->resource.n + info->subresource.n + 1 > sizeof(both))
			return KS_NO_RESOURCE;
		memcpy(both, info->resource.p, info->resource.n);
		both[info->resource.n] = '/';
		memcpy(both + info->resource.n + 1, info->subresource.p, info->subresource.n);
		name = ks_str_of(both, info->resource.n + 1 + info->subresource.n);
	} else if (memchr(name.p, '/', name.n)) {
		return KS_NO_RESOURCE;
	}
	return ks_schema_find_resource(schema, info->group, info->version, name);
}

static int parse_resource(struct ks_request *request, struct ks_str parts)
{
	struct ks_request_info *info = &request->info;
	struct ks_str rest = parts, first;

	info->is_resource = true;
	first = next_part(&rest);
	if (ks_str_is(first, "watch") || ks_str_is(first, "proxy")) {
		if (!rest.p)
			return -ENOENT;
		info->verb = first;
		info->watch_prefix = ks_str_is(first, "watch");
		parts = rest;
	} else {
		info->verb = verb_of_method(request->method);
	}
	take_resource(info, take_namespace(info, parts));
	name_verb(request);
	info->resource_index = find_resource(request);
	return 0;
}

int ks_info_parse(struct ks_request *request)
{
	struct ks_request_info *info = &request->info;
	struct ks_str parts;
	int rc;

	info->resource_index = KS_NO_RESOURCE;
	rc = ks_url_decode(&request->arena, request->raw_path, false, &info->path);
	if (rc != 0)
		return rc;
	info->verb = lower_method(request);
	if (!info->verb.p)
		return -ENOMEM;
	parts = trim_slashes(info->path);
	if (count_parts(parts) < 3)
		return 0;
	info->api_prefix = next_part(&parts);
	if (ks_str_is(info->api_prefix, "apis")) {
		if (count_parts(parts) < 3)
			return 0;
		info->group = next_part(&parts);
	} else if (!ks_str_is(info->api_prefix, "api")) {
		info->api_prefix = (struct ks_str){0};
		return 0;
	}
	info->version = next_part(&parts);
	return parse_resource(request, parts);
}

/* A query is read whole or refused: a dryRun that was overlooked would write. */
static int parse_query(struct ks_request *request)
{
	if (request->raw_query.n == 0 || request->query.parsed)
		return 0;
	return ks_query_parse(&request->arena, request->raw_query, &request->query);
}

enum ks_stage_result ks_stage_info(struct ks_request *request)
{
	const char *text;
	int rc = parse_query(request);

	rc = rc ? rc : ks_info_parse(request);
	ks_metrics_begin(request);
	switch (rc) {
	case 0:
		return KS_STAGE_NEXT;
	case -E2BIG:
		ks_status_bad_request(&request->status, &request->arena, "the query has too many parameters");
		return KS_STAGE_FAILED;
	case -ENOENT:
		text = ks_arena_printf(&request->arena,
			"Internal Server Error: \"%.*s\": failed to create RequestInfo: unable to determine kind and namespace from url, %.*s\n",
			(int)request->target.n, request->target.p, (int)request->target.n, request->target.p);
		ks_request_respond_text(request, 500, text ? text : "Internal Server Error\n");
		return KS_STAGE_ANSWERED;
	case -EINVAL:
		ks_request_respond_text(request, 400, "400 Bad Request");
		return KS_STAGE_ANSWERED;
	}
	ks_status_internal(&request->status, &request->arena, "out of memory");
	return KS_STAGE_FAILED;
}
