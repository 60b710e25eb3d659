/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields of a kind has a rule? One that code looks at when it prepares or judges an object of that kind, or
 * one that core/api/schema/any.rules names. Objects filled at random, and those of the golden cases, are created and updated, and look-ups by
 * name (ks_schema_slot, which the linker leads through here) are counted; each kind in a process of its own, since code
 * remembers where it found a field. rules.txt has how many fields of a kind have neither; a number may only fall.
 *
 *   KS_RULES_SHOW=1 shows them as lines for any.rules, KS_RULES_UPDATE=1 writes rules.txt.
 */
#include "api-random.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/registry/registry.h"

enum { ROUNDS = 40, TURNS = 2 };

static const struct ks_schema *const s = &ks_schema_builtin;
static unsigned char *touched; /* one a field of the schema, shared with the processes of the kinds */
static bool counting;

uint16_t __real_ks_schema_slot(const struct ks_schema *schema, uint16_t type, const char *name, size_t n);
uint16_t __wrap_ks_schema_slot(const struct ks_schema *schema, uint16_t type, const char *name, size_t n);

uint16_t __wrap_ks_schema_slot(const struct ks_schema *schema, uint16_t type, const char *name, size_t n)
{
	uint16_t slot = __real_ks_schema_slot(schema, type, name, n);

	if (counting && slot != KS_NO_SLOT)
		touched[schema->types[type].first_field + slot] = 1;
	return slot;
}

/* -- one kind --------------------------------------------------------------------------------------------------- */

struct kind_run {
	struct ks_arena arena;
	struct ks_config config;
	struct ks_strategy strategy;
	struct ks_registry_context ctx;
	struct ks_test_maker maker;
	bool selects; /* its template is selected */
};

/* What is in the way of being judged is as it has to be. */
static void name_it(struct kind_run *r, struct ks_value *object)
{
	struct ks_value *place;

	place = ks_value_put_at(&r->arena, s, object, "metadata.name");
	assert_non_null(place);
	*place = ks_value_from_str(KS_STR_LIT("x"));
	place = ks_value_put_at(&r->arena, s, object, "metadata.namespace");
	assert_non_null(place);
	*place = r->ctx.ns.n ? ks_value_from_str(r->ctx.ns) : (struct ks_value){0};
}

/* A template is only judged when the selector is that of its labels. */
static void select_it(struct kind_run *r, struct ks_value *object)
{
	struct ks_value *selector = ks_value_at(s, object, "spec.selector"), *labels = ks_value_put_at(&r->arena, s, object, "spec.template.metadata.labels");
	struct ks_value *place;

	if (!selector || selector->kind != KS_STRUCT || !labels)
		return;
	ks_value_remove(s, selector, KS_STR_LIT("matchExpressions"));
	place = ks_value_put(&r->arena, s, selector, KS_STR_LIT("matchLabels"));
	assert_non_null(place);
	*place = *labels = ks_test_free(&r->arena, "{\"a\":\"x\"}");
}

static struct ks_value make_object(struct kind_run *r)
{
	struct ks_value object;

	r->maker.depth = 0;
	ks_test_make_struct(&r->maker, s->resources[r->ctx.resource].type, true, &object);
	if (r->selects)
		select_it(r, &object);
	return object;
}

static void judge(struct kind_run *r, struct ks_value *object, const struct ks_value *old)
{
	struct ks_status status;

	memset(&status, 0, sizeof(status));
	if (!ks_registry_default(&r->ctx, object))
		fail_msg("out of memory");
	counting = true;
	if (old ? ks_registry_before_update(&r->ctx, object, old, &status) : ks_registry_before_create(&r->ctx, object, &status))
		assert_true(status.code >= 400);
	counting = false;
	ks_registry_rollback(&r->ctx);
}

static void open_kind(struct kind_run *r, uint16_t resource, unsigned round)
{
	memset(r, 0, sizeof(*r));
	ks_arena_init(&r->arena, 0);
	r->config.service_cluster_ip_range = "10.0.0.0/24";
	r->config.service_node_port_range = "30000-30100";
	r->strategy = *ks_registry_find(s, resource);
	r->strategy.allocate = NULL; /* takes things that lie outside */
	r->ctx = (struct ks_registry_context){.schema = s, .strategy = &r->strategy, .arena = &r->arena, .config = &r->config,
		.resource = resource, .name = KS_STR_LIT("x"), .user = KS_STR_LIT("u"), .now_ms = 1700000000000};
	if (s->resources[resource].scope == KS_SCOPE_NAMESPACED)
		r->ctx.ns = KS_STR_LIT("n");
	r->selects = round % 2;
	r->maker = (struct ks_test_maker){.arena = &r->arena, .seed = 88172645463325252u + round, .likely = true};
}

/* The object as it is and another one, through the resource and through its subresources. */
static void judge_all(struct kind_run *r, uint16_t resource, struct ks_value object)
{
	struct ks_value same, other;

	name_it(r, &object);
	assert_true(ks_value_copy(&r->arena, &object, &same));
	judge(r, &same, NULL);
	for (uint32_t i = resource; i < s->n_resources && s->resources[i].parent == resource; i++) {
		const char *slash = strchr(ks_schema_text(s, s->resources[i].resource), '/');

		if (s->resources[i].type != s->resources[resource].type)
			continue;
		r->ctx.subresource = ks_str_from(slash ? slash + 1 : "");
		assert_true(ks_value_copy(&r->arena, &object, &same));
		judge(r, &same, &object);
		other = make_object(r);
		name_it(r, &other);
		judge(r, &other, &object);
	}
}

static bool is_of_kind(const struct ks_value *object, uint16_t resource)
{
	const struct ks_resource *it = &s->resources[resource];
	const char *group = ks_schema_text(s, it->group), *slash = *group ? "/" : "";
	char version[128];

	snprintf(version, sizeof(version), "%s%s%s", group, slash, ks_schema_text(s, it->version));
	return ks_str_is(ks_value_str(ks_value_get(NULL, object, "kind")), ks_schema_text(s, it->kind)) &&
		ks_str_is(ks_value_str(ks_value_get(NULL, object, "apiVersion")), version);
}

/* Objects that have little but one field: each field of each type that is met, along the first path that leads there. */
struct walk {
	uint16_t resource;
	uint16_t path[KS_TEST_DEEPEST];
	unsigned n_path;
	unsigned char *seen; /* types */
};

static void judge_path(const struct walk *w)
{
	struct kind_run r;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		open_kind(&r, w->resource, turn);
		memcpy(r.maker.path, w->path, sizeof(w->path));
		r.maker.n_path = w->n_path;
		judge_all(&r, w->resource, make_object(&r));
		ks_arena_fini(&r.arena);
	}
}

static void walk_type(struct walk *w, uint16_t type)
{
	const struct ks_type *t = &s->types[type];

	if (t->class_ == KS_TYPE_LIST || t->class_ == KS_TYPE_MAP) {
		walk_type(w, t->element);
		return;
	}
	if (t->class_ != KS_TYPE_STRUCT || w->seen[type] || w->n_path == KS_TEST_DEEPEST)
		return;
	w->seen[type] = 1;
	w->n_path++;
	for (uint16_t slot = 0; slot < t->n_fields; slot++) {
		w->path[w->n_path - 1] = slot;
		judge_path(w);
		walk_type(w, ks_schema_field(s, type, slot)->type);
	}
	w->n_path--;
}

static void run_real(uint16_t resource, const struct ks_value *real)
{
	struct kind_run r;

	for (uint32_t i = 0; i < real->n; i++) {
		const char *message = "";
		struct ks_value object;

		if (!is_of_kind(&real->items[i], resource))
			continue;
		open_kind(&r, resource, i);
		if (!ks_value_convert(&r.arena, s, s->resources[resource].type, 0, &real->items[i], &object, NULL, &message))
			judge_all(&r, resource, object);
		ks_arena_fini(&r.arena);
	}
}

static const char *template_path(uint16_t resource)
{
	static const char *const paths[] = {"template.spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec"};
	uint16_t pod = ks_schema_find_type(s, "io.k8s.api.core.v1.PodSpec");

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		uint16_t type = s->resources[resource].type, slot = 0;
		const char *p = paths[i];

		for (size_t n; *p && slot != KS_NO_SLOT; p += n + (p[n] == '.')) {
			n = strcspn(p, ".");
			slot = ks_schema_slot(s, type, p, n);
			type = slot == KS_NO_SLOT ? 0 : ks_schema_field(s, type, slot)->type;
		}
		if (type && type == pod)
			return paths[i];
	}
	return NULL;
}

/* The pods among them, as what a template makes. */
static void run_templates(uint16_t resource, const struct ks_value *real)
{
	uint16_t pods = ks_schema_find_resource(s, (struct ks_str){0}, KS_STR_LIT("v1"), KS_STR_LIT("pods"));
	const char *path = template_path(resource);
	struct kind_run r;

	for (uint32_t i = 0; path && i < real->n; i++) {
		struct ks_value object, pod, *spec, *place;
		const char *message = "";

		if (!is_of_kind(&real->items[i], pods))
			continue;
		open_kind(&r, resource, i);
		assert_true(ks_value_new_struct(&r.arena, s, s->resources[resource].type, &object));
		if (!ks_value_convert(&r.arena, s, s->resources[pods].type, 0, &real->items[i], &pod, NULL, &message) && (spec = ks_value_at(s, &pod, "spec"))) {
			place = ks_value_put_at(&r.arena, s, &object, path);
			assert_non_null(place);
			*place = *spec;
			place = ks_value_put_at(&r.arena, s, &object, "spec.selector");
			if (place && !ks_value_present(place))
				(void)!ks_value_put_at(&r.arena, s, &object, "spec.selector.matchLabels");
			select_it(&r, &object);
			judge_all(&r, resource, object);
		}
		ks_arena_fini(&r.arena);
	}
}

static void run_kind(uint16_t resource, const struct ks_value *real, unsigned char *seen)
{
	struct walk w = {.resource = resource, .seen = seen};
	struct kind_run r;

	for (unsigned round = 0; round < ROUNDS; round++) {
		open_kind(&r, resource, round * 7919);
		judge_all(&r, resource, make_object(&r));
		ks_arena_fini(&r.arena);
	}
	walk_type(&w, s->resources[resource].type);
	run_real(resource, real);
	run_templates(resource, real);
}

/* Adds the bodies of the requests of recorded conversations: [{"steps": [{"body": OBJECT, ...}, ...], ...}]. */
static void read_bodies(struct ks_arena *arena, const char *path, struct ks_value *real)
{
	FILE *file = fopen(path, "r");
	char *text = ks_arena_alloc(arena, 4 << 20);
	const char *message = "";
	struct ks_value cases;
	size_t n;

	assert_non_null(text);
	assert_non_null(file);
	n = fread(text, 1, 4 << 20, file);
	fclose(file);
	assert_true(n > 0 && n < 4 << 20);
	assert_int_equal(ks_json_decode(arena, NULL, 0, 0, text, n, &cases, NULL, &message), 0);
	for (uint32_t i = 0; cases.kind == KS_LIST && i < cases.n; i++) {
		const struct ks_value *steps = ks_value_get(NULL, &cases.items[i], "steps");

		for (uint32_t k = 0; steps && steps->kind == KS_LIST && k < steps->n; k++) {
			const struct ks_value *body = ks_value_get(NULL, &steps->items[k], "body");
			struct ks_value *place = body && body->kind == KS_MAP ? ks_value_append(arena, real) : NULL;

			if (place)
				*place = *body;
		}
	}
}

/* What was sent to a real kube-apiserver. */
static struct ks_value read_real(struct ks_arena *arena)
{
	struct ks_value real = {.kind = KS_LIST};
	glob_t found;

	assert_int_equal(glob(KS_GOLDEN_DIR "/cases/*.json", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		read_bodies(arena, found.gl_pathv[i], &real);
	globfree(&found);
	assert_true(real.n > 1000);
	return real;
}

/* -- counting ---------------------------------------------------------------------------------------------------- */

struct count {
	uint32_t fields, judged, any, neither;
	bool show;
	unsigned char *seen; /* types */
	unsigned char *used; /* fields whose line in any.rules is needed */
};

/* "io.k8s.api.core.v1.Pod" as the rules call it: core.v1.Pod. */
static const char *short_name(uint16_t type)
{
	const char *name = ks_schema_text(s, s->types[type].name), *p = name + strlen(name);

	for (int dots = 0; p > name; p--)
		if (p[-1] == '.' && ++dots == 3)
			break;
	return p;
}

static void count_type(struct count *c, uint16_t type);

static void count_field(struct count *c, uint16_t type, uint16_t slot)
{
	const struct ks_field *f = ks_schema_field(s, type, slot);
	bool is_touched = touched[s->types[type].first_field + slot];

	if (!strncmp(ks_schema_text(s, s->lists[f->embedded]), "TypeMeta", 8))
		return; /* the decoder has judged them */
	c->fields++;
	if (is_touched) {
		c->judged++;
		count_type(c, f->type);
	} else if (f->rule == KS_FIELD_RULE_ANY) {
		c->any++; /* and so is all that is in it */
		c->used[s->types[type].first_field + slot] = 1;
	} else if (f->rule != KS_FIELD_RULE_NONE) {
		c->judged++; /* away from here */
	} else {
		c->neither++;
		if (c->show)
			print_message("%s %s any\n", short_name(type), ks_schema_text(s, f->name));
		count_type(c, f->type);
	}
}

static void count_type(struct count *c, uint16_t type)
{
	const struct ks_type *t = &s->types[type];

	if (t->class_ == KS_TYPE_LIST || t->class_ == KS_TYPE_MAP) {
		count_type(c, t->element);
		return;
	}
	if (t->class_ != KS_TYPE_STRUCT || c->seen[type])
		return;
	c->seen[type] = 1;
	for (uint16_t slot = 0; slot < t->n_fields; slot++)
		count_field(c, type, slot);
}

/* In a process of its own; what it touched is in shared memory afterwards. */
static struct count count_kind(uint16_t resource, const struct ks_value *real, unsigned char *seen, unsigned char *used)
{
	struct count c = {.show = getenv("KS_RULES_SHOW") != NULL, .seen = seen, .used = used};
	int status = -1;
	pid_t pid;

	memset(touched, 0, s->n_fields);
	memset(seen, 0, s->n_types);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		run_kind(resource, real, seen);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	count_type(&c, s->resources[resource].type);
	return c;
}

static const char *kind_name(uint16_t resource, char out[128])
{
	const struct ks_resource *r = &s->resources[resource];
	const char *group = ks_schema_text(s, r->group);

	snprintf(out, 128, "%s%s%s/%s", group, *group ? "/" : "", ks_schema_text(s, r->version), ks_schema_text(s, r->kind));
	return out;
}

/* What rules.txt says; 0 for a kind that isn't in it. */
static uint32_t allowed(const char *kind)
{
	FILE *file = fopen(KS_RULES_LIST, "r");
	char line[256], name[128];
	unsigned n, found = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%127s %u", name, &n) == 2 && !strcmp(name, kind))
			found = n;
	fclose(file);
	return found;
}

/* Lines that say "any" of what is judged wherever it is met are wrong. */
static unsigned count_needless(const unsigned char *used)
{
	unsigned n = 0;

	for (uint32_t type = 1; type < s->n_types; type++)
		for (uint16_t slot = 0; s->types[type].class_ == KS_TYPE_STRUCT && slot < s->types[type].n_fields; slot++) {
			const struct ks_field *f = ks_schema_field(s, (uint16_t)type, slot);

			if (f->rule != KS_FIELD_RULE_ANY || used[s->types[type].first_field + slot])
				continue;
			print_error("any.rules: %s %s has a rule, or lies in a field of any value\n", short_name((uint16_t)type), ks_schema_text(s, f->name));
			n++;
		}
	return n;
}

/* -- tests ------------------------------------------------------------------------------------------------------- */

static void every_field_has_a_rule_or_needs_none(void **state)
{
	FILE *update = getenv("KS_RULES_UPDATE") ? fopen(KS_RULES_LIST, "w") : NULL;
	unsigned char *seen = calloc(s->n_types, 1), *used = calloc(s->n_fields, 1);
	struct ks_value real;
	struct ks_arena arena;
	unsigned worse = 0;
	char name[128];

	(void)state;
	ks_arena_init(&arena, 0);
	real = read_real(&arena);
	assert_non_null(seen);
	assert_non_null(used);
	touched = mmap(NULL, s->n_fields, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(touched != MAP_FAILED);
	if (update)
		fputs("# Fields of a kind that have neither a rule nor a line in core/api/schema/any.rules. A number may only fall.\n", update);
	for (uint16_t i = 0; i < s->n_resources; i++) {
		struct count c;

		if (s->resources[i].is_subresource || !(s->resources[i].verbs & KS_VERB_UPDATE))
			continue;
		c = count_kind(i, &real, seen, used);
		kind_name(i, name);
		print_message("%-56s %4u fields: %4u judged, %4u any value, %4u neither\n", name, c.fields, c.judged, c.any, c.neither);
		if (update && c.neither)
			fprintf(update, "%s %u\n", name, c.neither);
		if (!update && c.neither > allowed(name)) {
			print_error("%s: %u fields have no rule, there were %u\n", name, c.neither, allowed(name));
			worse++;
		}
	}
	if (update)
		fclose(update);
	munmap(touched, s->n_fields);
	worse += count_needless(used);
	free(used);
	free(seen);
	ks_arena_fini(&arena);
	assert_int_equal(worse, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_has_a_rule_or_needs_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
