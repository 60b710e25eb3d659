/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Cluster addresses and node ports: one server, and two on one store. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "core/api/time.h"
#include "tests/unit/allocate-help.h"
#include "tests/unit/cache-help.h"

#define PLAIN "{'metadata':{'name':'%s'},'spec':{'ports':[{'port':80}]}}"
#define NODE "{'metadata':{'name':'%s'},'spec':{'type':'NodePort','ports':[{'port':80}]}}"
#define ADDRESS "/registry/ipaddresses/"

static const char *named(const char *format, const char *name)
{
	static char text[1024];

	snprintf(text, sizeof(text), format, name);
	return text;
}

/* -- addresses as numbers -- */

static void addresses_have_one_text(void **state)
{
	static const char *const texts[][2] = {{"10.0.0.1", "10.0.0.1"}, {"10.000.00.01", "10.0.0.1"}, {"::ffff:10.0.0.1", "10.0.0.1"},
		{"fd00:0:0::1", "fd00::1"}, {"FD00::A", "fd00::a"}, {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"}};
	struct ks_ip ip;
	char text[KS_IP_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_true(ks_ip_parse(ks_str_from(texts[i][0]), &ip));
		ks_ip_print(&ip, text);
		assert_string_equal(text, texts[i][1]);
	}
	assert_false(ks_ip_parse(KS_STR_LIT("10.0.0.256"), &ip));
	assert_false(ks_ip_parse(KS_STR_LIT("10.0.0"), &ip));
	assert_false(ks_ip_parse(KS_STR_LIT(""), &ip));
}

static void ranges_know_what_they_give(void **state)
{
	struct ks_ip_range r;
	struct ks_ip ip;
	char text[KS_IP_RANGE_TEXT];

	(void)state;
	assert_true(ks_ip_range_parse(KS_STR_LIT("10.1.2.3/24"), &r));
	ks_ip_range_print(&r, text);
	assert_string_equal(text, "10.1.2.0/24");
	assert_int_equal(r.count, 254);
	assert_int_equal(r.reserved, 16);
	assert_true(ks_ip_parse(KS_STR_LIT("10.1.2.0"), &ip) && !ks_ip_range_has(&r, &ip));
	assert_true(ks_ip_parse(KS_STR_LIT("10.1.2.254"), &ip) && ks_ip_range_has(&r, &ip));
	assert_true(ks_ip_parse(KS_STR_LIT("10.1.2.255"), &ip) && !ks_ip_range_has(&r, &ip));
	assert_true(ks_ip_range_parse(KS_STR_LIT("10.0.0.0/28"), &r) && r.reserved == 0 && r.count == 14);
	assert_true(ks_ip_range_parse(KS_STR_LIT("10.0.0.0/8"), &r) && r.reserved == 256);
	assert_true(ks_ip_range_parse(KS_STR_LIT("fd00::/108"), &r) && r.count == (1 << 20) - 1);
	assert_true(ks_ip_range_parse(KS_STR_LIT("fd00::/64"), &r));
	ip = ks_ip_plus(&r.first, r.count - 1);
	assert_true(ks_ip_range_has(&r, &ip));
	assert_false(ks_ip_range_parse(KS_STR_LIT("fd00::/63"), &r));
	assert_false(ks_ip_range_parse(KS_STR_LIT("10.0.0.0/31"), &r));
	assert_false(ks_ip_range_parse(KS_STR_LIT("10.0.0.0/33"), &r));
	assert_false(ks_ip_range_parse(KS_STR_LIT("10.0.0.0"), &r));
}

static void two_ranges_are_of_two_families(void **state)
{
	struct ks_ip_range r[2];

	(void)state;
	assert_int_equal(ks_ip_ranges_parse("10.0.0.0/16", r), 1);
	assert_int_equal(ks_ip_ranges_parse("fd00::/108,10.0.0.0/16", r), 2);
	assert_true(r[0].network.v6 && !r[1].network.v6);
	assert_int_equal(ks_ip_ranges_parse("10.0.0.0/16,10.1.0.0/16", r), 0);
	assert_int_equal(ks_ip_ranges_parse("10.0.0.0/16,", r), 0);
	assert_int_equal(ks_ip_ranges_parse("nonsense", r), 0);
	assert_int_equal(ks_ip_ranges_parse(NULL, r), 0);
}

/* -- the map of ports -- */

static void the_map_is_kept_as_a_number(void **state)
{
	struct ks_portmap map, read;
	struct ks_bytes *bytes;

	(void)state;
	assert_true(ks_portmap_init(&map, "30000-32767"));
	assert_int_equal(map.reserved, 86);
	assert_true(ks_portmap_take(&map, 30001) && ks_portmap_take(&map, 30008) && !ks_portmap_take(&map, 30008));
	bytes = ks_portmap_encode(&map);
	assert_non_null(bytes);
	/* Bits 1 and 8: 0x0102. */
	assert_int_equal(bytes->len,
		strlen("{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\",\"metadata\":{},\"range\":\"30000-32767\",\"data\":\"AQI=\"}"));
	assert_memory_equal(bytes->data,
		"{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\",\"metadata\":{},\"range\":\"30000-32767\",\"data\":\"AQI=\"}", bytes->len);
	assert_true(ks_portmap_init(&read, "30000-32767"));
	assert_int_equal(ks_portmap_decode(&read, bytes), 0);
	assert_int_equal(read.used, 2);
	assert_true(ks_portmap_is_used(&read, 30001) && ks_portmap_is_used(&read, 30008) && !ks_portmap_is_used(&read, 30000));
	assert_true(ks_portmap_init(&read, "30000-32766"));
	assert_int_equal(ks_portmap_decode(&read, bytes), -ERANGE);
	ks_bytes_unref(bytes);
}

static void what_is_no_map_is_refused(void **state)
{
	static const char *const texts[] = {"", "{", "[]", "{\"range\":\"30000-30010\",\"data\":\"?\"}"};
	struct ks_portmap map;

	(void)state;
	assert_true(ks_portmap_init(&map, "30000-30010"));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ks_bytes *bytes = ks_bytes_dup(texts[i], strlen(texts[i]));

		assert_true(ks_portmap_decode(&map, bytes) < 0);
		ks_bytes_unref(bytes);
	}
	assert_false(ks_portmap_init(&map, "30000"));
	assert_false(ks_portmap_init(&map, "30010-30000"));
	assert_false(ks_portmap_init(&map, "30000-70000"));
}

static void low_ports_are_given_last(void **state)
{
	struct ks_portmap map;

	(void)state;
	assert_true(ks_portmap_init(&map, "30000-30099"));
	assert_int_equal(map.reserved, 16);
	for (int i = 0; i < 84; i++)
		assert_true(ks_portmap_take_any(&map) >= 30016);
	for (int i = 0; i < 16; i++)
		assert_true(ks_portmap_take_any(&map) < 30016);
	assert_int_equal(ks_portmap_take_any(&map), 0);
	ks_portmap_give_back(&map, 30050);
	assert_int_equal(ks_portmap_take_any(&map), 30050);
}

/* -- services of one server -- */

static void a_service_holds_its_address(void **state)
{
	struct allocate_group g;
	struct registry_test t, u;
	const char *ip, *object;
	char key[128];

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	allocate_begin(&g, &g.a, &u);
	assert_int_equal(allocate_create(&g.a, &t, named(PLAIN, "a")), 0);
	ip = registry_text(&t, &t.object, "spec.clusterIP");
	assert_memory_equal(ip, "10.0.0.", 7);
	snprintf(key, sizeof(key), ADDRESS "%s", ip);
	object = allocate_get(&g, key);
	assert_non_null(object);
	assert_non_null(strstr(
		object, "\"labels\":{\"ipaddress.kubernetes.io/ip-family\":\"IPv4\",\"ipaddress.kubernetes.io/managed-by\":\"ipallocator.k8s.io\"}"));
	assert_non_null(strstr(object, "\"spec\":{\"parentRef\":{\"resource\":\"services\",\"namespace\":\"n\",\"name\":\"a\"}}"));
	allocate_commit(&g, &g.a, &t, false);
	/* Nobody else gets it. */
	assert_int_equal(allocate_create(&g.a, &u, registry_json(&u, &t.object)), 422);
	assert_non_null(strstr(u.status.message, "provided IP is already allocated"));
	allocate_commit(&g, &g.a, &t, true);
	assert_null(allocate_get(&g, key));
	registry_close(&t);
	registry_close(&u);
	allocate_close(&g);
}

/* The object is called by the canonical form, the service keeps the text that it came with. */
static void an_address_may_have_another_form(void **state)
{
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "fd00:1::/112,10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t, "{'metadata':{'name':'a'},'spec':{'clusterIP':'FD00:1:0::00A','ports':[{'port':80}]}}"), 0);
	assert_string_equal(registry_text(&t, &t.object, "spec.clusterIP"), "FD00:1:0::00A");
	allocate_commit(&g, &g.a, &t, false);
	assert_non_null(allocate_get(&g, ADDRESS "fd00:1::a"));
	allocate_commit(&g, &g.a, &t, true);
	assert_null(allocate_get(&g, ADDRESS "fd00:1::a"));
	registry_close(&t);
	allocate_close(&g);
}

static void a_write_that_failed_gives_back(void **state)
{
	static const char json[] =
		"{'metadata':{'name':'a'},'spec':{'type':'NodePort','clusterIP':'10.0.0.77','ports':[{'port':80,'nodePort':30007}]}}";
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(allocate_create(&g.a, &t, json), 0);
		assert_non_null(allocate_get(&g, ADDRESS "10.0.0.77"));
		allocate_fail(&g, &g.a, &t);
		assert_null(allocate_get(&g, ADDRESS "10.0.0.77"));
		assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"\""));
	}
	registry_close(&t);
	allocate_close(&g);
}

/* What is refused for one thing doesn't keep another. */
static void all_or_nothing_is_taken(void **state)
{
	static const char json[] = "{'metadata':{'name':'a'},'spec':{'type':'NodePort','clusterIP':'10.0.0.9','ports':["
				   "{'name':'x','port':1,'nodePort':30001},{'name':'y','port':2,'nodePort':30999}]}}";
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t, json), 422);
	assert_string_equal(t.status.causes->field, "spec.ports[1].nodePort");
	assert_non_null(
		strstr(t.status.message, "Invalid value: 30999: provided port is not in the valid range. The range of valid ports is 30000-30100"));
	allocate_fail(&g, &g.a, &t);
	assert_null(allocate_get(&g, ADDRESS "10.0.0.9"));
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"\""));
	registry_close(&t);
	allocate_close(&g);
}

static void ports_of_one_number_share_a_node_port(void **state)
{
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t,
				 "{'metadata':{'name':'a'},'spec':{'type':'NodePort','ports':[{'name':'t','port':53,'protocol':'TCP'},"
				 "{'name':'u','port':53,'protocol':'UDP','nodePort':30042},{'name':'o','port':54}]}}"),
		0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'name':'t','protocol':'TCP','port':53,'targetPort':53,'nodePort':30042"));
	assert_non_null(strstr(registry_json(&t, &t.object), "'name':'u','protocol':'UDP','port':53,'targetPort':53,'nodePort':30042"));
	allocate_fail(&g, &g.a, &t);
	registry_close(&t);
	allocate_close(&g);
}

static void a_dry_run_takes_nothing(void **state)
{
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	t.ctx.dry_run = true;
	assert_int_equal(allocate_create(&g.a, &t, named(NODE, "a")), 0);
	assert_string_equal(registry_text(&t, &t.object, "spec.clusterIP"), "10.0.0.0");
	assert_non_null(strstr(registry_json(&t, &t.object), "'nodePort':32769"));
	assert_null(t.ctx.taken);
	assert_int_equal(ks_cache_count(g.a.pools->addresses.cache), 0);
	assert_int_equal(allocate_create(&g.a, &t, "{'metadata':{'name':'a'},'spec':{'clusterIP':'10.9.0.1','ports':[{'port':80}]}}"), 422);
	assert_non_null(strstr(t.status.message, "the provided IP (10.9.0.1) is not in the valid range. The range of valid IPs is 10.0.0.0/24"));
	registry_close(&t);
	allocate_close(&g);
}

static void a_type_that_needs_no_ports_gives_them_back(void **state)
{
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t,
				 "{'metadata':{'name':'a'},'spec':{'type':'LoadBalancer','externalTrafficPolicy':'Local',"
				 "'ports':[{'port':80,'nodePort':30003}],'healthCheckNodePort':30004}}"),
		0);
	allocate_commit(&g, &g.a, &t, false);
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"GA==\""));
	assert_int_equal(allocate_update(&g.a, &t,
				 "{'metadata':{'name':'a','uid':'','resourceVersion':'1'},'spec':{'type':'LoadBalancer',"
				 "'externalTrafficPolicy':'Cluster','ports':[{'port':80}]}}"),
		0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'nodePort':30003"));
	allocate_commit(&g, &g.a, &t, false);
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"CA==\""));
	assert_int_equal(
		allocate_update(&g.a, &t, "{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'type':'ClusterIP','ports':[{'port':80}]}}"), 0);
	assert_null(strstr(registry_json(&t, &t.object), "nodePort"));
	allocate_commit(&g, &g.a, &t, false);
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"\""));
	assert_int_equal(ks_cache_count(g.a.pools->addresses.cache), 1);
	assert_int_equal(
		allocate_update(&g.a, &t, "{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'type':'ExternalName','externalName':'x.y'}}"), 0);
	allocate_commit(&g, &g.a, &t, false);
	assert_int_equal(ks_cache_count(g.a.pools->addresses.cache), 0);
	assert_int_equal(
		allocate_update(&g.a, &t, "{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'type':'NodePort','ports':[{'port':80}]}}"), 0);
	allocate_commit(&g, &g.a, &t, false);
	assert_int_equal(ks_cache_count(g.a.pools->addresses.cache), 1);
	registry_close(&t);
	allocate_close(&g);
}

static void endpoints_go_with_their_service(void **state)
{
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	allocate_put(&g, "/registry/services/endpoints/n/a",
		"{\"kind\":\"Endpoints\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"n\"}}");
	assert_int_equal(allocate_create(&g.a, &t, named(PLAIN, "a")), 0);
	allocate_commit(&g, &g.a, &t, false);
	assert_non_null(allocate_get(&g, "/registry/services/endpoints/n/a"));
	allocate_commit(&g, &g.a, &t, true);
	assert_null(allocate_get(&g, "/registry/services/endpoints/n/a"));
	registry_close(&t);
	allocate_close(&g);
}

/* -- two families -- */

static void a_service_gets_a_second_family_and_gives_it_back(void **state)
{
	static const char dual[] =
		"{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'ipFamilyPolicy':'RequireDualStack','ports':[{'port':80}]}}";
	static const char single[] = "{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'ipFamilyPolicy':'SingleStack','clusterIP':'%s',"
				     "'clusterIPs':['%s','%s'],'ipFamilies':['IPv4','IPv6'],'ports':[{'port':80}]}}";
	struct allocate_group g;
	struct registry_test t;
	const struct ks_value *ips;
	char text[512], first[64], second[64];

	(void)state;
	allocate_open(&g, "10.0.0.0/24,fd00:1::/112", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t, named(PLAIN, "a")), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'ipFamilies':['IPv4'],'ipFamilyPolicy':'SingleStack'"));
	allocate_commit(&g, &g.a, &t, false);
	assert_int_equal(allocate_update(&g.a, &t, dual), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'ipFamilies':['IPv4','IPv6'],'ipFamilyPolicy':'RequireDualStack'"));
	ips = ks_value_at(t.ctx.schema, &t.object, "spec.clusterIPs");
	assert_int_equal(ips->n, 2);
	snprintf(first, sizeof(first), "%.*s", (int)ks_value_str(&ips->items[0]).n, ks_value_str(&ips->items[0]).p);
	snprintf(second, sizeof(second), "%.*s", (int)ks_value_str(&ips->items[1]).n, ks_value_str(&ips->items[1]).p);
	assert_string_equal(first, registry_text(&t, &t.old, "spec.clusterIP"));
	assert_memory_equal(second, "fd00:1::", 8);
	allocate_commit(&g, &g.a, &t, false);
	assert_int_equal(ks_cache_count(g.a.pools->addresses.cache), 2);
	snprintf(text, sizeof(text), single, first, first, second);
	assert_int_equal(allocate_update(&g.a, &t, text), 0);
	allocate_commit(&g, &g.a, &t, false);
	assert_int_equal(ks_cache_count(g.a.pools->addresses.cache), 1);
	snprintf(text, sizeof(text), ADDRESS "%s", first);
	assert_non_null(allocate_get(&g, text));
	registry_close(&t);
	allocate_close(&g);
}

static void the_second_address_is_not_dropped_by_the_way(void **state)
{
	struct allocate_group g;
	struct registry_test t;
	char text[512];

	(void)state;
	allocate_open(&g, "fd00:1::/112,10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t, "{'metadata':{'name':'a'},'spec':{'ipFamilyPolicy':'PreferDualStack','ports':[{'port':80}]}}"), 0);
	assert_non_null(strstr(registry_json(&t, &t.object), "'ipFamilies':['IPv6','IPv4']"));
	allocate_commit(&g, &g.a, &t, false);
	snprintf(text, sizeof(text),
		"{'metadata':{'name':'a','resourceVersion':'1'},'spec':{'ipFamilyPolicy':'RequireDualStack','clusterIP':'%s','clusterIPs':['%s'],"
		"'ports':[{'port':80}]}}",
		registry_text(&t, &t.old, "spec.clusterIP"), registry_text(&t, &t.old, "spec.clusterIP"));
	assert_int_equal(allocate_update(&g.a, &t, text), 422);
	assert_non_null(strstr(t.status.message, "must be 'SingleStack' to release the secondary cluster IP"));
	registry_close(&t);
	allocate_close(&g);
}

/* -- ranges that objects name -- */

#define CIDR "{\"kind\":\"ServiceCIDR\",\"apiVersion\":\"networking.k8s.io/v1\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"cidrs\":[\"%s\"]}%s}"

static void put_range(struct allocate_group *g, const char *name, const char *range, const char *rest)
{
	char key[128], json[512];

	snprintf(key, sizeof(key), "/registry/servicecidrs/%s", name);
	snprintf(json, sizeof(json), CIDR, name, range, rest);
	allocate_put(g, key, json);
	help_wait(g->a.cache, g->a.pools->cidrs.resource, ks_cache_revision(g->a.pools->addresses.cache));
}

static void another_range_has_addresses_when_it_is_ready(void **state)
{
	static const char json[] = "{'metadata':{'name':'a'},'spec':{'clusterIP':'10.5.0.9','ports':[{'port':80}]}}";
	struct allocate_group g;
	struct registry_test t;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	put_range(&g, "kubernetes", "10.0.0.0/24", "");
	assert_int_equal(allocate_create(&g.a, &t, json), 422);
	assert_non_null(strstr(t.status.message, "failed to allocate IP 10.5.0.9: the provided network does not match the current range"));
	put_range(&g, "more", "10.5.0.0/28", ",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"}]}");
	assert_int_equal(allocate_create(&g.a, &t, json), 422);
	put_range(&g, "more", "10.5.0.0/28", ",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}");
	assert_int_equal(allocate_create(&g.a, &t, json), 0);
	allocate_fail(&g, &g.a, &t);
	/* The range of the configuration counts for nothing once its object says otherwise. */
	put_range(&g, "kubernetes", "10.7.0.0/24", "");
	assert_int_equal(allocate_create(&g.a, &t, "{'metadata':{'name':'a'},'spec':{'clusterIP':'10.0.0.9','ports':[{'port':80}]}}"), 422);
	allocate_fail(&g, &g.a, &t);
	registry_close(&t);
	allocate_close(&g);
}

/* -- two servers -- */

static void no_address_is_given_twice(void **state)
{
	enum { ALL = 14 };
	struct allocate_group g;
	struct registry_test tests[ALL + 1];

	(void)state;
	allocate_open(&g, "10.0.0.0/28", "30000-30100");
	for (int i = 0; i <= ALL; i++) {
		struct allocate_server *s = i % 2 ? &g.a : &g.b;
		char name[16];

		allocate_begin(&g, s, &tests[i]);
		snprintf(name, sizeof(name), "s%d", i);
		/* Nothing is committed: neither cache knows of a service, only the objects hold the addresses. */
		assert_int_equal(allocate_create(s, &tests[i], named(PLAIN, name)), i < ALL ? 0 : 500);
		for (int k = 0; k < i && i < ALL; k++)
			assert_string_not_equal(registry_text(&tests[k], &tests[k].object, "spec.clusterIP"),
				registry_text(&tests[i], &tests[i].object, "spec.clusterIP"));
	}
	assert_non_null(strstr(tests[ALL].status.message, "failed to allocate a serviceIP: range is full"));
	for (int i = 0; i <= ALL; i++) {
		tests[i].ctx.taken = NULL;
		registry_close(&tests[i]);
	}
	allocate_close(&g);
}

static void wish_answered(struct ks_address_wish *wish)
{
	*(bool *)wish->arg = true;
}

static void one_of_two_gets_what_both_ask_for(void **state)
{
	struct allocate_group g;
	struct ks_address_wish wishes[2];
	struct allocate_server *servers[] = {&g.a, &g.b};

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	for (int round = 0; round < 50; round++) {
		char text[32];
		bool over[2] = {false, false};

		snprintf(text, sizeof(text), "10.0.0.%d", round + 1);
		/* Both have begun before either is answered. */
		for (int i = 0; i < 2; i++) {
			wishes[i] = (struct ks_address_wish){.pools = servers[i]->pools,
				.loop = servers[i]->loop,
				.ns = KS_STR_LIT("n"),
				.name = KS_STR_LIT("x"),
				.wanted = ks_str_from(text),
				.done = wish_answered,
				.arg = &over[i]};
			ks_address_ask(&wishes[i]);
		}
		for (int i = 0; i < 2; i++)
			allocate_run(servers[i], &over[i]);
		assert_int_equal((wishes[0].result == KS_ADDRESS_TAKEN) + (wishes[1].result == KS_ADDRESS_TAKEN), 1);
		assert_int_equal((wishes[0].result == KS_ADDRESS_IN_USE) + (wishes[1].result == KS_ADDRESS_IN_USE), 1);
	}
	allocate_close(&g);
}

static void no_port_is_given_twice(void **state)
{
	enum { ALL = 10 };
	struct allocate_group g;
	struct registry_test tests[ALL + 1];

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30009");
	for (int i = 0; i <= ALL; i++) {
		struct allocate_server *s = i % 2 ? &g.a : &g.b;

		allocate_begin(&g, s, &tests[i]);
		assert_int_equal(allocate_create(s, &tests[i], named(NODE, "s")), i < ALL ? 0 : 500);
	}
	assert_non_null(strstr(tests[ALL].status.message, "failed to allocate a nodePort: range is full"));
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"A/8=\""));
	/* What one server gives back, the other one can give, though it has last seen it taken. */
	allocate_fail(&g, &g.b, &tests[0]);
	allocate_fail(&g, &g.b, &tests[ALL]);
	registry_close(&tests[ALL]);
	allocate_begin(&g, &g.a, &tests[ALL]);
	assert_int_equal(allocate_create(&g.a, &tests[ALL], named(NODE, "t")), 0);
	for (int i = 0; i <= ALL; i++) {
		tests[i].ctx.taken = NULL;
		registry_close(&tests[i]);
	}
	allocate_close(&g);
}

/* -- many threads on one server -- */

enum { THREADS = 8, EACH = 40 };

struct asker {
	pthread_t thread;
	struct ks_ports *ports;
	struct ks_loop *loop;
	struct ks_port_wish wish;
	struct ks_port_claim claims[EACH];
	uint32_t returned;
	unsigned n;
	bool failed;
};

static void ask_next(struct asker *a);

static void was_answered(struct ks_port_wish *wish)
{
	struct asker *a = (struct asker *)((char *)wish - offsetof(struct asker, wish));

	a->failed |= wish->result != 0;
	if (++a->n == EACH)
		ks_loop_stop(a->loop);
	else
		ask_next(a);
}

/* Each takes one; every second time the last one is given back. */
static void ask_next(struct asker *a)
{
	bool gives_back = a->n && a->n % 2 == 0;

	a->returned = gives_back ? a->claims[a->n - 1].got : 0;
	if (gives_back)
		a->claims[a->n - 1].got = 0;
	a->wish = (struct ks_port_wish){
		.loop = a->loop, .claims = &a->claims[a->n], .n_claims = 1, .returned = &a->returned, .n_returned = gives_back, .done = was_answered};
	ks_ports_ask(a->ports, &a->wish);
}

static void *ask_all(void *arg)
{
	struct asker *a = arg;

	ask_next(a);
	ks_loop_run(a->loop);
	return NULL;
}

static void threads_share_the_ports(void **state)
{
	struct asker *askers = test_calloc(THREADS, sizeof(*askers));
	struct ks_portmap seen, stored;
	struct allocate_group g;
	struct ks_bytes *bytes;
	const char *text;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30399");
	assert_true(ks_portmap_init(&seen, "30000-30399") && ks_portmap_init(&stored, "30000-30399"));
	for (int i = 0; i < THREADS; i++) {
		askers[i].ports = i % 2 ? &g.a.pools->ports : &g.b.pools->ports;
		askers[i].loop = ks_loop_new(KS_LOOP_NO_INDEX);
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_all, &askers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
		assert_false(askers[i].failed);
		for (int k = 0; k < EACH; k++)
			assert_true(!askers[i].claims[k].got || ks_portmap_take(&seen, askers[i].claims[k].got));
	}
	/* The map in the store is what they have. */
	text = allocate_get(&g, "/registry/ranges/servicenodeports");
	bytes = ks_bytes_dup(text, strlen(text));
	assert_int_equal(ks_portmap_decode(&stored, bytes), 0);
	assert_memory_equal(stored.words, seen.words, sizeof(seen.words));
	ks_bytes_unref(bytes);
	allocate_close(&g);
	for (int i = 0; i < THREADS; i++)
		ks_loop_free(&askers[i].loop);
	test_free(askers);
}

/* -- a store in trouble -- */

struct question {
	struct ks_port_wish wish;
	bool answered;
};

static void note_answer(struct ks_port_wish *wish)
{
	((struct question *)wish)->answered = true;
}

static int ask_for(struct ks_ports *ports, struct ks_loop *loop, uint32_t wanted)
{
	struct ks_port_claim claim = {.wanted = wanted};
	struct question q = {.wish = {.loop = loop, .claims = &claim, .n_claims = 1, .done = note_answer}};

	ks_ports_ask(ports, &q.wish);
	while (!q.answered)
		assert_int_equal(ks_loop_turn(loop, true), 0);
	return q.wish.result;
}

static void a_map_that_may_have_been_written_is_looked_for(void **state)
{
	struct ks_ports *ports = test_calloc(1, sizeof(*ports) + 16);
	struct ks_ports *p = (struct ks_ports *)(((uintptr_t)ports + 15) / 16 * 16);
	struct ks_loop *loop = ks_loop_new(KS_LOOP_NO_INDEX);
	struct help_store store;

	(void)state;
	help_store_init(&store, "troubled");
	assert_true(ks_ports_init(p, &store.store, "30000-30009"));
	assert_int_equal(ask_for(p, loop, 30001), 0);
	store.trouble = HELP_UNAVAILABLE;
	assert_int_equal(ask_for(p, loop, 30002), -EIO);
	/* Nothing was taken, and all goes on. */
	assert_int_equal(ask_for(p, loop, 30002), 0);
	assert_int_equal(ask_for(p, loop, 30001), -EEXIST);
	/* Whether it was written can't be told: it is found out. */
	store.trouble = HELP_UNCERTAIN_DONE;
	assert_int_equal(ask_for(p, loop, 30003), 0);
	assert_int_equal(ask_for(p, loop, 30003), -EEXIST);
	store.trouble = HELP_UNCERTAIN_LOST;
	assert_int_equal(ask_for(p, loop, 30004), 0);
	assert_int_equal(ask_for(p, loop, 30010), -ERANGE);
	/* Nobody is given anything by a map that can't be read. */
	p->fresh = false;
	store.read_failures = 1;
	assert_int_equal(ask_for(p, loop, 30005), -EIO);
	assert_int_equal(ask_for(p, loop, 30005), 0);
	ks_ports_fini(p);
	help_store_join(&store);
	ks_loop_free(&loop);
	help_store_fini(&store);
	test_free(ports);
}

/* -- repair -- */

static void repair(struct allocate_group *g, struct allocate_server *s, int looks)
{
	struct ks_repair *r = ks_repair_new(s->pools);
	uint64_t now, oldest;

	assert_non_null(r);
	for (int i = 0; i < looks; i++)
		assert_int_equal(ks_repair_run(r, s->loop), 0);
	ks_repair_free(&r);
	assert_int_equal(g->host.store.ops->revision(g->host.store.self, &now, &oldest), 0);
	help_wait(s->cache, s->pools->addresses.resource, now);
}

static void what_a_crash_has_lost_is_put_right(void **state)
{
	struct allocate_group g;
	struct registry_test t;
	char key[128], json[512];
	const char *object;

	(void)state;
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_begin(&g, &g.a, &t);
	assert_int_equal(allocate_create(&g.a, &t, "{'metadata':{'name':'a'},'spec':{'type':'NodePort','ports':[{'port':80,'nodePort':30001}]}}"), 0);
	allocate_commit(&g, &g.a, &t, false);
	snprintf(key, sizeof(key), ADDRESS "%s", registry_text(&t, &t.object, "spec.clusterIP"));
	/* Its address is gone, so is its port. */
	allocate_put(&g, key, NULL);
	allocate_put(&g, "/registry/ranges/servicenodeports",
		"{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\",\"metadata\":{},\"range\":\"30000-30100\",\"data\":\"\"}");
	allocate_restart(&g, &g.a);
	repair(&g, &g.a, 1);
	object = allocate_get(&g, key);
	assert_non_null(object);
	assert_non_null(strstr(object, "\"namespace\":\"n\",\"name\":\"a\""));
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"Ag==\""));
	/* It is said to be somebody else's. */
	snprintf(json, sizeof(json),
		"{\"kind\":\"IPAddress\",\"apiVersion\":\"networking.k8s.io/v1\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"parentRef\":{"
		"\"group\":\"gateway.networking.k8s.io\",\"resource\":\"gateways\",\"name\":\"g\"}}}",
		key + strlen(ADDRESS));
	allocate_put(&g, key, json);
	allocate_restart(&g, &g.a);
	repair(&g, &g.a, 1);
	assert_non_null(strstr(allocate_get(&g, key), "\"resource\":\"services\",\"namespace\":\"n\",\"name\":\"a\""));
	registry_close(&t);
	allocate_close(&g);
}

#define LEAKED                                                                                                                              \
	"{\"kind\":\"IPAddress\",\"apiVersion\":\"networking.k8s.io/v1\",\"metadata\":{\"name\":\"10.0.0.8\",\"creationTimestamp\":\"%s\"," \
	"\"labels\":{\"ipaddress.kubernetes.io/ip-family\":\"IPv4\",\"ipaddress.kubernetes.io/managed-by\":\"%s\"}},\"spec\":{"             \
	"\"parentRef\":{\"resource\":\"services\",\"namespace\":\"n\",\"name\":\"nobody\"}}}"

static void put_leaked(struct allocate_group *g, const char *made, const char *manager)
{
	char json[1024];

	snprintf(json, sizeof(json), LEAKED, made, manager);
	allocate_put(g, ADDRESS "10.0.0.8", json);
}

static void what_belongs_to_nobody_is_given_back(void **state)
{
	static const char taken[] =
		"{\"kind\":\"RangeAllocation\",\"apiVersion\":\"v1\",\"metadata\":{},\"range\":\"30000-30100\",\"data\":\"Ag==\"}";
	struct allocate_group g;
	struct ks_arena arena;

	(void)state;
	ks_arena_init(&arena, 0);
	allocate_open(&g, "10.0.0.0/24", "30000-30100");
	allocate_put(&g, "/registry/ranges/servicenodeports", taken);
	/* What may be on its way to a service is left alone. */
	put_leaked(&g, ks_time_now_text(&arena, false).p, "ipallocator.k8s.io");
	repair(&g, &g.a, 1);
	assert_non_null(allocate_get(&g, ADDRESS "10.0.0.8"));
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"Ag==\""));
	/* So is what others have made. */
	put_leaked(&g, "2020-01-01T00:00:00Z", "somebody");
	repair(&g, &g.a, 1);
	assert_non_null(allocate_get(&g, ADDRESS "10.0.0.8"));
	put_leaked(&g, "2020-01-01T00:00:00Z", "ipallocator.k8s.io");
	repair(&g, &g.a, 4);
	assert_null(allocate_get(&g, ADDRESS "10.0.0.8"));
	assert_non_null(strstr(allocate_get(&g, "/registry/ranges/servicenodeports"), "\"data\":\"\""));
	ks_arena_fini(&arena);
	allocate_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_one_text),
		cmocka_unit_test(ranges_know_what_they_give),
		cmocka_unit_test(two_ranges_are_of_two_families),
		cmocka_unit_test(the_map_is_kept_as_a_number),
		cmocka_unit_test(what_is_no_map_is_refused),
		cmocka_unit_test(low_ports_are_given_last),
		cmocka_unit_test(a_service_holds_its_address),
		cmocka_unit_test(an_address_may_have_another_form),
		cmocka_unit_test(a_write_that_failed_gives_back),
		cmocka_unit_test(all_or_nothing_is_taken),
		cmocka_unit_test(ports_of_one_number_share_a_node_port),
		cmocka_unit_test(a_dry_run_takes_nothing),
		cmocka_unit_test(a_type_that_needs_no_ports_gives_them_back),
		cmocka_unit_test(endpoints_go_with_their_service),
		cmocka_unit_test(a_service_gets_a_second_family_and_gives_it_back),
		cmocka_unit_test(the_second_address_is_not_dropped_by_the_way),
		cmocka_unit_test(another_range_has_addresses_when_it_is_ready),
		cmocka_unit_test(no_address_is_given_twice),
		cmocka_unit_test(one_of_two_gets_what_both_ask_for),
		cmocka_unit_test(no_port_is_given_twice),
		cmocka_unit_test(threads_share_the_ports),
		cmocka_unit_test(a_map_that_may_have_been_written_is_looked_for),
		cmocka_unit_test(what_a_crash_has_lost_is_put_right),
		cmocka_unit_test(what_belongs_to_nobody_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
