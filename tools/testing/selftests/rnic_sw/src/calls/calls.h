/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What going.c, ports.c, race.c and stopped.c need to call and to be called. */
#ifndef _CALLS_H
#define _CALLS_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#define CALLS_FIRST	2	/* priorities among those who run to their end */
#define CALLS_SECOND	1

extern struct rdma_event_channel *calls_events;

_Noreturn void calls_die(const char *what);
long calls_now(void);			/* microseconds */
/* ADDRESS and PORT of the command line; events, and an end after so long */
void calls_init(struct sockaddr_in *to, char **words, int seconds);
void calls_priority(int priority);	/* of this thread; 0: like anybody's */

struct rdma_cm_id *calls_expect(enum rdma_cm_event_type type);
struct rdma_cm_id *calls_resolved(const struct sockaddr_in *to);
/* librdmacm does not know it: it would look into what is being freed */
struct ibv_qp *calls_new_qp(struct rdma_cm_id *id);
struct rdma_conn_param calls_terms(const struct ibv_qp *qp);

#endif
