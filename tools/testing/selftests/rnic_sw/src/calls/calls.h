/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Common code of binds.c, going.c, ports.c, race.c and stopped.c: connections of rdma_cm. */
#ifndef _CALLS_H
#define _CALLS_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#define CALLS_FIRST	2	/* SCHED_FIFO priorities */
#define CALLS_SECOND	1

extern struct rdma_event_channel *calls_events;

_Noreturn void calls_die(const char *what);
long calls_now_us(void);			/* in microseconds */
/* Parse ADDRESS and PORT, create the event channel, and end the program after @seconds */
void calls_init_from_args(struct sockaddr_in *to, char **words, int seconds);
/* Give the calling thread the SCHED_FIFO priority @priority, or SCHED_OTHER if it is 0 */
void calls_set_priority(int priority);

/* Wait for an event of this type, and drop other events.  Return: the ID of the event */
struct rdma_cm_id *calls_wait_event(enum rdma_cm_event_type type);
struct rdma_cm_id *calls_create_resolved_id(const struct sockaddr_in *to);
/* Create a QP that librdmacm does not know, so that the program can destroy the QP at any time */
struct ibv_qp *calls_create_qp(struct rdma_cm_id *id);
struct rdma_conn_param calls_make_conn_param(const struct ibv_qp *qp);

#endif
