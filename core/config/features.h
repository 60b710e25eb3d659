/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Feature gates: what Kubernetes has behind a switch, by the names that Kubernetes gives them. */
#ifndef KS_CONFIG_FEATURES_H
#define KS_CONFIG_FEATURES_H

#include <stdbool.h>

enum ks_feature {
	KS_FEATURE_CBOR, /* CBORServingAndStorage: application/cbor is read and written, beside JSON, YAML and protobuf */
	KS_FEATURE_UNSAFE_DELETION, /* AllowUnsafeMalformedObjectDeletion: what can't be read may be deleted by who says that he knows what he does */
	KS_N_FEATURES,
};

/* Which are on. Read from the configuration at start; a reload does not change them. */
struct ks_features {
	bool on[KS_N_FEATURES];
};

/* What holds when nothing is said. */
void ks_features_default(struct ks_features *features);
/* "CBORServingAndStorage" */
const char *ks_feature_name(enum ks_feature feature);
/* "ALPHA", "BETA", "" (generally available), as metrics call it. */
const char *ks_feature_stage(enum ks_feature feature);

#endif
