/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* CreateOptions, UpdateOptions, PatchOptions, DeleteOptions and ListOptions, from the query or a body, with the answers to what is wrong with them. */
#ifndef KS_PIPELINE_RESOURCE_OPTIONS_H
#define KS_PIPELINE_RESOURCE_OPTIONS_H

#include "core/cache/cache.h"
#include "core/pipeline/request.h"
#include "core/registry/registry.h"

enum ks_field_validation { KS_FIELDS_WARN, KS_FIELDS_IGNORE, KS_FIELDS_STRICT };

struct ks_write_options {
	enum ks_field_validation fields;
	struct ks_str field_manager;
	bool dry_run, force, has_force;
	struct ks_value value; /* as admission sees them */
};
/* `kind`: "CreateOptions", "UpdateOptions", "PatchOptions"; `apply`: it is a patch that applies a configuration. 0 or the code set in
 * request->status. Sets request->dry_run. */
int ks_write_options_parse(struct ks_request *request, const char *kind, bool apply, struct ks_write_options *out_r) __attribute__((warn_unused_result));

struct ks_delete_options {
	struct ks_delete_policy policy;
	struct ks_str uid, resource_version; /* preconditions */
	bool has_uid, has_resource_version, dry_run;
	bool ignore_read_errors; /* only where that feature is on */
	struct ks_value value;
};
/* From request->body, or the query when that is empty. 0 or the code set in request->status. Sets request->dry_run. */
int ks_delete_options_parse(struct ks_request *request, struct ks_delete_options *out_r) __attribute__((warn_unused_result));

/* From DeleteOptions that were decoded: `value` of *out_r (absent: none). */
int ks_delete_options_take(struct ks_request *request, struct ks_delete_options *out_r) __attribute__((warn_unused_result));

struct ks_list_options {
	struct ks_selector *labels;
	struct ks_field_requirement *fields;
	uint32_t n_fields;
	bool watch, bookmarks, has_send_initial, send_initial;
	struct ks_str resource_version, match, continue_token;
	int64_t limit, timeout_seconds;
	bool has_timeout;
};
/* `watch`: it is one already by its path. 0 or the code set in request->status. */
int ks_list_options_parse(struct ks_request *request, bool watch, struct ks_list_options *out_r) __attribute__((warn_unused_result));
/* The same as a filter of the cache; `name` of a request for one object. */
void ks_list_options_filter(const struct ks_request *request, const struct ks_list_options *options, struct ks_watch_filter *out_r);

/* A resourceVersion of the query: 0, or -EINVAL with *message_r in the words of the API server. An empty text is 0. */
int ks_revision_parse(struct ks_arena *arena, struct ks_str text, uint64_t *out_r, const char **message_r) __attribute__((warn_unused_result));
/* The same of an object's metadata, which upstream refuses in fewer words. */
int ks_revision_of_object(struct ks_arena *arena, struct ks_str text, uint64_t *out_r, const char **message_r) __attribute__((warn_unused_result));

#endif
