/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The objects of the verbs (device, PD, CQ, SRQ, QP, MR, MW), and the functions that the files
 * of rnic_sw share.
 */
#ifndef _RNIC_SW_RNIC_H
#define _RNIC_SW_RNIC_H

#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/seqlock.h>
#include <linux/smp.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rnic_sw-abi.h>

#include "dev_policy.h"
#include "gid_table.h"
#include "qp_state.h"
#include "rdmap.h"
#include "uctx.h"

#define RNIC_MAX_QP_WR		32768
#define RNIC_MAX_CQE		1048576
#define RNIC_MAX_INLINE		(RDMAP_SGE_MAX * sizeof(struct rnic_sw_sge))
#define RNIC_MAX_MSG		0x7fffffffu	/* 2 GiB - 1 */
#define RNIC_MAX_FASTREG	2048		/* pages */

/* Opcodes of WQEs and CQEs that only kernel consumers use */
#define RNIC_OP_REG_MR		0x40
#define RNIC_OP_READ_INV	0x41

struct ib_dmah;
struct rnic_comp_cntrs;
struct rnic_doorbell;
struct rnic_rdv;
struct rnic_rnr;
struct rnic_llps;
struct rnic_unpinned;

/* Kinds of objects whose number is limited */
enum rnic_kind {
	RNIC_PDS,
	RNIC_CQS,
	RNIC_QPS,
	RNIC_SRQS,
	RNIC_MRS,
	RNIC_MWS,
	RNIC_COMP_CNTRS,
	/* endpoints: connections, and connection requests that are not accepted yet */
	RNIC_EPS,
	RNIC_KINDS
};

/* Set of per-CPU counters, and the queue pairs whose events are counted in the set */
struct rnic_counter_set {
	u64 __percpu		*value;	/* RNIC_COUNTERS_ALL values for each CPU */
	struct list_head	qps;	/* protected by rnic_dev.count_lock */
};

struct rnic_dev {
	struct ib_device	ib;		/* first member, for ib_alloc_device() */
	struct ddp_stags	stags;
	spinlock_t		windows_lock;	/* protects bindings of MWs to MRs; leaf lock */
	struct xarray		qps;		/* queue pairs by number, see qp_table.c */
	struct xarray		pending;	/* unaccepted requests by number, see cm_ep.c */
	u32			pending_next;	/* next number to try in @pending */
	atomic_t		nr_objects[RNIC_KINDS];	/* number of objects, see limits.c */
	struct rnic_policy	policy;
	spinlock_t		count_lock;	/* protects the assignment of QPs to counter sets */
	struct rnic_counter_set	default_set;	/* counter set of QPs without an rdma_counter */
	struct xarray		sets;		/* struct rnic_counter_set by rdma_counter id */
	struct rnic_llps	*llps;		/* LLPs and listeners, see cm.h */
	struct mutex		rdv_lock;	/* serializes modifies to RTR and RTS, see rdv.c */
	struct list_head	rdv_ports;	/* listeners of rdv_port.c; under @rdv_lock */
	/* task that called rnic_enable_driver() last; see rnic_current_is_adding_clients() */
	const struct task_struct *enable_task;
	u64			enable_start_time;	/* start_time of @enable_task */
	bool			removing;		/* the interface is being removed */
	struct work_struct	unregister_work;	/* unregisters the device, see netdev.c */
	struct completion	unregister_queued;	/* unregistration is queued */
	struct rnic_gid_table	gids;
	COMPAT_DECLARE_PORT(port_reported);
};

struct rnic_pd {
	struct ib_pd		ib;
	u32			qpn_next;	/* next QP number to try, see qp_table.c */
};

struct rnic_cq {
	struct ib_cq		ib;
	/* constant after creation, except @ring, which a resize replaces under @lock */
	struct rnic_ring	ring;
	bool			timestamps;	/* write a timestamp into each CQE */
	s64			timens_offset;	/* ns to add for the program's time namespace */
	/* CPU that calls the completion handler, see cq_notify.c */
	unsigned int		cpu;
	call_single_data_t	call;			/* IPI that calls the handler on @cpu */
	struct compat_bh	notify_bh;		/* softirq for further handler calls */
	struct mutex		walk_lock;		/* serializes loops over the ring */

	/* protects the free slots of the ring, and the members below */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			prod;
	bool			overrun;	/* a CQE was lost, because no slot was free */
	bool			notifying;	/* the handler is running or scheduled */
	/* kernel consumer: number of events requested and delivered so far */
	u32			ev_requested, ev_done;
	struct rnic_ring	resize_ring;		/* new ring during a resize */
	struct ib_qp		**slot_qp;	/* kernel consumer: QP of each slot, or NULL */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct rnic_cq, lock) > DDP_CACHELINE_OF(struct rnic_cq, walk_lock));
#endif

struct rnic_srq {
	struct ib_srq		ib;
	struct rnic_ring	ring;
	u32			max_sge;
	struct work_struct	event_work;	/* raises SRQ events */

	/* protects the members below, and prod in the ring of a kernel consumer */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			head;		/* index of the next WQE to dequeue */
	/* raise SRQ_LIMIT when fewer WQEs than this are posted; 0: no limit is armed */
	u32			limit;
	/* SRQ_LIMIT has been raised, and no WQE has been dequeued since */
	bool			limit_reported;
	bool			prod_invalid;	/* the program wrote an invalid prod */
	bool			error_reported;	/* SRQ_ERR has been raised or is pending */
	bool			error_pending;	/* @event_work must raise SRQ_ERR */
	u32			limits_pending;	/* SRQ_LIMIT events that @event_work must raise */
	/* the library rings a doorbell after it posts; old libraries do not, see rnr.c */
	bool			rings;
	struct list_head	waiters;	/* messages that wait for a WQE, see rnr.c */
	u32			promised;	/* posted WQEs promised to messages, see rnr.c */
	unsigned long		promised_at;	/* time of the last promise, in jiffies */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct rnic_srq, lock) >
	      DDP_CACHELINE_OF(struct rnic_srq, event_work));
#endif

/* Type of the object that contains a struct ddp_region */
enum rnic_region_kind {
	RNIC_REGION,		/* struct rnic_mr */
	RNIC_WINDOW,		/* struct rnic_window */
};

struct rnic_window;

struct rnic_mw {
	struct ib_mw		ib;
	struct rnic_window	*w;
};

/* List of pages for a fast registration */
struct rnic_mapping {
	void	**block;	/* addresses of the pages */
	u32	nblocks;	/* number of pages */
	u32	skip;		/* offset of the first byte in the first page, in bytes */
	u8	shift;		/* log2 of the page size in bytes */
};

struct rnic_mr {
	struct ib_mr		ib;
	struct ddp_region	region;
	struct rnic_dev		*dev;
	struct list_head	windows;	/* bound MWs; protected by dev->windows_lock */
	bool			bind_forbidden;		/* binding an MW to this MR fails */
	struct ib_umem		*umem;		/* pinned user memory, or NULL */
	struct rnic_unpinned	*unpinned;	/* ODP or dma-buf memory, or NULL */
	int			access;		/* user memory: IB_ACCESS_* */
	u8			denied_rights;	/* DDP_* rights that the memory cannot grant */
	u32			max_blocks;	/* fast registration: capacity in pages */
	/* fast registration: one entry is registered, the other is for the next registration */
	struct rnic_mapping	map[2];
	u8			cur_map;	/* index in @map of the registered entry */
	bool			next_map_valid;	/* the other entry of @map is filled in */
	struct rcu_head		rcu;
};

/* Software WQE: the kernel's state of a send WR, from dequeuing the WQE to completing the WR */
struct rnic_swqe {
	u64	wr_id;
	u32	len;		/* message length in bytes */
	u8	opcode;		/* enum rnic_sw_opcode or RNIC_OP_* */
	u8	status;		/* enum ib_wc_status */
	u8	flags;		/* RNIC_SW_SEND_* */
	u8	state;		/* enum swqe_state, see sq.c */
	struct ib_mr	*reg_mr;	/* fast registration: the MR */
};

struct rnic_sq {
	struct rnic_ring	ring;
	struct rnic_swqe	*swqe;
	u32			max_sge;
	u32			max_inline;

	/* index after the last WR whose messages are completely segmented; transmit path only */
	u32			segmented_end;

	spinlock_t		lock;		/* protects the members below, up to @coalescing */
	u32			head;		/* index of the next WR to dequeue */
	u32			prod_seen;	/* prod as read last by the transmit path */
	/* index after the last WR whose messages the LLP has accepted */
	u32			sent;
	u32			tail;		/* index of the oldest WR not completed */
	u32			close_end;	/* if closing: index after the last WR to send */
	u32			flush_end;	/* index after the last WR to flush */
	bool			completing;	/* CQEs of this queue are being written */
	bool			closing;	/* WRs from @close_end on must not be sent */
	bool			ended;		/* stream has ended: a post starts a flush */
	bool			flushing;	/* a flush completes all WRs before @flush_end */
	/* a flush has completed a WR with an error, so all later WRs fail as well */
	bool			error_completed;
	/* the status of a WR has reported the peer's Terminate, or that the peer is lost */
	bool			remote_err_reported;
	bool			coalescing;	/* until a timer expires; also read unlocked */
	/* constant after creation */
	bool			sig_all;	/* every WR gets a CQE */
	struct rnic_doorbell	*doorbell;	/* NULL for a kernel consumer; see doorbell.h */
};

struct rnic_rq {
	struct rnic_ring	ring;
	struct mutex		flush_lock;	/* serializes flushes of the queue */
	u32			max_sge;

	/*
	 * The next five members belong to the receive path until ddp_stream_quiesce() has
	 * stopped it, and then to the holder of @flush_lock.
	 */
	u32			head;		/* index of the next WQE to dequeue */
	u32			tail;		/* index of the oldest receive not completed */
	u64			wr_id;		/* wr_id of the receive in use */
	bool			srq_recv_in_use; /* a receive dequeued from the SRQ is in use */
	bool			recv_invalid;	/* the receive in use is invalid */

	/* protects @flushing, flags in the ring, and prod in the ring of a kernel consumer */
	spinlock_t		lock;
	bool			flushing;	/* a flush has started */
};

struct rnic_qp {
	struct ib_qp		ib;
	struct rdmap		rdmap;
	struct rnic_dev		*dev;
	struct rnic_cq		*scq;
	struct rnic_cq		*rcq;
	struct rnic_srq		*srq;		/* may be NULL */
	struct rnic_sq		sq;
	/* not written for messages; separates the lines of the transmit path from those of @rq */
	struct work_struct	err_work;	/* flushes the queues of a stopped stream */
	struct work_struct	complete_work;	/* writes remaining send completions */
	struct rnic_rq		rq;
	struct ib_qp_cap	cap;
	int			access;		/* the peer's access rights: IB_ACCESS_* */
	u8			ird_max;	/* upper limit for the negotiated IRD */
	u8			ord_max;	/* upper limit for the negotiated ORD */
	u8			llp;		/* LLP to connect over: enum rnic_sw_llp */
	bool			discarding;		/* destroyed or reset: no CQEs, no events */

	/* protects @state, @why, @access, @peer_msg, owner.authorized */
	spinlock_t		lock;
	enum qp_state		state;
	enum iw_reason		why;		/* first reason why the stream ended, or IW_OK */
	bool			error_reported;	/* error event was raised; used by err_work only */
	/* LAST_WQE_REACHED was raised; protected by rq.flush_lock */
	bool			last_wqe_reported;
	bool			error_requested;	/* flush receives even if peer is lost */
	u8			init_access;	/* low byte of the access flags of modify to INIT */
	/* the peer's start-up message, see qp_conn.c; set once; NULL before */
	struct rnic_peer_msg	*peer_msg;

	/* see qp_owner.c; constant after creation, except @authorized, which @lock protects */
	struct {
		struct mm_struct	*mm;	/* NULL for a kernel consumer */
		const struct cred	*cred;
		struct mem_cgroup	*memcg;	/* control group to charge */
		union {
			struct pid_namespace	*pid_ns;	/* program's QP */
			/* kernel consumer's QP: thread that may connect the QP, or NULL */
			struct pid		*authorized;
		};
	} owner;

	/* written under dev->count_lock, see counters.c */
	u64 __percpu		*counts;	/* counters of the QP's set; read under RCU */
	struct list_head	set_entry;	/* in rnic_counter_set.qps */
	u32			retransmits;	/* TCP retransmits already counted */

	struct kref		ref;
	struct rnic_comp_cntrs	*comp_cntrs;	/* see comp_cntr.h; NULL if none is attached */
	struct rnic_qp_cm	*cm;		/* iw_cm's handle of the QP, see qp_cm.c */
	struct rnic_rdv		*rdv;		/* NULL if rdma_cm connects the QP */
	struct rnic_rnr		*rnr;		/* NULL if no message may wait */
	struct completion	*released;	/* completed when the last reference is dropped */
};

static inline struct rnic_dev *to_rnic_dev(struct ib_device *ib)
{
	return container_of(ib, struct rnic_dev, ib);
}

static inline struct rnic_pd *to_rnic_pd(struct ib_pd *ib)
{
	return container_of(ib, struct rnic_pd, ib);
}

static inline struct rnic_cq *to_rnic_cq(struct ib_cq *ib)
{
	return container_of(ib, struct rnic_cq, ib);
}

static inline struct rnic_srq *to_rnic_srq(struct ib_srq *ib)
{
	return container_of(ib, struct rnic_srq, ib);
}

static inline struct rnic_mr *to_rnic_mr(struct ib_mr *ib)
{
	return container_of(ib, struct rnic_mr, ib);
}

static inline struct rnic_qp *to_rnic_qp(struct ib_qp *ib)
{
	return container_of(ib, struct rnic_qp, ib);
}

/*
 * Check whether a program owns the CQ. ib_core sets uobject before it calls the driver's
 * create function; a kernel consumer's CQ has no uobject.
 */
static inline bool rnic_cq_is_user(const struct rnic_cq *cq)
{
	return cq->ib.uobject;
}

static inline bool rnic_qp_is_user(const struct rnic_qp *qp)
{
	return qp->ib.uobject;
}

static inline struct rnic_qp *rdmap_to_qp(struct rdmap *r)
{
	return container_of(r, struct rnic_qp, rdmap);
}

/* Get the vendor error of flushed completions: the reason, and the peer's Terminate, if any */
static inline u32 rnic_qp_get_vendor_err(const struct rnic_qp *qp)
{
	const struct rdmap *r = &qp->rdmap;

	return qp->why != IW_PEER_TERMINATE ? qp->why :
	       RNIC_SW_VENDOR_ERR(qp->why, r->peer_layer, r->peer_type, r->peer_code);
}

/* device.c: ib_device_ops, attributes, queries */
extern const struct ib_device_ops rnic_device_ops;
int rnic_device_init(struct rnic_dev *dev);
int rnic_query_port_speed(struct ib_device *ib, u32 port, u64 *speed);

/* main.c */
extern struct workqueue_struct *rnic_wq;	/* flushes, completions, SRQ events, GIDs */
int rnic_init(void);
void rnic_exit(void);

/* interface.c: interface of a device */
struct net *rnic_get_net(struct rnic_dev *dev);
int rnic_get_ifindex(struct rnic_dev *dev);
int rnic_enable_driver(struct ib_device *ib);
bool rnic_current_is_adding_clients(const struct rnic_dev *dev);
void rnic_wait_unregister_queued(struct rnic_dev *dev);

/* netdev.c: creation and unregistration of devices, interface events */
int rnic_netdev_init(void);
void rnic_netdev_exit(void);

/* cq.c */
int rnic_create_user_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs);
int rnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int rnic_cq_alloc_ring(struct rnic_ring *ring, struct ib_udata *udata, u32 want, bool packed);
int rnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
int rnic_poll_cq(struct ib_cq *ib, int n, struct ib_wc *wc);
int rnic_req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags);
/*
 * Write the completion @cqe of @qp, and raise an event if the consumer has requested one for such a
 * completion.  For a kernel consumer @cqe->wr_id contains wr_cqe or wr_id of the WR.  Context: any.
 *
 * Return: true if the completion was written, or dropped because @qp is being destroyed or reset;
 * false if the CQ has overrun, so that the caller must move @qp to the error state.
 */
bool rnic_cq_post_cqe(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe,
		      struct ib_qp *qp);

void rnic_cq_drop_qp_cqes(struct rnic_cq *cq, const struct ib_qp *qp);

static inline struct rnic_sw_cqe *rnic_ring_get_cqe(const struct rnic_ring *ring, u32 idx)
{
	return rnic_ring_get_slot(ring, idx);
}

static inline u32 rnic_cq_read_cons(const struct rnic_cq *cq)
{
	/*
	 * Order the read of cons before the reuse of the slots that the consumer has released by
	 * advancing cons.  Otherwise a CQE could be overwritten while the program still reads it.
	 * Pairs with the provider's ring_publish_cons().  A kernel consumer's cons is protected by
	 * rnic_cq.lock instead.
	 */
	/* litmus: publish */
	return smp_load_acquire(&cq->ring.hdr->cons);
}

/* cq_resize.c */
int rnic_resize_user_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata);

/* cq_notify.c: delivery of completion events */
void rnic_cq_notify_init(struct rnic_cq *cq, u32 vector);
void rnic_cq_notify_exit(struct rnic_cq *cq);
void rnic_cq_notify(struct rnic_cq *cq);
void rnic_cq_notify_wait(struct rnic_cq *cq);

/* mr.c */
struct ib_mr *rnic_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *rnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);
struct ib_mr *rnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
				      u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);
struct ib_mr *rnic_rereg_user_mr(struct ib_mr *ib, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata);
int rnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
struct ib_mr *rnic_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			    u32 max_num_sg);
int rnic_map_mr_sg(struct ib_mr *ib, struct scatterlist *sg, int n,
		   unsigned int *off);
/* Execute a fast registration WR; only the peer of @s may invalidate the MR afterwards */
enum iw_reason rnic_mr_fastreg(struct ib_mr *ib, const struct rdmap_wr *wr,
			       struct ddp_stream *s);
u8 rnic_to_ddp_rights(int ib_access);

/* mw.c */
int rnic_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int rnic_dealloc_mw(struct ib_mw *ib);
int rnic_mr_forbid_bind(struct rnic_mr *mr);
void rnic_mr_permit_bind(struct rnic_mr *mr);
bool rnic_mw_bind(struct rnic_dev *dev, const struct ddp_stream *s,
		  const struct rdmap_wr *wr);

/* qp.c */
int rnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int rnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
enum iw_reason rnic_qp_start(struct rnic_qp *qp, u16 ird, u16 ord);
/*
 * Close the connection gracefully after all WRs posted so far are sent.  Called if the
 * consumer closes the connection, or if the peer has half-closed it.
 */
void rnic_qp_close(struct rnic_qp *qp);
/* Access rights that the peer of a new queue pair has */
#define RNIC_QP_ALL_RIGHTS	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)
/*
 * Set the peer's access rights.  @with_state: the modify also changes the QP's state, and can
 * therefore only remove rights, see narrow_access()
 */
void rnic_qp_set_rights(struct rnic_qp *qp, int access, bool with_state);
void rnic_qps_fail(struct rnic_dev *dev, enum iw_reason why);
void rnic_qps_fail_and_flush(struct rnic_dev *dev, bool user, enum iw_reason why);

/* qp_error.c: state changes and error reporting */
void rnic_qp_raise_event(struct rnic_qp *qp, enum ib_event_type event);
bool rnic_qp_set_state(struct rnic_qp *qp, enum qp_state to);
/* Schedule the worker that flushes the queues after the stream has stopped.  Context: any. */
void rnic_qp_schedule_flush(struct rnic_qp *qp);
/* Fail the stream and move the QP to ERROR; a worker flushes the queues.  Context: any. */
void rnic_qp_fail(struct rnic_qp *qp, enum iw_reason why);

/* qp_modify.c: modify and query; qp_reset.c: modify to RESET */
int rnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int rnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
int rnic_qp_reset(struct rnic_qp *qp);

/* qp_table.c: lookup by number */
void rnic_qp_table_init(struct rnic_dev *dev);
int rnic_qp_publish(struct rnic_qp *qp);
void rnic_qp_unpublish(struct rnic_qp *qp);
void rnic_qp_republish(struct rnic_qp *qp);
void rnic_qp_release_number(struct rnic_qp *qp);
struct rnic_qp *rnic_qp_find_get(struct rnic_dev *dev, u32 qpn);
struct rnic_qp *rnic_qp_lookup_noref(struct rnic_dev *dev, u32 qpn);
struct rnic_qp *rnic_qp_find_get_next(struct rnic_dev *dev, unsigned long *qpn);
void rnic_qp_put(struct rnic_qp *qp);

/* qp_cm.c: references of iw_cm to queue pairs */
int rnic_qp_cm_init(struct rnic_qp *qp);
void rnic_qp_cm_exit(struct rnic_qp *qp);
void rnic_qp_cm_revoke_refs(struct rnic_qp *qp);
bool rnic_qp_cm_has_refs(struct rnic_qp *qp);
void rnic_qp_lock_modify(struct rnic_qp *qp);
void rnic_qp_unlock_modify(struct rnic_qp *qp);
void rnic_qp_cm_put(struct rnic_qp *qp);
struct ib_qp *rnic_get_qp(struct ib_device *ib, int qpn);
void rnic_qp_add_ref(struct ib_qp *ib);
void rnic_qp_rem_ref(struct ib_qp *ib);

/* qp_owner.c: which task may connect a queue pair */
void rnic_qp_owner_init(struct rnic_qp *qp);
void rnic_qp_owner_exit(struct rnic_qp *qp);
void rnic_qp_grant_or_revoke_authorization(struct rnic_qp *qp, enum ib_qp_state to);
bool rnic_current_may_connect_qp(struct rnic_qp *qp);
bool rnic_qp_try_consume_connect_right(struct rnic_qp *qp);

/* limits.c: number of objects of each kind */
int rnic_get_limit(enum rnic_kind kind);
int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind);
void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind);
void rnic_wait_objects_freed(struct rnic_dev *dev, enum rnic_kind kind);

/* sq_parse.c */
enum ib_wc_status rnic_sq_parse_wqe(const struct rnic_qp *qp,
				    const struct rnic_sw_sqe *e, void *slot,
				    struct rdmap_wr *wr);

/* rqe.c: WQEs of receive queues and SRQs */
u32 rnic_rqe_compute_stride(u32 max_sge);
bool rnic_rqe_read(const struct rnic_sw_rqe *slot, u32 max_sge,
		   struct rdmap *r, u64 *wr_id);
int rnic_rqe_post(struct rnic_ring *ring, u32 oldest, u32 max_sge,
		  const struct ib_recv_wr *wr);

/* sq.c, sq_post.c, rq.c */
int rnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
void rnic_qp_handle_doorbell(struct rnic_qp *qp);
void rnic_sq_close(struct rnic_qp *qp);
bool rnic_sq_mark_ended(struct rnic_qp *qp);
void rnic_sq_flush(struct rnic_qp *qp);
void rnic_sq_flush_again(struct rnic_qp *qp);
void rnic_sq_wait_flushed(struct rnic_qp *qp);
void rnic_sq_complete_work(struct work_struct *work);
void rnic_rq_flush(struct rnic_qp *qp);

static inline struct rnic_swqe *rnic_sq_get_swqe(struct rnic_sq *sq, u32 idx)
{
	return &sq->swqe[idx & (sq->ring.slots - 1)];
}

/* srq.c */
int rnic_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr, struct ib_udata *udata);
int rnic_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		    struct ib_udata *udata);
int rnic_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int rnic_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int rnic_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);
/* Dequeue the oldest WQE.  Return: IW_OK, with @bad set if the WQE is invalid; or why it failed. */
enum iw_reason rnic_srq_dequeue(struct rnic_srq *srq, struct rdmap *r, u64 *wr_id,
				bool *bad);

/* cm.c: connection management of a device, iw_cm operations of connections */
int rnic_cm_init(struct rnic_dev *dev);
void rnic_cm_exit(struct rnic_dev *dev);
void rnic_cm_wait_upcalls(void);
int rnic_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *p);
int rnic_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *p);
int rnic_iw_reject(struct iw_cm_id *id, const void *pd, u8 len);

/* cm_listen.c: listeners */
int rnic_iw_listen(struct iw_cm_id *id, int backlog);
int rnic_iw_unlisten(struct iw_cm_id *id);
int rnic_set_listen_llps(struct rnic_dev *dev, u8 mask);	/* mask of 1 << enum rnic_sw_llp */

/* cm_llp.c: lower layers */
int rnic_ensure_llp_loaded(struct rnic_dev *dev, u8 llp);	/* enum rnic_sw_llp */
int rnic_ensure_sctp_loaded_for_user(struct rnic_dev *dev);

/* cm_ep.c: connection requests that are not accepted yet */
void rnic_pending_reqs_abort(struct rnic_dev *dev);

#endif
