/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A table of static tokens, read from a file in kube-apiserver's CSV format: token,user,uid[,"group1,group2"]. */
#ifndef KS_TOKENFILE_TOKENS_H
#define KS_TOKENFILE_TOKENS_H

#include <keelson/authn.h>

struct tokens;

struct token_user {
	struct ks_view name, uid;
	const struct ks_view *groups;
	size_t n_groups;
};

/* Reads `path`. NULL with the error worded (file, line). */
struct tokens *ks_tokenfile_read(const char *path, const struct ks_host *host, struct ks_plugin_error *error);
/* Wipes and frees. NULL is safe. */
void ks_tokenfile_free(struct tokens *tokens);
/* The user of a token, NULL when there is none. The time tells nothing about how much of a token was right. */
const struct token_user *ks_tokenfile_find(const struct tokens *tokens, struct ks_view token);

#endif
