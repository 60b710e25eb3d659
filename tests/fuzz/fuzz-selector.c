/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Label and field selectors: a parsed one and its copy match alike. */
#include <assert.h>

#include "core/api/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ks_label labels[] = {{{"app", 3}, {"web", 3}}, {{"env", 3}, {"prod", 4}}, {{"tier", 4}, {"7", 1}}};
	struct ks_str text = ks_str_of((const char *)data, size);
	struct ks_field_requirement *fields;
	struct ks_selector *selector, *copy;
	struct ks_arena arena;
	const char *message = NULL;
	uint32_t n;
	int r;

	ks_arena_init(&arena, 16 << 20);
	r = ks_label_selector_parse(&arena, text, &selector, &message);
	assert(r == 0 || (r == -22 && message) || r == -12);
	if (r == 0) {
		copy = ks_selector_dup(selector);
		assert(!selector || !copy || ks_label_selector_match(selector, labels, 3) == ks_label_selector_match(copy, labels, 3));
		ks_selector_free(copy);
	}
	message = NULL;
	r = ks_field_selector_parse(&arena, text, &fields, &n, &message);
	assert(r == 0 || (r == -22 && message) || r == -12);
	ks_arena_fini(&arena);
	return 0;
}
