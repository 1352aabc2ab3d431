/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The verbs objects of the device, and the functions that its files share. */
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

#include "qp_state.h"
#include "rdmap.h"
#include "uctx.h"

#define RNIC_MAX_QP_WR		32768
#define RNIC_MAX_CQE		1048576
#define RNIC_MAX_INLINE		(RDMAP_SGE_MAX * sizeof(struct rnic_sw_sge))
#define RNIC_MAX_MSG		0x7fffffffu	/* 2 GiB - 1 */
#define RNIC_MAX_FASTREG	2048		/* pages */

/* Opcodes in slots and completions, for kernel consumers only */
#define RNIC_OP_REG_MR		0x40
#define RNIC_OP_READ_INV	0x41

#define RNIC_PATHS	4

/*
 * Settings of a device.  Each member but @paths is read and written on its own,
 * with READ_ONCE() and WRITE_ONCE().
 */
struct rnic_policy {
	u8	llp_connect;	/* LLP of outgoing connections: enum rnic_sw_llp */
	/* LLPs that listeners use: mask of 1 << enum rnic_sw_llp */
	u8	llp_listen;
	u8	mpa_revision;	/* 1 or 2; 0: automatic */
	u8	mpa_crc;	/* 1: request the CRC */
	u8	mpa_markers;
	u8	mpa_rtr;	/* DDP_RTR_* types to offer */
	u16	streams;	/* SCTP streams to request each way; 0: the default */
	seqlock_t lock;		/* protects @paths, which is set as a whole */
	/*
	 * SCTP: ifindexes of further interfaces whose addresses may be used; 0
	 * terminates
	 */
	int	paths[RNIC_PATHS];
};

struct ib_dmah;
struct rnic_coalesce;
struct rnic_llps;
struct rnic_pf;

/* Kinds of objects whose number is limited */
enum rnic_kind {
	RNIC_PDS,
	RNIC_CQS,
	RNIC_QPS,
	RNIC_SRQS,
	RNIC_MRS,
	RNIC_MWS,
	/* connections, including requests that no program has accepted yet */
	RNIC_EPS,
	RNIC_KINDS
};

/* A set of per-CPU counters and the queue pairs that count in it */
struct rnic_counter_set {
	u64 __percpu		*value;	/* RNIC_COUNTERS_ALL values, see counters.h */
	struct list_head	qps;
};

struct rnic_dev {
	struct ib_device	ib;		/* first member, for ib_alloc_device() */
	struct ddp_stags	stags;
	spinlock_t		windows_lock;	/* leaf lock: bindings of MWs to MRs */
	struct xarray		qps;		/* queue pairs by number, see qp_table.c */
	/* unaccepted requests by number, see cm_ep.c */
	struct xarray		pending;
	u32			pending_next;
	atomic_t		used[RNIC_KINDS];	/* objects in use, see limits.c */
	struct rnic_policy	policy;
	spinlock_t		count_lock;	/* protects which QP counts in which set */
	struct rnic_counter_set	default_set;	/* default set, of QPs bound to no counter */
	struct xarray		sets;		/* struct rnic_counter_set by rdma_counter id */
	struct rnic_llps	*llps;		/* LLPs and listeners, see cm.h */
	/*
	 * last task that called enable_driver(), and its start time; see
	 * rnic_in_client_add()
	 */
	const struct task_struct *enable_task;
	u64			enable_start_time;
	bool			removing;		/* the interface is being removed */
	struct work_struct	unregister_work;	/* unregisters the device after @removing */
	struct completion	unregistering;		/* unregistration has begun */
	__be64			gid_half[2];	/* GID 0, fixed at creation */
	COMPAT_DECLARE_PORT(port_reported);
};

struct rnic_pd {
	struct ib_pd		ib;
	u32			qpn_next;	/* next number to try, see qp_table.c */
};

struct rnic_cq {
	struct ib_cq		ib;
	/* fixed after creation, but resize replaces the ring under @lock */
	struct rnic_ring	ring;
	bool			timestamps;
	s64			clock_shift;	/* ns to add for the program's time namespace */
	/* CPU of the completion vector, see cq_notify.c */
	unsigned int		cpu;
	call_single_data_t	call;
	struct compat_bh	notify_bh;		/* softirq: further handler calls */
	struct mutex		walk_lock;		/* serializes walks over the ring */

	/* protects the free slots of the ring and the members below */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			prod;
	bool			overrun;
	bool			notifying;	/* handler call in progress or scheduled */
	u32			ev_requested, ev_done;	/* kernel consumer: events raised, delivered */
	struct rnic_ring	resize_ring;		/* prepared by the first step of a resize */
	struct ib_qp		**slot_qp;	/* kernel consumer: QP of each slot, or NULL */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct rnic_cq, lock) > DDP_CACHELINE_OF(struct rnic_cq, walk_lock));
#endif

struct rnic_srq {
	struct ib_srq		ib;
	struct rnic_ring	ring;
	u32			max_sge;
	struct work_struct	event_work;

	/* protects the members below; also prod of a kernel consumer's ring */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			head;		/* next slot to take */
	/* raise SRQ_LIMIT if fewer slots are posted; 0: not armed */
	u32			limit;
	/* SRQ_LIMIT raised and no slot taken since */
	bool			limit_reported;
	bool			broken;		/* the program's prod was impossible */
	bool			error_reported;
	bool			error_pending;	/* tell_work must raise SRQ_ERR */
	u32			limits_pending;	/* limit events that tell_work must raise */
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

/* Pages of a fast registration, and the offset of the first byte in them */
struct rnic_mapping {
	void	**block;
	u32	nblocks;
	u32	skip;
	u8	shift;
};

struct rnic_mr {
	struct ib_mr		ib;
	struct ddp_region	region;
	struct rnic_dev		*dev;
	struct list_head	windows;	/* bound MWs; under dev->windows_lock */
	bool			bind_forbidden;		/* no MW may be bound any more */
	struct ib_umem		*umem;		/* pinned user memory, or NULL */
	struct rnic_pf	*pf;		/* ODP or dma-buf memory, or NULL */
	int			access;		/* user memory: IB_ACCESS_* */
	u8			denied_rights;	/* DDP_* rights that the memory cannot grant */
	u32			max_blocks;	/* fast registration: capacity in pages */
	/* fast registration: registered and next mapping */
	struct rnic_mapping	map[2];
	u8			cur_map;	/* index in @map of the registered mapping */
	bool			mapped;		/* the next mapping has been filled in */
	struct rcu_head		rcu;
};

/* Software WQE: the kernel's copy of a send WR, from dequeue to completion */
struct rnic_swqe {
	u64	wr_id;
	u32	len;
	u8	opcode;		/* enum rnic_sw_opcode or RNIC_OP_* */
	u8	status;		/* enum ib_wc_status */
	u8	flags;		/* RNIC_SW_SEND_* */
	u8	state;
	struct ib_mr	*reg_mr;
};

struct rnic_sq {
	struct rnic_ring	ring;
	struct rnic_swqe	*swqe;
	u32			max_sge;
	u32			max_inline;
	bool			sig_all;

	/* transmit path only: index after the last message fully segmented */
	u32			cut;

	spinlock_t		lock;		/* protects the members below */
	u32			head;		/* next slot to dequeue */
	u32			seen;		/* cached prod; not maintained by a flush */
	/* index after the last message accepted by the LLP */
	u32			sent;
	u32			tail;		/* oldest slot not completed */
	u32			end;
	u32			flush_end;
	bool			completing;	/* a context is writing completions */
	bool			closing;	/* do not dequeue slots from @end on */
	bool			flushing;	/* complete all slots before @flush_end */
	/* flush: a WR has failed, later ones fail as well */
	bool			broken;
	/* a WR has been completed with the peer's error */
	bool			remote_err_reported;
	bool			coalescing;	/* a timer will check for further posts */
	struct rnic_coalesce	*coalesce;	/* fixed; program's queue; see sq_coalesce.c */
};

struct rnic_rq {
	struct rnic_ring	ring;
	u32			max_sge;
	struct mutex		flush_lock;	/* serializes flushes */

	/* owned by the receive path, and by the flush after ddp_stream_settle() */
	u64			wr_id;		/* wr_id of the slot taken */
	bool			taken;		/* a receive taken from the SRQ is in use */
	bool			bad;		/* the slot taken is invalid */
	u32			tail;		/* oldest slot not completed */

	/* protects the members below; also prod of a kernel consumer's ring */
	spinlock_t		lock;
	u32			head;		/* next slot to take */
	bool			flushing;
};

struct rnic_qp {
	struct ib_qp		ib;
	struct rdmap		rdmap;
	struct rnic_dev		*dev;
	struct rnic_cq		*scq;
	struct rnic_cq		*rcq;
	struct rnic_srq		*srq;		/* or NULL */
	struct rnic_sq		sq;
	struct rnic_rq		rq;
	struct ib_qp_cap	cap;
	int			access;		/* IB_ACCESS_* */
	u8			ird_max;	/* limits for the IRD/ORD negotiation */
	u8			ord_max;
	u8			llp;		/* enum rnic_sw_llp */
	bool			dying;		/* being destroyed: no completions, no events */

	/* protects @state, @why, @access, owner.authorized */
	spinlock_t		lock;
	enum qp_state		state;
	enum iw_reason		why;		/* first reason for an error, or IW_OK */
	bool			error_reported;		/* async event raised; err_work only */
	bool			last_wqe_reported;	/* LAST_WQE_REACHED raised; rq.flush_lock */

	/* see qp_owner.c; fixed, except @authorized, which is protected by @lock */
	struct {
		struct mm_struct	*mm;	/* NULL: kernel consumer */
		const struct cred	*cred;
		struct mem_cgroup	*memcg;
		struct pid		*authorized;	/* kernel thread that may connect */
	} owner;

	/* protected by dev->count_lock, see counters.c */
	u64 __percpu		*counts;	/* set in use; read under RCU */
	struct list_head	set_entry;
	u32			retransmits;	/* TCP retransmits counted so far */

	struct kref		ref;
	struct rnic_qp_cm	*cm;		/* the handle that iw_cm gets */
	struct completion	released;
	struct work_struct	err_work;
	struct work_struct	complete_work;
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

/* The core sets the uobject before creation; kernel consumers have none */
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

/* device.c: ib_device_ops, attributes, queries */
extern const struct ib_device_ops rnic_device_ops;
int rnic_device_init(struct rnic_dev *dev);

/* main.c */
extern struct workqueue_struct *rnic_wq;	/* flushes, remaining completions, SRQ events */
int rnic_init(void);
void rnic_exit(void);

/* interface.c: interface of a device */
struct net *rnic_get_net(struct rnic_dev *dev);	/* with a reference; or NULL */
int rnic_ifindex(struct rnic_dev *dev);
int rnic_enable_driver(struct ib_device *ib);
bool rnic_in_client_add(const struct rnic_dev *dev);
void rnic_netdev_wait(struct rnic_dev *dev);

/* netdev.c: creation and removal of devices, interface events */
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
 * Write one completion of @qp and raise an event if one is armed for it.  Any
 * context.  For a kernel consumer @cqe->wr_id is its ib_cqe or wr_id.
 *
 * Return: true if @qp may go on; false if the CQ has overrun.  The CQ's own
 * event has then been raised, and the caller must move @qp to the error state.
 */
bool rnic_cq_push(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe,
		  struct ib_qp *qp);

void rnic_cq_drop_qp(struct rnic_cq *cq, const struct ib_qp *qp);

static inline struct rnic_sw_cqe *rnic_cqe_at(const struct rnic_ring *ring, u32 idx)
{
	return rnic_ring_slot(ring, idx);
}

static inline u32 rnic_cq_cons(const struct rnic_cq *cq)
{
	/* the slots before it are free: the consumer, maybe a program, has read them */
	/* litmus: publish */
	return smp_load_acquire(&cq->ring.hdr->cons);
}

/* cq_resize.c */
int rnic_resize_user_cq(struct ib_cq *ib, unsigned int cqe,
			struct ib_udata *udata);

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
/* Execute a fast registration work request: set key and rights, and scope to @s */
enum iw_reason rnic_mr_fastreg(struct ib_mr *ib, const struct rdmap_wr *wr,
			       struct ddp_stream *s);
u8 rnic_ddp_rights(int ib_access);

/* mw.c */
int rnic_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int rnic_dealloc_mw(struct ib_mw *ib);
int rnic_mr_check_unbound(struct rnic_mr *mr);
int rnic_mr_forbid_bind(struct rnic_mr *mr);
void rnic_mr_permit_bind(struct rnic_mr *mr);
bool rnic_mw_bind(struct rnic_dev *dev, const struct ddp_stream *s,
		  const struct rdmap_wr *wr);

/* qp.c */
int rnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int rnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
/* Enter RTS with the negotiated IRD and ORD.  May sleep */
enum iw_reason rnic_qp_start(struct rnic_qp *qp, u16 ird, u16 ord);
/*
 * Close gracefully once all posted WRs are sent: local close, or half-close by
 * the peer
 */
void rnic_qp_close(struct rnic_qp *qp);
/* Set the peer's access rights; @with_state: the modify also changes the state */
void rnic_qp_set_rights(struct rnic_qp *qp, int access, bool with_state);
void rnic_qps_fail(struct rnic_dev *dev, enum iw_reason why);
void rnic_qps_flush(struct rnic_dev *dev, enum iw_reason why);

/* qp_error.c: state changes and errors */
void rnic_qp_raise_event(struct rnic_qp *qp, enum ib_event_type event);
bool rnic_qp_set_state(struct rnic_qp *qp, enum qp_state to);
/* Schedule a flush of requests that were posted in ERROR.  Any context */
void rnic_qp_reflush(struct rnic_qp *qp);
/* Fail the stream and move to ERROR in any state; a worker flushes.  Any context */
void rnic_qp_fail(struct rnic_qp *qp, enum iw_reason why);

/* qp_modify.c: modify and query */
int rnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int rnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

/* qp_table.c: lookup by number */
void rnic_qp_table_init(struct rnic_dev *dev);
int rnic_qp_publish(struct rnic_qp *qp);
void rnic_qp_unpublish(struct rnic_qp *qp);
void rnic_qp_free_number(struct rnic_qp *qp);
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn);
struct rnic_qp *rnic_qp_by_number(struct rnic_dev *dev, u32 qpn);
struct rnic_qp *rnic_qp_find_next(struct rnic_dev *dev, unsigned long *qpn);
void rnic_qp_put(struct rnic_qp *qp);

/* qp_cm.c: references that iw_cm holds */
int rnic_qp_cm_init(struct rnic_qp *qp);
void rnic_qp_cm_exit(struct rnic_qp *qp);
void rnic_qp_cm_revoke(struct rnic_qp *qp);
void rnic_qp_cm_put(struct rnic_qp *qp);
struct ib_qp *rnic_get_qp(struct ib_device *ib, int qpn);
void rnic_qp_add_ref(struct ib_qp *ib);
void rnic_qp_rem_ref(struct ib_qp *ib);

/* qp_owner.c: right to connect a queue pair */
void rnic_qp_owner_init(struct rnic_qp *qp);
void rnic_qp_owner_exit(struct rnic_qp *qp);
void rnic_qp_authorize(struct rnic_qp *qp, enum ib_qp_state to);
bool rnic_qp_is_callers(struct rnic_qp *qp);
bool rnic_qp_may_connect(struct rnic_qp *qp);

/* limits.c: number of objects of each kind */
int rnic_limit(enum rnic_kind kind);
int rnic_charge(struct rnic_dev *dev, enum rnic_kind kind);
void rnic_uncharge(struct rnic_dev *dev, enum rnic_kind kind);
void rnic_wait_uncharged(struct rnic_dev *dev, enum rnic_kind kind);

/* sq_parse.c */
enum ib_wc_status rnic_sq_parse(const struct rnic_qp *qp,
				const struct rnic_sw_sqe *e, void *slot,
				struct rdmap_wr *wr);

/* rqe.c: slots of receive queues and SRQs */
u32 rnic_rqe_stride(u32 max_sge);
bool rnic_rqe_read(const struct rnic_sw_rqe *slot, u32 max_sge,
		   struct rdmap *r, u64 *wr_id);
int rnic_rqe_post(struct rnic_ring *ring, u32 oldest, u32 max_sge,
		  const struct ib_recv_wr *wr);

/* sq.c, sq_post.c, rq.c */
int rnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
void rnic_sq_close(struct rnic_qp *qp);
void rnic_sq_flush(struct rnic_qp *qp);
void rnic_sq_wait_flushed(struct rnic_qp *qp);
void rnic_sq_complete_work(struct work_struct *work);
void rnic_rq_flush(struct rnic_qp *qp);

static inline struct rnic_swqe *rnic_swqe(struct rnic_sq *sq, u32 idx)
{
	return &sq->swqe[idx & (sq->ring.slots - 1)];
}

/* sq_coalesce.c */
int rnic_sq_coalesce_alloc(struct rnic_qp *qp);
void rnic_sq_coalesce_stop(struct rnic_sq *sq);
void rnic_sq_doorbell(struct rnic_qp *qp);

/* srq.c */
int rnic_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata);
int rnic_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rnic_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int rnic_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int rnic_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);
/*
 * Take the oldest slot.  Return: IW_OK, with @bad set if the slot is invalid;
 * or the reason why none was taken.
 */
enum iw_reason rnic_srq_take(struct rnic_srq *srq, struct rdmap *r, u64 *wr_id,
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
int rnic_require_llp(struct rnic_dev *dev, u8 llp);	/* enum rnic_sw_llp */
int rnic_require_sctp_user(struct rnic_dev *dev);

/* cm_ep.c: connection requests that are not accepted yet */
void rnic_pending_abort(struct rnic_dev *dev);

#endif
