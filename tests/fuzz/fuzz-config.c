/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/* A configuration: it is loaded, or refused with at least one line; nothing in between. */
#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ks_config *config = NULL;
	struct ks_problems problems;
	char path[64];
	int fd = memfd_create("config", MFD_CLOEXEC);
	int result;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ks_problems_init(&problems);
	result = ks_config_load(path, "/state", &config, &problems);
	assert((result < 0) == (problems.n > 0));
	assert((result < 0) == (config == NULL));
	ks_config_free(&config);
	ks_problems_fini(&problems);
	close(fd);
	return 0;
}
