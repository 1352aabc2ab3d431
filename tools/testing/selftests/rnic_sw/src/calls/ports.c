// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ports ADDRESS PORT OTHERS: compare the time of rdma_listen() without other listeners and with
 * OTHERS listeners on the following ports.  The call must not take longer with other listeners.
 *
 * The minima of many calls are compared, so that preempted calls do not count.  With other
 * listeners the call may take at most twice as long.  A walk through 6000 listeners would take
 * longer: ten times as long if memory accesses are instrumented.  Cache misses and the bookkeeping
 * of kmemleak make the call 1.5 times as long.  Other load can slow the machine down during the
 * test.  So if the limit is exceeded, the time without other listeners is measured again, and the
 * test fails only if the limit is exceeded for this time as well.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

#define PATIENCE	150	/* in seconds */
#define TRIES		300
#define BACKLOG		1

static struct rdma_cm_id *create_bound_id(struct sockaddr_in to, int ahead)
{
	struct rdma_cm_id *id;

	to.sin_port = htons(ntohs(to.sin_port) + ahead);
	if (rdma_create_id(calls_events, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&to))
		calls_die("rdma_bind_addr");
	return id;
}

static long listen_and_measure_us(struct rdma_cm_id *id)
{
	long began = calls_now_us();

	if (rdma_listen(id, BACKLOG))
		calls_die("rdma_listen");
	return calls_now_us() - began;
}

static long measure_shortest_listen(const struct sockaddr_in *to)
{
	long least = LONG_MAX, took;
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < TRIES; i++) {
		id = create_bound_id(*to, 0);
		took = listen_and_measure_us(id);
		if (took < least)
			least = took;
		rdma_destroy_id(id);
	}
	return least;
}

static long measure_min_listen_us_with_others(const struct sockaddr_in *to, int others)
{
	struct rdma_cm_id **id = calloc(others, sizeof(*id));
	long among;
	int i;

	if (!id)
		calls_die("calloc");
	for (i = 0; i < others; i++) {
		id[i] = create_bound_id(*to, i + 1);
		listen_and_measure_us(id[i]);
	}
	among = measure_shortest_listen(to);
	for (i = 0; i < others; i++)
		rdma_destroy_id(id[i]);
	free(id);
	return among;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = {};
	int others = argc == 4 ? atoi(argv[3]) : 0;
	long alone, among, again = 0;

	if (others <= 0)
		return 2;
	calls_init_from_args(&to, argv + 1, PATIENCE);
	alone = measure_shortest_listen(&to);
	among = measure_min_listen_us_with_others(&to, others);
	if (among > 2 * alone)
		again = measure_shortest_listen(&to);
	printf("listening takes %ld us, %ld us with %d other listeners, then %ld us\n", alone,
	       among, others, again);
	return among > 2 * alone && among > 2 * again;
}
