/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The state of the code that generates a plan, shared by plan.c and segments.c */
#ifndef _FUZZ_RX_PATHS_MAKER_H
#define _FUZZ_RX_PATHS_MAKER_H

#include "rx_paths.h"

#define RECVS		64	/* receives that the maker of the plan remembers */
#define REQUESTS	16	/* local requests that the maker remembers */
#define RAW_MAX		160
#define TAGGED		DDP_QUEUES	/* index of the tagged message in maker.open */

/* A message that is being cut into segments */
struct message {
	struct ddp_hdr	h;	/* of the next segment */
	u32		left;	/* payload bytes that remain */
	u32		each;	/* payload bytes of each segment but the last */
	u32		done;
	bool		begun;
	u32		raw_len;
	u8		raw[RAW_MAX];	/* payload of a message with a fixed format */
};

struct request {
	struct ddp_sge	sink;
	u32		slot;
	bool		atomic;
};

struct maker {
	struct plan	*p;
	struct input	*in;
	struct dice	dice;
	u32		wrong;		/* number of wrong segments among 256, on average */
	u32		msn[DDP_QUEUES];
	struct message	open[DDP_QUEUES + 1];	/* one per untagged queue, and TAGGED */
	u8		last_mr;
	u32		recv[RECVS], recvs, recvs_used, recvs_late;
	struct request	request[REQUESTS];
	u32		requests, requests_answered, slots;
};

/* Read a byte of the input. Return: true for one in @n values of the byte */
static inline bool read_bool_one_in(struct maker *m, u32 n)
{
	return read_u8(m->in) % n == n - 1;
}

/* segments.c */
void fill_random_bytes(struct maker *m, u8 *at, u32 len);
void add_garbage_segment(struct maker *m);
void add_next_segments(struct maker *m, struct message *msg, u32 n);

#endif
