/* SPDX-FileCopyrightText: The Keelson Authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a libFuzzer target over files, for compilers without libFuzzer: those
 * named as arguments, or the whole corpus in $srcdir/tests/fuzz/corpus/KS_CORPUS.
 */
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t n;

	if (!file) {
		perror(path);
		return -1;
	}
	n = fread(data, 1, sizeof(data), file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	char pattern[4096];
	glob_t found;
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	if (argc > 1)
		return failed != 0;
	snprintf(pattern, sizeof(pattern), "%s/tests/fuzz/corpus/" KS_CORPUS "/*", srcdir ? srcdir : ".");
	if (glob(pattern, 0, NULL, &found) != 0) {
		fprintf(stderr, "%s: no corpus\n", pattern);
		return 1;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		failed |= replay(found.gl_pathv[i]);
	printf("%zu inputs\n", found.gl_pathc);
	globfree(&found);
	return failed != 0;
}
