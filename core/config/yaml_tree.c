/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/config/yaml_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

struct reader {
	struct ks_arena *arena;
	struct ks_problems *problems;
	const char *file;
	yaml_parser_t parser;
	size_t nodes;
	bool refused; /* a problem was told that did not stop the reading */
};

static struct ks_place place_of(const yaml_mark_t *mark)
{
	return (struct ks_place){(uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

static int refuse(struct reader *r, const yaml_event_t *event, const char *text)
{
	return ks_problem(r->problems, r->file, place_of(&event->start_mark), "%s", text);
}

static int report_parser(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;

	if (p->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (p->error == YAML_READER_ERROR)
		return ks_problem(r->problems, r->file, (struct ks_place){0}, "not UTF-8 text at byte %zu: %s", p->problem_offset,
			p->problem ? p->problem : "unreadable");
	return ks_problem(r->problems, r->file, place_of(&p->problem_mark), "%s%s%s", p->problem ? p->problem : "not YAML",
		p->context ? " " : "", p->context ? p->context : "");
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	if (!yaml_parser_parse(&r->parser, event))
		return report_parser(r);
	return 0;
}

/* A list that grows while its items are read; doubled in the arena. */
struct items {
	struct ks_yaml_node **items;
	size_t n, cap;
};

static int items_add(struct ks_arena *arena, struct items *list, struct ks_yaml_node *node)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 8;
		struct ks_yaml_node **grown = ks_arena_zalloc(arena, cap, sizeof(struct ks_yaml_node *));

		if (!grown)
			return -ENOMEM;
		if (list->n)
			memcpy(grown, list->items, list->n * sizeof(struct ks_yaml_node *));
		list->items = grown;
		list->cap = cap;
	}
	list->items[list->n++] = node;
	return 0;
}

static int read_node(struct reader *r, yaml_event_t *event, unsigned depth, struct ks_yaml_node **out_r);

static int read_scalar(struct reader *r, const yaml_event_t *event, struct ks_yaml_node *node)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t n = event->data.scalar.length;

	if (event->data.scalar.tag)
		return refuse(r, event, "tags are not used here");
	if (memchr(text, 0, n))
		return refuse(r, event, "a text may not hold a NUL");
	node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	node->text = ks_str_of(ks_arena_dup(r->arena, text, n), n);
	return node->text.p ? 0 : -ENOMEM;
}

static int read_sequence(struct reader *r, unsigned depth, struct ks_yaml_node *node)
{
	struct items list = {0};

	for (;;) {
		struct ks_yaml_node *item;
		yaml_event_t event;
		int result = next_event(r, &event);

		if (result < 0)
			return result;
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			break;
		}
		result = read_node(r, &event, depth + 1, &item);
		if (result == 0)
			result = items_add(r->arena, &list, item);
		if (result < 0)
			return result;
	}
	node->items = list.items;
	node->n = list.n;
	return 0;
}

static int check_key(struct reader *r, const struct items *pairs, const struct ks_yaml_node *key)
{
	if (key->kind != KS_YAML_SCALAR)
		return ks_problem(r->problems, r->file, key->place, "a key must be a plain text");
	for (size_t i = 0; i < pairs->n; i += 2) {
		const struct ks_yaml_node *other = pairs->items[i];

		if (!ks_str_eq(other->text, key->text))
			continue;
		ks_problem(r->problems, r->file, key->place, "\"%s\" stands here twice, first in line %u", key->text.p, other->place.line);
		r->refused = true;
		break;
	}
	return 0;
}

static int read_pair(struct reader *r, yaml_event_t *event, unsigned depth, struct items *pairs)
{
	struct ks_yaml_node *key, *value;
	int result = read_node(r, event, depth + 1, &key);

	if (result == 0)
		result = check_key(r, pairs, key);
	if (result == 0)
		result = next_event(r, event);
	if (result == 0)
		result = read_node(r, event, depth + 1, &value);
	if (result == 0)
		result = items_add(r->arena, pairs, key);
	if (result == 0)
		result = items_add(r->arena, pairs, value);
	return result;
}

enum { PAIRS_MOST = 1000 }; /* keys are compared with each other */

static int read_mapping(struct reader *r, unsigned depth, struct ks_yaml_node *node)
{
	struct items pairs = {0};

	for (;;) {
		yaml_event_t event;
		int result = next_event(r, &event);

		if (result < 0)
			return result;
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			break;
		}
		if (pairs.n / 2 >= PAIRS_MOST) {
			result = refuse(r, &event, "too many keys");
			yaml_event_delete(&event);
			return result;
		}
		result = read_pair(r, &event, depth, &pairs);
		if (result < 0)
			return result;
	}
	node->items = pairs.items;
	node->n = pairs.n / 2;
	return 0;
}

static int make_node(struct reader *r, const yaml_event_t *event, unsigned depth, struct ks_yaml_node *node)
{
	node->place = place_of(&event->start_mark);
	if (depth > KS_YAML_DEPTH_MOST)
		return refuse(r, event, "nested too deeply");
	if (++r->nodes > KS_YAML_NODES_MOST)
		return refuse(r, event, "the file is too large");
	if (event->type == YAML_ALIAS_EVENT)
		return refuse(r, event, "aliases are not used here");
	if (event->type == YAML_SCALAR_EVENT)
		return read_scalar(r, event, node);
	if ((event->type == YAML_SEQUENCE_START_EVENT && event->data.sequence_start.tag) ||
	    (event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.tag))
		return refuse(r, event, "tags are not used here");
	node->kind = event->type == YAML_SEQUENCE_START_EVENT ? KS_YAML_SEQUENCE : KS_YAML_MAPPING;
	return 0;
}

/* Takes the event over. */
static int read_node(struct reader *r, yaml_event_t *event, unsigned depth, struct ks_yaml_node **out_r)
{
	struct ks_yaml_node *node = ks_arena_zalloc(r->arena, 1, sizeof(*node));
	int result = node ? make_node(r, event, depth, node) : -ENOMEM;

	yaml_event_delete(event);
	if (result == 0 && node->kind == KS_YAML_SEQUENCE)
		result = read_sequence(r, depth, node);
	else if (result == 0 && node->kind == KS_YAML_MAPPING)
		result = read_mapping(r, depth, node);
	if (result == 0)
		*out_r = node;
	return result;
}

/* Skips to the first node of the first document; 0 and the event, 1 when there is no document. */
static int begin_document(struct reader *r, yaml_event_t *event)
{
	for (;;) {
		int result = next_event(r, event);

		if (result < 0)
			return result;
		if (event->type == YAML_STREAM_END_EVENT) {
			yaml_event_delete(event);
			return 1;
		}
		if (event->type != YAML_STREAM_START_EVENT && event->type != YAML_DOCUMENT_START_EVENT)
			return 0;
		yaml_event_delete(event);
	}
}

static int end_document(struct reader *r)
{
	yaml_event_t event;
	int result = next_event(r, &event); /* the end of the document */

	if (result < 0)
		return result;
	yaml_event_delete(&event);
	result = next_event(r, &event);
	if (result < 0)
		return result;
	if (event.type != YAML_STREAM_END_EVENT)
		result = refuse(r, &event, "a configuration is one document");
	yaml_event_delete(&event);
	return result;
}

int ks_yaml_tree_parse(struct ks_arena *arena, const char *file, struct ks_str text, struct ks_yaml_node **root_r,
	struct ks_problems *problems)
{
	struct reader r = {.arena = arena, .problems = problems, .file = file};
	struct ks_yaml_node *root = NULL;
	yaml_event_t event;
	int result;

	if (!yaml_parser_initialize(&r.parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p, text.n);
	result = begin_document(&r, &event);
	if (result == 0)
		result = read_node(&r, &event, 0, &root);
	if (result == 0 && root)
		result = end_document(&r);
	yaml_parser_delete(&r.parser);
	if (result < 0 || r.refused)
		return result < 0 ? result : -EINVAL;
	*root_r = root;
	return 0;
}

static int read_all(int fd, char *text, size_t n)
{
	size_t at = 0;

	while (at < n) {
		ssize_t got = read(fd, text + at, n - at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO; /* it shrank */
		at += (size_t)got;
	}
	return 0;
}

static int open_file(const char *file, int *fd_r, size_t *n_r, struct ks_problems *problems)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return ks_problem(problems, file, (struct ks_place){0}, "%s", strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > KS_YAML_FILE_MOST) {
		close(fd);
		return ks_problem(problems, file, (struct ks_place){0}, "not a file of at most %d MiB", KS_YAML_FILE_MOST >> 20);
	}
	*fd_r = fd;
	*n_r = (size_t)st.st_size;
	return 0;
}

int ks_yaml_tree_read(struct ks_arena *arena, const char *file, struct ks_yaml_node **root_r, struct ks_problems *problems)
{
	size_t n = 0;
	char *text;
	int fd = -1;
	int result = open_file(file, &fd, &n, problems);

	if (result < 0)
		return result;
	text = malloc(n + 1);
	result = text ? read_all(fd, text, n) : -ENOMEM;
	close(fd);
	if (result < 0 && result != -ENOMEM)
		ks_problem(problems, file, (struct ks_place){0}, "%s", strerror(-result));
	if (result == 0)
		result = ks_yaml_tree_parse(arena, file, ks_str_of(text, n), root_r, problems);
	free(text);
	return result;
}

const struct ks_yaml_node *ks_yaml_get(const struct ks_yaml_node *node, const char *key)
{
	if (!node || node->kind != KS_YAML_MAPPING)
		return NULL;
	for (size_t i = 0; i < node->n; i++)
		if (ks_str_is(node->items[2 * i]->text, key))
			return node->items[2 * i + 1];
	return NULL;
}

bool ks_yaml_is_null(const struct ks_yaml_node *node)
{
	if (node->kind != KS_YAML_SCALAR || node->quoted)
		return false;
	return node->text.n == 0 || ks_str_is(node->text, "~") || ks_str_is(node->text, "null");
}

void ks_yaml_signature(const struct ks_yaml_node *node, struct ks_buf *out)
{
	size_t n;

	if (!node) {
		ks_buf_add_char(out, '-');
		return;
	}
	if (node->kind == KS_YAML_SCALAR) {
		ks_buf_printf(out, "%c%zu:", node->quoted ? 'q' : 's', node->text.n);
		ks_buf_add(out, node->text.p, node->text.n);
		return;
	}
	n = node->kind == KS_YAML_MAPPING ? node->n * 2 : node->n;
	ks_buf_printf(out, "%c%zu(", node->kind == KS_YAML_MAPPING ? 'm' : 'l', node->n);
	for (size_t i = 0; i < n; i++)
		ks_yaml_signature(node->items[i], out);
	ks_buf_add_char(out, ')');
}
