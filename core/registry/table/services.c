/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Services and what is behind them. */
#include <stdlib.h>

#include "core/registry/table/cell.h"

enum { MOST_SHOWN = 3 };

/* -- services -------------------------------------------------------------------------------------------------- */

static void cell_cluster_ip(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *ips = ks_row_list(row, row->object, "spec.clusterIPs");

	if (ips)
		ks_put_str(row, ks_value_str(&ips->items[0]));
	else
		ks_put_text(row, cell->otherwise);
}

static int by_text(const void *a, const void *b)
{
	return ks_str_cmp(*(const struct ks_str *)a, *(const struct ks_str *)b);
}

/* Addresses of a load balancer: sorted, each once. */
static void add_balancer(struct ks_row *row, struct ks_buf *text)
{
	const struct ks_value *points = ks_row_list(row, row->object, "status.loadBalancer.ingress");
	struct ks_str *addresses = points ? ks_arena_zalloc(row->arena, points->n, sizeof(*addresses)) : NULL;
	size_t n = 0;

	row->out->failed |= points && !addresses;
	for (uint32_t i = 0; addresses && i < points->n; i++) {
		struct ks_str ip = ks_row_str(row, &points->items[i], "ip");
		struct ks_str address = ip.n ? ip : ks_row_str(row, &points->items[i], "hostname");

		if (address.n)
			addresses[n++] = address;
	}
	if (n)
		qsort(addresses, n, sizeof(*addresses), by_text);
	for (size_t i = 0; i < n; i++) {
		if (i && ks_str_eq(addresses[i], addresses[i - 1]))
			continue;
		ks_add_separator(text, ",");
		ks_add_str(text, addresses[i]);
	}
}

static void cell_external_ip(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *external = ks_row_list(row, row->object, "spec.externalIPs");
	struct ks_str type = ks_row_str(row, row->object, "spec.type");
	struct ks_buf *text = ks_compose(row);

	(void)cell;
	if (ks_str_is(type, "ExternalName")) {
		ks_put_str(row, ks_row_str(row, row->object, "spec.externalName"));
		return;
	}
	if (ks_str_is(type, "LoadBalancer"))
		add_balancer(row, text);
	else if (!ks_str_is(type, "ClusterIP") && !ks_str_is(type, "NodePort")) {
		ks_put_text(row, "<unknown>");
		return;
	}
	if (external)
		ks_add_separator(text, ",");
	ks_add_list(text, external, ",");
	ks_put_composed(row, ks_str_is(type, "LoadBalancer") ? "<pending>" : "<none>");
}

static void cell_ports(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *ports = ks_row_list(row, row->object, "spec.ports");
	struct ks_buf *text = ks_compose(row);

	for (uint32_t i = 0; ports && i < ports->n; i++) {
		int64_t node_port = ks_row_int(row, &ports->items[i], "nodePort");

		ks_add_separator(text, ",");
		ks_buf_add_i64(text, ks_row_int(row, &ports->items[i], "port"));
		if (node_port > 0)
			ks_buf_printf(text, ":%lld", (long long)node_port);
		ks_buf_add_char(text, '/');
		ks_add_str(text, ks_row_str(row, &ports->items[i], "protocol"));
	}
	ks_put_composed(row, cell->otherwise);
}

static const struct ks_cell services[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.type", NULL},
	{cell_cluster_ip, NULL, "<none>"},
	{cell_external_ip, NULL, NULL},
	{cell_ports, NULL, "<none>"},
	KS_CELL_AGE,
	{ks_cell_labels, "spec.selector", NULL},
};

/* -- endpoints ------------------------------------------------------------------------------------------------- */

/* Address and port as in a URL's authority: an IPv6 address stands in brackets. */
static void add_host_port(struct ks_buf *text, struct ks_str host, int64_t port)
{
	bool brackets = host.n && memchr(host.p, ':', host.n) != NULL;

	if (brackets)
		ks_buf_add_char(text, '[');
	ks_add_str(text, host);
	ks_buf_add_str(text, brackets ? "]:" : ":");
	ks_buf_add_i64(text, port);
}

/* The addresses of a subset with one of its ports, or (NULL) without. */
static void add_addresses(struct ks_row *row, struct ks_buf *text, const struct ks_value *subset, const struct ks_value *port, uint32_t *count)
{
	const struct ks_value *addresses = ks_row_list(row, subset, "addresses");

	for (uint32_t i = 0; addresses && i < addresses->n; i++) {
		struct ks_str ip = ks_row_str(row, &addresses->items[i], "ip");

		if ((*count)++ >= MOST_SHOWN)
			continue;
		ks_add_separator(text, ",");
		if (port)
			add_host_port(text, ip, ks_row_int(row, port, "port"));
		else
			ks_add_str(text, ip);
	}
}

static void cell_endpoints(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *subsets = ks_row_list(row, row->object, "subsets");
	struct ks_buf *text = ks_compose(row);
	uint32_t count = 0;

	for (uint32_t i = 0; subsets && i < subsets->n; i++) {
		const struct ks_value *ports = ks_row_list(row, &subsets->items[i], "ports");

		if (!ports)
			add_addresses(row, text, &subsets->items[i], NULL, &count);
		for (uint32_t k = 0; ports && k < ports->n; k++)
			add_addresses(row, text, &subsets->items[i], &ports->items[k], &count);
	}
	ks_add_more(text, count, MOST_SHOWN);
	ks_put_composed(row, subsets ? NULL : cell->otherwise);
}

static void cell_slice_ports(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *ports = ks_row_list(row, row->object, "ports");
	struct ks_buf *text = ks_compose(row);

	for (uint32_t i = 0; ports && i < ports->n && i < MOST_SHOWN; i++) {
		const struct ks_value *port = ks_row_at(row, &ports->items[i], "port");
		const struct ks_value *name = ks_row_at(row, &ports->items[i], "name");

		if (i)
			ks_buf_add_char(text, ',');
		if (port)
			ks_buf_add_i64(text, port->integer);
		else
			ks_add_str(text, name ? ks_value_str(name) : KS_STR_LIT("*"));
	}
	if (ports)
		ks_add_more(text, ports->n, MOST_SHOWN);
	ks_put_composed(row, cell->otherwise);
}

static void cell_slice_endpoints(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *endpoints = ks_row_list(row, row->object, "endpoints");
	struct ks_buf *text = ks_compose(row);
	uint32_t count = 0;

	for (uint32_t i = 0; endpoints && i < endpoints->n; i++) {
		const struct ks_value *addresses = ks_row_list(row, &endpoints->items[i], "addresses");

		for (uint32_t k = 0; addresses && k < addresses->n; k++) {
			if (count++ >= MOST_SHOWN)
				continue;
			ks_add_separator(text, ",");
			ks_add_str(text, ks_value_str(&addresses->items[k]));
		}
	}
	ks_add_more(text, count, MOST_SHOWN);
	ks_put_composed(row, cell->otherwise);
}

static const struct ks_cell endpoints[] = {KS_CELL_NAME, {cell_endpoints, NULL, "<none>"}, KS_CELL_AGE};

static const struct ks_cell endpoint_slices[] = {
	KS_CELL_NAME,
	{ks_cell_text, "addressType", NULL},
	{cell_slice_ports, NULL, "<unset>"},
	{cell_slice_endpoints, NULL, "<unset>"},
	KS_CELL_AGE,
};

/* -- ingresses ------------------------------------------------------------------------------------------------- */

static void cell_hosts(struct ks_row *row, const struct ks_cell *cell)
{
	const struct ks_value *rules = ks_row_list(row, row->object, "spec.rules");
	struct ks_buf *text = ks_compose(row);
	uint32_t shown = 0, at = 0;

	for (; rules && at < rules->n && shown < MOST_SHOWN; at++) {
		struct ks_str host = ks_row_str(row, &rules->items[at], "host");

		if (host.n == 0)
			continue;
		ks_add_separator(text, ",");
		ks_add_str(text, host);
		shown++;
	}
	if (rules && at < rules->n)
		ks_add_more(text, rules->n, MOST_SHOWN);
	ks_put_composed(row, cell->otherwise);
}

static void cell_address(struct ks_row *row, const struct ks_cell *cell)
{
	(void)cell;
	add_balancer(row, ks_compose(row));
	ks_put_composed(row, NULL);
}

static void cell_tls(struct ks_row *row, const struct ks_cell *cell)
{
	ks_put_text(row, ks_row_count(row, row->object, cell->path) ? "80, 443" : "80");
}

static const struct ks_cell ingresses[] = {
	KS_CELL_NAME,
	{ks_cell_text, "spec.ingressClassName", "<none>"},
	{cell_hosts, NULL, "*"},
	{cell_address, NULL, NULL},
	{cell_tls, "spec.tls", NULL},
	KS_CELL_AGE,
};

static const struct ks_printer printers[] = {
	{"", "services", KS_CELLS(services), NULL},
	{"", "endpoints", KS_CELLS(endpoints), NULL},
	{"discovery.k8s.io", "endpointslices", KS_CELLS(endpoint_slices), NULL},
	{"networking.k8s.io", "ingresses", KS_CELLS(ingresses), NULL},
};
const struct ks_printers ks_printers_services = KS_PRINTERS(printers);
