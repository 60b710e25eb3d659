/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * label: a mutation, an informer and in-process writes.
 *
 * A new ConfigMap gets the label `team` of its namespace: an informer keeps what
 * the namespaces say. One with the annotation example.keelson.dev/mirrors: "N" gets
 * a mirror, NAME-mirror, that says N - 1: it is written through the whole pipeline,
 * this plugin included, so that it gets its own mirror and so on. The server bounds
 * such chains: N = 9 is refused, and nothing of it remains.
 *
 *     admission:
 *     - plugin: label
 *       config:
 *         label: team
 */
#include <keelson/admission.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct config {
	const char *label;
	int64_t slow; /* milliseconds that each event of a namespace takes: to see that nobody waits for it */
};

/* What a namespace says. */
struct namespace {
	struct namespace *next;
	char *name, *team;
};

struct label {
	const struct ks_host *host;
	const struct config *config;
	const struct ks_path *label_of, *mirrors;
	struct ks_metric *labelled;
	pthread_mutex_t lock;
	struct namespace *namespaces; /* under the lock */
};

#define VIEW(s) ((struct ks_view){s, strlen(s)})

/* -- the informer: on this plugin's own thread -- */

static struct namespace **find(struct label *l, struct ks_view name)
{
	struct namespace **at = &l->namespaces;

	while (*at && !(strlen((*at)->name) == name.n && memcmp((*at)->name, name.p, name.n) == 0))
		at = &(*at)->next;
	return at;
}

static void forget(struct namespace **at)
{
	struct namespace *n = *at;

	if (!n)
		return;
	*at = n->next;
	free(n->name);
	free(n->team);
	free(n);
}

static void remember(struct label *l, struct ks_view name, struct ks_view team)
{
	struct namespace *n = calloc(1, sizeof(*n));

	if (n) {
		n->name = strndup(name.p, name.n);
		n->team = strndup(team.p, team.n);
		n->next = l->namespaces;
		l->namespaces = n;
	}
	if (!n || !n->name || !n->team) {
		l->host->log(l->host, KS_HOST_LOG_ERROR, "out of memory: a namespace is not known");
		if (n)
			forget(&l->namespaces);
	}
}

static void wait_for_nothing(int64_t ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	if (ms)
		nanosleep(&t, NULL);
}

static void on_namespace(void *arg, const struct ks_informer_event *event)
{
	struct label *l = arg;
	struct ks_view team = l->host->values->string(l->host->values->get(event->object, l->label_of));

	wait_for_nothing(l->config->slow);
	pthread_mutex_lock(&l->lock);
	forget(find(l, event->name));
	if (event->type != KS_EVENT_DELETED && team.n)
		remember(l, event->name, team);
	pthread_mutex_unlock(&l->lock);
}

/* -- the mutation: on a worker -- */

/* The team of a namespace as JSON, in the operation's memory; p is NULL when there is none. */
static struct ks_view team_json(struct label *l, struct ks_op *op, struct ks_view namespace_)
{
	const struct namespace *n;
	struct ks_view json = {NULL, 0};

	pthread_mutex_lock(&l->lock);
	n = *find(l, namespace_);
	if (n) {
		size_t size = strlen(n->team) + 3;
		char *text = l->host->op_alloc(op, size);

		if (text) /* the value of a label needs no escapes */
			json = (struct ks_view){text, (size_t)snprintf(text, size, "\"%s\"", n->team)};
	}
	pthread_mutex_unlock(&l->lock);
	return json;
}

static int set_label(struct label *l, struct ks_op *op, const struct ks_admission_request *request)
{
	const struct ks_value_ops *v = l->host->values;
	struct ks_view team = team_json(l, op, request->namespace_);
	char pointer[300];
	int n = snprintf(pointer, sizeof(pointer), "/metadata/labels/%s", l->config->label);

	if (!team.p || v->kind(v->get(request->object, l->label_of)) != KS_VAL_ABSENT)
		return KS_DONE;
	l->host->metric_add(l->labelled, 1);
	return v->edit_set(op, (struct ks_view){pointer, (size_t)n}, team);
}

/* What `done` needs; in the operation's memory, which lives until `complete`. */
struct mirror {
	struct label *l;
	struct ks_op *op;
	struct ks_admission_result *result;
};

static void on_mirrored(void *arg, int code, struct ks_view body)
{
	struct mirror *m = arg;

	(void)body;
	if (code >= 300) {
		m->result->allowed = 0;
		m->result->message = VIEW("its mirror could not be written");
	}
	m->l->host->complete(m->op, KS_DONE);
}

static int write_mirror(struct label *l, struct ks_op *op, const struct ks_admission_request *request, int mirrors,
	struct ks_admission_result *result)
{
	struct mirror *m = l->host->op_alloc(op, sizeof(*m));
	char body[1024];
	int n = snprintf(body, sizeof(body), "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%.*s-mirror\","
		"\"annotations\":{\"example.keelson.dev/mirrors\":\"%d\"}}}", (int)request->name.n, request->name.p, mirrors - 1);
	struct ks_write write = {
		.size = sizeof(write), .verb = KS_WRITE_CREATE, .version = VIEW("v1"), .resource = VIEW("configmaps"),
		.namespace_ = request->namespace_, .body = {body, (size_t)n}, .parent = op, .done = on_mirrored, .arg = m,
	};

	if (!m || n < 0 || (size_t)n >= sizeof(body))
		return KS_ERR_NOMEM;
	*m = (struct mirror){l, op, result};
	return l->host->write(l->host, &write);
}

static int mutate(void *self, struct ks_op *op, const struct ks_admission_request *request, struct ks_admission_result *result)
{
	struct label *l = self;
	struct ks_view text = l->host->values->string(l->host->values->get(request->object, l->mirrors));
	int mirrors = text.n == 1 && text.p[0] > '0' && text.p[0] <= '9' ? text.p[0] - '0' : 0;
	int code = set_label(l, op, request);

	if (code != KS_DONE)
		return code;
	result->allowed = 1;
	if (!mirrors || request->dry_run)
		return KS_DONE;
	code = write_mirror(l, op, request, mirrors, result);
	if (code != KS_ERR_LIMIT)
		return code;
	result->allowed = 0;
	result->message = VIEW("that are too many mirrors");
	return KS_DONE;
}

/* -- life -- */

static void destroy(void *self)
{
	struct label *l = self;

	while (l->namespaces)
		forget(&l->namespaces);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static int create(const struct ks_host *host, const void *config, void **self, struct ks_plugin_error *error)
{
	struct label *l = calloc(1, sizeof(*l));
	struct ks_informer_handler handler = {.size = sizeof(handler), .event = on_namespace, .arg = l};
	char path[300];

	if (!l)
		return KS_ERR_NOMEM;
	pthread_mutex_init(&l->lock, NULL);
	l->host = host;
	l->config = config;
	snprintf(path, sizeof(path), "metadata.labels[\"%s\"]", l->config->label);
	l->label_of = host->values->path(host, path);
	l->mirrors = host->values->path(host, "metadata.annotations[\"example.keelson.dev/mirrors\"]");
	l->labelled = host->metric(host, KS_METRIC_COUNTER, "labelled_total", "ConfigMaps that got their namespace's label.");
	if (strchr(l->config->label, '/') || !l->label_of || !l->mirrors || !l->labelled ||
	    !host->informer(host, VIEW(""), VIEW("v1"), VIEW("namespaces"), &handler)) {
		snprintf(error->text, sizeof(error->text), "\"%s\" can't be followed as a label of namespaces", l->config->label);
		destroy(l);
		return KS_ERR_CONFIG;
	}
	*self = l;
	return KS_DONE;
}

static const struct ks_config_key keys[] = {
	{.name = "label", .type = KS_CONFIG_STRING, .offset = offsetof(struct config, label), .default_text = "team",
		.help = "The label that ConfigMaps get from their namespace."},
	{.name = "slow", .type = KS_CONFIG_DURATION, .offset = offsetof(struct config, slow), .max = 60000, .min = 0,
		.help = "Time that each change of a namespace takes, to try what a slow plugin does."},
};

static const struct ks_admission_match matches[] = {{KS_OPERATION_CREATE, "", "configmaps"}};
static const struct ks_admission_ops ops = {.size = sizeof(ops), .matches = matches, .n_matches = 1, .mutate = mutate};
static const struct ks_lifecycle lifecycle = {.size = sizeof(lifecycle), .create = create, .destroy = destroy};
static const struct ks_interface interface = {
	.size = sizeof(interface),
	.kind = KS_KIND_ADMISSION,
	.version = KS_ADMISSION_VERSION,
	.name = "label",
	.lifecycle = &lifecycle,
	.ops = &ops,
	.config_keys = keys,
	.n_config_keys = sizeof(keys) / sizeof(keys[0]),
	.config_size = sizeof(struct config),
};

KS_PLUGIN(label) = {
	KS_PLUGIN_HEADER,
	.n_interfaces = 1,
	.interfaces = &interface,
	.version = "1.0",
	.description = "Gives ConfigMaps a label of their namespace, and mirrors.",
};
