/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the validators of workloads share. */
#ifndef KS_REGISTRY_VALIDATE_WORKLOADS_H
#define KS_REGISTRY_VALIDATE_WORKLOADS_H

#include "core/registry/validate/pod.h"

/* Can a LabelSelector be evaluated at all? NULL can (it selects nothing). */
bool ks_selector_is_sound(struct ks_check *c, const struct ks_value *selector);
/* One that selects everything. */
bool ks_selector_is_empty(struct ks_check *c, const struct ks_value *selector);
bool ks_selector_selects(struct ks_check *c, const struct ks_value *selector, const struct ks_value *labels);
/* "`selector` does not match template `labels`" unless it selects them. */
void ks_err_labels_differ(struct ks_check *c, const struct ks_path *template_path, const struct ks_value *template);
void ks_check_selected(struct ks_check *c, const struct ks_path *template_path, const struct ks_value *selector, const struct ks_value *template);
/* spec.selector: there, sound, not empty ("empty selector is invalid for KIND"). */
void ks_check_own_selector(struct ks_check *c, const struct ks_path *path, const struct ks_value *selector, const char *kind);
/* Templates of what runs for ever: restarted always, without a deadline. */
void ks_check_lasting_template(struct ks_check *c, const struct ks_path *template_path, const struct ks_value *template, const char *kind);
/* A number that isn't negative, or a percentage. */
void ks_check_int_or_percent(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value);
void ks_check_at_most_all(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value);
/* Number (also as a text) or percentage; 0 for other texts. */
int64_t ks_int_or_percent(const struct ks_value *value);
/* Fields that must not be negative where they are said; `names` ends with NULL. */
void ks_check_counts(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *const *names);

/* A cron schedule: NULL when it can be read, else what is wrong with it, in arena memory. */
const char *ks_cron_problem(struct ks_check *c, struct ks_str schedule);
/* An IANA name of a time zone: NULL when it is known, else what is wrong. */
const char *ks_time_zone_problem(struct ks_check *c, struct ks_str name);

/* Job.status. */
void ks_check_job_status(struct ks_check *c, const struct ks_value *job, const struct ks_value *old);
void ks_check_failure_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);
void ks_check_success_policy(struct ks_check *c, const struct ks_path *path, const struct ks_value *spec);

#endif
