/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows of this process, under the names that Prometheus' client libraries give it. */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/pipeline/metrics.h"

/* Fields of /proc/self/stat, counted from the state, which is field 3. */
struct stat_fields {
	uint64_t cpu_ticks, start_ticks, virtual_bytes;
	int64_t resident_pages;
};

static int read_file(const char *path, char *out, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return -1;
	n = fread(out, 1, room - 1, file);
	out[n] = '\0';
	fclose(file);
	return 0;
}

static int read_stat(struct stat_fields *fields)
{
	char text[1024];
	const char *rest;
	uint64_t user, system;

	if (read_file("/proc/self/stat", text, sizeof(text)) != 0)
		return -1;
	rest = strrchr(text, ')');
	if (!rest ||
		sscanf(rest + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64 " %*d %*d %*d %*d %*d %*d %" SCNu64 " %" SCNu64
			" %" SCNd64,
			&user, &system, &fields->start_ticks, &fields->virtual_bytes, &fields->resident_pages) != 5)
		return -1;
	fields->cpu_ticks = user + system;
	return 0;
}

static uint64_t boot_time(void)
{
	FILE *file = fopen("/proc/stat", "re");
	uint64_t seconds = 0;
	char line[256];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "btime %" SCNu64, &seconds) == 1)
			break;
	fclose(file);
	return seconds;
}

static long open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long n = -3; /* ".", ".." and the descriptor of this very listing */

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void gauge(struct ks_buf *out, const char *name, const char *type, const char *help, double value)
{
	ks_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s %.15g\n", name, help, name, type, name, value);
}

void ks_metrics_write_process(struct ks_buf *out)
{
	struct stat_fields fields = {0};
	double tick = (double)sysconf(_SC_CLK_TCK);
	struct rlimit limit;

	if (read_stat(&fields) == 0) {
		gauge(out, "process_cpu_seconds_total", "counter", "User and system time of this process.", (double)fields.cpu_ticks / tick);
		gauge(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
			(double)fields.resident_pages * (double)sysconf(_SC_PAGESIZE));
		gauge(out, "process_virtual_memory_bytes", "gauge", "Virtual memory.", (double)fields.virtual_bytes);
		gauge(out, "process_start_time_seconds", "gauge", "When this process began, in seconds since 1970.",
			(double)boot_time() + (double)fields.start_ticks / tick);
	}
	gauge(out, "process_open_fds", "gauge", "Open descriptors.", (double)open_descriptors());
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		gauge(out, "process_max_fds", "gauge", "Most descriptors that may be open.", (double)limit.rlim_cur);
}
