/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* The flow schemas and priority levels that every cluster begins with. */
#include "core/registry/flowcontrol.h"

#define SCHEMAS "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
#define LEVELS "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"

/* The annotation tells operators that the spec follows the server's release. */
#define HEAD(kind, name) \
	"{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"" name "\"," \
	"\"annotations\":{\"" KS_FLOW_AUTOUPDATE "\":\"true\"}},\"spec\":"

/* -- flow schemas ------------------------------------------------------------------------------------------------- */

#define BY(type) "\"distinguisherMethod\":{\"type\":\"By" type "\"},"
#define SCHEMA(name_, precedence, level, distinguisher, rules, mandatory_) \
	{.collection = SCHEMAS, .name = name_, .mandatory = mandatory_, \
		.json = HEAD("FlowSchema", name_) "{" distinguisher "\"matchingPrecedence\":" precedence "," \
			"\"priorityLevelConfiguration\":{\"name\":\"" level "\"},\"rules\":[" rules "]}}"}

#define GROUP(name) "{\"kind\":\"Group\",\"group\":{\"name\":\"" name "\"}}"
#define USER(name) "{\"kind\":\"User\",\"user\":{\"name\":\"" name "\"}}"
#define SYSTEM_ACCOUNTS "{\"kind\":\"ServiceAccount\",\"serviceAccount\":{\"name\":\"*\",\"namespace\":\"kube-system\"}}"
#define EVERYBODY GROUP("system:unauthenticated") "," GROUP("system:authenticated")

#define ANY_RESOURCE \
	"{\"apiGroups\":[\"*\"],\"clusterScope\":true,\"namespaces\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}"
#define ANY_PATH "{\"nonResourceURLs\":[\"*\"],\"verbs\":[\"*\"]}"
#define LEASES(verbs) "{\"apiGroups\":[\"coordination.k8s.io\"],\"namespaces\":[\"*\"],\"resources\":[\"leases\"],\"verbs\":[" verbs "]}"
#define NODES \
	"{\"apiGroups\":[\"\"],\"clusterScope\":true,\"namespaces\":[\"*\"],\"resources\":[\"nodes\",\"nodes/status\"],\"verbs\":[\"*\"]}"
#define PROBES "{\"nonResourceURLs\":[\"/healthz\",\"/readyz\",\"/livez\"],\"verbs\":[\"get\"]}"

#define ALL_OF(subjects) "{\"nonResourceRules\":[" ANY_PATH "],\"resourceRules\":[" ANY_RESOURCE "],\"subjects\":[" subjects "]}"
#define RESOURCES_OF(subjects, resources) "{\"resourceRules\":[" resources "],\"subjects\":[" subjects "]}"
#define PATHS_OF(subjects, paths) "{\"nonResourceRules\":[" paths "],\"subjects\":[" subjects "]}"

/* -- priority levels ---------------------------------------------------------------------------------------------- */

#define LEVEL(name_, spec, mandatory_) \
	{.collection = LEVELS, .name = name_, .mandatory = mandatory_, .json = HEAD("PriorityLevelConfiguration", name_) spec "}"}
#define LIMITED(shares, lendable, response) \
	"{\"type\":\"Limited\",\"limited\":{\"nominalConcurrencyShares\":" shares ",\"lendablePercent\":" lendable ",\"limitResponse\":" response "}}"
#define QUEUE(queues, hand) \
	"{\"type\":\"Queue\",\"queuing\":{\"queues\":" queues ",\"handSize\":" hand ",\"queueLengthLimit\":50}}"

static const struct ks_flow_default defaults[] = {
	LEVEL("exempt", "{\"type\":\"Exempt\",\"exempt\":{\"nominalConcurrencyShares\":0,\"lendablePercent\":0}}", true),
	LEVEL("catch-all", LIMITED("5", "0", "{\"type\":\"Reject\"}"), true),
	LEVEL("system", LIMITED("30", "33", QUEUE("64", "6")), false),
	LEVEL("node-high", LIMITED("40", "25", QUEUE("64", "6")), false),
	LEVEL("leader-election", LIMITED("10", "0", QUEUE("16", "4")), false),
	LEVEL("workload-high", LIMITED("40", "50", QUEUE("128", "6")), false),
	LEVEL("workload-low", LIMITED("100", "90", QUEUE("128", "6")), false),
	LEVEL("global-default", LIMITED("20", "50", QUEUE("128", "6")), false),
	SCHEMA("exempt", "1", "exempt", "", ALL_OF(GROUP("system:masters")), true),
	SCHEMA("catch-all", "10000", "catch-all", BY("User"), ALL_OF(EVERYBODY), true),
	SCHEMA("probes", "2", "exempt", "", PATHS_OF(EVERYBODY, PROBES), false),
	SCHEMA("system-leader-election", "100", "leader-election", BY("User"),
		RESOURCES_OF(USER("system:kube-controller-manager") "," USER("system:kube-scheduler") "," SYSTEM_ACCOUNTS,
			LEASES("\"get\",\"create\",\"update\"")),
		false),
	SCHEMA("system-node-high", "400", "node-high", BY("User"), RESOURCES_OF(GROUP("system:nodes"), NODES "," LEASES("\"*\"")), false),
	SCHEMA("system-nodes", "500", "system", BY("User"), ALL_OF(GROUP("system:nodes")), false),
	SCHEMA("kube-controller-manager", "800", "workload-high", BY("Namespace"), ALL_OF(USER("system:kube-controller-manager")), false),
	SCHEMA("kube-scheduler", "800", "workload-high", BY("Namespace"), ALL_OF(USER("system:kube-scheduler")), false),
	SCHEMA("kube-system-service-accounts", "900", "workload-high", BY("Namespace"), ALL_OF(SYSTEM_ACCOUNTS), false),
	SCHEMA("service-accounts", "9000", "workload-low", BY("User"), ALL_OF(GROUP("system:serviceaccounts")), false),
	SCHEMA("global-default", "9900", "global-default", BY("User"), ALL_OF(EVERYBODY), false),
};

const struct ks_flow_default *ks_flowcontrol_defaults(size_t *n_r)
{
	*n_r = sizeof(defaults) / sizeof(defaults[0]);
	return defaults;
}

/* -- what becomes of them later ------------------------------------------------------------------------------------- */

/* 1 or 0 as Go reads a truth value, -1 when it is none. */
static int truth(struct ks_str text)
{
	static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"}, *const no[] = {"0", "f", "F", "FALSE", "false", "False"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (ks_str_is(text, yes[i]))
			return 1;
		if (ks_str_is(text, no[i]))
			return 0;
	}
	return -1;
}

static struct ks_str annotation(const struct ks_schema *s, const struct ks_value *object)
{
	const struct ks_value *all = ks_meta_get(s, object, "annotations");

	return all ? ks_value_str(ks_value_get_str(s, all, KS_STR_LIT(KS_FLOW_AUTOUPDATE))) : (struct ks_str){0};
}

/* May the spec follow the release? Who said nothing and has changed nothing has not taken it over. */
static bool follows(const struct ks_schema *s, const struct ks_value *current, bool mandatory)
{
	int said = truth(annotation(s, current));

	if (mandatory)
		return true;
	return said >= 0 ? said == 1 : ks_meta_int(s, current, "generation", 0) == 1;
}

static bool set_annotation(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *object, bool follow)
{
	struct ks_value *all = ks_value_put_at(arena, s, object, "metadata.annotations"), *place;

	if (all && all->kind != KS_MAP)
		*all = (struct ks_value){.kind = KS_MAP};
	place = all ? ks_value_put(arena, s, all, KS_STR_LIT(KS_FLOW_AUTOUPDATE)) : NULL;
	if (!place)
		return false;
	*place = ks_value_from_str(follow ? KS_STR_LIT("true") : KS_STR_LIT("false"));
	return true;
}

int ks_flowcontrol_revise(struct ks_arena *arena, const struct ks_schema *s, bool mandatory, const struct ks_value *wanted,
	struct ks_value *current)
{
	const struct ks_value *spec = ks_value_get(s, wanted, "spec");
	bool follow = follows(s, current, mandatory);
	bool says = truth(annotation(s, current)) == (follow ? 1 : 0);
	bool differs = follow && !ks_value_equal(spec, ks_value_get(s, current, "spec"));
	struct ks_value *place;

	if (says && !differs)
		return 0;
	if (!says && !set_annotation(arena, s, current, follow))
		return -1;
	if (!differs)
		return 1;
	place = ks_value_put(arena, s, current, KS_STR_LIT("spec"));
	return place && ks_value_copy(arena, spec, place) ? 1 : -1;
}

bool ks_flowcontrol_is_left_over(const struct ks_schema *s, const struct ks_value *object, struct ks_str collection)
{
	struct ks_str name = ks_meta_text(s, object, "name");

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (ks_str_is(collection, defaults[i].collection) && ks_str_is(name, defaults[i].name))
			return false;
	return truth(annotation(s, object)) == 1;
}
