// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * binds ADDRESS PORT SECONDS: call rdma_bind_addr() again and again for SECONDS, and fail if a call
 * fails.  rdma_cm looks the device up in the GID table of the RDMA core, which rewrites the table
 * whenever an address of the interface changes.  If PORT is 0, the kernel chooses a port.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define PATIENCE	60	/* in seconds, in addition to SECONDS */

int main(int argc, char **argv)
{
	long seconds = argc == 4 ? atol(argv[3]) : 0, calls = 0, failed = 0, end;
	struct sockaddr_in to = {};
	struct rdma_cm_id *id;
	int why = 0;

	if (seconds <= 0)
		return 2;
	calls_init_from_args(&to, argv + 1, seconds + PATIENCE);
	end = calls_now_us() + seconds * 1000000;
	for (; calls_now_us() < end; calls++) {
		if (rdma_create_id(calls_events, &id, NULL, RDMA_PS_TCP))
			calls_die("rdma_create_id");
		if (rdma_bind_addr(id, (struct sockaddr *)&to)) {
			why = errno;
			failed++;
		}
		rdma_destroy_id(id);
	}
	printf("%ld of %ld calls of rdma_bind_addr() failed%s%s\n", failed, calls,
	       failed ? ", the last one: " : "", failed ? strerror(why) : "");
	return !calls || failed;
}
