/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Settings of a device; policy.h has the functions that access them. */
#ifndef _RNIC_SW_DEV_POLICY_H
#define _RNIC_SW_DEV_POLICY_H

#include <linux/seqlock.h>
#include <linux/types.h>

#define RNIC_PATHS	4	/* maximum number of further interfaces for SCTP */

/*
 * Settings of a device.  @lock protects @paths.  Each other member is independent of the
 * rest, and is accessed with READ_ONCE() and WRITE_ONCE().
 */
struct rnic_policy {
	u8	llp_connect;	/* LLP of outgoing connections: enum rnic_sw_llp */
	/* LLPs that listeners use: mask of 1 << enum rnic_sw_llp */
	u8	llp_listen;
	u8	mpa_revision;	/* MPA revision 1 or 2; 0: 2 with fallback to 1 */
	u8	mpa_crc;	/* 1: request the CRC; 0: do not */
	u8	mpa_markers;	/* 1: request MPA markers; 0: do not */
	u8	mpa_rtr;	/* RTR types to offer: mask of DDP_RTR_* */
	u8	busy_poll;	/* 1: programs may poll the network device; 0: they may not */
	u16	rendezvous;	/* rendezvous port; 0: rdma_cm only, see rdv.h */
	/* QPs connected with rdma_cm: maximum time that a message waits for a receive, in ms */
	u16	rnr_wait;
	u16	streams;	/* SCTP streams to request in each direction; 0: the default */
	seqlock_t lock;		/* protects @paths, so that readers get a consistent copy */
	/*
	 * ifindexes of further interfaces, whose addresses SCTP may use in addition to
	 * those of the device's interface; a 0 ends the list
	 */
	int	paths[RNIC_PATHS];
};

#endif
