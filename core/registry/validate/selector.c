/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Selectors of workloads, and numbers that may be percentages. */
#include "core/registry/validate/workloads.h"

static bool requirement_is_sound(struct ks_check *c, const struct ks_value *v)
{
	const struct ks_value *values = LIST(v, "values");
	struct ks_str operator= TEXT(v, "operator");
	bool listed = ks_str_is(operator, "In") || ks_str_is(operator, "NotIn"), bare = ks_str_is(operator, "Exists") || ks_str_is(operator, "DoesNotExist");

	if (!ks_name_check(KS_NAME_LABEL_KEY, TEXT(v, "key"), NULL) || !(listed || bare) || listed != (ks_value_count(values) > 0))
		return false;
	EACH(i, values)
		if (!ks_name_check(KS_NAME_LABEL_VALUE, ks_value_str(&values->items[i]), NULL))
			return false;
	return true;
}

bool ks_selector_is_sound(struct ks_check *c, const struct ks_value *selector)
{
	const struct ks_value *labels = MAP(selector, "matchLabels"), *expressions = LIST(selector, "matchExpressions");

	EACH(i, labels)
		if (!ks_name_check(KS_NAME_LABEL_KEY, labels->members[i].key, NULL) ||
			!ks_name_check(KS_NAME_LABEL_VALUE, ks_value_str(&labels->members[i].value), NULL))
			return false;
	EACH(i, expressions)
		if (!requirement_is_sound(c, &expressions->items[i]))
			return false;
	return true;
}

bool ks_selector_is_empty(struct ks_check *c, const struct ks_value *selector)
{
	return selector && !ks_value_count(MAP(selector, "matchLabels")) && !ks_value_count(LIST(selector, "matchExpressions"));
}

static bool requirement_selects(struct ks_check *c, const struct ks_value *v, struct ks_index *labels)
{
	const struct ks_value *values = LIST(v, "values"), *label = ks_index_find(c, labels, TEXT(v, "key"));
	struct ks_str operator= TEXT(v, "operator");
	bool among = false;

	if (ks_str_is(operator, "Exists"))
		return label != NULL;
	if (ks_str_is(operator, "DoesNotExist"))
		return label == NULL;
	EACH(i, values)
		among |= label && ks_str_eq(ks_value_str(label), ks_value_str(&values->items[i]));
	return ks_str_is(operator, "In") ? among : !among;
}

bool ks_selector_selects(struct ks_check *c, const struct ks_value *selector, const struct ks_value *labels)
{
	const struct ks_value *wanted = MAP(selector, "matchLabels"), *expressions = LIST(selector, "matchExpressions");
	struct ks_index index = {.map = labels};

	if (!selector)
		return false;
	EACH(i, wanted) {
		const struct ks_value *label = ks_index_find(c, &index, wanted->members[i].key);

		if (!label || !ks_str_eq(ks_value_str(label), ks_value_str(&wanted->members[i].value)))
			return false;
	}
	EACH(i, expressions)
		if (!requirement_selects(c, &expressions->items[i], &index))
			return false;
	return true;
}

/* Was an absent struct said, with an empty list or map in it? */
static bool said_empty(struct ks_check *c, const struct ks_value *owner, const char *name)
{
	uint16_t slot = owner ? ks_schema_slot(c->schema, owner->type, name, strlen(name)) : KS_NO_SLOT;

	return owner && slot < owner->n && owner->items[slot].kind == KS_ABSENT && owner->items[slot].flags & KS_VALUE_WAS_EMPTY;
}

void ks_err_labels_differ(struct ks_check *c, const struct ks_path *template_path, const struct ks_value *template)
{
	const struct ks_value *metadata = IN(template, "metadata");
	static const char why[] = "`selector` does not match template `labels`";

	if (!metadata && said_empty(c, template, "metadata"))
		ks_err_invalid_literal(c, template_path, "metadata.labels", "{}", why);
	else if (metadata)
		ks_err_invalid_slot(c, template_path, "metadata.labels", metadata, "labels", why);
	else
		ks_err_invalid(c, template_path, "metadata.labels", NULL, why);
}

void ks_check_selected(struct ks_check *c, const struct ks_path *template_path, const struct ks_value *selector, const struct ks_value *template)
{
	const struct ks_value *labels = MAP(IN(template, "metadata"), "labels");

	if (!ks_selector_selects(c, selector, labels))
		ks_err_labels_differ(c, template_path, template);
}

void ks_check_own_selector(struct ks_check *c, const struct ks_path *path, const struct ks_value *selector, const char *kind)
{
	if (!selector) {
		ks_err_required(c, path, "selector", "");
		return;
	}
	ks_check_label_selector(c, path, "selector", selector, 0);
	if (ks_selector_is_empty(c, selector))
		ks_err_invalid(c, path, "selector", selector, ks_err_detail(c, "empty selector is invalid for %s", kind));
}

void ks_check_lasting_template(struct ks_check *c, const struct ks_path *template_path, const struct ks_value *template, const char *kind)
{
	static const char *const policies[] = {"Always", NULL};
	const struct ks_value *spec = IN(template, "spec");
	struct ks_path at = ks_path_child(template_path, "spec");

	if (!ks_str_is(TEXT(spec, "restartPolicy"), "Always"))
		ks_err_not_supported(c, &at, "restartPolicy", TEXT(spec, "restartPolicy"), policies);
	if (IN(spec, "activeDeadlineSeconds"))
		ks_err_forbidden(c, &at, "activeDeadlineSeconds", ks_err_detail(c, "activeDeadlineSeconds in %s is not Supported", kind));
}

/* -- numbers -------------------------------------------------------------------------------------------------------- */

static bool percent_of(const struct ks_value *value, int64_t *n_r)
{
	struct ks_str s = ks_value_str(value);

	*n_r = 0;
	if (s.n < 2 || s.p[s.n - 1] != '%')
		return false;
	for (size_t i = 0; i + 1 < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		if (*n_r < INT32_MAX)
			*n_r = *n_r * 10 + (s.p[i] - '0');
	}
	return true;
}

int64_t ks_int_or_percent(const struct ks_value *value)
{
	struct ks_str s = ks_value_str(value);
	int64_t n = 0;

	if (!value || value->kind != KS_STRING || percent_of(value, &n))
		return value && value->kind == KS_STRING ? n : ks_value_int_or(value, 0);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || n > INT32_MAX)
			return 0;
		n = n * 10 + (s.p[i] - '0');
	}
	return n;
}

void ks_check_int_or_percent(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value)
{
	if (value && value->kind == KS_STRING)
		ks_check_name(c, path, name, KS_NAME_PERCENT, ks_value_str(value));
	else
		ks_check_nonnegative(c, path, name, ks_value_int_or(value, 0));
}

void ks_check_at_most_all(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *value)
{
	int64_t n;

	if (percent_of(value, &n) && n > 100)
		ks_err_invalid(c, path, name, value, "must not be greater than 100%");
}

void ks_check_counts(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const char *const *names)
{
	for (; *names; names++)
		ks_check_nonnegative(c, path, *names, ks_value_int_or(ks_value_get(c->schema, v, *names), 0));
}
