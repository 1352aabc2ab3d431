// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late_connect.so, for LD_PRELOAD: rdma_connect() waits a moment.
 *
 * perftest's client connects a second time as soon as both ends agree to, and its
 * server begins to listen then: who comes first is up to the scheduler.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#define MOMENT	100000	/* microseconds */

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *id, struct rdma_conn_param *param) =
		dlsym(RTLD_NEXT, "rdma_connect");

	usleep(MOMENT);
	return real(id, param);
}
