/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* Handlers, probes, hooks of a container's life. */
#include "core/registry/validate/pod.h"

static const char *const schemes[] = {"HTTP", "HTTPS", NULL};

static void check_exec(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	if (!ks_value_count(LIST(v, "command")))
		ks_err_required(c, path, "command", "");
}

static void check_http(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *headers = LIST(v, "httpHeaders");
	struct ks_str scheme = TEXT(v, "scheme");

	if (!TEXT(v, "path").n)
		ks_err_required(c, path, "path", "");
	ks_check_port_or_name(c, path, "port", IN(v, "port"));
	if (!ks_str_in(scheme, schemes))
		ks_err_not_supported(c, path, "scheme", scheme, schemes);
	EACH(i, headers)
		ks_check_name(c, path, "httpHeaders", KS_NAME_HTTP_HEADER, TEXT(&headers->items[i], "name"));
}

static void check_tcp(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	ks_check_port_or_name(c, path, "port", IN(v, "port"));
}

static void check_grpc(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	ks_check_port(c, path, "port", INT(v, "port"));
}

static void check_sleep(struct ks_check *c, const struct ks_path *path, const struct ks_value *v)
{
	const struct ks_value *grace = ks_pod_of(c)->grace;
	int64_t seconds = INT(v, "seconds"), limit = ks_value_int_or(grace, 0);

	if (grace && (seconds < 0 || seconds > limit))
		ks_err_invalid_int(c, path, NULL, seconds,
			ks_err_detail(c, "must be non-negative and less than terminationGracePeriodSeconds (%lld)", (long long)limit));
}

static const struct {
	const char *name;
	void (*check)(struct ks_check *c, const struct ks_path *path, const struct ks_value *v);
} handlers[] = {{"exec", check_exec}, {"httpGet", check_http}, {"tcpSocket", check_tcp}, {"grpc", check_grpc}, {"sleep", check_sleep}};

void ks_check_handler(struct ks_check *c, const struct ks_path *path, const struct ks_value *handler)
{
	static _Atomic uint32_t places[sizeof(handlers) / sizeof(handlers[0])];
	bool any = false;

	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
		const struct ks_value *v = ks_field_at(c, handler, handlers[i].name, &places[i]);
		struct ks_path at = ks_path_child(path, handlers[i].name);

		if (!ks_value_present(v))
			continue;
		if (any)
			ks_err_forbidden(c, &at, NULL, "may not specify more than 1 handler type");
		else
			handlers[i].check(c, &at, v);
		any = true;
	}
	if (!any)
		ks_err_required(c, path, NULL, "must specify a handler type");
}

static const char *const signals[] = {"SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO",
	"SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11",
	"SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7",
	"SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14",
	"SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV",
	"SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM",
	"SIGWINCH", "SIGXCPU", "SIGXFSZ", NULL};
static const char *const windows_signals[] = {"SIGKILL", "SIGTERM", NULL};

static void check_stop_signal(struct ks_check *c, const struct ks_path *path, const struct ks_value *signal)
{
	struct ks_str os = TEXT(IN(ks_pod_of(c)->spec, "os"), "name");

	if (!signal)
		return;
	if (!os.n)
		ks_err_forbidden(c, path, "stopSignal", "may not be set for containers with empty `spec.os.name`");
	else if (ks_str_is(os, "windows") && !ks_str_in(ks_value_str(signal), windows_signals))
		ks_err_not_supported(c, path, "stopSignal", ks_value_str(signal), windows_signals);
	else if (ks_str_is(os, "linux") && !ks_str_in(ks_value_str(signal), signals))
		ks_err_not_supported(c, path, "stopSignal", ks_value_str(signal), signals);
}

void ks_check_lifecycle(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	const struct ks_value *lifecycle = IN(container, "lifecycle");
	struct ks_path at = ks_path_child(path, "lifecycle"), start = ks_path_child(&at, "postStart"), stop = ks_path_child(&at, "preStop");

	if (!lifecycle)
		return;
	if (IN(lifecycle, "postStart"))
		ks_check_handler(c, &start, IN(lifecycle, "postStart"));
	if (IN(lifecycle, "preStop"))
		ks_check_handler(c, &stop, IN(lifecycle, "preStop"));
	check_stop_signal(c, &at, IN(lifecycle, "stopSignal"));
}

static void check_probe(struct ks_check *c, const struct ks_path *path, const struct ks_value *probe)
{
	const struct ks_value *grace = IN(probe, "terminationGracePeriodSeconds");

	ks_check_handler(c, path, probe);
	ks_check_nonnegative(c, path, "initialDelaySeconds", INT(probe, "initialDelaySeconds"));
	ks_check_nonnegative(c, path, "timeoutSeconds", INT(probe, "timeoutSeconds"));
	ks_check_nonnegative(c, path, "periodSeconds", INT(probe, "periodSeconds"));
	ks_check_nonnegative(c, path, "successThreshold", INT(probe, "successThreshold"));
	ks_check_nonnegative(c, path, "failureThreshold", INT(probe, "failureThreshold"));
	if (grace && ks_value_int_or(grace, 0) <= 0)
		ks_err_invalid(c, path, "terminationGracePeriodSeconds", grace, "must be greater than 0");
}

static void check_once(struct ks_check *c, const struct ks_path *path, const char *name, const struct ks_value *probe)
{
	struct ks_path at = ks_path_child(path, name);

	if (!probe)
		return;
	check_probe(c, &at, probe);
	if (INT(probe, "successThreshold") != 1)
		ks_err_invalid_int(c, &at, "successThreshold", INT(probe, "successThreshold"), "must be 1");
}

void ks_check_probes(struct ks_check *c, const struct ks_path *path, const struct ks_value *container)
{
	const struct ks_value *ready = IN(container, "readinessProbe");
	struct ks_path at = ks_path_child(path, "readinessProbe");

	check_once(c, path, "livenessProbe", IN(container, "livenessProbe"));
	if (ready) {
		check_probe(c, &at, ready);
		if (IN(ready, "terminationGracePeriodSeconds"))
			ks_err_invalid(c, &at, "terminationGracePeriodSeconds", IN(ready, "terminationGracePeriodSeconds"), "must not be set for readinessProbes");
	}
	check_once(c, path, "startupProbe", IN(container, "startupProbe"));
}
