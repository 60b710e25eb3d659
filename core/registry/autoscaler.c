/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Horizontal pod autoscalers. They are kept as v2. In v1 there is one percentage for the
 * processor; all other metrics, the behaviour and the conditions travel in annotations, as JSON.
 */
#include "core/registry/autoscaler.h"

#include <stdio.h>

#include "core/api/json.h"
#include "core/registry/strategies.h"
#include "core/registry/validate/kinds.h"

#define NOTE(name) "autoscaling.alpha.kubernetes.io/" name

struct place { const char *v1, *v2; };

/* Fields of a metric by its kind, in the order of v1; "target." and "current." are told apart by the caller. */
static const struct source {
	const char *kind;
	struct place fields[6];
} sources[] = {
	{"object", {{"target", "describedObject"}, {"metricName", "metric.name"}, {"targetValue", "target.value"}, {"selector", "metric.selector"},
		{"averageValue", "target.averageValue"}}},
	{"pods", {{"metricName", "metric.name"}, {"targetAverageValue", "target.averageValue"}, {"selector", "metric.selector"}}},
	{"resource", {{"name", "name"}, {"targetAverageUtilization", "target.averageUtilization"}, {"targetAverageValue", "target.averageValue"}}},
	{"containerResource", {{"name", "name"}, {"targetAverageUtilization", "target.averageUtilization"},
		{"targetAverageValue", "target.averageValue"}, {"container", "container"}}},
	{"external", {{"metricName", "metric.name"}, {"metricSelector", "metric.selector"}, {"targetValue", "target.value"},
		{"targetAverageValue", "target.averageValue"}}},
}, statuses[] = {
	{"object", {{"target", "describedObject"}, {"metricName", "metric.name"}, {"currentValue", "current.value"}, {"selector", "metric.selector"},
		{"averageValue", "current.averageValue"}}},
	{"pods", {{"metricName", "metric.name"}, {"currentAverageValue", "current.averageValue"}, {"selector", "metric.selector"}}},
	{"resource", {{"name", "name"}, {"currentAverageUtilization", "current.averageUtilization"}, {"currentAverageValue", "current.averageValue"}}},
	{"containerResource", {{"name", "name"}, {"currentAverageUtilization", "current.averageUtilization"},
		{"currentAverageValue", "current.averageValue"}, {"container", "container"}}},
	{"external", {{"metricName", "metric.name"}, {"metricSelector", "metric.selector"}, {"currentValue", "current.value"},
		{"currentAverageValue", "current.averageValue"}}},
};
enum { N_SOURCES = sizeof(sources) / sizeof(sources[0]) };

struct conversion {
	struct ks_arena *arena;
	const struct ks_schema *s;
	const struct ks_value *from;
	struct ks_value *to;
};

static struct ks_value *at(const struct conversion *c, const struct ks_value *v, const char *path)
{
	struct ks_value *found = ks_value_at(c->s, v, path);

	return ks_value_present(found) ? found : NULL;
}

static bool put(const struct conversion *c, struct ks_value *v, const char *path, struct ks_value value)
{
	struct ks_value *place = ks_value_put_at(c->arena, c->s, v, path);

	if (!place)
		return false;
	*place = value;
	return true;
}

static bool is_cpu(const struct conversion *c, const struct ks_value *metric)
{
	return ks_str_is(ks_value_str(at(c, metric, "type")), "Resource") && ks_str_is(ks_value_str(at(c, metric, "resource.name")), "cpu");
}

/* -- to v1 --------------------------------------------------------------------------------------------------------- */

static bool set_note(const struct conversion *c, const char *name, struct ks_buf *json)
{
	struct ks_value *notes = ks_value_put_at(c->arena, c->s, c->to, "metadata.annotations"), *place;
	char *copy = json->failed ? NULL : ks_arena_dup(c->arena, json->data, json->len);

	if (!notes || !copy)
		return false;
	if (notes->kind != KS_MAP)
		*notes = (struct ks_value){.kind = KS_MAP};
	place = ks_value_put(c->arena, c->s, notes, ks_str_from(name));
	if (!place)
		return false;
	*place = ks_value_from_str(ks_str_of(copy, json->len));
	return true;
}

static void write_metric(const struct conversion *c, const struct source *table, const struct ks_value *metric, struct ks_buf *out)
{
	ks_buf_add_str(out, "{\"type\":");
	ks_json_encode_string(ks_value_str(at(c, metric, "type")), out);
	for (size_t i = 0; i < N_SOURCES; i++) {
		const struct ks_value *source = at(c, metric, table[i].kind);
		bool first = true;

		if (!source)
			continue;
		ks_buf_printf(out, ",\"%s\":{", table[i].kind);
		for (const struct place *f = table[i].fields; f->v1; f++) {
			const struct ks_value *v = at(c, source, f->v2);

			if (!v)
				continue;
			ks_buf_printf(out, "%s\"%s\":", first ? "" : ",", f->v1);
			ks_json_encode(c->s, v, out);
			first = false;
		}
		ks_buf_add_char(out, '}');
	}
	ks_buf_add_char(out, '}');
}

/* All metrics of a list but the processor's percentage, which goes to `percent`. */
static bool metrics_to_note(const struct conversion *c, const char *list_path, const struct source *table, const char *value_path, const char *percent,
	const char *note)
{
	const struct ks_value *list = at(c, c->from, list_path);
	struct ks_buf json;
	bool found = false, good = true;

	if (!list || list->kind != KS_LIST)
		return true;
	ks_buf_init(&json);
	for (uint32_t i = 0; good && i < list->n; i++) {
		const struct ks_value *value = is_cpu(c, &list->items[i]) ? at(c, &list->items[i], value_path) : NULL;

		if (value && !found) {
			found = true;
			good = put(c, c->to, percent, *value);
			continue;
		}
		ks_buf_add_char(&json, json.len ? ',' : '[');
		write_metric(c, table, &list->items[i], &json);
	}
	if (good && json.len) {
		ks_buf_add_char(&json, ']');
		good = set_note(c, note, &json);
	}
	ks_buf_fini(&json);
	return good;
}

static void write_number(const struct ks_value *v, struct ks_buf *out)
{
	if (v && v->kind == KS_INT)
		ks_buf_add_i64(out, v->integer);
	else
		ks_buf_add_str(out, "null");
}

static void write_text(const struct ks_value *v, struct ks_buf *out)
{
	if (v && v->kind == KS_STRING)
		ks_json_encode_string(ks_value_str(v), out);
	else
		ks_buf_add_str(out, "null");
}

static void write_rules(const struct conversion *c, const struct ks_value *rules, struct ks_buf *out)
{
	const struct ks_value *policies = at(c, rules, "policies");

	if (!rules) {
		ks_buf_add_str(out, "null");
		return;
	}
	ks_buf_add_str(out, "{\"StabilizationWindowSeconds\":");
	write_number(at(c, rules, "stabilizationWindowSeconds"), out);
	ks_buf_add_str(out, ",\"SelectPolicy\":");
	write_text(at(c, rules, "selectPolicy"), out);
	ks_buf_add_str(out, ",\"Policies\":");
	ks_buf_add_str(out, policies ? "[" : "null");
	for (uint32_t i = 0; policies && policies->kind == KS_LIST && i < policies->n; i++) {
		ks_buf_add_str(out, i ? ",{\"Type\":" : "{\"Type\":");
		write_text(at(c, &policies->items[i], "type"), out);
		ks_buf_add_str(out, ",\"Value\":");
		write_number(at(c, &policies->items[i], "value"), out);
		ks_buf_add_str(out, ",\"PeriodSeconds\":");
		write_number(at(c, &policies->items[i], "periodSeconds"), out);
		ks_buf_add_char(out, '}');
	}
	ks_buf_add_str(out, policies ? "],\"Tolerance\":" : ",\"Tolerance\":");
	write_text(at(c, rules, "tolerance"), out);
	ks_buf_add_char(out, '}');
}

static bool behavior_to_note(const struct conversion *c)
{
	const struct ks_value *behavior = at(c, c->from, "spec.behavior");
	struct ks_buf json;
	bool good;

	if (!behavior)
		return true;
	ks_buf_init(&json);
	ks_buf_add_str(&json, "{\"ScaleUp\":");
	write_rules(c, at(c, behavior, "scaleUp"), &json);
	ks_buf_add_str(&json, ",\"ScaleDown\":");
	write_rules(c, at(c, behavior, "scaleDown"), &json);
	ks_buf_add_char(&json, '}');
	good = set_note(c, NOTE("behavior"), &json);
	ks_buf_fini(&json);
	return good;
}

static bool conditions_to_note(const struct conversion *c)
{
	const struct ks_value *conditions = at(c, c->from, "status.conditions");
	struct ks_buf json;
	bool good;

	if (!conditions || conditions->kind != KS_LIST || !conditions->n)
		return true;
	ks_buf_init(&json);
	ks_json_encode(c->s, conditions, &json);
	good = set_note(c, NOTE("conditions"), &json);
	ks_buf_fini(&json);
	return good;
}

bool ks_autoscaler_to_v1(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *from, struct ks_value *to)
{
	struct conversion c = {arena, s, from, to};

	return metrics_to_note(&c, "spec.metrics", sources, "resource.target.averageUtilization", "spec.targetCPUUtilizationPercentage", NOTE("metrics")) &&
		metrics_to_note(&c, "status.currentMetrics", statuses, "resource.current.averageUtilization",
			"status.currentCPUUtilizationPercentage", NOTE("current-metrics")) &&
		conditions_to_note(&c) && behavior_to_note(&c);
}

/* -- to v2 --------------------------------------------------------------------------------------------------------- */

/* The JSON of an annotation; NULL when there is none that can be read. */
static struct ks_value *read_note(const struct conversion *c, const char *name)
{
	const struct ks_value *notes = at(c, c->from, "metadata.annotations");
	struct ks_str text = ks_value_str(notes ? ks_value_get(c->s, notes, name) : NULL);
	struct ks_value *v = ks_arena_zalloc(c->arena, 1, sizeof(*v));
	const char *message;

	if (!text.n || !v || ks_json_decode(c->arena, c->s, 0, 0, text.p, text.n, v, NULL, &message))
		return NULL;
	return v;
}

/* A free-form value as whatever stands at the path. */
static bool put_typed(const struct conversion *c, struct ks_value *v, const char *path, const struct ks_value *value)
{
	struct ks_value *place = ks_value_put_at(c->arena, c->s, v, path), *parent = v;
	const char *dot = strrchr(path, '.'), *message;
	char parent_path[64];

	if (!place)
		return false;
	if (dot) {
		memcpy(parent_path, path, (size_t)(dot - path));
		parent_path[dot - path] = 0;
		parent = ks_value_at(c->s, v, parent_path);
	}
	if (!parent || parent->kind != KS_STRUCT)
		return false;
	return !ks_value_convert(c->arena, c->s, ks_schema_field(c->s, parent->type, (uint16_t)(place - parent->items))->type, 0, value, place, NULL, &message);
}

static bool read_metric(const struct conversion *c, const struct source *table, const struct ks_value *free_form, struct ks_value *metric)
{
	const struct ks_value *type = ks_value_get(c->s, free_form, "type");

	if (ks_value_present(type) && !put_typed(c, metric, "type", type))
		return false;
	for (size_t i = 0; i < N_SOURCES; i++) {
		const struct ks_value *source = ks_value_get(c->s, free_form, table[i].kind);

		for (const struct place *f = table[i].fields; ks_value_present(source) && f->v1; f++) {
			const struct ks_value *v = ks_value_get(c->s, source, f->v1);
			char path[64], type_path[64];
			const char *kind = strstr(f->v2, "averageUtilization") ? "Utilization" : strstr(f->v2, "averageValue") ? "AverageValue" : "Value";

			snprintf(path, sizeof(path), "%s.%s", table[i].kind, f->v2);
			snprintf(type_path, sizeof(type_path), "%s.target.type", table[i].kind);
			if (!ks_value_present(v))
				continue;
			if (!put_typed(c, metric, path, v))
				return false;
			if (!strncmp(f->v2, "target.", 7) && !put(c, metric, type_path, ks_value_from_str(ks_str_from(kind))))
				return false;
		}
	}
	return true;
}

static struct ks_value *new_item(const struct conversion *c, const char *list_path, const char *type)
{
	struct ks_value *list = ks_value_put_at(c->arena, c->s, c->to, list_path), *item;

	if (!list)
		return NULL;
	if (list->kind != KS_LIST)
		*list = (struct ks_value){.kind = KS_LIST};
	item = ks_value_append(c->arena, list);
	return item && ks_value_new_struct(c->arena, c->s, ks_schema_find_type(c->s, type), item) ? item : NULL;
}

static bool metrics_from_note(const struct conversion *c, const char *note, const struct source *table, const char *list_path, const char *type)
{
	const struct ks_value *list = read_note(c, note);

	for (uint32_t i = 0; list && list->kind == KS_LIST && i < list->n; i++) {
		struct ks_value *item = new_item(c, list_path, type);

		if (!item || !read_metric(c, table, &list->items[i], item))
			return false;
	}
	return true;
}

static bool add_cpu(const struct conversion *c, const struct ks_value *percent)
{
	struct ks_value *metric = new_item(c, "spec.metrics", "io.k8s.api.autoscaling.v2.MetricSpec");

	return metric && put(c, metric, "type", ks_value_from_str(KS_STR_LIT("Resource"))) &&
		put(c, metric, "resource.name", ks_value_from_str(KS_STR_LIT("cpu"))) &&
		put(c, metric, "resource.target.type", ks_value_from_str(KS_STR_LIT("Utilization"))) &&
		put(c, metric, "resource.target.averageUtilization", percent ? *percent : ks_value_from_int(80));
}

static bool read_rules(const struct conversion *c, const struct ks_value *rules, const char *path)
{
	static const struct place fields[] = {
		{"StabilizationWindowSeconds", "stabilizationWindowSeconds"}, {"SelectPolicy", "selectPolicy"}, {"Tolerance", "tolerance"},
	};
	const struct ks_value *policies = ks_value_get(c->s, rules, "Policies");
	char full[96];

	if (!ks_value_present(rules))
		return true;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct ks_value *v = ks_value_get(c->s, rules, fields[i].v1);

		snprintf(full, sizeof(full), "%s.%s", path, fields[i].v2);
		if (ks_value_present(v) && !put_typed(c, c->to, full, v))
			return false;
	}
	snprintf(full, sizeof(full), "%s.policies", path);
	for (uint32_t i = 0; policies && policies->kind == KS_LIST && i < policies->n; i++) {
		static const struct place names[] = {{"Type", "type"}, {"Value", "value"}, {"PeriodSeconds", "periodSeconds"}};
		struct ks_value *item = new_item(c, full, "io.k8s.api.autoscaling.v2.HPAScalingPolicy");

		for (size_t k = 0; item && k < 3; k++) {
			const struct ks_value *v = ks_value_get(c->s, &policies->items[i], names[k].v1);

			if (ks_value_present(v) && !put_typed(c, item, names[k].v2, v))
				return false;
		}
		if (!item)
			return false;
	}
	return true;
}

static void drop_notes(const struct conversion *c)
{
	static const char *const names[] = {NOTE("metrics"), NOTE("current-metrics"), NOTE("conditions"), NOTE("behavior")};
	struct ks_value *notes = ks_value_at(c->s, c->to, "metadata.annotations");

	for (size_t i = 0; notes && notes->kind == KS_MAP && i < sizeof(names) / sizeof(names[0]); i++)
		ks_value_remove(c->s, notes, ks_str_from(names[i]));
}

bool ks_autoscaler_to_v2(struct ks_arena *arena, const struct ks_schema *s, const struct ks_value *from, struct ks_value *to)
{
	struct conversion c = {arena, s, from, to};
	const struct ks_value *percent = at(&c, from, "spec.targetCPUUtilizationPercentage"), *behavior = read_note(&c, NOTE("behavior"));
	struct ks_value *notes = ks_value_at(s, to, "metadata.annotations"), copy;

	/* The annotations are shared with `from` until they are changed. */
	if (notes && notes->kind == KS_MAP) {
		if (!ks_value_copy(arena, notes, &copy))
			return false;
		*notes = copy;
	}
	if (!metrics_from_note(&c, NOTE("metrics"), sources, "spec.metrics", "io.k8s.api.autoscaling.v2.MetricSpec") ||
		!metrics_from_note(&c, NOTE("current-metrics"), statuses, "status.currentMetrics", "io.k8s.api.autoscaling.v2.MetricStatus"))
		return false;
	if ((percent || !at(&c, to, "spec.metrics")) && !add_cpu(&c, percent))
		return false;
	if (behavior && (!read_rules(&c, ks_value_get(s, behavior, "ScaleUp"), "spec.behavior.scaleUp") ||
		!read_rules(&c, ks_value_get(s, behavior, "ScaleDown"), "spec.behavior.scaleDown")))
		return false;
	drop_notes(&c);
	return ks_autoscaler_behavior_defaults(arena, s, to);
}

/* -- defaults ------------------------------------------------------------------------------------------------------ */

static bool add_policy(const struct conversion *c, const char *path, const char *type, int64_t value)
{
	struct ks_value *item = new_item(c, path, "io.k8s.api.autoscaling.v2.HPAScalingPolicy");

	return item && put(c, item, "type", ks_value_from_str(ks_str_from(type))) && put(c, item, "value", ks_value_from_int(value)) &&
		put(c, item, "periodSeconds", ks_value_from_int(15));
}

/* Was an empty list of policies said? Then it stays empty, to be refused. */
static bool said_no_policies(struct conversion *c, struct ks_value *scaler, const char *rules_path)
{
	const struct ks_value *rules = at(c, scaler, rules_path);
	uint16_t slot = rules && rules->kind == KS_STRUCT ? ks_schema_slot(c->s, rules->type, "policies", strlen("policies")) : KS_NO_SLOT;

	return slot != KS_NO_SLOT && slot < rules->n && rules->items[slot].kind == KS_ABSENT && rules->items[slot].flags & KS_VALUE_WAS_EMPTY;
}

bool ks_autoscaler_behavior_defaults(struct ks_arena *arena, const struct ks_schema *s, struct ks_value *scaler)
{
	struct conversion c = {arena, s, scaler, scaler};
	struct ks_value max = ks_value_from_str(KS_STR_LIT("Max"));

	if (!at(&c, scaler, "spec.behavior"))
		return true;
	if (!at(&c, scaler, "spec.behavior.scaleUp.selectPolicy") && !put(&c, scaler, "spec.behavior.scaleUp.selectPolicy", max))
		return false;
	if (!at(&c, scaler, "spec.behavior.scaleUp.stabilizationWindowSeconds") &&
		!put(&c, scaler, "spec.behavior.scaleUp.stabilizationWindowSeconds", ks_value_from_int(0)))
		return false;
	if (!at(&c, scaler, "spec.behavior.scaleUp.policies") && !said_no_policies(&c, scaler, "spec.behavior.scaleUp") && (!add_policy(&c, "spec.behavior.scaleUp.policies", "Pods", 4) ||
		!add_policy(&c, "spec.behavior.scaleUp.policies", "Percent", 100)))
		return false;
	if (!at(&c, scaler, "spec.behavior.scaleDown.selectPolicy") && !put(&c, scaler, "spec.behavior.scaleDown.selectPolicy", max))
		return false;
	return at(&c, scaler, "spec.behavior.scaleDown.policies") || said_no_policies(&c, scaler, "spec.behavior.scaleDown") ||
		add_policy(&c, "spec.behavior.scaleDown.policies", "Percent", 100);
}

/* v1 without any metric, in its field or among the annotations, means the processor too. */
static bool v1_defaults(struct conversion *c, struct ks_value *scaler)
{
	const struct ks_value *notes = at(c, scaler, "metadata.annotations");

	if (!at(c, scaler, "spec") || at(c, scaler, "spec.targetCPUUtilizationPercentage") || (notes && ks_value_get(c->s, notes, NOTE("metrics"))))
		return true;
	return put(c, scaler, "spec.targetCPUUtilizationPercentage", ks_value_from_int(80));
}

/* In v2 a list of metrics that is empty means the processor. */
static bool autoscaler_defaults(struct ks_registry_context *ctx, struct ks_value *scaler)
{
	struct conversion c = {ctx->arena, ctx->schema, scaler, scaler};
	const struct ks_value *metrics = at(&c, scaler, "spec.metrics");

	if (ks_str_is(ks_str_from(ks_schema_text(ctx->schema, ctx->schema->resources[ctx->resource].version)), "v1"))
		return v1_defaults(&c, scaler);
	if (!at(&c, scaler, "spec"))
		return true;
	if (!(metrics && metrics->n) && !add_cpu(&c, NULL))
		return false;
	return ks_autoscaler_behavior_defaults(ctx->arena, ctx->schema, scaler);
}

const struct ks_strategy ks_strategy_horizontalpodautoscalers = {
	.group = "autoscaling", .resource = "horizontalpodautoscalers",
	.defaults = autoscaler_defaults,
	.validate = ks_validate_horizontalpodautoscaler,
};
