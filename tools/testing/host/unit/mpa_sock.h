/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Test fixture: a connection, and a fake TCP that can run out of memory */
#ifndef _HOST_UNIT_MPA_SOCK_H
#define _HOST_UNIT_MPA_SOCK_H

#include <kunit/test.h>
#include <net/tcp.h>

#include <ddp/addr.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/internal.h"

extern struct mpa_sock_stubs {
	struct mpa_conn	c;
	struct tcp_sock	tp;
	struct socket	sock;
	int		locked;
	bool		no_memory;	/* no memory for a FIN */
	bool		fin_lost;	/* allocating the FIN succeeds, but TCP cannot send it */
	bool		queued;		/* TCP has bytes not yet sent or not acknowledged */
	int		result;		/* result of sending */
	int		flags;		/* flags of the last send */
	u32		from;		/* bytes of the batch before those of the last send */
	u32		unread;
	u32		received;	/* calls of mpa_rx_receive_or_discard() */
	bool		more;		/* mpa_rx_receive_or_discard() leaves complete FPDUs */
	u32		fins, resets, released;
	bool		worker;		/* run the worker when the socket is unlocked */
	enum mpa_sock_state	sock_state;		/* state of the socket that the worker reads */
	int		err;
	int		no_bind, no_connect;	/* results of bind and connect for the ULP's port */
	int		no_any;		/* result of connect for any other port */
	u16		port;		/* port that the socket is bound to */
	u32		made, connects;
	int		vrf;		/* VRF of the socket */
	const struct ddp_sock_callbacks *calls;
	u32		events;		/* bit for each event of the connection */
} stubs;

int mpa_sock_test_init(struct kunit *test);

#endif
