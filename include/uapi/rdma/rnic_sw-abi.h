/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * rnic_sw: what the kernel module and its libibverbs provider share.
 *
 * Rings are shared memory: a header of two cache lines, then slots.  The
 * number of slots is a power of two; prod and cons run freely and are masked
 * to find a slot.  Whoever writes an index uses a release store after filling
 * or reading the slots, whoever reads it an acquire load.  The kernel reads
 * each octet that a program wrote once, and checks and uses its copy.
 */
#ifndef _UAPI_RDMA_RNIC_SW_ABI_H
#define _UAPI_RDMA_RNIC_SW_ABI_H

#include <linux/types.h>

#define RNIC_SW_ABI_VERSION	1
#define RNIC_SW_DRIVER_ID	0x726e7377	/* "rnsw"; not in rdma_driver_id */

/**
 * struct rnic_sw_ring - header of a shared ring
 * @prod: slots ever filled; the producer writes it
 * @cons: slots ever emptied; the consumer writes it
 * @flags: the consumer writes it, RNIC_SW_RING_* or RNIC_SW_ARM_*
 * @reserved0: zero, written by nobody
 * @reserved1: the same
 *
 * Slots follow, RNIC_SW_RING_HDR octets from the start.
 */
struct rnic_sw_ring {
	__u32	prod;
	__u32	reserved0[15];
	__u32	cons;
	__u32	flags;
	__u32	reserved1[14];
};

#define RNIC_SW_RING_HDR	128

/*
 * SQ and RQ, written by the kernel: nobody looks at the ring.  After moving
 * prod (and a full barrier) the program calls post_send with no work request.
 * On the RQ only set when the queue pair is in error, so that receives posted
 * then are flushed.
 */
#define RNIC_SW_RING_NEED_WAKEUP	0x1

/* CQ, written by the program: give an event for the next completion ... */
#define RNIC_SW_ARM_ANY			0x1	/* ... of any kind */
#define RNIC_SW_ARM_SOLICITED		0x2	/* ... solicited or failed */

enum rnic_sw_opcode {
	RNIC_SW_OP_WRITE	= 0,
	RNIC_SW_OP_WRITE_IMM	= 1,
	RNIC_SW_OP_SEND		= 2,
	/* 3: no such message in iWARP */
	RNIC_SW_OP_SEND_INV	= 4,
	RNIC_SW_OP_READ		= 5,
	RNIC_SW_OP_CMP_SWAP	= 6,
	RNIC_SW_OP_FETCH_ADD	= 7,
	RNIC_SW_OP_LOCAL_INV	= 8,
	RNIC_SW_OP_BIND_MW	= 9,
};

#define RNIC_SW_SEND_FENCE	0x01
#define RNIC_SW_SEND_SIGNALED	0x02
#define RNIC_SW_SEND_SOLICITED	0x04
#define RNIC_SW_SEND_INLINE	0x08

/* A piece of memory */
struct rnic_sw_sge {
	__aligned_u64	addr;
	__u32		length;
	__u32		lkey;
};

/**
 * struct rnic_sw_sqe - a send work request; SGEs or inline data follow it
 * @wr_id: the program's
 * @opcode: enum rnic_sw_opcode
 * @flags: RNIC_SW_SEND_*
 * @num_sge: pieces that follow, 0 if inline
 * @inline_len: octets of inline data that follow
 * @imm_data: WRITE_IMM: immediate data, in network order
 * @inv_stag: SEND_INV, LOCAL_INV: the STag to invalidate
 * @rkey: remote STag
 * @remote_addr: remote TO
 * @compare_add: atomics: value to add, or to compare with
 * @swap: CMP_SWAP: value to store
 * @bind: BIND_MW, in place of all that:
 * @bind.lkey: the region's
 * @bind.rkey: the window's from then on
 * @bind.addr: where the window begins
 * @bind.length: its octets; 0 shuts it
 * @bind.access: enum ib_uverbs_access_flags
 * @bind.reserved: zero
 * @reserved: zero
 *
 * What an opcode does not use is zero, too.
 */
struct rnic_sw_sqe {
	__aligned_u64	wr_id;
	__u8		opcode;
	__u8		flags;
	__u16		num_sge;
	__u32		inline_len;
	union {
		struct {
			union {
				__be32	imm_data;
				__u32	inv_stag;
			};
			__u32		rkey;
			__aligned_u64	remote_addr;
			__aligned_u64	compare_add;
			__aligned_u64	swap;
		};
		struct {
			__u32		lkey;
			__u32		rkey;
			__aligned_u64	addr;
			__aligned_u64	length;
			__u32		access;
			__u32		reserved;
		} bind;
	};
	__aligned_u64	reserved[2];
};

/**
 * struct rnic_sw_rqe - a receive work request; SGEs follow it
 * @wr_id: the program's
 * @num_sge: pieces that follow
 * @reserved: zero
 */
struct rnic_sw_rqe {
	__aligned_u64	wr_id;
	__u32		num_sge;
	__u32		reserved;
};

#define RNIC_SW_OP_RECV		0x80	/* in a completion: a receive */

/* How a work request has ended; the numbers are the verbs' */
enum rnic_sw_status {
	RNIC_SW_OK			= 0,
	RNIC_SW_LOC_LEN_ERR		= 1,	/* a message longer than its receive */
	RNIC_SW_LOC_QP_OP_ERR		= 2,	/* the request makes no sense */
	RNIC_SW_LOC_PROT_ERR		= 4,	/* memory that may not be used so */
	RNIC_SW_WR_FLUSH_ERR		= 5,	/* the queue pair ended before it */
	RNIC_SW_MW_BIND_ERR		= 6,
	RNIC_SW_REM_ACCESS_ERR		= 10,	/* the peer's memory: it says so */
	RNIC_SW_REM_OP_ERR		= 11,	/* the peer could not do it: it says so */
};

/* What there is in a completion */
#define RNIC_SW_WC_WITH_IMM	0x01
#define RNIC_SW_WC_WITH_INV	0x02
#define RNIC_SW_WC_SOLICITED	0x04

/**
 * struct rnic_sw_cqe - a completion
 * @wr_id: of the work request
 * @qp_num: its queue pair
 * @byte_len: octets received or read
 * @status: enum rnic_sw_status; a later kernel may know more
 * @opcode: enum rnic_sw_opcode of the request; RNIC_SW_OP_RECV for a receive,
 *	RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM for one by a Write with immediate
 * @flags: RNIC_SW_WC_*, of a success
 * @imm_data: with RNIC_SW_WC_WITH_IMM: immediate data, in network order
 * @inv_stag: with RNIC_SW_WC_WITH_INV: the STag that the peer has invalidated
 * @vendor_err: if @status is no success: why, the reason's number
 * @timestamp: nanoseconds of the monotonic clock, as the program that made the
 *	queue sees it; 0 unless asked for
 *
 * A later kernel may put more behind it: go from one to the next by the ring's
 * stride.
 */
struct rnic_sw_cqe {
	__aligned_u64	wr_id;
	__u32		qp_num;
	__u32		byte_len;
	__u8		status;
	__u8		opcode;
	__u16		flags;
	union {
		__be32	imm_data;
		__u32	inv_stag;
		__u32	vendor_err;
	};
	__aligned_u64	timestamp;
};

/*
 * Command data.  A bit of a comp_mask or of flags that the kernel does not know
 * is refused; so is anything but zero in what is reserved, or beyond the
 * struct that the kernel knows.  In an answer comp_mask says which members
 * there are besides those here.
 */
struct rnic_sw_alloc_ctx {
	__u32		comp_mask;
	__u32		reserved;
};

/* What the kernel can do besides */
#define RNIC_SW_CTX_PACKS	0x1	/* RNIC_SW_CREATE_*_PACK may be asked for */

struct rnic_sw_alloc_ctx_resp {
	__u32		comp_mask;	/* RNIC_SW_CTX_* */
	__u32		max_inline;	/* octets, a limit for any queue pair */
	__aligned_u64	reserved;
};

/*
 * A small ring may share its mapping with others of the same context, if the program
 * asks for it as it makes the queue: RNIC_SW_CREATE_*_PACK.  Then the answer says where in
 * the mapping it begins, and the number of the mapping: no two ever have the same, though
 * one may have a key that another had.  Number 0: the mapping is this queue's alone.
 */

/*
 * Rate limits (modify QP, IB_QP_RATE_LIMIT), in kbit/s; 0 is none.  Of a
 * connected queue pair over TCP.
 */
#define RNIC_SW_RATE_MIN	100
#define RNIC_SW_RATE_MAX	0xffffffff

#define RNIC_SW_CREATE_CQ_TIMESTAMP	0x1
#define RNIC_SW_CREATE_CQ_PACK		0x2

struct rnic_sw_create_cq {
	__u32		comp_mask;
	__u32		flags;		/* RNIC_SW_CREATE_CQ_* */
	__aligned_u64	reserved;
};

struct rnic_sw_create_cq_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	__u32		slots;
	__u32		stride;		/* octets from slot to slot */
	__u32		comp_mask;
	__aligned_u64	map_number;	/* of a mapping that is shared, or 0 */
	__u32		ring_offset;	/* in the mapping */
	__u32		reserved;
};

/*
 * Another ring for a CQ, in two commands.  The first one makes it and says how
 * to map it; the CQ goes on as before.  The second one, with the key of what
 * has been mapped, has the kernel change over: entries not yet polled stay at
 * their indices.
 */
#define RNIC_SW_RESIZE_CQ_SWITCH	0x1

struct rnic_sw_resize_cq {
	__u32		comp_mask;
	__u32		flags;		/* RNIC_SW_RESIZE_CQ_* */
	__aligned_u64	ring_key;	/* of the ring to change over to, or 0 */
};

struct rnic_sw_resize_cq_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	__u32		slots;
	__u32		stride;
	__u32		comp_mask;
};

/* A shared receive queue: the slots are those of a receive queue */
#define RNIC_SW_CREATE_SRQ_PACK		0x1

struct rnic_sw_create_srq {
	__u32		comp_mask;
	__u32		flags;		/* RNIC_SW_CREATE_SRQ_* */
};

struct rnic_sw_create_srq_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	__u32		slots;
	__u32		stride;		/* octets from slot to slot */
	__u32		comp_mask;
	__aligned_u64	map_number;	/* of a mapping that is shared, or 0 */
	__u32		ring_offset;	/* in the mapping */
	__u32		reserved;
};

enum rnic_sw_llp {
	RNIC_SW_LLP_DEFAULT	= 0,	/* what the device is set to */
	RNIC_SW_LLP_TCP		= 1,
	RNIC_SW_LLP_SCTP	= 2,
};

#define RNIC_SW_CREATE_QP_PACK		0x1

struct rnic_sw_create_qp {
	__u32		comp_mask;
	__u32		llp;		/* enum rnic_sw_llp */
	__u32		flags;		/* RNIC_SW_CREATE_QP_* */
	__u32		reserved;
};

/* In one mapping: the send queue's ring, and behind it the receive queue's */
struct rnic_sw_create_qp_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	__u32		rq_offset;	/* from the other; meaningless if rq_slots is 0 */
	__u32		sq_slots;
	__u32		rq_slots;
	__u32		sq_stride;	/* octets from slot to slot */
	__u32		rq_stride;
	__u32		max_inline;
	__u32		comp_mask;
	__aligned_u64	map_number;	/* of a mapping that is shared, or 0 */
	__u32		ring_offset;	/* in the mapping, of the send queue's */
	__u32		reserved;
};

#endif
