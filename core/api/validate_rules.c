/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Rows of rules, applied to a struct in their order. */
#include <string.h>

#include "core/api/validate.h"

struct subject {
	const struct ks_value *value, *old, *owner;
	bool update;
};

static void check_unique(struct ks_check *c, const struct ks_path *path, const struct ks_value *list, const char *key)
{
	struct ks_seen seen = {.n = 0};

	for (uint32_t i = 0; list->kind == KS_LIST && i < list->n; i++) {
		struct ks_path item = ks_path_index(path, i);
		struct ks_str own = ks_value_str(key ? ks_value_get(c->schema, &list->items[i], key) : &list->items[i]);

		if (!ks_seen_add(c, &seen, own))
			ks_err_duplicate_text(c, &item, key, own);
	}
}

static void check_each(struct ks_check *c, const struct ks_path *path, const struct ks_rule *rule, const struct subject *s)
{
	for (uint32_t i = 0; s->value->kind == KS_LIST && i < s->value->n; i++) {
		struct ks_path item = ks_path_index(path, i);

		if (rule->rules)
			ks_rules_apply(c, &item, &s->value->items[i], NULL, rule->rules);
		else
			rule->hook(c, &item, &s->value->items[i], NULL, s->owner);
	}
}

/* What only concerns a value that is there. */
static void check_present(struct ks_check *c, const struct ks_path *path, const struct ks_rule *rule, const struct subject *s)
{
	struct ks_str text = ks_value_str(s->value);
	int64_t number = ks_value_int_or(s->value, 0);

	switch (rule->kind) {
	case KS_RULE_ENUM:
		if (!ks_str_in(text, rule->set))
			ks_err_not_supported(c, path, NULL, text, rule->set);
		return;
	case KS_RULE_RANGE:
		ks_check_range(c, path, NULL, number, rule->min, rule->max);
		return;
	case KS_RULE_NONNEGATIVE:
		ks_check_nonnegative(c, path, NULL, number);
		return;
	case KS_RULE_POSITIVE:
		if (number <= 0)
			ks_err_invalid_int(c, path, NULL, number, "must be greater than 0");
		return;
	case KS_RULE_NAME:
		ks_check_name(c, path, NULL, rule->form, text);
		return;
	case KS_RULE_PORT:
		ks_check_port(c, path, NULL, number);
		return;
	case KS_RULE_PORT_OR_NAME:
		ks_check_port_or_name(c, path, NULL, s->value);
		return;
	case KS_RULE_IP:
		ks_check_ip(c, path, NULL, text, true);
		return;
	case KS_RULE_CIDR:
		ks_check_cidr(c, path, NULL, text, true);
		return;
	case KS_RULE_QUANTITY:
		ks_check_quantity_nonnegative(c, path, NULL, text);
		return;
	case KS_RULE_LABELS:
		ks_check_labels(c, path, NULL, s->value);
		return;
	case KS_RULE_ANNOTATIONS:
		ks_check_annotations(c, path, NULL, s->value);
		return;
	case KS_RULE_SELECTOR:
		ks_check_label_selector(c, path, NULL, s->value, 0);
		return;
	case KS_RULE_MAX_BYTES:
		if ((int64_t)text.n > rule->max)
			ks_err_too_long(c, path, NULL, rule->max);
		return;
	case KS_RULE_MAX_ITEMS:
		if ((int64_t)ks_value_count(s->value) > rule->max)
			ks_err_too_many(c, path, NULL, ks_value_count(s->value), rule->max);
		return;
	case KS_RULE_UNIQUE:
		check_unique(c, path, s->value, rule->key);
		return;
	case KS_RULE_STRUCT:
		ks_rules_apply(c, path, s->value, s->old, rule->rules);
		return;
	case KS_RULE_EACH:
		check_each(c, path, rule, s);
		return;
	case KS_RULE_FORBIDDEN:
		ks_err_forbidden(c, path, NULL, rule->detail);
		return;
	default:
		return;
	}
}

static void check_rule(struct ks_check *c, const struct ks_path *path, const struct ks_rule *rule, const struct subject *s)
{
	bool number = s->value && s->value->kind == KS_INT;

	if (rule->kind == KS_RULE_HOOK) {
		rule->hook(c, path, s->value, s->old, s->owner);
		return;
	}
	if (rule->kind == KS_RULE_IMMUTABLE) {
		if (s->update)
			ks_check_immutable(c, path, NULL, s->value, s->old);
		return;
	}
	if (rule->required && (ks_value_is_empty(s->value) || (rule->kind == KS_RULE_PORT && number && s->value->integer == 0))) {
		ks_err_required(c, path, NULL, rule->detail);
		return;
	}
	if (!ks_value_is_empty(s->value))
		check_present(c, path, rule, s);
}

bool ks_rules_apply(struct ks_check *c, const struct ks_path *path, const struct ks_value *v, const struct ks_value *old, const struct ks_rules *rules)
{
	const struct ks_status_cause *mark = ks_check_mark(c);

	for (uint32_t i = 0; i < rules->n; i++) {
		const struct ks_rule *rule = &rules->rows[i];
		const struct ks_status_cause *before = ks_check_mark(c);
		struct subject s = {.value = v, .old = old, .owner = v, .update = old != NULL};
		struct ks_path own = *path;

		if (rule->field && rule->field[0]) {
			own = ks_path_child(path, rule->field);
			s.value = ks_field_at(c, v, rule->field, &rules->places[i]);
			s.old = ks_field_at(c, old, rule->field, &rules->places[i]);
		}
		check_rule(c, &own, rule, &s);
		if (rule->stop && ks_check_failed_since(c, before))
			break;
	}
	return !ks_check_failed_since(c, mark);
}
