// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Read the kernel's counters at the start and the end of a measurement. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "marker.h"
#include "rate.h"

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Return: the number after @key in @file, or 0 if there is none */
static uint64_t read_number(const char *file, const char *key)
{
	unsigned long long n = 0;
	char line[1024];
	FILE *f = fopen(file, "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		const char *at = strstr(line, key);

		if (at && sscanf(at + strlen(key), "%llu", &n) == 1)
			break;
	}
	fclose(f);
	return n;
}

static uint64_t read_proc_number(pid_t pid, const char *file, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return read_number(path, key);
}

static double read_busy_seconds(void)
{
	unsigned long long t[8] = { 0 };
	FILE *f = fopen("/proc/stat", "r");
	double sum;

	if (!f)
		return 0;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t, t + 1,
		   t + 2, t + 3, t + 4, t + 5, t + 6, t + 7) != 8)
		memset(t, 0, sizeof(t));
	fclose(f);
	sum = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
	return sum / sysconf(_SC_CLK_TCK);
}

/* Read /proc/net/dev: after eight numbers for receiving, a line has the bytes and frames sent */
static uint64_t read_loopback_frames(void)
{
	unsigned long long n = 0;
	char line[512];
	FILE *f = fopen("/proc/net/dev", "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line,
			   " lo: %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu",
			   &n) == 1)
			break;
	fclose(f);
	return n;
}

/* Read /proc/net/snmp: OutSegs is the eleventh number of the second line that begins with Tcp: */
static uint64_t read_tcp_segments(void)
{
	unsigned long long n = 0;
	char line[1024];
	FILE *f = fopen("/proc/net/snmp", "r");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line,
			   "Tcp: %*u %*u %*u %*d %*u %*u %*u %*u %*u %*u %llu",
			   &n) == 1)
			break;
	fclose(f);
	return n;
}

void record_mark(struct mark *m, pid_t peer)
{
	pid_t self = getpid();

	m->busy = read_busy_seconds();
	m->switches = read_proc_number(self, "status", "voluntary_ctxt_switches:") +
		      read_proc_number(peer, "status", "voluntary_ctxt_switches:");
	m->frames = read_loopback_frames();
	m->segments = read_tcp_segments();
	m->time = now();
	execute_marker();
}
