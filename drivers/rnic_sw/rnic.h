/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The verbs objects of a software RNIC, and who does what with them. */
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

/* Opcodes of completions that only kernel consumers see */
#define RNIC_OP_REG_MR		0x40
#define RNIC_OP_READ_INV	0x41

#define RNIC_PATHS	4

/* What a device is set to; each word is read and written alone */
struct rnic_policy {
	u8	llp_connect;	/* enum rnic_sw_llp */
	u8	llp_listen;	/* 1 << enum rnic_sw_llp, or both */
	u8	mpa_revision;	/* 1, 2; 0: automatic */
	u8	mpa_crc;	/* 1: wanted */
	u8	mpa_markers;
	u8	mpa_rtr;	/* DDP_RTR_* offered */
	u16	streams;	/* of SCTP, each way; 0: the usual number */
	seqlock_t lock;		/* paths are told all or none */
	int	paths[RNIC_PATHS];	/* of SCTP: further interfaces; 0 ends them */
};

struct ib_dmah;
struct rnic_gather;
struct rnic_llps;
struct rnic_bring;

/* What there is a limited number of */
enum rnic_kind {
	RNIC_PDS,
	RNIC_CQS,
	RNIC_QPS,
	RNIC_SRQS,
	RNIC_MRS,
	RNIC_MWS,
	RNIC_EPS,		/* connections, also those nobody has accepted yet */
	RNIC_KINDS
};

/* A set of counters, and who counts in it */
struct rnic_counts {
	u64 __percpu		*value;	/* see stats.h */
	struct list_head	qps;
};

struct rnic_dev {
	struct ib_device	ib;		/* first: ib_alloc_device() */
	struct ddp_stags	stags;
	spinlock_t		windows;	/* leaf: which window is whose */
	struct xarray		qps;		/* by number, see qp_table.c */
	struct xarray		asked;		/* by number, see cm_asked.c */
	u32			asked_next;
	atomic_t		used[RNIC_KINDS];	/* see limits.c */
	struct rnic_policy	policy;
	spinlock_t		count_lock;	/* who counts where */
	struct rnic_counts	all;		/* of what is in no other set */
	struct xarray		sets;		/* by rdma_counter's number */
	struct rnic_llps	*llps;		/* lower layers, see cm.h */
	/* who had its clients told of it, see rnic_enables() */
	const struct task_struct *enabler;
	u64			enabler_began;
	bool			going;		/* its interface goes */
	struct work_struct	lost_work;	/* ... and the device behind it */
	struct completion	leaves;		/* that has begun */
	__be64			gid_half[2];	/* GID 0, fixed at creation */
	COMPAT_DECLARE_PORT(port_told);
};

struct rnic_pd {
	struct ib_pd		ib;
	u32			qpn_next;	/* see qp_table.c */
};

struct rnic_cq {
	struct ib_cq		ib;
	/* fixed after creation, but for resize under lock */
	struct rnic_ring	ring;
	bool			timestamps;
	s64			clock_shift;	/* of the program's time namespace */
	unsigned int		cpu;		/* of its vector, see cq_tell.c */
	call_single_data_t	call;
	struct compat_bh	rest;		/* goes on telling */
	struct mutex		walk;		/* one walks the ring at a time */

	/* prod and the slots behind it */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			prod;
	bool			overrun;
	bool			telling;	/* one does, or is about to */
	u32			asked, told;	/* events of a kernel consumer's */
	struct rnic_ring	next;		/* of a resize begun by a program */
	struct ib_qp		**owner;	/* by slot; kernel consumer */
};

#ifdef CONFIG_SMP
static_assert(DDP_LINE_OF(struct rnic_cq, lock) > DDP_LINE_OF(struct rnic_cq, walk));
#endif

struct rnic_srq {
	struct ib_srq		ib;
	struct rnic_ring	ring;
	u32			max_sge;
	struct work_struct	tell_work;

	/* the rest; prod in the kernel */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	u32			head;		/* next slot to take */
	u32			limit;		/* tell when fewer are left; 0: no */
	bool			limit_told;	/* and nothing taken since */
	bool			broken;		/* prod was nonsense */
	bool			broken_told;
	bool			error_owed;	/* to be told by tell_work */
	u32			limits_owed;	/* ... so often */
};

#ifdef CONFIG_SMP
static_assert(DDP_LINE_OF(struct rnic_srq, lock) > DDP_LINE_OF(struct rnic_srq, tell_work));
#endif

/* What a region that an STag leads to is part of */
enum rnic_region_kind {
	RNIC_REGION,		/* struct rnic_mr */
	RNIC_WINDOW,		/* mw.c's */
};

struct rnic_window;

struct rnic_mw {
	struct ib_mw		ib;
	struct rnic_window	*w;
};

/* What a fast registration names: pages, and where in them it begins */
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
	struct list_head	windows;	/* under the device's lock */
	bool			gone;		/* takes no more */
	struct ib_umem		*umem;		/* pinned user memory, or NULL */
	struct rnic_bring	*bring;		/* ... that is not pinned, or NULL */
	int			access;		/* of user memory: IB_ACCESS_* */
	u8			never;		/* DDP_* that it can give nobody */
	u32			max_blocks;	/* fast registration */
	struct rnic_mapping	map[2];		/* registered last; for the next */
	u8			now;		/* which is the former */
	bool			mapped;		/* the latter is set */
	struct rcu_head		rcu;
};

/* The kernel's note of a send work request, from pull to completion */
struct rnic_sq_note {
	u64	wr_id;
	u32	len;
	u8	opcode;		/* enum rnic_sw_opcode, or kernel only */
	u8	status;		/* enum ib_wc_status */
	u8	flags;		/* RNIC_SW_SEND_* */
	u8	state;
	struct ib_mr	*reg_mr;
};

struct rnic_sq {
	struct rnic_ring	ring;
	struct rnic_sq_note	*note;
	u32			max_sge;
	u32			max_inline;
	bool			sig_all;

	/* tx runner only */
	u32			cut;		/* messages cut up to here */

	spinlock_t		lock;		/* the rest */
	u32			head;		/* next slot to pull */
	u32			seen;		/* posted, at the last look, unless flushing */
	u32			sent;		/* taken by the LLP up to here */
	u32			tail;		/* oldest not completed */
	u32			end;
	u32			flush_end;
	bool			completing;	/* somebody is */
	bool			closing;	/* nothing from @end on is pulled */
	bool			flushing;	/* all up to @flush_end is over */
	bool			broken;		/* ... and failed from tail on */
	bool			blamed;		/* for what the peer says */
	bool			gathering;	/* a timer will have posts looked for */
	struct rnic_gather	*gather;	/* fixed: see sq_gather.c; a program's */
};

struct rnic_rq {
	struct rnic_ring	ring;
	u32			max_sge;
	struct mutex		flush_lock;	/* one flush at a time */

	/* rx runner, or who flushes after it has settled */
	u64			wr_id;		/* of the slot taken */
	bool			taken;		/* from a shared queue */
	bool			bad;		/* what was taken makes no sense */
	u32			tail;		/* oldest not completed */

	spinlock_t		lock;		/* the rest; prod in the kernel */
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
	u8			llp;		/* enum rnic_sw_llp */
	struct ib_qp_cap	cap;
	int			access;		/* IB_ACCESS_* */
	u8			ird_most;	/* that connecting may agree on */
	u8			ord_most;

	spinlock_t		lock;		/* the rest */
	enum qp_state		state;
	enum iw_reason		why;		/* of the error */
	bool			on_wire;	/* a Terminate of ours says so */
	bool			told;		/* async event raised */
	bool			last_told;	/* it takes no more receives */

	/* qp_owner.c; fixed, but for the last one, which is under the lock */
	struct {
		struct mm_struct	*mm;	/* a program's */
		const struct cred	*cred;
		struct mem_cgroup	*memcg;
		struct pid		*vouched;	/* kernel consumer's thread */
	} owner;

	/* counter.c; the device's count_lock */
	u64 __percpu		*counts;	/* written under it; RCU */
	struct list_head	counted;
	u32			retransmits;	/* counted so far */

	bool			dying;		/* nobody is told anything any more */
	struct kref		ref;
	struct rnic_qp_cm	*cm;		/* the handle that iw_cm gets */
	struct completion	gone;
	struct work_struct	err_work;
	struct work_struct	tell_work;
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

/* Whose it is, the core says before it is made: a program's, or else a kernel consumer's */
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
extern struct workqueue_struct *rnic_wq;	/* flushing */
int rnic_init(void);
void rnic_exit(void);

/* netdev.c: rdma link add and del, link events */
struct net *rnic_net(struct rnic_dev *dev);	/* held; or NULL */
int rnic_ifindex(struct rnic_dev *dev);
int rnic_enable_driver(struct ib_device *ib);
bool rnic_enables(const struct rnic_dev *dev);
void rnic_netdev_wait(struct rnic_dev *dev);
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
 * context.  For a kernel consumer @cqe->wr_id is its ib_cqe or wr_id.  False:
 * the queue is overrun (the CQ's own event has been raised); the caller moves
 * the queue pair to error.
 */
bool rnic_cq_push(struct rnic_cq *cq, const struct rnic_sw_cqe *cqe,
		  struct ib_qp *qp);

void rnic_cq_forget(struct rnic_cq *cq, const struct ib_qp *qp);

static inline struct rnic_sw_cqe *rnic_cqe_at(const struct rnic_ring *ring, u32 idx)
{
	return rnic_ring_slot(ring, idx);
}

static inline u32 rnic_cq_cons(const struct rnic_cq *cq)
{
	/* the consumer is done with the slots before: it may be a program */
	/* litmus: publish */
	return smp_load_acquire(&cq->ring.hdr->cons);
}

/* cq_resize.c */
int rnic_resize_user_cq(struct ib_cq *ib, unsigned int cqe,
			struct ib_udata *udata);

/* cq_tell.c: on which CPU */
void rnic_cq_tell_init(struct rnic_cq *cq, u32 vector);
void rnic_cq_tell_exit(struct rnic_cq *cq);
void rnic_cq_tell(struct rnic_cq *cq);
void rnic_cq_told(struct rnic_cq *cq);

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
/* A fast registration work request takes effect: new key, rights, @s's scope */
enum iw_reason rnic_mr_fastreg(struct ib_mr *ib, const struct rdmap_wr *wr,
			       struct ddp_stream *s);
u8 rnic_ddp_rights(int ib_access);

/* mw.c */
int rnic_alloc_mw(struct ib_mw *ib, struct ib_udata *udata);
int rnic_dealloc_mw(struct ib_mw *ib);
int rnic_mr_keep_windows(struct rnic_mr *mr);
int rnic_mr_drop_windows(struct rnic_mr *mr);
void rnic_mr_take_windows(struct rnic_mr *mr);
bool rnic_mw_bind(struct rnic_dev *dev, const struct ddp_stream *s,
		  const struct rdmap_wr *wr);

/* qp.c */
int rnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr,
		   struct ib_udata *udata);
int rnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
/* The stream runs: the depths agreed on, and who speaks first */
enum iw_reason rnic_qp_start(struct rnic_qp *qp, u16 ird, u16 ord);
/* End gracefully once all is sent: we want it, or the peer sends no more */
void rnic_qp_close(struct rnic_qp *qp);
/* What peers may; @with_state: a connection manager may say so, see there */
void rnic_qp_rights(struct rnic_qp *qp, int access, bool with_state);
/* To ERROR, whatever the state; any context; flushes from a worker */
void rnic_qp_error(struct rnic_qp *qp, enum iw_reason why);
/* An asynchronous event, told to its user; process context */
void rnic_qp_event(struct rnic_qp *qp, enum ib_event_type event);
/* Something was posted in ERROR: flush it; any context */
void rnic_qp_reflush(struct rnic_qp *qp);

/* qp_modify.c: what a consumer changes, and finds */
int rnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
int rnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

/* qp_table.c: by number */
void rnic_qp_table_init(struct rnic_dev *dev);
int rnic_qp_publish(struct rnic_qp *qp);
void rnic_qp_unpublish(struct rnic_qp *qp);
void rnic_qp_unnumber(struct rnic_qp *qp);
struct rnic_qp *rnic_qp_find(struct rnic_dev *dev, u32 qpn);
struct rnic_qp *rnic_qp_numbered(struct rnic_dev *dev, u32 qpn);
void rnic_qps_error(struct rnic_dev *dev, enum iw_reason why);
void rnic_qps_flush(struct rnic_dev *dev, enum iw_reason why);
void rnic_qp_put(struct rnic_qp *qp);

/* qp_cm.c: references that iw_cm holds */
int rnic_qp_cm_init(struct rnic_qp *qp);
void rnic_qp_cm_exit(struct rnic_qp *qp);
void rnic_qp_cm_revoke(struct rnic_qp *qp);
void rnic_qp_cm_put(struct rnic_qp *qp);
struct ib_qp *rnic_get_qp(struct ib_device *ib, int qpn);
void rnic_qp_add_ref(struct ib_qp *ib);
void rnic_qp_rem_ref(struct ib_qp *ib);

/* qp_owner.c: whose it is */
void rnic_qp_owner_init(struct rnic_qp *qp);
void rnic_qp_owner_exit(struct rnic_qp *qp);
void rnic_qp_vouch(struct rnic_qp *qp, enum ib_qp_state to);
bool rnic_qp_is_callers(struct rnic_qp *qp);
bool rnic_qp_may_connect(struct rnic_qp *qp);

/* limits.c: how many there are of each kind */
int rnic_limit(enum rnic_kind kind);
int rnic_take(struct rnic_dev *dev, enum rnic_kind kind);
void rnic_give(struct rnic_dev *dev, enum rnic_kind kind);
void rnic_wait_none(struct rnic_dev *dev, enum rnic_kind kind);

/* sq_parse.c */
enum ib_wc_status rnic_sq_parse(const struct rnic_qp *qp,
				const struct rnic_sw_sqe *e, void *slot,
				struct rdmap_wr *wr);

/* sq.c, sq_post.c, rq.c */
int rnic_post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int rnic_post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
/* Slots of receive queues, shared or not */
u32 rnic_rqe_stride(u32 max_sge);
bool rnic_rqe_read(const struct rnic_sw_rqe *slot, u32 max_sge,
		   struct rdmap *r, u64 *wr_id);
int rnic_rqe_post(struct rnic_ring *ring, u32 oldest, u32 max_sge,
		  const struct ib_recv_wr *wr);
void rnic_sq_close(struct rnic_qp *qp);
void rnic_sq_flush(struct rnic_qp *qp);
void rnic_sq_flushed(struct rnic_qp *qp);
void rnic_sq_tell_more(struct work_struct *work);
void rnic_rq_flush(struct rnic_qp *qp);

static inline struct rnic_sq_note *rnic_sq_note(struct rnic_sq *sq, u32 idx)
{
	return &sq->note[idx & (sq->ring.slots - 1)];
}

/* sq_gather.c */
int rnic_sq_gather_alloc(struct rnic_qp *qp);
void rnic_sq_gather_stop(struct rnic_sq *sq);
void rnic_sq_ring(struct rnic_qp *qp);

/* srq.c */
int rnic_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *attr,
		    struct ib_udata *udata);
int rnic_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata);
int rnic_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr);
int rnic_destroy_srq(struct ib_srq *ib, struct ib_udata *udata);
int rnic_post_srq_recv(struct ib_srq *ib, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad);
/* IW_OK, and @bad says whether it makes sense; or why nothing is taken */
enum iw_reason rnic_srq_take(struct rnic_srq *srq, struct rdmap *r, u64 *wr_id,
			     bool *bad);

/* cm.c, cm_asked.c, cm_follow.c, cm_listen.c, cm_llp.c */
int rnic_iw_connect(struct iw_cm_id *id, struct iw_cm_conn_param *p);
int rnic_iw_accept(struct iw_cm_id *id, struct iw_cm_conn_param *p);
int rnic_iw_reject(struct iw_cm_id *id, const void *pd, u8 len);
int rnic_iw_listen(struct iw_cm_id *id, int backlog);
int rnic_iw_unlisten(struct iw_cm_id *id);
int rnic_listen_over(struct rnic_dev *dev, u8 which);	/* 1 << enum rnic_sw_llp */
int rnic_cm_init(struct rnic_dev *dev);
int rnic_need_llp(struct rnic_dev *dev, u8 llp);	/* enum rnic_sw_llp */
int rnic_program_needs_sctp(struct rnic_dev *dev);
void rnic_asked_stop(struct rnic_dev *dev);
void rnic_cm_exit(struct rnic_dev *dev);
void rnic_cm_unload(void);

#endif
