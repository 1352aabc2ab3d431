/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Common part of the fuzz target rx_paths, see ../rx_paths.c: the plan of a run, the
 * "world" in which the plan runs (memory, MRs and stubs of the verbs), and the result.
 */
#ifndef _FUZZ_RX_PATHS_H
#define _FUZZ_RX_PATHS_H

#include <ddp/mem.h>
#include <net/tcp.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/mpa/internal.h"
#include "../../../../drivers/rnic_sw/rdmap.h"
#include "../fuzz.h"

/* Random numbers that do not depend on the input beyond a seed ------------------- */

struct dice {
	u32	state;
};

static inline u32 draw_random_u32(struct dice *d)
{
	d->state = d->state * 1664525 + 1013904223;
	return d->state ^ d->state >> 15;
}

/* Return: a random number below @n */
static inline u32 draw_random_u32_below(struct dice *d, u32 n)
{
	return (u64)draw_random_u32(d) * n >> 32;
}

/* The plan: a stream of segments, and actions of the local side between them --------- */

#define PLAN_SEGS	1024
#define PLAN_STEPS	32
#define PLAN_ACTIONS	256
#define PLAN_BYTES	(128 * 1024)
#define PLAN_SGES	4
#define PLAN_LATE_RECVS	3

/* A segment (ULPDU) */
struct plan_seg {
	u32	at;		/* offset of its bytes in plan.bytes */
	u32	len;
};

enum plan_what {
	PLAN_RECV,		/* post a receive with @sge */
	PLAN_RECV_INVALID,	/* post a receive whose WQE is invalid */
	PLAN_READ,		/* post a Read into sge[0] */
	PLAN_ATOMIC,		/* post a Fetch and Add with the result in sge[0] */
	PLAN_INVALIDATE,	/* post a local invalidation of MR @mr */
	PLAN_RIGHTS,		/* limit the peer's rights on the stream to @rights */
	PLAN_REVOKE,		/* revoke MR @mr */
	PLAN_VALIDATE,		/* make MR @mr valid, if it was revoked */
	PLAN_ABSENT,		/* make the pages of ODP memory absent */
};

/* What the local side does at the end of a step */
struct plan_action {
	u8		what;
	u8		mr;
	u8		rights;
	u8		nsge;
	struct ddp_sge	sge[PLAN_SGES];
};

/* A step: segments are received, then actions are done and messages are sent */
struct plan_step {
	u32	segs;		/* segments up to the end of this step */
	u32	actions;	/* actions up to the end of this step */
	u32	ahead;		/* about how many bytes of the next FPDU arrive with this step */
};

/* How one FPDU is damaged */
enum plan_damage {
	DAMAGE_NONE,
	DAMAGE_CRC,		/* the CRC field is wrong */
	DAMAGE_BIT,		/* a bit is wrong somewhere, and the CRC does not match */
	DAMAGE_MARKER,		/* a marker is wrong, and the CRC matches */
	DAMAGE_UNREADABLE,	/* no CPU can read some bytes */
	DAMAGE_RAW,		/* an arbitrary byte is wrong, even a length field */
};

struct plan {
	struct plan_seg		seg[PLAN_SEGS];
	struct plan_step	step[PLAN_STEPS];
	struct plan_action	action[PLAN_ACTIONS];
	u8			bytes[PLAN_BYTES];
	u32			segs, steps, actions, used;
	u32			number;		/* unique for each plan */
	bool			markers, crc;	/* MPA options of most runs */
	bool			markers2, crc2;	/* MPA options of one other run */
	bool			rtr_send;	/* an RTR Send may come first */
	bool			dma_ok;		/* a kernel consumer's stream */
	/* each page fault is resolved before the function that reports it returns */
	bool			faults_at_once;
	u8			ird, ord;
	u8			late_recvs;	/* maximum messages that wait for a receive */
	u32			cq_room;	/* receives until the CQ overruns; 0: never */
	enum plan_damage	damage;
	u32			damaged;	/* segment whose FPDU is damaged */
	u32			unreadable;	/* number of unreadable bytes */
	u32			seed;		/* seed of the cuts and of the damage */
};

void make_plan(struct plan *p, struct input *in);
void plan_print(const struct plan *p);

/* The world: memory, MRs and stubs of the verbs ----------------------------------- */

#define MRS		13
#define PAGES		40

/* Properties of an MR that the plan uses */
struct world_mr {
	u32	stag;
	u64	base;
	u32	length;
};

extern const struct world_mr *get_test_mr(u32 mr);

/* Something that the modules did and that must not depend on the path */
struct event {
	u32	what;
	u32	a, b, c;
};

enum event_what {
	EV_RECV, EV_RECV_DATA, EV_FAILED, EV_QUOTE, EV_CLOSE, EV_SENT, EV_RESPONSE, EV_WR_FAILED,
	EV_INVALIDATED, EV_TERMINATE, EV_SEGMENTS, EV_MESSAGES, EV_STATE, EV_QUEUE, EV_REQUESTS,
};

#define EVENTS		8192

/* The result of a run, which must be the same for every path */
struct result {
	u32		events;
	struct event	event[EVENTS];
	u8		memory[PAGES][PAGE_SIZE];
};

/* State of a run: one stream, and the stubs around it. Each run begins with the same state. */
extern struct world {
	struct rdmap		r;
	const struct plan	*plan;
	struct result		*result;
	bool			fast;		/* the fast paths are allowed */
	bool			resumed;	/* a page fault of the receive path is resolved */
	bool			kicked;		/* the transmit path is scheduled */
	struct ddp_fault	*fault[2];	/* pending page faults */
	u32			recv_posted, recv_taken, recv_done;
	u32			wr_posted, wr_pulled;
	u32			recv[PLAN_ACTIONS + PLAN_LATE_RECVS];	/* indices of actions */
	u32			wr[PLAN_ACTIONS];			/* indices of actions */
	u32			late_recvs;	/* messages that have waited for a receive */
	u32			segments, bytes;
	u32			messages[RDMAP_OP_NR];
} world;

void world_begin_run(const struct plan *p, struct result *result, bool fast);
void world_record_event(enum event_what what, u32 a, u32 b, u32 c);
void world_run_action(const struct plan_action *a, u32 index);
bool world_resolve_faults(void);
void world_transmit(void);
void world_record_state(void);
void world_end_run(void);
u32 world_hash_bytes(const void *p, u32 len);

/* TCP's receive queue (queue.c) --------------------------------------------------- */

/* How the bytes that arrive are divided into skbs and fragments */
struct cut {
	struct dice	dice;
	u32		most;		/* maximum bytes of an skb; 0: all bytes of a step */
	bool		pieces;		/* fragments, a frag_list and bytes that repeat */
};

void queue_init_tcp_sock(struct tcp_sock *tp);
/* Append @len bytes, which follow those that arrived before, to the queue */
void queue_append_bytes(struct tcp_sock *tp, const u8 *bytes, u32 len, struct cut *cut);
void queue_append_unreadable(struct tcp_sock *tp, u32 len);
/*
 * Change bytes that are in the queue. A sender on this machine can do that, because its pages are
 * in the skbs.
 */
void queue_rewrite_bytes(struct tcp_sock *tp, struct dice *d);
void queue_purge(struct tcp_sock *tp);

/* Runs (run.c) ------------------------------------------------------------------- */

/* One way to receive the stream of a plan */
struct way {
	const char	*name;
	bool		mpa;		/* receive FPDUs from TCP; else pass segments to DDP */
	bool		markers, crc;
	bool		fast;		/* the fast paths are allowed */
	u32		pass;		/* without MPA: maximum segments per receive pass */
	struct cut	cut;		/* with MPA: how the stream is cut into skbs */
	bool		rewrite;	/* with MPA: queued bytes change while a segment waits */
};

void run_way(const struct plan *p, const struct way *w, struct result *result);

/* Segments that each fast path has processed */
extern struct paths {
	unsigned long	tagged_next, repeat_write, untagged_next, whole_untagged, batch, general;
} paths;

#endif
