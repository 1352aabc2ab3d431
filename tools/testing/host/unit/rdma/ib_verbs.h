/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_IB_VERBS_H
#define _HOST_UNIT_IB_VERBS_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>
#include <linux/string.h>
#include <linux/workqueue.h>

/* The part of the verbs that the files under test use, with the kernel's names and fields */
enum ib_wc_status {
	IB_WC_SUCCESS		= 0,
	IB_WC_LOC_LEN_ERR	= 1,
	IB_WC_LOC_QP_OP_ERR	= 2,
	IB_WC_LOC_PROT_ERR	= 4,
	IB_WC_WR_FLUSH_ERR	= 5,
	IB_WC_MW_BIND_ERR	= 6,
	IB_WC_REM_ACCESS_ERR	= 10,
	IB_WC_REM_OP_ERR	= 11,
	IB_WC_RETRY_EXC_ERR	= 12,
	IB_WC_RNR_RETRY_EXC_ERR	= 13,
};

enum ib_wr_opcode {
	IB_WR_RDMA_WRITE,
	IB_WR_RDMA_WRITE_WITH_IMM,
	IB_WR_SEND,
	IB_WR_SEND_WITH_INV,
	IB_WR_RDMA_READ,
	IB_WR_RDMA_READ_WITH_INV,
	IB_WR_ATOMIC_CMP_AND_SWP,
	IB_WR_ATOMIC_FETCH_AND_ADD,
	IB_WR_LOCAL_INV,
	IB_WR_REG_MR,
};

enum {
	IB_SEND_FENCE		= 1 << 0,
	IB_SEND_SIGNALED	= 1 << 1,
	IB_SEND_SOLICITED	= 1 << 2,
	IB_SEND_INLINE		= 1 << 3,
};

enum {
	IB_ACCESS_LOCAL_WRITE	= 1 << 0,
	IB_ACCESS_REMOTE_WRITE	= 1 << 1,
	IB_ACCESS_REMOTE_READ	= 1 << 2,
	IB_ACCESS_REMOTE_ATOMIC	= 1 << 3,
	IB_ACCESS_MW_BIND	= 1 << 4,
	IB_ZERO_BASED		= 1 << 5,
};

enum ib_wc_opcode {
	IB_WC_SEND,
	IB_WC_RDMA_WRITE,
	IB_WC_RDMA_READ,
	IB_WC_COMP_SWAP,
	IB_WC_FETCH_ADD,
	IB_WC_LOCAL_INV,
	IB_WC_REG_MR,
	IB_WC_RECV		= 1 << 7,
	IB_WC_RECV_RDMA_WITH_IMM,
};

enum {
	IB_WC_WITH_IMM		= 1 << 1,
	IB_WC_WITH_INVALIDATE	= 1 << 3,
};

enum ib_cq_notify_flags {
	IB_CQ_SOLICITED			= 1 << 0,
	IB_CQ_NEXT_COMP			= 1 << 1,
	IB_CQ_SOLICITED_MASK		= IB_CQ_SOLICITED | IB_CQ_NEXT_COMP,
	IB_CQ_REPORT_MISSED_EVENTS	= 1 << 2,
};

enum ib_event_type {
	IB_EVENT_CQ_ERR,
	IB_EVENT_LID_CHANGE, IB_EVENT_GID_CHANGE,
	IB_EVENT_SRQ_ERR,
	IB_EVENT_SRQ_LIMIT_REACHED,
};
enum ib_mr_type { IB_MR_TYPE_MEM_REG };
enum ib_srq_attr_mask { IB_SRQ_MAX_WR = 1 << 0, IB_SRQ_LIMIT = 1 << 1 };
enum ib_srq_type { IB_SRQT_BASIC };
enum ib_qp_state {
	IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD, IB_QPS_SQE, IB_QPS_ERR,
};
enum ib_qp_type { IB_QPT_RC = 2 };
enum ib_mtu { IB_MTU_1024 = 3, IB_MTU_4096 = 5 };
enum ib_sig_type { IB_SIGNAL_ALL_WR, IB_SIGNAL_REQ_WR };

enum {
	IB_QP_STATE			= 1 << 0,
	IB_QP_CUR_STATE			= 1 << 1,
	IB_QP_ACCESS_FLAGS		= 1 << 3,
	IB_QP_PKEY_INDEX		= 1 << 4,
	IB_QP_PORT			= 1 << 5,
	IB_QP_QKEY			= 1 << 6,
	IB_QP_AV			= 1 << 7,
	IB_QP_PATH_MTU			= 1 << 8,
	IB_QP_TIMEOUT			= 1 << 9,
	IB_QP_RETRY_CNT			= 1 << 10,
	IB_QP_RNR_RETRY			= 1 << 11,
	IB_QP_RQ_PSN			= 1 << 12,
	IB_QP_MAX_QP_RD_ATOMIC		= 1 << 13,
	IB_QP_MIN_RNR_TIMER		= 1 << 15,
	IB_QP_SQ_PSN			= 1 << 16,
	IB_QP_MAX_DEST_RD_ATOMIC	= 1 << 17,
	IB_QP_DEST_QPN			= 1 << 20,
	IB_QP_RATE_LIMIT		= 1 << 25,
};

/* Types of which the files under test use at most one field */
struct vm_area_struct;
struct scatterlist;
struct rdma_counter { u32 id; };
struct rdma_hw_stats;
struct iw_cm_id;
struct iw_cm_conn_param;

/*
 * Types that structs of the driver contain, with only the fields that the files
 * under test use
 */
struct ib_udata { size_t inlen; const void *in; };
struct uverbs_attr_bundle { struct ib_udata driver_udata; };
struct rdma_user_mmap_entry { struct ib_ucontext *ucontext; };
union ib_gid { u8 raw[16]; };

struct ib_device {
	int	num_comp_vectors;
	__be64	node_guid;
	char	iw_ifname[16];
	char	node_desc[64];
	struct {
		int	driver_id;
	} ops;
};

struct ib_ucontext { int unused; };
struct ib_pd { struct ib_device *device; };
struct ib_event;
struct ib_srq {
	struct ib_device	*device;
	struct ib_usrq_object	*uobject;
	void			*srq_context;
	void (*event_handler)(struct ib_event *event, void *context);
};

struct ib_srq_attr {
	u32	max_wr;
	u32	max_sge;
	u32	srq_limit;
};

struct ib_srq_init_attr {
	struct ib_srq_attr	attr;
	enum ib_srq_type	srq_type;
};

struct ib_recv_wr {
	struct ib_recv_wr	*next;
};

struct ib_qp_cap { int unused; };
struct ib_cq;

struct ib_gid_attr { union ib_gid gid; };

enum rdma_ah_attr_type { RDMA_AH_ATTR_TYPE_UNDEFINED, RDMA_AH_ATTR_TYPE_IB };
#define IB_AH_GRH	1

struct rdma_ah_attr {
	struct {
		union ib_gid			dgid;
		const struct ib_gid_attr	*sgid_attr;
		u8				traffic_class;
	} grh;
	u8			ah_flags;
	enum rdma_ah_attr_type	type;
	u16			dlid;
};

static inline u8 rdma_ah_get_ah_flags(const struct rdma_ah_attr *ah)
{
	return ah->ah_flags;
}

/* As in the kernel, only an address vector of InfiniBand has a LID */
static inline void rdma_ah_set_dlid(struct rdma_ah_attr *ah, u32 dlid)
{
	if (ah->type == RDMA_AH_ATTR_TYPE_IB)
		ah->dlid = dlid;
}

static inline u32 rdma_ah_get_dlid(const struct rdma_ah_attr *ah)
{
	return ah->type == RDMA_AH_ATTR_TYPE_IB ? ah->dlid : 0;
}

struct ib_qp_attr {
	enum ib_qp_state	qp_state, cur_qp_state;
	enum ib_mtu		path_mtu;
	u32			rq_psn, sq_psn, dest_qp_num;
	int			qp_access_flags;
	struct ib_qp_cap	cap;
	struct rdma_ah_attr	ah_attr;
	u16			pkey_index;
	u8			max_rd_atomic, max_dest_rd_atomic, min_rnr_timer, port_num;
	u8			timeout, retry_cnt, rnr_retry;
	u32			rate_limit;
};

struct ib_qp_init_attr {
	void			*qp_context;
	struct ib_cq		*send_cq, *recv_cq;
	struct ib_srq		*srq;
	struct ib_qp_cap	cap;
	enum ib_sig_type	sq_sig_type;
	enum ib_qp_type		qp_type;
};

/* Defined by the test */
bool ib_modify_qp_is_ok(enum ib_qp_state from, enum ib_qp_state to, enum ib_qp_type type,
			int mask);

struct ib_qp {
	struct ib_device	*device;
	struct ib_qp		*real_qp;
	struct ib_uqp_object	*uobject;
	void			*qp_context;
	struct ib_cq		*send_cq, *recv_cq;
	struct ib_srq		*srq;
	enum ib_qp_type		qp_type;
	u32			qp_num;
};

enum ib_comp_cntr_entry { IB_COMP_CNTR_ENTRY_COMP, IB_COMP_CNTR_ENTRY_ERR };
enum ib_comp_cntr_modify_op { IB_COMP_CNTR_MODIFY_OP_SET, IB_COMP_CNTR_MODIFY_OP_INC };

enum ib_qp_attach_comp_cntr_op {
	IB_QP_ATTACH_COMP_CNTR_OP_SEND			= 1 << 0,
	IB_QP_ATTACH_COMP_CNTR_OP_RECV			= 1 << 1,
	IB_QP_ATTACH_COMP_CNTR_OP_RDMA_READ		= 1 << 2,
	IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ	= 1 << 3,
	IB_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE		= 1 << 4,
	IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE	= 1 << 5,
};

struct ib_comp_cntr_caps {
	u64	max_value;
	u32	max_counters;
	u32	supported_qp_attach_ops;
};

struct ib_comp_cntr { struct ib_device *device; };
struct ib_qp_attach_comp_cntr_attr { u32 op_mask; };

enum ib_mw_type { IB_MW_TYPE_1 = 1, IB_MW_TYPE_2 };

struct ib_mw {
	struct ib_device	*device;
	struct ib_pd		*pd;
	u32			rkey;
	enum ib_mw_type		type;
};

struct ib_mr {
	struct ib_device	*device;
	u32			lkey, rkey;
	u64			iova;
	u64			length;
	unsigned int		page_size;
};

struct ib_cq;
struct net;
struct net_device;
enum rdma_driver_id { RDMA_DRIVER_UNKNOWN };

/* Functions of the RDMA core; defined by the test */
struct ib_device *host_alloc_device(void);
#define ib_alloc_device_with_net(type, member, net) \
	((void)(net), container_of(host_alloc_device(), struct type, member))
void ib_dealloc_device(struct ib_device *ib);
int ib_device_set_netdev(struct ib_device *ib, struct net_device *netdev, u32 port);
struct net_device *ib_device_get_netdev(struct ib_device *ib, u32 port);
struct ib_device *ib_device_get_by_netdev(struct net_device *netdev,
					  enum rdma_driver_id driver);
int ib_register_device(struct ib_device *ib, const char *name, void *dma);
void ib_unregister_device_and_put(struct ib_device *ib);
void ib_unregister_device_queued(struct ib_device *ib);
bool ib_device_try_get(struct ib_device *ib);
void ib_device_put(struct ib_device *ib);
int rdma_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid);
#define ib_mark_name_assigned_by_user(ib)	((void)(ib))
#define COMPAT_DECLARE_PORT(name)
#define COMPAT_DECLARE_READER(name)
#define ib_dispatch_port_state_event(ib, netdev)	((void)(ib), (void)(netdev))
#define ib_unregister_driver(driver)		do { } while (0)

struct ib_client {
	const char *name;
	int (*add)(struct ib_device *ib);
	void (*remove)(struct ib_device *ib, void *data);
};

#define ib_register_client(client)	((void)(client), 0)
#define ib_unregister_client(client)	((void)(client))

struct rdma_link_ops {
	const char *type;
	int (*newlink)(const char *name, struct net_device *netdev);
};

void rdma_link_register(struct rdma_link_ops *ops);
#define rdma_link_unregister(ops)	((void)(ops))

void ib_dispatch_event(struct ib_event *event);

struct ib_event {
	struct ib_device	*device;
	union {
		struct ib_cq	*cq;
		struct ib_srq	*srq;
		u32		port_num;
	} element;
	enum ib_event_type	event;
};

struct ib_cq {
	struct ib_device	*device;
	struct ib_ucq_object	*uobject;
	int			cqe;
	void			*cq_context;
	void (*comp_handler)(struct ib_cq *cq, void *context);
	void (*event_handler)(struct ib_event *event, void *context);
};

struct ib_cq_init_attr {
	unsigned int	cqe;
	u32		comp_vector;
	u32		flags;
};

struct ib_wc {
	u64			wr_id;
	enum ib_wc_status	status;
	enum ib_wc_opcode	opcode;
	u32			vendor_err;
	u32			byte_len;
	struct ib_qp		*qp;
	union {
		__be32	imm_data;
		u32	invalidate_rkey;
	} ex;
	int			wc_flags;
	u32			port_num;
};

struct ib_sge {
	u64	addr;
	u32	length;
	u32	lkey;
};

struct ib_send_wr {
	struct ib_send_wr	*next;
	u64			wr_id;
	struct ib_sge		*sg_list;
	int			num_sge;
	enum ib_wr_opcode	opcode;
	int			send_flags;
	union {
		__be32	imm_data;
		u32	invalidate_rkey;
	} ex;
};

struct ib_rdma_wr {
	struct ib_send_wr	wr;
	u64			remote_addr;
	u32			rkey;
};

struct ib_atomic_wr {
	struct ib_send_wr	wr;
	u64			remote_addr, compare_add, swap;
	u32			rkey;
};

struct ib_reg_wr {
	struct ib_send_wr	wr;
	struct ib_mr		*mr;
	u32			key;
	int			access;
};

#define rdma_wr(w)	container_of(w, struct ib_rdma_wr, wr)
#define atomic_wr(w)	container_of(w, struct ib_atomic_wr, wr)
#define reg_wr(w)	container_of(w, struct ib_reg_wr, wr)

#endif
