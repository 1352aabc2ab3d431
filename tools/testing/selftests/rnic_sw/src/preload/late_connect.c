// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late_connect.so, for LD_PRELOAD: delay rdma_connect().
 *
 * A client of perftest connects a second time as soon as both ends have agreed to do so, but the
 * server starts to listen only then.  Without the delay the client may connect before the server
 * listens.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#define MOMENT	100000	/* in microseconds */

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*real)(struct rdma_cm_id *id, struct rdma_conn_param *param) =
		dlsym(RTLD_NEXT, "rdma_connect");

	usleep(MOMENT);
	return real(id, param);
}
