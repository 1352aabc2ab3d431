// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Run a fuzz target without libFuzzer on each file of the given directories. */
#include <dirent.h>

#include "fuzz.h"

static void replay_file(const char *dir, const char *name)
{
	static u8 octets[1 << 16];
	char path[4096];
	size_t len;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		exit(1);
	}
	len = fread(octets, 1, sizeof(octets), file);
	fclose(file);
	LLVMFuzzerTestOneInput(octets, len);
}

static unsigned int replay_directory(const char *path)
{
	unsigned int inputs = 0;
	struct dirent *entry;
	DIR *dir = opendir(path);

	if (!dir) {
		perror(path);
		exit(1);
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		replay_file(path, entry->d_name);
		inputs++;
	}
	closedir(dir);
	return inputs;
}

int main(int argc, char **argv)
{
	unsigned int inputs = 0;

	while (*++argv)
		inputs += replay_directory(*argv);
	printf("%u inputs\n", inputs);
	return !inputs;
}
