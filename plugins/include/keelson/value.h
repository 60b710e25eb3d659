/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * keelson/value.h: reading and changing API objects across the border.
 *
 * A value is a handle of two words, passed by value; it points into the host's
 * memory and is valid as long as what it came from (the operation, or the informer's
 * callback). Reading a value that is absent gives absent values, never a fault.
 */
#ifndef KEELSON_VALUE_H
#define KEELSON_VALUE_H

#include <keelson/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ks_val {
	const void *node;  /* NULL: absent */
	const void *owner; /* the host's */
};

enum ks_val_kind {
	KS_VAL_ABSENT = 0, KS_VAL_NULL, KS_VAL_BOOL, KS_VAL_INT, KS_VAL_FLOAT, KS_VAL_STRING, KS_VAL_LIST, KS_VAL_OBJECT
};

struct ks_path; /* a compiled path */

/* State of an iteration; zeroed before the first call. */
struct ks_val_iter { uint64_t position; };

/* One step of an iteration over a list (key empty) or an object. */
struct ks_val_item {
	struct ks_view key;
	struct ks_val value;
};

struct ks_value_ops {
	uint32_t size;
	int (*kind)(struct ks_val v); /* enum ks_val_kind */
	/* "" / 0 / 0.0 when it is something else. */
	struct ks_view (*string)(struct ks_val v);
	int64_t (*integer)(struct ks_val v);
	double (*number)(struct ks_val v);
	int (*boolean)(struct ks_val v);
	size_t (*length)(struct ks_val v); /* items of a list, present members of an object */
	struct ks_val (*item)(struct ks_val list, size_t index);
	/* Member by name, exactly. */
	struct ks_val (*member)(struct ks_val object, struct ks_view name);
	/* Fills up to `max` items in one call and returns how many; 0: the end. */
	size_t (*iterate)(struct ks_val v, struct ks_val_iter *iter, struct ks_val_item *items, size_t max);

	/* Compiles "metadata.labels" or "spec.containers[0].name" for `get`; a name with dots is written ["a.b/c"]. In `create`; freed with
	 * the instance.
	 * NULL when malformed or out of memory. */
	const struct ks_path *(*path)(const struct ks_host *host, const char *text);
	struct ks_val (*get)(struct ks_val v, const struct ks_path *path);

	/* The value as JSON, in the operation's memory. p is NULL when out of memory. */
	struct ks_view (*to_json)(struct ks_op *op, struct ks_val v);

	/* Edits of the object under review, in `mutate` only. `pointer` is a JSON pointer (RFC 6901; "-" at the end appends to a list),
	 * `json` the new value. Objects on the way are made. Checked against the type at once: KS_ERR (words are set) when it doesn't fit.
	 * `edited` sees the edit, the request's own handle does not; all edits are dropped when the call ends with anything but KS_DONE
	 * and allowed. */
	int (*edit_set)(struct ks_op *op, struct ks_view pointer, struct ks_view json);
	int (*edit_remove)(struct ks_op *op, struct ks_view pointer);
	/* The object with the edits so far. */
	struct ks_val (*edited)(struct ks_op *op);
};

#ifdef __cplusplus
}
#endif

#endif
