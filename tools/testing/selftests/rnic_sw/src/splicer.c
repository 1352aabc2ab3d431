// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * splicer FD SECONDS: send pages by reference while changing them.
 *
 * Standard input contains two versions of a message, of equal length and up to 64 KiB each.  The
 * first version is copied to memory, and the memory is spliced to the socket FD again and again:
 * vmsplice() to a pipe, splice() to the socket, so that TCP sends the pages themselves.
 * Meanwhile a second thread, on another CPU if there is one, alternately writes both versions of
 * the differing bytes to the memory.  After SECONDS, or when the peer sends any data or ends the connection,
 * the program restores the first version, prints how often it has sent the memory, and exits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST	65536

/* 16-bit words, so that the two bytes of a length field change together */
static uint16_t versions[2 * MOST / 2];
static volatile uint16_t *memory;
static size_t len;			/* bytes of one version */
static unsigned int differing[MOST / 2], nr_differing;	/* indexes of words that differ */
static volatile bool over;
static long cpus;

static void fail(const char *what)
{
	fprintf(stderr, "splicer: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void read_versions(void)
{
	size_t have = 0;
	ssize_t n;

	while ((n = read(0, (char *)versions + have,
			 sizeof(versions) - have)) > 0)
		have += n;
	len = have / 2;
	if (!len || len % 2 || have % 2)
		fail("standard input must be two versions of equal, even length");
	for (size_t i = 0; i < len / 2; i++)
		if (versions[i] != versions[len / 2 + i])
			differing[nr_differing++] = i;
}

static void write_version(unsigned int which)
{
	for (unsigned int i = 0; i < nr_differing; i++)
		memory[differing[i]] = versions[which * len / 2 + differing[i]];
}

static void pin_to_cpu(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Change the bytes again and again, with delays of many lengths, so that reads by the kernel fall
 * between any two of these writes
 */
static void *change_memory_repeatedly(void *unused)
{
	unsigned int seed = 1, version = 0;

	pin_to_cpu(cpus - 1);
	while (!over) {
		write_version(version ^= 1);
		seed = seed * 1664525 + 1013904223;
		for (volatile unsigned int i = seed >> 20; i; i--)
			;
		if (cpus == 1)
			sched_yield();
	}
	return unused;
}

/* Check whether the peer has sent a Terminate or ended the connection */
static bool has_peer_sent_or_closed(int fd)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };

	return poll(&in, 1, 0) > 0;
}

/* Send the memory once.  Return: true if all was sent, false if the connection has ended */
static bool splice_memory_once(int fd, const int *ends)
{
	struct iovec vec = { .iov_base = (void *)memory, .iov_len = len };
	size_t left = len;
	ssize_t n;

	n = vmsplice(ends[1], &vec, 1, 0);
	if (n != (ssize_t)len)
		fail("vmsplice");
	while (left) {
		n = splice(ends[0], NULL, fd, NULL, left, 0);
		if (n <= 0)
			return false;
		left -= n;
	}
	return true;
}

int main(int argc, char **argv)
{
	unsigned long count = 0;
	pthread_t writer;
	int ends[2], fd;
	time_t end;

	if (argc != 3)
		return 2;
	fd = atoi(argv[1]);
	read_versions();
	signal(SIGPIPE, SIG_IGN);
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	memory = mmap(NULL, MOST, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || pipe(ends) ||
	    fcntl(ends[1], F_SETPIPE_SZ, 2 * MOST) < 0)
		fail("memory or pipe");
	for (size_t i = 0; i < len / 2; i++)
		memory[i] = versions[i];
	if (pthread_create(&writer, NULL, change_memory_repeatedly, NULL))
		fail("thread");
	pin_to_cpu(0);
	end = time(NULL) + atoi(argv[2]);
	while (time(NULL) < end && !has_peer_sent_or_closed(fd) && splice_memory_once(fd, ends))
		count++;
	over = true;
	pthread_join(writer, NULL);
	write_version(0);
	printf("%lu\n", count);
	return 0;
}
