/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * rnic_sw: interface between the kernel module and its libibverbs provider.
 *
 * A ring is shared memory: a header of two cache lines, followed by the slots.
 * The number of slots is a power of two. The indices prod and cons are stored
 * unmasked and wrap at 2^32; they are masked only to find a slot. A writer of
 * an index must first fill or read the slots, and then store the index with
 * release semantics. A reader of an index must load the index with acquire
 * semantics. The kernel reads each byte that a program has written only once,
 * so that the program cannot change a value after the kernel has checked it.
 */
#ifndef _UAPI_RDMA_RNIC_SW_ABI_H
#define _UAPI_RDMA_RNIC_SW_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define RNIC_SW_ABI_VERSION	1
#define RNIC_SW_DRIVER_ID	0x726e7377	/* "rnsw"; not in rdma_driver_id */

/**
 * struct rnic_sw_ring - header of a shared ring
 * @prod: number of slots filled so far, wraps; written by the producer
 * @cons: number of slots emptied so far, wraps; written by the consumer
 * @flags: RNIC_SW_RING_* or RNIC_SW_ARM_*; set by the consumer. The kernel
 *	clears RNIC_SW_ARM_* when it raises the event.
 * @reserved0: zero; never written
 * @reserved1: zero; never written
 *
 * The slots begin RNIC_SW_RING_HDR bytes after the start of this header.
 */
struct rnic_sw_ring {
	__u32	prod;
	__u32	reserved0[15];
	__u32	cons;
	__u32	flags;
	__u32	reserved1[14];
};

#define RNIC_SW_RING_HDR	128	/* bytes of struct rnic_sw_ring */

/*
 * The kernel sets this flag of an SQ, RQ or SRQ while it does not poll the ring.
 * After the program has advanced prod, it must execute a full memory barrier and
 * then read this flag. If the flag is set, the program must call post_send,
 * post_recv or post_srq_recv without a work request. The kernel sets the flag of
 * an RQ or SRQ only while a message waits for a receive, and that of an RQ also
 * if the queue pair is in the error state, because it must then flush the
 * receives that the program posts.
 */
#define RNIC_SW_RING_NEED_WAKEUP	0x1

/* Flags of a CQ, set by the program: kinds of completions that raise an event */
#define RNIC_SW_ARM_ANY			0x1	/* any completion */
#define RNIC_SW_ARM_SOLICITED		0x2	/* solicited or failed completion */

enum rnic_sw_opcode {
	RNIC_SW_OP_WRITE	= 0,
	RNIC_SW_OP_WRITE_IMM	= 1,
	RNIC_SW_OP_SEND		= 2,
	/* 3 is not used: iWARP has no Send with Immediate */
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

/* Scatter/gather element */
struct rnic_sw_sge {
	__aligned_u64	addr;
	__u32		length;
	__u32		lkey;
};

/**
 * struct rnic_sw_sqe - send work request; SGEs or inline data follow
 * @wr_id: chosen by the program
 * @opcode: enum rnic_sw_opcode
 * @flags: RNIC_SW_SEND_*
 * @num_sge: number of SGEs that follow, or 0 if the data is inline
 * @inline_len: length of the inline data that follows, in bytes
 * @imm_data: WRITE_IMM: immediate data in network byte order
 * @inv_stag: SEND_INV, LOCAL_INV: STag to invalidate
 * @rkey: remote STag
 * @remote_addr: remote TO
 * @compare_add: FETCH_ADD: value to add; CMP_SWAP: value to compare with
 * @swap: CMP_SWAP: value to store
 * @bind: BIND_MW: parameters, in place of the fields from @imm_data to @swap
 * @bind.lkey: lkey of the memory region
 * @bind.rkey: new rkey of the memory window
 * @bind.addr: start of the window
 * @bind.length: length of the window in bytes; 0 unbinds it
 * @bind.access: enum ib_uverbs_access_flags
 * @bind.reserved: zero
 * @reserved: zero
 *
 * Fields that the opcode does not use must be zero.
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
 * struct rnic_sw_rqe - receive work request; SGEs follow
 * @wr_id: chosen by the program
 * @num_sge: number of SGEs that follow
 * @reserved: zero
 */
struct rnic_sw_rqe {
	__aligned_u64	wr_id;
	__u32		num_sge;
	__u32		reserved;
};

#define RNIC_SW_OP_RECV		0x80	/* opcode of a receive completion */

/* Completion status; the numbers are those of enum ibv_wc_status */
enum rnic_sw_status {
	RNIC_SW_OK			= 0,
	RNIC_SW_LOC_LEN_ERR		= 1,	/* message exceeds its buffer */
	RNIC_SW_LOC_QP_OP_ERR		= 2,	/* invalid work request */
	RNIC_SW_LOC_PROT_ERR		= 4,	/* memory access not allowed */
	RNIC_SW_WR_FLUSH_ERR		= 5,	/* flushed, QP in error state */
	RNIC_SW_MW_BIND_ERR		= 6,	/* MW cannot be bound */
	RNIC_SW_REM_ACCESS_ERR		= 10,	/* remote memory access error */
	RNIC_SW_REM_OP_ERR		= 11,	/* remote operation failed */
	RNIC_SW_RETRY_EXC_ERR		= 12,	/* peer did not reply, or connection lost */
	RNIC_SW_RNR_RETRY_EXC_ERR	= 13,	/* peer has posted no receive */
};

/*
 * Vendor error of a completion. The lower 16 bits are the number of the reason.
 * If the reason is RNIC_SW_PEER_TERMINATE, the upper 16 bits are the layer, the
 * error type and the error code of the peer's Terminate, in the order of
 * Terminate Control (RFC 5040 4.8). Otherwise the upper 16 bits are zero.
 */
#define RNIC_SW_PEER_TERMINATE		35
#define RNIC_SW_VENDOR_ERR(reason, layer, type, code)			\
	((reason) | (__u32)(layer) << 28 | (__u32)(type) << 24 |	\
	 (__u32)(code) << 16)
#define RNIC_SW_VENDOR_REASON(err)	((err) & 0xffff)
#define RNIC_SW_TERM_LAYER(err)		((err) >> 28)
#define RNIC_SW_TERM_TYPE(err)		((err) >> 24 & 0xf)
#define RNIC_SW_TERM_CODE(err)		((err) >> 16 & 0xff)

/* Flags of a completion */
#define RNIC_SW_WC_WITH_IMM	0x01
#define RNIC_SW_WC_WITH_INV	0x02
#define RNIC_SW_WC_SOLICITED	0x04

/**
 * struct rnic_sw_cqe - completion
 * @wr_id: wr_id that the program gave in the work request
 * @qp_num: number of the queue pair
 * @byte_len: number of bytes received or read
 * @status: enum rnic_sw_status; a program must accept unknown values, which a
 *	later kernel may return
 * @opcode: enum rnic_sw_opcode of the send work request; RNIC_SW_OP_RECV for a
 *	receive; RNIC_SW_OP_RECV | RNIC_SW_OP_WRITE_IMM for a receive that a
 *	Write with immediate has consumed
 * @flags: RNIC_SW_WC_*, if @status is RNIC_SW_OK
 * @imm_data: immediate data in network byte order, if @flags has
 *	RNIC_SW_WC_WITH_IMM
 * @inv_stag: STag that the peer has invalidated, if @flags has
 *	RNIC_SW_WC_WITH_INV
 * @vendor_err: reason for the failure, if @status is not RNIC_SW_OK: see
 *	RNIC_SW_VENDOR_ERR
 * @timestamp: completion time in nanoseconds of CLOCK_MONOTONIC, in the time
 *	namespace of the program that created the CQ; 0 unless the CQ was
 *	created with RNIC_SW_CREATE_CQ_TIMESTAMP
 *
 * A later kernel may append fields, so the distance between two completions is
 * the stride of the ring, not the size of this structure.
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
 * Data of commands and responses. The kernel refuses a command with unknown
 * bits in comp_mask or flags, with nonzero bytes in reserved fields, or with
 * nonzero bytes after the end of the structure that it knows. In a response,
 * bits of comp_mask show which fields the kernel has filled in besides those
 * defined here.
 */
struct rnic_sw_alloc_ctx {
	__u32		comp_mask;
	__u32		reserved;
};

/* Capabilities of the kernel, in the comp_mask of the response */
#define RNIC_SW_CTX_PACKS	0x1	/* RNIC_SW_CREATE_*_PACK is supported */
#define RNIC_SW_CTX_DLID	0x2	/* modify QP accepts struct rnic_sw_modify_qp */
#define RNIC_SW_CTX_DOORBELL	0x4	/* RNIC_SW_OBJECT_DOORBELL is supported */
#define RNIC_SW_CTX_BUSY_POLL	0x8	/* the device permits RNIC_SW_IOCTL_BUSY_POLL */

struct rnic_sw_alloc_ctx_resp {
	__u32		comp_mask;	/* RNIC_SW_CTX_* */
	__u32		max_inline;	/* maximum inline bytes of any QP */
	__aligned_u64	reserved;
};

/*
 * A small ring may share its mapping with other rings of the same context. The
 * program permits this with RNIC_SW_CREATE_*_PACK when it creates the queue.
 * The response then has the number of the mapping (map_number) and the offset
 * of the ring in the mapping (ring_offset). Number 0 means that the mapping
 * contains this queue only. The kernel never reuses a map_number, but may reuse
 * a ring_key.
 */

/*
 * Rate limits (modify QP, IB_QP_RATE_LIMIT) in kbit/s, for a connected queue
 * pair over TCP; 0 means no limit.
 */
#define RNIC_SW_RATE_MIN	100	/* lowest limit */
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
	__u32		slots;		/* number of slots */
	__u32		stride;		/* bytes from one slot to the next */
	__u32		comp_mask;
	__aligned_u64	map_number;	/* id of the mapping if other rings can share it, or 0 */
	__u32		ring_offset;	/* offset in the mapping, in bytes */
	__u32		reserved;
};

/*
 * A CQ is resized with two commands. The first one creates a new ring and returns
 * its mmap parameters; the CQ keeps using its old ring. The second one has
 * RNIC_SW_RESIZE_CQ_SWITCH and the key of the new ring, and makes the CQ use
 * the new ring. Completions that the program has not polled yet keep their
 * indices.
 */
#define RNIC_SW_RESIZE_CQ_SWITCH	0x1

struct rnic_sw_resize_cq {
	__u32		comp_mask;
	__u32		flags;		/* RNIC_SW_RESIZE_CQ_* */
	__aligned_u64	ring_key;	/* key of the ring to switch to, or 0 */
};

struct rnic_sw_resize_cq_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	__u32		slots;		/* number of slots of the new ring */
	__u32		stride;		/* bytes from one slot to the next */
	__u32		comp_mask;
};

/* Shared receive queue; its slots have the format of RQ slots */
#define RNIC_SW_CREATE_SRQ_PACK		0x1

struct rnic_sw_create_srq {
	__u32		comp_mask;
	__u32		flags;		/* RNIC_SW_CREATE_SRQ_* */
};

struct rnic_sw_create_srq_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	__u32		slots;		/* number of slots */
	__u32		stride;		/* bytes from one slot to the next */
	__u32		comp_mask;
	__aligned_u64	map_number;	/* id of the mapping if other rings can share it, or 0 */
	__u32		ring_offset;	/* offset in the mapping, in bytes */
	__u32		reserved;
};

/* Lower layer of a queue pair */
enum rnic_sw_llp {
	RNIC_SW_LLP_DEFAULT	= 0,	/* as configured for the device */
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

/*
 * Both rings are in one mapping: first that of the send queue, then that of the
 * receive queue
 */
struct rnic_sw_create_qp_resp {
	__aligned_u64	ring_key;	/* mmap offset */
	__u32		ring_bytes;	/* mmap length */
	/*
	 * offset in bytes from the ring of the send queue to that of the
	 * receive queue; unused if rq_slots is 0
	 */
	__u32		rq_offset;
	__u32		sq_slots;	/* number of slots of the SQ */
	__u32		rq_slots;	/* number of slots of the RQ, or 0 */
	__u32		sq_stride;	/* bytes from one SQ slot to the next */
	__u32		rq_stride;	/* bytes from one RQ slot to the next */
	__u32		max_inline;	/* maximum inline data in bytes */
	__u32		comp_mask;
	__aligned_u64	map_number;	/* id of the mapping if other rings can share it, or 0 */
	__u32		ring_offset;	/* offset of the SQ's ring, in bytes */
	__u32		doorbell;	/* number for RNIC_SW_IOCTL_RING_SQ; 0: none */
};

/*
 * Driver data of the extended command to modify a QP, optional. The RDMA core
 * does not pass the LID of an address vector to an iWARP driver, so a program
 * that names its peer by a LID, without a GRH, passes the LID here, too.
 */
struct rnic_sw_modify_qp {
	__u32		comp_mask;
	__u16		dlid;		/* LID of the peer, or 0 */
	__u16		reserved;
};

/*
 * Doorbell file: a file descriptor with which a program rings the doorbells of its
 * send queues. A context has at most one; a second allocation fails with EBUSY.
 * A queue pair gets a doorbell number if the context has a doorbell file when the
 * queue pair is created.
 */
enum rnic_sw_objects {
	RNIC_SW_OBJECT_DOORBELL = 1U << UVERBS_ID_NS_SHIFT,
};

enum rnic_sw_doorbell_methods {
	RNIC_SW_METHOD_DOORBELL_ALLOC = 1U << UVERBS_ID_NS_SHIFT,
};

enum rnic_sw_doorbell_alloc_attrs {
	/* out: the file descriptor */
	RNIC_SW_ATTR_DOORBELL_ALLOC_HANDLE = 1U << UVERBS_ID_NS_SHIFT,
};

/*
 * ioctl on the doorbell file, with the number of a doorbell as argument. Has the effect
 * of post_send without a work request. Fails with ENOENT if no queue pair has
 * the number, and with EIO if the device has been removed or the context closed.
 */
#define RNIC_SW_IOCTL_RING_SQ	_IO(RDMA_IOCTL_MAGIC, 0x80)

/*
 * ioctl on the doorbell file, with the number of a doorbell as argument. Receives
 * the packets that the network device of the queue pair's connection has at this
 * moment, without waiting for its interrupt. Fails as RNIC_SW_IOCTL_RING_SQ does,
 * and with EOPNOTSUPP if the device does not permit it, or if the connection has no
 * network device that can be polled.
 */
#define RNIC_SW_IOCTL_BUSY_POLL	_IO(RDMA_IOCTL_MAGIC, 0x81)

/*
 * Methods of a queue pair that only this driver has, called by ioctl. A kernel
 * without the method fails the call with EPROTONOSUPPORT.
 */
enum rnic_sw_qp_methods {
	RNIC_SW_METHOD_QUERY_CONN = 1U << UVERBS_ID_NS_SHIFT,
};

/*
 * Query the start-up message of the current or former peer, or of a peer that
 * rejected the connection. The call fails with ENOTCONN if there is no such
 * message.
 *
 * The kernel truncates each of the two outputs to the length that the program
 * passes, and zeroes the bytes after its own output.
 */
enum rnic_sw_query_conn_attrs {
	/* handle of the queue pair */
	RNIC_SW_ATTR_QUERY_CONN_HANDLE = 1U << UVERBS_ID_NS_SHIFT,
	/* out: struct rnic_sw_query_conn_resp */
	RNIC_SW_ATTR_QUERY_CONN_RESP,
	/* out, optional: Private Data, up to 512 bytes, without IRD and ORD */
	RNIC_SW_ATTR_QUERY_CONN_PRIVATE_DATA,
};

#define RNIC_SW_CONN_DEPTHS	0x1	/* the message has IRD and ORD */
#define RNIC_SW_CONN_REJECTED	0x2	/* the message rejects the connection */
#define RNIC_SW_CONN_CRC	0x4	/* FPDUs of both directions have an MPA CRC */
#define RNIC_SW_CONN_TX_MARKERS	0x8	/* this side sends MPA markers */
#define RNIC_SW_CONN_RX_MARKERS	0x10	/* the peer sends MPA markers */

/**
 * struct rnic_sw_query_conn_resp - start-up message of a peer
 * @comp_mask: zero
 * @flags: RNIC_SW_CONN_*. The flags for CRC and markers are the result of the
 *	negotiation in both start-up messages; never set over SCTP or after a reject
 * @ird: IRD as the peer has sent it, 14 bits; 0x3fff if the peer does not
 *	negotiate it. Zero without RNIC_SW_CONN_DEPTHS
 * @ord: ORD, in the same way as @ird
 * @llp: lower layer of the connection, enum rnic_sw_llp
 * @revision: MPA revision of the message, which the connection uses; 0 over SCTP
 * @private_data_len: length of the Private Data of the message, in bytes
 */
struct rnic_sw_query_conn_resp {
	__u32	comp_mask;
	__u32	flags;
	__u16	ird;
	__u16	ord;
	__u8	llp;
	__u8	revision;
	__u16	private_data_len;
};

#endif
