/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: a connection with a fake socket and a fake listener */
#ifndef _HOST_UNIT_MPA_CONN_H
#define _HOST_UNIT_MPA_CONN_H

#include <kunit/test.h>

#include "../../../../drivers/mpa/internal.h"

extern struct mpa_conn_stubs {
	struct mpa_conn		c;
	struct mpa_startup	su;
	u8			octets[MPA_HDR_LEN + 1];	/* bytes from the peer */
	size_t			len, read;
	int			err;		/* error of the socket; reported once */
	bool			closed;		/* the socket is closed */
	bool			fin;		/* the peer's FIN has arrived */
	bool			coming;		/* the TCP handshake is in progress */
	u32			requests;		/* connection requests reported */
	u32			refused, ended;	/* reports to the listener; to the program */
	u32			half_closes;		/* half-closes reported */
	enum iw_reason		why;		/* reason reported last */
	bool			reset;		/* the last release was an abort */
	bool			no_memory;	/* no memory for a FIN */
	bool			cut;		/* the peer's FIN is inside an FPDU */
	u32			fins;		/* FINs sent */
	u32			written, acked;	/* TCP sequence numbers */
	int			connects;	/* result of mpa_sock_connect(): 0 or an error */
	int			takes;		/* bytes of a frame accepted by TCP, or an error */
	u32			queued, connq_queued;	/* times @c.work was queued; mpa_connq_add() calls */
	struct work_struct	*work;		/* last work item queued, if @keep_work */
	bool			keep_work;	/* queueing stores the work item in @work */
	void			(*unlocked)(struct mpa_conn *c);	/* called at unlock */
	u32			full_passes;		/* calls of mpa_tx_work() */
	u32			locked;		/* depth of the socket's spinlock */
	bool			owned;		/* a process owns the socket */
	bool			stream_failed;
	bool			drains;		/* mpa_tx_kick() passes all FPDUs to TCP */
	struct mpa_connq		line;
	struct mpa_conn		*first;		/* only connection in @line, or NULL */
	bool			others;		/* other connections wait in the queue */
	u32			received;	/* calls of the receive path */
	u32			events;		/* number of receive calls that raise an event */
	bool			more;		/* receive calls leave data in the queue */
	u32			armed, disarmed;	/* calls that start the timer; that stop it */
	unsigned long		delay;		/* last timeout, jiffies */
	u8			frame[MPA_FRAME_MAX];
} stubs;

struct mpa_conn *open_passive_conn(void);
struct mpa_conn *open_established_conn(u32 octets);
void set_state_event_and_run_worker(struct mpa_conn *c);
void run_worker(struct mpa_conn *c);
void let_peer_reset(void);
void expect_reports(struct kunit *test, u32 requests, u32 refused, u32 ended, enum iw_reason why);

#endif
