/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/membership.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/api/json.h"
#include "core/api/time.h"
#include "core/util/log.h"

#define LEASES KS_STORE_ROOT "masterleases/"

enum { ROUND_MS = 10000, LEASE_MS = 15000, SOON_MS = 100, STOP_MS = 5000 };

enum state { AT_WORK, STOPPING, STOPPED };

struct ks_membership {
	struct ks_server_state *server;
	const struct ks_bootstrap_object *objects;
	size_t n_objects;
	struct ks_endpoints endpoints;
	char address[KS_IP_TEXT]; /* "": nobody knows where this server can be reached */
	const struct ks_store *store;
	struct ks_store_call call;
	struct ks_store_list list;
	struct ks_bytes *lease;
	struct ks_timer timer, stop_timer;
	enum state state;
	bool busy, failed, settled, leaving; /* `leaving`: the last round has begun */
	uint64_t rounds;
	unsigned n_failed; /* rounds in a row */
	unsigned n_pending; /* requests of this round */
	void (*stopped)(void *arg);
	void *stopped_arg;
};

/* A request to the server itself. */
struct request {
	struct ks_membership *m;
	struct ks_task task;
	int code;
};

static void begin_round(struct ks_membership *m);

/* -- where this server is --------------------------------------------------------------------------------------------- */

/* The address that the way to elsewhere begins with: nothing is sent to find it. */
static bool ask_the_kernel(struct ks_ip *out_r)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)}, own;
	socklen_t n = sizeof(own);
	char text[INET_ADDRSTRLEN];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool found = false;

	if (fd < 0)
		return false;
	inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && getsockname(fd, (struct sockaddr *)&own, &n) == 0 &&
		inet_ntop(AF_INET, &own.sin_addr, text, sizeof(text)))
		found = ks_ip_parse(ks_str_from(text), out_r);
	close(fd);
	return found && !ks_ip_is_loopback(out_r) && !ks_ip_is_unspecified(out_r);
}

/* Nobody else gets anywhere by a loopback address. */
static bool is_of_use(const struct ks_membership *m, const struct ks_ip *ip)
{
	return !ks_ip_is_loopback(ip) && ip->v6 == m->endpoints.v6[0];
}

static int find_address(struct ks_membership *m, struct ks_error *err)
{
	const char *said = m->server->config->advertise_address;
	struct ks_ip ip;

	if (said && ks_ip_parse(ks_str_from(said), &ip) && !ks_ip_is_loopback(&ip) && !is_of_use(m, &ip))
		return ks_error_set(err, -EINVAL, "advertiseAddress %s is not of the (first) family of serviceClusterIPRange", said);
	if ((said && ks_ip_parse(ks_str_from(said), &ip) && is_of_use(m, &ip)) || (ask_the_kernel(&ip) && is_of_use(m, &ip)))
		ks_ip_print(&ip, m->address);
	else
		ks_log(KS_LOG_WARN, "endpoints",
			"no advertiseAddress is given and none can be found: the kubernetes Service has no endpoints of this server");
	return 0;
}

/* -- the end of a round ------------------------------------------------------------------------------------------------ */

static void tell_stopped(struct ks_membership *m)
{
	if (m->state == STOPPED)
		return;
	m->state = STOPPED;
	ks_timer_cancel(&m->stop_timer);
	ks_timer_cancel(&m->timer);
	m->stopped(m->stopped_arg);
}

/* What goes wrong again and again is tried less and less often. */
static uint64_t pause_of(const struct ks_membership *m)
{
	uint64_t pause = SOON_MS;

	for (unsigned i = 1; i < m->n_failed && pause < ROUND_MS; i++)
		pause *= 2;
	return !m->n_failed || pause > ROUND_MS ? ROUND_MS : pause;
}

static void end_round(struct ks_membership *m)
{
	m->busy = false;
	if (m->state == STOPPING && m->leaving) {
		tell_stopped(m);
	} else if (m->state == STOPPING) {
		begin_round(m);
	} else if (m->state != STOPPED) {
		m->n_failed = m->failed ? m->n_failed + 1 : 0;
		m->settled |= !m->failed;
		/* From now on other servers' ports are as good as ours. */
		m->endpoints.own_port &= !m->settled;
		ks_timer_start(m->server->main_loop, &m->timer, pause_of(m));
	}
}

static void let(struct ks_membership *m)
{
	if (--m->n_pending == 0)
		end_round(m);
}

/* -- requests ----------------------------------------------------------------------------------------------------------- */

static void take_answer(struct ks_task *task)
{
	struct request *r = (struct request *)((char *)task - offsetof(struct request, task));
	struct ks_membership *m = r->m;

	/* Another server may have been quicker: the next round sees what there is. */
	if (r->code >= 300)
		m->failed = true;
	free(r);
	let(m);
}

/* On a worker. */
static void answered(void *arg, int code, struct ks_str body)
{
	struct request *r = arg;

	if (code >= 300)
		ks_log(code == 409 || code == 404 ? KS_LOG_DEBUG : KS_LOG_WARN, "endpoints", "a request of the server to itself failed: %d %.*s",
			code, (int)(body.n > 512 ? 512 : body.n), body.p);
	r->code = code;
	r->task.run = take_answer;
	ks_loop_post(r->m->server->main_loop, &r->task);
}

static int send_request(void *arg, const char *method, const char *content_type, const char *target, struct ks_str body)
{
	static const char *const groups[] = {"system:masters"};
	struct ks_membership *m = arg;
	struct request *r = calloc(1, sizeof(*r));
	const struct ks_inner_request inner = {.method = method,
		.target = target,
		.content_type = content_type,
		.body = body,
		.user = "system:apiserver",
		.groups = groups,
		.n_groups = 1,
		.answer = answered,
		.arg = r};

	if (!r)
		return -ENOMEM;
	r->m = m;
	m->n_pending++;
	if (ks_pipeline_inner_request(m->server, &inner) < 0) {
		m->n_pending--;
		m->failed = true;
		free(r);
	}
	return 0;
}

/* -- what a cluster can't do without ------------------------------------------------------------------------------------ */

static struct ks_object *find(struct ks_membership *m, const struct ks_bootstrap_object *wanted)
{
	uint16_t resource = ks_schema_find_resource(m->server->schema, ks_str_from(wanted->group), KS_STR_LIT("v1"), ks_str_from(wanted->resource));
	struct ks_cache_resource *cache = resource == KS_NO_RESOURCE ? NULL : ks_cache_find(m->server->cache, resource);

	return cache ? ks_cache_get(cache, ks_str_from(wanted->ns), ks_str_from(wanted->name)) : NULL;
}

static bool has_ready_condition(const struct ks_schema *schema, const struct ks_value *cidr)
{
	const struct ks_value *list = ks_value_at(schema, cidr, "status.conditions");

	for (uint32_t i = 0; ks_value_present(list) && list->kind == KS_LIST && i < list->n; i++)
		if (ks_str_is(ks_value_str(ks_value_get(schema, &list->items[i], "type")), "Ready"))
			return true;
	return false;
}

/* The range of the configuration is ready, as long as nobody says otherwise. One that is being deleted, or of other ranges, is left alone. */
static bool wants_condition(struct ks_membership *m, const struct ks_object *object, const struct ks_bootstrap_object *wanted)
{
	const struct ks_schema *schema = m->server->schema;
	struct ks_arena arena;
	struct ks_value tree, ours;
	const char *message;
	bool wants;

	ks_arena_init(&arena, 0);
	wants = !ks_object_tree(object, schema, &arena, &tree) &&
		!ks_json_decode(
			&arena, schema, schema->resources[object->resource].type, 0, wanted->json, strlen(wanted->json), &ours, NULL, &message) &&
		!ks_value_present(ks_value_at(schema, &tree, "metadata.deletionTimestamp")) && !has_ready_condition(schema, &tree) &&
		ks_value_equal(ks_value_at(schema, &tree, "spec.cidrs"), ks_value_at(schema, &ours, "spec.cidrs"));
	ks_arena_fini(&arena);
	return wants;
}

static void make_ready(struct ks_membership *m)
{
	char now[KS_TIME_TEXT], body[512];

	ks_time_print(ks_time_now(), false, now);
	snprintf(body, sizeof(body),
		"{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"ServiceCIDR\",\"metadata\":{\"name\":\"kubernetes\"},\"status\":{"
		"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":\"%s\",\"message\":\"Kubernetes default Service CIDR "
		"is ready\"}]}}",
		now);
	if (send_request(m, "PATCH", "application/apply-patch+yaml",
		    "/apis/networking.k8s.io/v1/servicecidrs/kubernetes/status?fieldManager=kubernetes-service-cidr-controller&force=true",
		    ks_str_from(body)))
		m->failed = true;
}

static void keep_objects(struct ks_membership *m)
{
	for (size_t i = 0; i < m->n_objects; i++) {
		const struct ks_bootstrap_object *wanted = &m->objects[i];
		struct ks_object *object = wanted->kept ? find(m, wanted) : NULL;

		/* What was made is looked at again soon. */
		if (wanted->kept && !object) {
			m->failed = true;
			if (send_request(m, "POST", NULL, wanted->collection, ks_str_from(wanted->json)))
				return;
		}
		if (object && strcmp(wanted->resource, "servicecidrs") == 0 && wants_condition(m, object, wanted))
			make_ready(m);
		ks_object_unref(object);
	}
}

/* As long as no lease is found something is wrong: nothing is taken away then. */
static bool knows_servers(const struct ks_membership *m)
{
	for (unsigned i = 0; i < m->endpoints.n_servers; i++)
		if (m->endpoints.servers[i].v6 == m->endpoints.v6[0])
			return true;
	return false;
}

static void compare(struct ks_membership *m)
{
	/* One more than there is, so that the round doesn't end before all has begun. */
	m->n_pending = 1;
	if (!m->leaving)
		keep_objects(m);
	if (knows_servers(m) && ks_endpoints_compare(m->server, &m->endpoints, send_request, m))
		m->failed = true;
	let(m);
}

/* -- leases ------------------------------------------------------------------------------------------------------------ */

static uint64_t unix_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int by_text(const void *a, const void *b)
{
	char x[KS_IP_TEXT], y[KS_IP_TEXT];

	ks_ip_print(a, x);
	ks_ip_print(b, y);
	return strcmp(x, y);
}

/* All of a family that the cluster has. */
static void take_servers(struct ks_membership *m)
{
	struct ks_endpoints *e = &m->endpoints;
	uint64_t now = unix_ms();

	e->n_servers = 0;
	for (size_t i = 0; i < m->list.n && e->n_servers < KS_ENDPOINTS_SERVERS; i++) {
		const struct ks_store_item *item = &m->list.items[i];
		struct ks_ip *ip = &e->servers[e->n_servers];

		if (item->lease_until_ms && item->lease_until_ms <= now)
			continue;
		if (ks_ip_parse(ks_str_of(item->key.p + sizeof(LEASES) - 1, item->key.n - (sizeof(LEASES) - 1)), ip) &&
			(ip->v6 == e->v6[0] || e->n_families > 1))
			e->n_servers++;
	}
	qsort(e->servers, e->n_servers, sizeof(e->servers[0]), by_text);
}

static void listed(struct ks_store_list *list)
{
	struct ks_membership *m = list->arg;

	if (list->result) {
		ks_log(KS_LOG_WARN, "endpoints", "the leases of the servers could not be read: %s", list->error);
		m->failed = true;
	} else {
		take_servers(m);
	}
	ks_store_list_fini(list);
	compare(m);
}

static void list_leases(struct ks_membership *m)
{
	struct ks_buf prefix = m->list.prefix;

	m->list = (struct ks_store_list){.loop = m->server->main_loop, .prefix = prefix, .done = listed, .arg = m};
	ks_buf_clear(&m->list.prefix);
	ks_buf_add_str(&m->list.prefix, LEASES);
	ks_store_list_start(m->store, &m->list);
}

static void leased(struct ks_store_call *call)
{
	struct ks_membership *m = call->arg;

	ks_bytes_unref(call->current);
	call->current = NULL;
	if (call->outcome == KS_WRITE_FAILED) {
		ks_log(KS_LOG_WARN, "endpoints", "the lease of this server could not be written: %s", call->error);
		m->failed = true;
		m->endpoints.n_servers = 0;
		compare(m);
		return;
	}
	list_leases(m);
}

/* Every round writes another generation: it is the write that lengthens the lease. */
static struct ks_bytes *print_lease(const struct ks_membership *m)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
		"{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{\"generation\":%llu},"
		"\"subsets\":[{\"addresses\":[{\"ip\":\"%s\"}]}]}",
		(unsigned long long)m->rounds, m->address);

	return n > 0 ? ks_bytes_dup(text, (size_t)n) : NULL;
}

static void write_lease(struct ks_membership *m)
{
	struct ks_buf key = m->call.key;

	ks_bytes_unref(m->lease);
	m->lease = m->leaving ? NULL : print_lease(m);
	m->call = (struct ks_store_call){.loop = m->server->main_loop,
		.key = key,
		.value = m->lease,
		.expected = UINT64_MAX,
		.lease_until_ms = m->leaving ? 0 : unix_ms() + LEASE_MS,
		.done = leased,
		.arg = m};
	ks_buf_clear(&m->call.key);
	ks_buf_printf(&m->call.key, LEASES "%s", m->address);
	if (m->call.key.failed || (!m->leaving && !m->lease)) {
		m->failed = true;
		end_round(m);
		return;
	}
	ks_store_write_start(m->store, &m->call);
}

/* -- rounds ------------------------------------------------------------------------------------------------------------ */

static void begin_round(struct ks_membership *m)
{
	m->busy = true;
	m->failed = false;
	m->rounds++;
	if (m->state == STOPPING)
		m->leaving = true;
	else
		m->state = AT_WORK;
	if (m->address[0])
		write_lease(m);
	else
		compare(m);
}

static void on_time(struct ks_timer *timer)
{
	begin_round((struct ks_membership *)((char *)timer - offsetof(struct ks_membership, timer)));
}

static void on_patience(struct ks_timer *timer)
{
	tell_stopped((struct ks_membership *)((char *)timer - offsetof(struct ks_membership, stop_timer)));
}

/* -- life -------------------------------------------------------------------------------------------------------------- */

static int fill(struct ks_membership *m, unsigned port, struct ks_error *err)
{
	const struct ks_config *config = m->server->config;
	uint16_t endpoints = ks_schema_find_resource(m->server->schema, (struct ks_str){"", 0}, KS_STR_LIT("v1"), KS_STR_LIT("endpoints"));
	struct ks_ip_range ranges[2];

	m->endpoints.n_families = ks_ip_ranges_parse(config->service_cluster_ip_range, ranges);
	if (!m->endpoints.n_families || endpoints == KS_NO_RESOURCE)
		return ks_error_set(err, -EINVAL, "serviceClusterIPRange %s can't be used", config->service_cluster_ip_range);
	for (unsigned i = 0; i < m->endpoints.n_families; i++)
		m->endpoints.v6[i] = ranges[i].network.v6;
	m->endpoints.port = port;
	m->endpoints.own_port = true;
	m->store = ks_router_find(m->server->router, m->server->schema, endpoints);
	return find_address(m, err);
}

struct ks_membership *ks_membership_new(
	struct ks_server_state *server, const struct ks_bootstrap_object *objects, size_t n_objects, unsigned port, struct ks_error *err)
{
	struct ks_membership *m = calloc(1, sizeof(*m));

	if (!m) {
		ks_error_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	m->server = server;
	m->objects = objects;
	m->n_objects = n_objects;
	m->timer.fire = on_time;
	m->stop_timer.fire = on_patience;
	ks_buf_init(&m->call.key);
	ks_buf_init(&m->list.prefix);
	if (fill(m, port, err) < 0) {
		free(m);
		return NULL;
	}
	begin_round(m);
	return m;
}

void ks_membership_free(struct ks_membership **membership)
{
	struct ks_membership *m = *membership;

	if (!m)
		return;
	ks_timer_cancel(&m->timer);
	ks_timer_cancel(&m->stop_timer);
	ks_bytes_unref(m->lease);
	ks_buf_fini(&m->call.key);
	ks_buf_fini(&m->list.prefix);
	free(m);
	*membership = NULL;
}

bool ks_membership_settled(const struct ks_membership *membership)
{
	return membership->settled;
}

void ks_membership_stop(struct ks_membership *m, void (*stopped)(void *arg), void *arg)
{
	m->stopped = stopped;
	m->stopped_arg = arg;
	m->state = STOPPING;
	ks_timer_cancel(&m->timer);
	ks_timer_start(m->server->main_loop, &m->stop_timer, STOP_MS);
	if (!m->busy)
		begin_round(m);
}
