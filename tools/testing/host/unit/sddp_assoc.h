/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Test fixture: stubs of the socket and of all functions that an association
 * calls, see sddp_assoc_kunit.c
 */
#ifndef _HOST_UNIT_SDDP_ASSOC_H
#define _HOST_UNIT_SDDP_ASSOC_H

#include <kunit/test.h>
#include <net/net_namespace.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

extern struct sddp_assoc_stubs {
	struct net		net;
	struct ddp_sock_owner	owner;	/* task that connects */
	struct ddp_sock_owner	sock_owner;	/* owner of the socket */
	struct sddp_assoc	*a;
	bool			queued;		/* the worker is queued */
	enum sddp_sock_state		sock_state;	/* state of the socket */
	int			more;		/* result of sddp_recv_chunks() */
	bool			again;		/* sddp_tx_send_chunks() leaves data to send */
	u32			received;	/* calls of sddp_recv_chunks() */
	u32			shutdowns, released;	/* socket shutdowns; releases */
	bool			unanswered;	/* the peer has not replied to the SHUTDOWN */
	enum iw_reason		wrong;		/* result of sddp_sock_check_and_read_assoc() */
	enum iw_reason		refused;	/* reason reported to the listener */
	bool			waits;		/* the retry timer is running */
	unsigned long		due;		/* time at which the retry timer expires, jiffies */
	bool			no_memory;	/* sending fails with -ENOMEM */
	u32			sent;		/* successful calls of sddp_tx_send_chunks() */
	u32			acks;		/* checks for acknowledgments */
	u32			ended, unhashed;	/* sessions ended; unhash calls */
	bool			comes;		/* a session begins during the next receive */
	bool			armed;		/* the idle timer is running */
	unsigned long		idle_timeout;	/* time at which the idle timer expires, jiffies */
	bool			at_limit;		/* too many unaccepted associations exist */
	bool			holds;		/* SCTP has queued too much data */
	u32			rejoined, shrunk;	/* tries to add again; buffers shrunk */
	bool			locks_at_once;		/* run the worker at the next unlock */
	int			left;		/* allocations left after that run */
} stubs;

/* sddp_assoc_kunit.c: helpers of all suites of associations */
int test_init(struct kunit *test);
void test_exit(struct kunit *test);
/* Run the worker once. Return: true if it is queued again. */
bool run_worker(void);
/* Let @ms milliseconds pass, and run the idle timer when it expires */
void advance_ms(u32 ms);
void expect_assoc_ended(struct kunit *test, enum iw_reason why, bool abort);

#endif
