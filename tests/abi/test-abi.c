/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of every public struct, as it was when the ABI got its number. A line
 * that fails to compile says: this change breaks plugins that exist. Then either
 * undo it, or raise KS_ABI_MINOR (0.x) in keelson/plugin.h and change the line.
 *
 * The numbers are those of 64-bit systems, the only ones that the server is built for.
 */
#include <keelson/admission.h>
#include <keelson/storage.h>

#define SIZE(type, n) _Static_assert(sizeof(type) == (n), "the size of " #type " has changed")
#define AT(type, member, n) _Static_assert(offsetof(type, member) == (n), "the place of " #member " in " #type " has changed")

SIZE(struct ks_view, 16);
AT(struct ks_view, p, 0);
AT(struct ks_view, n, 8);

SIZE(struct ks_plugin_error, 512);
AT(struct ks_plugin_error, text, 0);

SIZE(struct ks_config_list, 16);
AT(struct ks_config_list, items, 0);
AT(struct ks_config_list, n, 8);

SIZE(struct ks_config_key, 64);
AT(struct ks_config_key, name, 0);
AT(struct ks_config_key, type, 8);
AT(struct ks_config_key, flags, 12);
AT(struct ks_config_key, offset, 16);
AT(struct ks_config_key, default_text, 24);
AT(struct ks_config_key, min, 32);
AT(struct ks_config_key, max, 40);
AT(struct ks_config_key, names, 48);
AT(struct ks_config_key, help, 56);

SIZE(struct ks_lifecycle, 64);
AT(struct ks_lifecycle, size, 0);
AT(struct ks_lifecycle, create, 8);
AT(struct ks_lifecycle, start, 16);
AT(struct ks_lifecycle, worker_attach, 24);
AT(struct ks_lifecycle, worker_detach, 32);
AT(struct ks_lifecycle, drain, 40);
AT(struct ks_lifecycle, stop, 48);
AT(struct ks_lifecycle, destroy, 56);

SIZE(struct ks_interface, 80);
AT(struct ks_interface, size, 0);
AT(struct ks_interface, kind, 4);
AT(struct ks_interface, version, 8);
AT(struct ks_interface, threads, 12);
AT(struct ks_interface, blocking, 16);
AT(struct ks_interface, flags, 20);
AT(struct ks_interface, name, 24);
AT(struct ks_interface, lifecycle, 32);
AT(struct ks_interface, ops, 40);
AT(struct ks_interface, config_keys, 48);
AT(struct ks_interface, n_config_keys, 56);
AT(struct ks_interface, config_size, 64);
AT(struct ks_interface, scratch_size, 72);

SIZE(struct ks_plugin, 40);
AT(struct ks_plugin, magic, 0);
AT(struct ks_plugin, abi_major, 4);
AT(struct ks_plugin, abi_minor, 6);
AT(struct ks_plugin, size, 8);
AT(struct ks_plugin, n_interfaces, 12);
AT(struct ks_plugin, interfaces, 16);
AT(struct ks_plugin, version, 24);
AT(struct ks_plugin, description, 32);

SIZE(struct ks_val, 16);
AT(struct ks_val, node, 0);
AT(struct ks_val, owner, 8);

SIZE(struct ks_val_iter, 8);
AT(struct ks_val_iter, position, 0);

SIZE(struct ks_val_item, 32);
AT(struct ks_val_item, key, 0);
AT(struct ks_val_item, value, 16);

SIZE(struct ks_value_ops, 128);
AT(struct ks_value_ops, size, 0);
AT(struct ks_value_ops, kind, 8);
AT(struct ks_value_ops, string, 16);
AT(struct ks_value_ops, integer, 24);
AT(struct ks_value_ops, number, 32);
AT(struct ks_value_ops, boolean, 40);
AT(struct ks_value_ops, length, 48);
AT(struct ks_value_ops, item, 56);
AT(struct ks_value_ops, member, 64);
AT(struct ks_value_ops, iterate, 72);
AT(struct ks_value_ops, path, 80);
AT(struct ks_value_ops, get, 88);
AT(struct ks_value_ops, to_json, 96);
AT(struct ks_value_ops, edit_set, 104);
AT(struct ks_value_ops, edit_remove, 112);
AT(struct ks_value_ops, edited, 120);

SIZE(struct ks_informer_event, 64);
AT(struct ks_informer_event, size, 0);
AT(struct ks_informer_event, type, 4);
AT(struct ks_informer_event, revision, 8);
AT(struct ks_informer_event, namespace_, 16);
AT(struct ks_informer_event, name, 32);
AT(struct ks_informer_event, object, 48);

SIZE(struct ks_informer_handler, 32);
AT(struct ks_informer_handler, size, 0);
AT(struct ks_informer_handler, event, 8);
AT(struct ks_informer_handler, synced, 16);
AT(struct ks_informer_handler, arg, 24);

SIZE(struct ks_write, 144);
AT(struct ks_write, size, 0);
AT(struct ks_write, verb, 4);
AT(struct ks_write, group, 8);
AT(struct ks_write, version, 24);
AT(struct ks_write, resource, 40);
AT(struct ks_write, subresource, 56);
AT(struct ks_write, namespace_, 72);
AT(struct ks_write, name, 88);
AT(struct ks_write, body, 104);
AT(struct ks_write, parent, 120);
AT(struct ks_write, done, 128);
AT(struct ks_write, arg, 136);

SIZE(struct ks_host, 240);
AT(struct ks_host, size, 0);
AT(struct ks_host, abi_major, 4);
AT(struct ks_host, abi_minor, 6);
AT(struct ks_host, instance, 8);
AT(struct ks_host, context, 16);
AT(struct ks_host, log, 24);
AT(struct ks_host, op_alloc, 32);
AT(struct ks_host, op_scratch, 40);
AT(struct ks_host, op_deadline_ns, 48);
AT(struct ks_host, op_cancelled, 56);
AT(struct ks_host, op_audit_id, 64);
AT(struct ks_host, op_worker, 72);
AT(struct ks_host, op_error, 80);
AT(struct ks_host, complete, 88);
AT(struct ks_host, values, 96);
AT(struct ks_host, bytes_new, 104);
AT(struct ks_host, bytes_data, 112);
AT(struct ks_host, bytes_view, 120);
AT(struct ks_host, bytes_ref, 128);
AT(struct ks_host, bytes_unref, 136);
AT(struct ks_host, timer, 144);
AT(struct ks_host, informer, 152);
AT(struct ks_host, informer_synced, 160);
AT(struct ks_host, cached_get, 168);
AT(struct ks_host, write, 176);
AT(struct ks_host, metric, 184);
AT(struct ks_host, metric_add, 192);
AT(struct ks_host, metric_set, 200);
AT(struct ks_host, equal_constant_time, 208);
AT(struct ks_host, wipe, 216);
AT(struct ks_host, set_ready, 224);
AT(struct ks_host, cached_list, 232);

SIZE(struct ks_authn_request, 96);
AT(struct ks_authn_request, size, 0);
AT(struct ks_authn_request, token, 8);
AT(struct ks_authn_request, certificates, 24);
AT(struct ks_authn_request, n_certificates, 32);
AT(struct ks_authn_request, remote_address, 40);
AT(struct ks_authn_request, header, 56);
AT(struct ks_authn_request, audiences, 64);
AT(struct ks_authn_request, n_audiences, 72);
AT(struct ks_authn_request, path, 80);

SIZE(struct ks_authn_extra, 32);
AT(struct ks_authn_extra, key, 0);
AT(struct ks_authn_extra, values, 16);
AT(struct ks_authn_extra, n_values, 24);

SIZE(struct ks_authn_result, 96);
AT(struct ks_authn_result, size, 0);
AT(struct ks_authn_result, decision, 4);
AT(struct ks_authn_result, name, 8);
AT(struct ks_authn_result, uid, 24);
AT(struct ks_authn_result, groups, 40);
AT(struct ks_authn_result, n_groups, 48);
AT(struct ks_authn_result, extra, 56);
AT(struct ks_authn_result, n_extra, 64);
AT(struct ks_authn_result, audiences, 72);
AT(struct ks_authn_result, n_audiences, 80);
AT(struct ks_authn_result, valid_until_ms, 88);

SIZE(struct ks_authn_ops, 16);
AT(struct ks_authn_ops, size, 0);
AT(struct ks_authn_ops, authenticate, 8);

SIZE(struct ks_user, 72);
AT(struct ks_user, size, 0);
AT(struct ks_user, name, 8);
AT(struct ks_user, uid, 24);
AT(struct ks_user, groups, 40);
AT(struct ks_user, n_groups, 48);
AT(struct ks_user, extra, 56);
AT(struct ks_user, n_extra, 64);

SIZE(struct ks_authz_attributes, 184);
AT(struct ks_authz_attributes, size, 0);
AT(struct ks_authz_attributes, user, 8);
AT(struct ks_authz_attributes, verb, 16);
AT(struct ks_authz_attributes, is_resource, 32);
AT(struct ks_authz_attributes, group, 40);
AT(struct ks_authz_attributes, version, 56);
AT(struct ks_authz_attributes, resource, 72);
AT(struct ks_authz_attributes, subresource, 88);
AT(struct ks_authz_attributes, namespace_, 104);
AT(struct ks_authz_attributes, name, 120);
AT(struct ks_authz_attributes, path, 136);
AT(struct ks_authz_attributes, label_selector, 152);
AT(struct ks_authz_attributes, field_selector, 168);

SIZE(struct ks_authz_result, 24);
AT(struct ks_authz_result, size, 0);
AT(struct ks_authz_result, decision, 4);
AT(struct ks_authz_result, reason, 8);

SIZE(struct ks_authz_rule, 80);
AT(struct ks_authz_rule, verbs, 0);
AT(struct ks_authz_rule, groups, 8);
AT(struct ks_authz_rule, resources, 16);
AT(struct ks_authz_rule, names, 24);
AT(struct ks_authz_rule, paths, 32);
AT(struct ks_authz_rule, n_verbs, 40);
AT(struct ks_authz_rule, n_groups, 48);
AT(struct ks_authz_rule, n_resources, 56);
AT(struct ks_authz_rule, n_names, 64);
AT(struct ks_authz_rule, n_paths, 72);

SIZE(struct ks_authz_rules, 24);
AT(struct ks_authz_rules, size, 0);
AT(struct ks_authz_rules, incomplete, 4);
AT(struct ks_authz_rules, rules, 8);
AT(struct ks_authz_rules, n_rules, 16);

SIZE(struct ks_authz_ops, 24);
AT(struct ks_authz_ops, size, 0);
AT(struct ks_authz_ops, authorize, 8);
AT(struct ks_authz_ops, rules, 16);

SIZE(struct ks_admission_match, 24);
AT(struct ks_admission_match, operations, 0);
AT(struct ks_admission_match, group, 8);
AT(struct ks_admission_match, resource, 16);

SIZE(struct ks_admission_request, 184);
AT(struct ks_admission_request, size, 0);
AT(struct ks_admission_request, operation, 4);
AT(struct ks_admission_request, user, 8);
AT(struct ks_admission_request, group, 16);
AT(struct ks_admission_request, version, 32);
AT(struct ks_admission_request, resource, 48);
AT(struct ks_admission_request, subresource, 64);
AT(struct ks_admission_request, kind, 80);
AT(struct ks_admission_request, namespace_, 96);
AT(struct ks_admission_request, name, 112);
AT(struct ks_admission_request, object, 128);
AT(struct ks_admission_request, old_object, 144);
AT(struct ks_admission_request, dry_run, 160);
AT(struct ks_admission_request, options, 168);

SIZE(struct ks_admission_cause, 48);
AT(struct ks_admission_cause, reason, 0);
AT(struct ks_admission_cause, field, 16);
AT(struct ks_admission_cause, message, 32);

SIZE(struct ks_admission_result, 128);
AT(struct ks_admission_result, size, 0);
AT(struct ks_admission_result, allowed, 4);
AT(struct ks_admission_result, code, 8);
AT(struct ks_admission_result, reason, 16);
AT(struct ks_admission_result, message, 32);
AT(struct ks_admission_result, causes, 48);
AT(struct ks_admission_result, n_causes, 56);
AT(struct ks_admission_result, warnings, 64);
AT(struct ks_admission_result, n_warnings, 72);
AT(struct ks_admission_result, about_group, 80);
AT(struct ks_admission_result, about_resource, 96);
AT(struct ks_admission_result, about_name, 112);

SIZE(struct ks_admission_ops, 48);
AT(struct ks_admission_ops, size, 0);
AT(struct ks_admission_ops, matches, 8);
AT(struct ks_admission_ops, n_matches, 16);
AT(struct ks_admission_ops, mutate, 24);
AT(struct ks_admission_ops, validate, 32);
AT(struct ks_admission_ops, reload, 40);

SIZE(struct ks_store_kv, 48);
AT(struct ks_store_kv, key, 0);
AT(struct ks_store_kv, value, 16);
AT(struct ks_store_kv, create_revision, 24);
AT(struct ks_store_kv, mod_revision, 32);
AT(struct ks_store_kv, lease_until_ms, 40);

SIZE(struct ks_store_write, 48);
AT(struct ks_store_write, size, 0);
AT(struct ks_store_write, expect, 4);
AT(struct ks_store_write, expected, 8);
AT(struct ks_store_write, key, 16);
AT(struct ks_store_write, value, 32);
AT(struct ks_store_write, lease_until_ms, 40);

SIZE(struct ks_store_write_result, 64);
AT(struct ks_store_write_result, size, 0);
AT(struct ks_store_write_result, outcome, 4);
AT(struct ks_store_write_result, revision, 8);
AT(struct ks_store_write_result, current, 16);

SIZE(struct ks_store_range, 72);
AT(struct ks_store_range, size, 0);
AT(struct ks_store_range, keys_only, 4);
AT(struct ks_store_range, prefix, 8);
AT(struct ks_store_range, start, 24);
AT(struct ks_store_range, limit, 40);
AT(struct ks_store_range, revision, 48);
AT(struct ks_store_range, emit, 56);
AT(struct ks_store_range, arg, 64);

SIZE(struct ks_store_range_result, 24);
AT(struct ks_store_range_result, size, 0);
AT(struct ks_store_range_result, more, 4);
AT(struct ks_store_range_result, revision, 8);
AT(struct ks_store_range_result, count, 16);

SIZE(struct ks_store_event, 64);
AT(struct ks_store_event, type, 0);
AT(struct ks_store_event, reserved, 4);
AT(struct ks_store_event, revision, 8);
AT(struct ks_store_event, kv, 16);

SIZE(struct ks_store_watch, 56);
AT(struct ks_store_watch, size, 0);
AT(struct ks_store_watch, reserved, 4);
AT(struct ks_store_watch, prefix, 8);
AT(struct ks_store_watch, from_revision, 24);
AT(struct ks_store_watch, events, 32);
AT(struct ks_store_watch, failed, 40);
AT(struct ks_store_watch, arg, 48);

SIZE(struct ks_store_ops, 72);
AT(struct ks_store_ops, size, 0);
AT(struct ks_store_ops, get, 8);
AT(struct ks_store_ops, range, 16);
AT(struct ks_store_ops, write, 24);
AT(struct ks_store_ops, watch, 32);
AT(struct ks_store_ops, watch_credit, 40);
AT(struct ks_store_ops, watch_close, 48);
AT(struct ks_store_ops, compact, 56);
AT(struct ks_store_ops, revision, 64);

/* What plugins declare by numbers. */
_Static_assert(KS_ABI_MAJOR == 0 && KS_ABI_MINOR == 1, "the layouts above are those of ABI 0.1");
_Static_assert(KS_DONE == 0 && KS_PENDING == 1 && KS_ERR == -1 && KS_ERR_LIMIT == -9, "results have changed");
_Static_assert(KS_AUTHN_NOT_MINE == 0 && KS_AUTHZ_DENY == 0, "the zero value of a decision must be the safe one");
_Static_assert(KS_KIND_AUTHENTICATOR == 1 && KS_KIND_STORE == 4, "kinds have changed");

int main(void)
{
	return 0;
}
