/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/features.h"

#include <string.h>

#include "core/config/features_read.h"
#include "core/config/scalar.h"

/* `beta`: else it is an alpha feature; AllAlpha and AllBeta switch those that are not named. */
static const struct feature {
	const char *name;
	bool beta, on;
	const char *needs; /* what the build must have had; NULL: nothing, or it was there */
} features_known[KS_N_FEATURES] = {
	[KS_FEATURE_CBOR] =
		{
			.name = "CBORServingAndStorage",
#ifndef KS_HAVE_CBOR
			.needs = "libcbor",
#endif
		},
	[KS_FEATURE_UNSAFE_DELETION] = {.name = "AllowUnsafeMalformedObjectDeletion"},
};

const char *ks_feature_name(enum ks_feature feature)
{
	return features_known[feature].name;
}

const char *ks_feature_stage(enum ks_feature feature)
{
	return features_known[feature].beta ? "BETA" : "ALPHA";
}

void ks_features_default(struct ks_features *features)
{
	for (int i = 0; i < KS_N_FEATURES; i++)
		features->on[i] = features_known[i].on;
}

/* The value of a gate, for messages, too. False when a problem was told. */
static bool read_value(const struct ks_section_context *context, const struct ks_yaml_node *name, const struct ks_yaml_node *value, bool *on_r)
{
	if (value->kind == KS_YAML_SCALAR && ks_scalar_bool(value->text, on_r) == 0)
		return true;
	ks_section_problem(context, value, "featureGates: invalid value of %s: true or false is expected", name->text.p);
	return false;
}

static int find(struct ks_str name)
{
	for (int i = 0; i < KS_N_FEATURES; i++)
		if (ks_str_is(name, features_known[i].name))
			return i;
	return -1;
}

/* All of a stage but those that can't be had in this build. */
static void set_stage(bool beta, bool on, struct ks_features *features)
{
	for (int i = 0; i < KS_N_FEATURES; i++)
		if (features_known[i].beta == beta)
			features->on[i] = on && !features_known[i].needs;
}

/* AllAlpha or AllBeta. */
static bool is_stage(struct ks_str name)
{
	return ks_str_is(name, "AllAlpha") || ks_str_is(name, "AllBeta");
}

static void read_gate(
	const struct ks_section_context *context, const struct ks_yaml_node *name, const struct ks_yaml_node *value, struct ks_features *features)
{
	int feature = find(name->text);
	bool on;

	if (is_stage(name->text))
		return;
	if (feature < 0) {
		ks_section_problem(context, name, "featureGates: unrecognized feature gate: %s", name->text.p);
		return;
	}
	if (!read_value(context, name, value, &on))
		return;
	if (on && features_known[feature].needs)
		ks_section_problem(
			context, name, "featureGates: %s can't be had, the server was built without %s", name->text.p, features_known[feature].needs);
	features->on[feature] = on;
}

void ks_features_read(const struct ks_section_context *context, const struct ks_yaml_node *node, struct ks_features *features)
{
	bool on;

	if (node->kind != KS_YAML_MAPPING) {
		ks_section_problem(context, node, "featureGates: names and values are expected");
		return;
	}
	/* Stages first: a gate that is named has the last word. */
	for (size_t i = 0; i < node->n; i++)
		if (is_stage(node->items[2 * i]->text) && read_value(context, node->items[2 * i], node->items[2 * i + 1], &on))
			set_stage(ks_str_is(node->items[2 * i]->text, "AllBeta"), on, features);
	for (size_t i = 0; i < node->n; i++)
		read_gate(context, node->items[2 * i], node->items[2 * i + 1], features);
}
