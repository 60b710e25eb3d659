/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A mapping of the configuration read into a struct by a table of its keys. Private to this folder. */
#ifndef KS_CONFIG_SECTION_H
#define KS_CONFIG_SECTION_H

#include "core/config/config.h"

enum ks_section_type {
	KS_SECTION_TEXT,      /* const char * */
	KS_SECTION_PATH,      /* const char *, made absolute */
	KS_SECTION_PATHS,     /* const char *const *, and the size_t behind it */
	KS_SECTION_U16, KS_SECTION_U32,
	KS_SECTION_DURATION,  /* uint32_t, milliseconds */
	KS_SECTION_SIZE32, KS_SECTION_SIZE64,
	KS_SECTION_LOG_LEVEL, /* int */
	KS_SECTION_TREE       /* read elsewhere */
};

struct ks_section_key {
	const char *name;
	enum ks_section_type type;
	size_t offset;
	int64_t min, max; /* of numbers */
};

struct ks_section_context {
	struct ks_config *config;
	struct ks_problems *problems;
};

/* Fills `into` from the keys that are there. `keys` ends with a NULL name; `where` words the messages ("server"). 0; problems are told, -ENOMEM. */
int ks_section_read(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where, const struct ks_section_key *keys,
	void *into) __attribute__((warn_unused_result));
/* A problem at a node; always 0, so that reading goes on. */
int ks_section_problem(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A sequence of texts into the arena. 0 or -ENOMEM; problems are told. */
int ks_section_texts(const struct ks_section_context *context, const struct ks_yaml_node *node, const char *where,
	const char *const **items_r, size_t *n_r) __attribute__((warn_unused_result));

#endif
