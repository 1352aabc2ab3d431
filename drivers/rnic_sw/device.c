// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The ib_device: its table of operations, its attributes, and the attributes of its port. */
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <ddp/mem.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/uverbs_ioctl.h>

#include "comp_cntr.h"
#include "counters.h"
#include "details.h"
#include "doorbell.h"
#include "odp.h"
#include "policy.h"
#include "qp_conn.h"
#include "rnic.h"

#include "../../compat/verbs.h"

/* Vendor ID to report: not an assigned OUI, but one with the bit "locally administered" set */
#define VENDOR_ID	0x726e73

/* Firmware version to report: the driver's version, followed by the ABI version */
#define VERSION_MAJOR	0
#define VERSION_MINOR	1
#define FW_VER		((u64)VERSION_MAJOR << 32 | VERSION_MINOR << 16 | \
			 RNIC_SW_ABI_VERSION)

/*
 * InfiniBand speed and width to report, in ascending order.  An entry applies to all link speeds
 * above that of the previous entry, up to its own; the last entry also to all higher speeds.
 */
static const struct {
	u32	mbps;	/* link speed in Mbit/s */
	u16	speed;	/* enum ib_port_speed */
	u8	width;	/* enum ib_port_width */
} speeds[] = {
	{ SPEED_2500,	IB_SPEED_SDR,	IB_WIDTH_1X },
	{ SPEED_5000,	IB_SPEED_DDR,	IB_WIDTH_1X },
	{ SPEED_10000,	IB_SPEED_QDR,	IB_WIDTH_1X },
	{ SPEED_20000,	IB_SPEED_DDR,	IB_WIDTH_4X },
	{ SPEED_25000,	IB_SPEED_EDR,	IB_WIDTH_1X },
	{ SPEED_40000,	IB_SPEED_QDR,	IB_WIDTH_4X },
	{ SPEED_50000,	IB_SPEED_HDR,	IB_WIDTH_1X },
	{ SPEED_100000,	IB_SPEED_EDR,	IB_WIDTH_4X },
	{ SPEED_200000,	IB_SPEED_HDR,	IB_WIDTH_4X },
	{ SPEED_400000,	IB_SPEED_NDR,	IB_WIDTH_4X },
};

static int rnic_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			     struct ib_udata *udata)
{
	*attr = (struct ib_device_attr) {
		.fw_ver = FW_VER,
		.sys_image_guid = ib->node_guid,
		.max_mr_size = U64_MAX,
		.page_size_cap = ~(u64)(SZ_4K - 1),
		.vendor_id = VENDOR_ID,
		.max_qp = rnic_get_limit(RNIC_QPS),
		.max_qp_wr = RNIC_MAX_QP_WR,
		.device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS |
				    IB_DEVICE_MEM_WINDOW |
				    IB_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_send_sge = RDMAP_SGE_MAX,
		.max_recv_sge = RDMAP_SGE_MAX,
		.max_sge_rd = 1,
		.max_cq = rnic_get_limit(RNIC_CQS),
		.max_cqe = RNIC_MAX_CQE,
		.max_mr = rnic_get_limit(RNIC_MRS),
		.max_mw = rnic_get_limit(RNIC_MWS),
		.max_srq = rnic_get_limit(RNIC_SRQS),
		.max_srq_wr = RNIC_MAX_QP_WR,
		.max_srq_sge = RDMAP_SGE_MAX,
		.max_pd = rnic_get_limit(RNIC_PDS),
		.max_qp_rd_atom = RDMAP_DEPTH_MAX,
		.max_res_rd_atom = rnic_get_limit(RNIC_QPS) * RDMAP_DEPTH_MAX,
		.max_qp_init_rd_atom = RDMAP_DEPTH_MAX,
		.atomic_cap = IB_ATOMIC_GLOB,
		.max_fast_reg_page_list_len = RNIC_MAX_FASTREG,
		.timestamp_mask = U64_MAX,
		.hca_core_clock = USEC_PER_SEC,	/* in kHz, so that one tick is 1 ns */
	};
	attr->kernel_cap_flags |= IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	rnic_odp_fill_caps(attr);
	return ib_no_udata_io(udata);
}

static void rnic_get_dev_fw_str(struct ib_device *ib, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", VERSION_MAJOR,
		 VERSION_MINOR, RNIC_SW_ABI_VERSION);
}

/*
 * Get the link speed in Mbit/s, or the lowest of @speeds if it is unknown.  Do not use
 * ib_get_eth_speed(): for an interface without a speed (lo, dummy) it logs a warning for each
 * query, so any program could flood the log.
 */
static u32 get_link_speed(struct net_device *netdev)
{
	struct ethtool_link_ksettings link = {};
	int err = -ENODEV;

	rtnl_lock();
	/* do not query an unregistered ipvlan: its lower interface may have been freed */
	if (netdev->reg_state == NETREG_REGISTERED)
		err = __ethtool_get_link_ksettings(netdev, &link);
	rtnl_unlock();
	if (err || !link.base.speed || link.base.speed == (u32)SPEED_UNKNOWN)
		return speeds[0].mbps;
	return link.base.speed;
}

/* Fill in speed and width of the port */
static void fill_port_speed(struct net_device *netdev, struct ib_port_attr *attr)
{
	u32 mbps = get_link_speed(netdev);
	int i = 0;

	while (i < ARRAY_SIZE(speeds) - 1 && speeds[i].mbps < mbps)
		i++;
	attr->active_speed = speeds[i].speed;
	attr->active_width = speeds[i].width;
}

static bool is_link_up(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}

static void fill_port_from_netdev(struct net_device *netdev, struct ib_port_attr *attr)
{
	if (is_link_up(netdev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	}
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
	fill_port_speed(netdev, attr);
}

static int rnic_query_port(struct ib_device *ib, u32 port,
			   struct ib_port_attr *attr)
{
	struct net_device *netdev = ib_device_get_netdev(ib, port);

	*attr = (struct ib_port_attr) {
		.state = IB_PORT_DOWN,
		.phys_state = IB_PORT_PHYS_STATE_DISABLED,
		.max_mtu = IB_MTU_4096,
		.active_mtu = IB_MTU_4096,
		.gid_tbl_len = GIDS_MAX,
		.lid = rnic_gids_get_lid(to_rnic_dev(ib)),
		.max_msg_sz = RNIC_MAX_MSG,
		.active_speed = speeds[0].speed,
		.active_width = speeds[0].width,
	};
	if (netdev) {
		fill_port_from_netdev(netdev, attr);
		dev_put(netdev);
	}
	return 0;
}

/**
 * rnic_query_port_speed - get the exact speed of the port (device operation)
 * @ib: the device
 * @port: number of the port
 * @speed: set to the speed in units of 100 Mbit/s, rounded up; to 0 if the link is down; to the
 *	speed that rnic_query_port() reports if the interface does not know its speed
 *
 * Context: process; takes RTNL.
 *
 * Return: 0.
 */
int rnic_query_port_speed(struct ib_device *ib, u32 port, u64 *speed)
{
	struct net_device *netdev = ib_device_get_netdev(ib, port);

	*speed = 0;
	if (!netdev)
		return 0;
	if (is_link_up(netdev))
		*speed = DIV_ROUND_UP(get_link_speed(netdev), SPEED_100);
	dev_put(netdev);
	return 0;
}

static int rnic_get_port_immutable(struct ib_device *ib, u32 port,
				   struct ib_port_immutable *fixed)
{
	fixed->gid_tbl_len = GIDS_MAX;
	fixed->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/*
 * Get an entry of the GID table; the GID of an empty entry is zero.  Return: always 0, because
 * after an error the core would not read the entries that follow @index.
 */
static int rnic_query_gid(struct ib_device *ib, u32 port, int index,
			  union ib_gid *gid)
{
	rnic_gids_get_entry(to_rnic_dev(ib), index, gid);
	compat_fill_mac_gid(ib, port, index, gid);
	compat_record_unchanged_gid(ib, port, index, gid);
	return 0;
}

static int rnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int err = ib_no_udata_io(udata);

	return err ?: rnic_charge_object(to_rnic_dev(pd->device), RNIC_PDS);
}

/*
 * Deallocate a PD.  All destroy operations ignore @udata, as this one does.  If the core cannot
 * return a new object to a program, it destroys the object and passes the udata of the creation.
 * A destroy operation that checked @udata would then fail.
 */
static int rnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	rnic_uncharge_object(to_rnic_dev(pd->device), RNIC_PDS);
	return 0;
}

/*
 * Disassociate a program's context from a device that is being removed.  Does nothing, because
 * the core has destroyed the program's objects, and the program may keep the memory of its rings
 * mapped.  Without this operation the core would delay the removal until all programs have
 * closed the device.
 */
static void rnic_disassociate_ucontext(struct ib_ucontext *ib)
{
}

/* Query a context for a program that imports it.  Does nothing: the driver returns no data. */
static int rnic_query_ucontext(struct ib_ucontext *ib,
			       struct uverbs_attr_bundle *attrs)
{
	return 0;
}

static void rnic_dealloc_driver(struct ib_device *ib)
{
	struct rnic_dev *dev = to_rnic_dev(ib);

	rnic_gids_exit(dev);
	rnic_cm_exit(dev);
	WARN_ON_ONCE(!xa_empty(&dev->qps));
	xa_destroy(&dev->qps);
	ddp_stags_destroy(&dev->stags);
	rnic_counters_exit(dev);
}

/* Objects and methods that this driver adds to those of the core */
static const struct uapi_definition rnic_uapi_defs[] = {
	UAPI_DEF_CHAIN(rnic_qp_conn_defs),
	UAPI_DEF_CHAIN(rnic_doorbell_defs),
	{},
};

const struct ib_device_ops rnic_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)RNIC_SW_DRIVER_ID,
	.uverbs_abi_ver = RNIC_SW_ABI_VERSION,

	.advise_mr = rnic_advise_mr,
	.alloc_hw_port_stats = rnic_alloc_hw_port_stats,
	.alloc_mr = rnic_alloc_mr,
	.alloc_mw = rnic_alloc_mw,
	.alloc_pd = rnic_alloc_pd,
	.alloc_ucontext = rnic_alloc_ucontext,
	.counter_alloc_stats = rnic_alloc_counter_stats,
	.counter_bind_qp = rnic_counter_bind,
	.counter_dealloc = rnic_counter_dealloc,
	.counter_unbind_qp = rnic_counter_unbind,
	.counter_update_stats = rnic_counter_update,
	.create_cq = rnic_create_cq,
	.create_qp = rnic_create_qp,
	.create_srq = rnic_create_srq,
	.dealloc_driver = rnic_dealloc_driver,
	.dealloc_mw = rnic_dealloc_mw,
	.dealloc_pd = rnic_dealloc_pd,
	.dealloc_ucontext = rnic_dealloc_ucontext,
	.dereg_mr = rnic_dereg_mr,
	.destroy_cq = rnic_destroy_cq,
	.destroy_qp = rnic_destroy_qp,
	.destroy_srq = rnic_destroy_srq,
	.disassociate_ucontext = rnic_disassociate_ucontext,
	.enable_driver = rnic_enable_driver,
	.fill_res_cq_entry = rnic_show_cq,
	.fill_res_mr_entry = rnic_show_mr,
	.fill_res_qp_entry = rnic_show_qp,
	.get_dev_fw_str = rnic_get_dev_fw_str,
	.get_dma_mr = rnic_get_dma_mr,
	.get_hw_stats = rnic_get_hw_stats,
	.get_port_immutable = rnic_get_port_immutable,
	.iw_accept = rnic_iw_accept,
	.iw_add_ref = rnic_qp_add_ref,
	.iw_connect = rnic_iw_connect,
	.iw_create_listen = rnic_iw_listen,
	.iw_destroy_listen = rnic_iw_unlisten,
	.iw_get_qp = rnic_get_qp,
	.iw_reject = rnic_iw_reject,
	.iw_rem_ref = rnic_qp_rem_ref,
	.map_mr_sg = rnic_map_mr_sg,
	.mmap = rnic_mmap,
	.mmap_free = rnic_mmap_free,
	.modify_qp = rnic_modify_qp,
	.modify_srq = rnic_modify_srq,
	.poll_cq = rnic_poll_cq,
	.post_recv = rnic_post_recv,
	.post_send = rnic_post_send,
	.post_srq_recv = rnic_post_srq_recv,
	.query_device = rnic_query_device,
	.query_gid = rnic_query_gid,
	.query_port = rnic_query_port,
	.query_qp = rnic_query_qp,
	.query_srq = rnic_query_srq,
	.query_ucontext = rnic_query_ucontext,
	.reg_user_mr = rnic_reg_user_mr,
	.reg_user_mr_dmabuf = rnic_reg_user_mr_dmabuf,
	.req_notify_cq = rnic_req_notify_cq,
	.rereg_user_mr = rnic_rereg_user_mr,
	COMPAT_VERBS_OPS

	INIT_RDMA_OBJ_SIZE(ib_cq, rnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_mw, rnic_mw, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, rnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, rnic_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, rnic_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rnic_uctx, ib),
};

/**
 * rnic_device_init - initialize a new device, but not its name and its interface
 * @dev: the device, from ib_alloc_device(); until it is registered, the caller must free it
 *	with ib_dealloc_device(), also after an error
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_device_init(struct rnic_dev *dev)
{
	struct ib_device *ib = &dev->ib;

	ddp_stags_init(&dev->stags);
	spin_lock_init(&dev->windows_lock);
	rnic_qp_table_init(dev);
	rnic_policy_init(&dev->policy);
	rnic_gids_init(dev, COMPAT_GIDS);
	mutex_init(&dev->rdv_lock);
	INIT_LIST_HEAD(&dev->rdv_ports);

	ib_set_device_ops(ib, &rnic_device_ops);
	ib->node_type = RDMA_NODE_RNIC;
	ib->phys_port_cnt = 1;
	/*
	 * Provide a completion vector for each CPU, because some kernel consumers
	 * create at most one connection for each vector.  The vector selects the
	 * CPU that calls a kernel consumer's completion handler (cq_notify.c).  It
	 * does not select the CPU that receives packets: RSS and RPS do this, as
	 * for any socket.
	 */
	ib->num_comp_vectors = num_possible_cpus();
	ib->local_dma_lkey = DDP_STAG_DMA;
	ib->iw_driver_flags = IW_F_NO_PORT_MAP;
	ib->driver_def = rnic_uapi_defs;
	/*
	 * permit the empty posts with which a program wakes the transmit path or flushes receives
	 */
	ib->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
			       BIT_ULL(IB_USER_VERBS_CMD_POST_RECV);

	return rnic_counters_init(dev);
}
