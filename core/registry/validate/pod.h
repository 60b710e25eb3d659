/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Pods and templates of pods: what the files that validate them share. */
#ifndef KS_REGISTRY_VALIDATE_POD_H
#define KS_REGISTRY_VALIDATE_POD_H

#include "core/api/validate.h"
#include "core/registry/validate/common.h"
#include "core/registry/validate/volume.h"

/* Short hand for fields of `v`; `c` is the run. */
#define IN(v, name) KS_IN(c, v, name)
#define TEXT(v, name) KS_IN_TEXT(c, v, name)
#define INT(v, name) KS_IN_INT(c, v, name, 0)
#define IS_TRUE(v, name) KS_IN_TRUE(c, v, name)
#define LIST(v, name) KS_IN_LIST(c, v, name)
#define MAP(v, name) KS_IN_MAP(c, v, name)
#define EACH(i, list) for (uint32_t i = 0; i < ks_value_count(list); i++)

/* What is known of the pod around a part of it; ks_check.user. */
struct ks_pod_check {
	const struct ks_value *spec, *old_spec; /* `old_spec` NULL on create */
	struct ks_str name;       /* of the pod; empty in a template */
	bool is_pod;              /* not a template */
	bool host_users;
	const struct ks_value *grace; /* terminationGracePeriodSeconds; may be NULL */
	const struct ks_value *volumes;
	unsigned char *bad_volumes;   /* one a volume: 1 when it can't be mounted; NULL: all are good */
	struct ks_seen volume_names;  /* of the good ones */
	uint32_t *good_volumes;       /* where in the list each of those is; NULL when there are few */
	struct ks_seen claim_names;   /* of spec.resourceClaims */
	const char *claim_text;       /* what is said of a claim that isn't one of them; NULL: not asked for yet */
	unsigned selector_flags;      /* of label selectors */
	bool any_deletion_cost, any_node_values, any_spread_selector, any_token_path;
	bool sidecar_resize_policy;
};

static inline struct ks_pod_check *ks_pod_of(const struct ks_check *c) { return c->user; }

static inline bool ks_text_has(struct ks_str text, char what) { return text.n && memchr(text.p, what, text.n); }

/* -- whole pods ------------------------------------------------------------------------------------------------- */

/* `old_spec`: what it was before an update, NULL on create. `name`: the pod's, empty for a template. */
void ks_check_pod_spec(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec, const struct ks_value *old_spec, struct ks_str name, bool is_pod);
/* A PodTemplateSpec; may be NULL. */
void ks_check_pod_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *template, const struct ks_value *old);
void ks_check_pod_annotations(struct ks_check *c, const struct ks_path *path, const struct ks_value *annotations, const struct ks_value *spec, bool any_deletion_cost);
/* Annotations of old releases and the fields that took their place say the same. */
void ks_check_pod_profiles(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *annotations, const struct ks_value *spec);

/* -- parts of a spec -------------------------------------------------------------------------------------------- */

void ks_check_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
void ks_check_init_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
void ks_check_ephemeral_containers(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
/* What only holds in pods, not in templates. */
void ks_check_container_of_pod(struct ks_check *c, const struct ks_path *path, const struct ks_value *container);

void ks_check_env(struct ks_check *c, const struct ks_path *path, const struct ks_value *container);
void ks_check_mounts(struct ks_check *c, const struct ks_path *path, const struct ks_value *container);
void ks_check_handler(struct ks_check *c, const struct ks_path *path, const struct ks_value *handler);
void ks_check_lifecycle(struct ks_check *c, const struct ks_path *path, const struct ks_value *container);
void ks_check_probes(struct ks_check *c, const struct ks_path *path, const struct ks_value *container);

/* Fills bad_volumes. */
void ks_check_volumes(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
/* The volume that a container may mount by that name; NULL when there is none. */
const struct ks_value *ks_pod_volume(struct ks_check *c, struct ks_str name);
void ks_check_projected(struct ks_check *c, const struct ks_path *path, const struct ks_value *source);
void ks_check_downward_files(struct ks_check *c, const struct ks_path *path, const struct ks_value *source);
void ks_check_key_to_paths(struct ks_check *c, const struct ks_path *path, const struct ks_value *source);
void ks_check_file_mode(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *mode);
/* A fieldRef; `allowed` ends with NULL. */
void ks_check_field_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *ref, const char *const *allowed);
void ks_check_resource_ref(struct ks_check *c, const struct ks_path *path, const struct ks_value *ref, bool in_volume);
/* Relative, without "..". */
bool ks_check_descending_path(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
bool ks_check_local_path(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);
bool ks_check_no_backsteps(struct ks_check *c, const struct ks_path *path, const char *name, struct ks_str value);

void ks_check_resource_name(struct ks_check *c, const struct ks_path *path, struct ks_str name, bool of_pod);
void ks_check_resources(struct ks_check *c, const struct ks_path *path, const struct ks_value *resources, bool of_pod);
void ks_check_pod_resources(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);

void ks_check_pod_security(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);
void ks_check_container_security(struct ks_check *c, const struct ks_path *path, const struct ks_value *container);
void ks_check_host_process(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);
void ks_check_os(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);

void ks_check_affinity(struct ks_check *c, const struct ks_path *path, const struct ks_value *affinity);
void ks_check_tolerations(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
void ks_check_spread(struct ks_check *c, const struct ks_path *path, const struct ks_value *list);
void ks_check_dns(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);

/* Calls `visit` for each container of all three lists, with its path. */
void ks_pod_each_container(struct ks_check *c, const struct ks_path *spec_path, const struct ks_value *spec,
	void (*visit)(struct ks_check *c, const struct ks_path *path, const struct ks_value *container, void *arg), void *arg);

#endif
