/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Fake kernel of the provider's tests: its settings and what it records. */
#ifndef PLAYED_H
#define PLAYED_H

#include <stdio.h>

#include "../rnic_sw.h"

#define SLOTS		4
#define STRIDE		256
#define CQE_STRIDE	64		/* a kernel may use longer CQEs than the provider */
#define MAX_SGE		3
#define MAX_INLINE	48
#define RING		(RNIC_SW_RING_HDR + SLOTS * STRIDE)
#define DOORBELL_FD	4321		/* number of the doorbell file; not an open file */
#define AREA		0x10000		/* bytes of the memory file reserved for each ring */

#define CHECK(x)							\
	do {								\
		if (!(x)) {						\
			fprintf(stderr, "%s:%d: %s\n", __func__,	\
				__LINE__, #x);				\
			failures++;					\
		}							\
	} while (0)

extern int failures;
extern unsigned int areas;	/* number of areas of the memory file in use */
extern unsigned int kicks;	/* number of doorbells of all queues */
extern unsigned int ioctls;	/* number of doorbells rung with ioctl() */
extern uint32_t doorbell;	/* doorbell number of the next QP */
extern unsigned int doorbell_files;	/* number of calls that allocate a doorbell file */
extern int doorbell_file_errno;	/* errno that these allocations return; 0 if they succeed */
extern unsigned int file_doorbells;	/* number of doorbells rung with the doorbell file */
extern unsigned int busy_polls;		/* number of busy polls with the doorbell file */
extern int file_errno;		/* errno of doorbells rung with that file; 0 if they succeed */
extern bool doorbells_fail;	/* true if all doorbells fail with EIO */
extern unsigned int short_of_memory;	/* number of next doorbells that fail with ENOMEM */
extern void (*_Atomic during_doorbell)(void);	/* called during the next doorbell */
extern bool other_creds;	/* true if doorbells rung with write() fail with EACCES */
extern int refuse_create;	/* errno returned by create and register commands */
extern atomic_uint ended;	/* number of CQs, SRQs and QPs destroyed */
extern uint64_t cq_flags;	/* driver flags of the CQ created last */
extern uint32_t rate_asked;	/* rate limit of the last extended modify command */
extern uint16_t dlid_passed;	/* LID in the driver data of the last extended modify command */
extern unsigned int plain_modifies;	/* number of modify commands that are not extended */
extern uint32_t llp_asked;	/* LLP of the QP created last */
extern uint32_t rq_offset;	/* offset reported for receive queues */

/* Location and size of a ring as reported by the kernel; a QP has two */
struct played_ring {
	uint64_t	key;
	uint64_t	bytes;
	uint32_t	slots, stride;
	uint64_t	number;
	uint32_t	offset;
};

/* Shared mapping for small rings, as reported by the kernel */
extern struct played_page {
	uint64_t	key, number;
	uint32_t	bytes;
	uint32_t	used;
} page;

/* functions that make the response about the first or the second ring invalid, or NULL */
extern void (*corrupt_response[2])(struct played_ring *r);
extern uint32_t qp_num;		/* number of the next QP */
extern uint32_t next_qp_num;	/* number that each QP after the next one gets */
extern atomic_uint destroyed;	/* number of QPs destroyed */
extern unsigned int destroy_commands;	/* number of commands that destroy a CQ or PD */
extern int refusal;		/* errno returned by destroy and reregister commands */
/* thread function, or NULL: the next command that destroys a QP runs it, and waits for its end */
extern void *(*destroy_waits_for)(void *);
extern void *destroy_waits_arg;	/* argument of this function, then its result */
extern uint64_t made;		/* mmap offset of the ring that the last resize created */
extern bool bad_key;		/* true if the next ring cannot be mapped */
extern unsigned int switches;	/* number of commands that switch a CQ to a new ring */
extern bool refuse_switch;	/* true if commands that switch rings fail with EINVAL */
extern unsigned int resize_pages;	/* size of the next ring in pages; 0: default */
extern void (*resizing)(bool step2);	/* called by resize commands; @step2: second command */
extern struct played_region {	/* arguments of the last registration and the last advice */
	void		*at;
	size_t		len;
	uint64_t	iova;
	int		access;
	int		fd;
	uint32_t	advice, flags, num_sge;
	struct ibv_sge	*sg;
} region;
extern bool refuse_buffer;	/* true if registration of dma-bufs fails */
extern uint32_t attached_ops;	/* operations of the completion counter attached last */
extern int bad_advice;		/* errno returned by advise commands */
extern int method_errno;	/* errno returned by methods */
extern struct played_conn {	/* result of the method that queries a connection */
	struct rnic_sw_query_conn_resp	resp;
	uint8_t				pd[600];
	uint32_t			handle;	/* QP of the last call */
} conn;
extern struct rnic_sw_context own;

#endif
