/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plugin share. */
#ifndef KS_ADMISSION_LIMITRANGER_H
#define KS_ADMISSION_LIMITRANGER_H

#include <keelson/sdk/amounts.h>

struct ks_limits_problem {
	struct ks_limits_problem *before;
	struct ks_view text;
};

/* One limit range under application. */
struct ks_limits {
	struct ks_admit call;
	struct ks_val object; /* pod or claim */
	struct ks_limits_problem *problems; /* told so far, the last one first */
	size_t n_problems;
	struct ks_view defaulted; /* "cpu request for container a; ..." */
	int result; /* KS_DONE or negative */
};

/* -- defaults.c: gives the containers of a pod what the range says -- */
void ks_limits_default(struct ks_limits *l, struct ks_val range);
/* -- check.c: tells what breaks the range, in `problems` -- */
void ks_limits_check_pod(struct ks_limits *l, struct ks_val range);
void ks_limits_check_claim(struct ks_limits *l, struct ks_val range);
/* The problems as one text: "[a, b]". */
struct ks_view ks_limits_problems(const struct ks_limits *l);

#endif
