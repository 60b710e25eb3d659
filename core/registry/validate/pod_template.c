/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Templates of pods. */
#include "core/registry/validate/pod.h"

void ks_check_pod_template(struct ks_check *c, const struct ks_path *path, const struct ks_value *template, const struct ks_value *old)
{
	const struct ks_value *metadata = IN(template, "metadata"), *annotations = MAP(metadata, "annotations");
	struct ks_path notes = ks_path_child(path, "annotations"), spec_at = ks_path_child(path, "spec");
	struct ks_value spec;

	if (!template || template->kind != KS_STRUCT)
		return;
	spec = ks_struct_in(c, template, "spec");
	ks_check_labels(c, path, "labels", MAP(metadata, "labels"));
	ks_check_annotations(c, path, "annotations", annotations);
	ks_check_pod_annotations(c, &notes, annotations, &spec, false);
	ks_check_pod_spec(c, &spec_at, &spec, IN(old, "spec"), KS_STR_LIT(""), false);
	ks_check_pod_profiles(c, &spec_at, annotations, &spec);
	if (ks_value_count(LIST(&spec, "ephemeralContainers")))
		ks_err_forbidden(c, &spec_at, "ephemeralContainers", "ephemeral containers not allowed in pod template");
}
