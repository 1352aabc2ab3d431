// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The peer's start-up message, and the method with which a program queries it.
 *
 * An event of iw_cm has 8 bits for the length of Private Data, for IRD and for ORD, and no
 * field for the MPA revision.  So a program's QP keeps the peer's message until the QP is
 * destroyed, and the method RNIC_SW_METHOD_QUERY_CONN returns the message.  The QP of a kernel
 * consumer keeps no message, because such a consumer cannot call the method.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>

#include "qp_conn.h"
#include "rnic.h"

#define UVERBS_MODULE_NAME rnic_sw
#include <rdma/uverbs_named_ioctl.h>

/* Get the flags for the CRC and the markers that both sides have agreed on in MPA start-up */
static u8 get_mpa_flags(const struct ddp_offer *o)
{
	return (o->crc ? RNIC_SW_CONN_CRC : 0) |
	       (o->tx_markers ? RNIC_SW_CONN_TX_MARKERS : 0) |
	       (o->rx_markers ? RNIC_SW_CONN_RX_MARKERS : 0);
}

/**
 * rnic_peer_msg_new - allocate a copy of a peer's start-up message
 * @o: contents of the message
 * @llp: lower layer of the connection, enum rnic_sw_llp
 * @flags: RNIC_SW_CONN_REJECTED if the message is a reject, else 0
 *
 * May sleep.
 *
 * Return: the message, which the caller must free with kfree(); NULL if memory is short.
 */
struct rnic_peer_msg *rnic_peer_msg_new(const struct ddp_offer *o, u8 llp, u8 flags)
{
	struct rnic_peer_msg *msg;

	msg = kmalloc(struct_size(msg, pd, o->pd_len), GFP_KERNEL_ACCOUNT);
	if (!msg)
		return NULL;
	*msg = (struct rnic_peer_msg) {
		.flags = flags | (o->enhanced ? RNIC_SW_CONN_DEPTHS : 0) | get_mpa_flags(o),
		.llp = llp,
		.revision = o->revision,
		.ird = o->enhanced ? o->ird : 0,
		.ord = o->enhanced ? o->ord : 0,
		.pd_len = o->pd_len,
	};
	memcpy(msg->pd, o->pd, o->pd_len);
	return msg;
}

/**
 * rnic_qp_set_peer_msg - let a QP keep a copy of the peer's start-up message
 * @qp: the QP; the caller must have a reference
 * @msg: the message
 *
 * Does nothing for the QP of a kernel consumer, and if the QP has a message already.  The copy
 * is charged to the control group of the QP's owner, because the caller is a worker.  May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_qp_set_peer_msg(struct rnic_qp *qp, const struct rnic_peer_msg *msg)
{
	struct rnic_peer_msg *copy;
	struct mem_cgroup *old;
	unsigned long flags;

	if (!rnic_qp_is_user(qp))
		return 0;
	old = set_active_memcg(qp->owner.memcg);
	copy = kmemdup(msg, struct_size(msg, pd, msg->pd_len), GFP_KERNEL_ACCOUNT);
	set_active_memcg(old);
	if (!copy)
		return -ENOMEM;
	spin_lock_irqsave(&qp->lock, flags);
	if (!qp->peer_msg)
		swap(qp->peer_msg, copy);
	spin_unlock_irqrestore(&qp->lock, flags);
	kfree(copy);
	return 0;
}

/*
 * Get the message that a QP keeps, or NULL.  The message does not change, and is not freed
 * before the QP is destroyed.  The core destroys the QP only after the method has returned.
 */
static const struct rnic_peer_msg *get_peer_msg(struct rnic_qp *qp)
{
	const struct rnic_peer_msg *msg;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	msg = qp->peer_msg;
	spin_unlock_irqrestore(&qp->lock, flags);
	return msg;
}

/* Copy as much Private Data as fits into the program's buffer, and zero the rest of the buffer */
static int copy_private_data(const struct uverbs_attr_bundle *attrs,
			     const struct rnic_peer_msg *msg)
{
	if (!uverbs_attr_is_valid(attrs, RNIC_SW_ATTR_QUERY_CONN_PRIVATE_DATA))
		return 0;
	return uverbs_copy_to_struct_or_zero(attrs, RNIC_SW_ATTR_QUERY_CONN_PRIVATE_DATA,
					     msg->pd, msg->pd_len);
}

/*
 * Method RNIC_SW_METHOD_QUERY_CONN.  The core looks up the QP among the objects of the file on
 * which the program makes the call, so a program gets messages of its own QPs only.
 */
static int UVERBS_HANDLER(RNIC_SW_METHOD_QUERY_CONN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ib = uverbs_attr_get_obj(attrs, RNIC_SW_ATTR_QUERY_CONN_HANDLE);
	const struct rnic_peer_msg *msg = get_peer_msg(to_rnic_qp(ib));
	struct rnic_sw_query_conn_resp resp = {};
	int err;

	if (!msg)
		return -ENOTCONN;
	resp.flags = msg->flags;
	resp.llp = msg->llp;
	resp.revision = msg->revision;
	resp.ird = msg->ird;
	resp.ord = msg->ord;
	resp.private_data_len = msg->pd_len;
	err = copy_private_data(attrs, msg);
	return err ?: uverbs_copy_to_struct_or_zero(attrs, RNIC_SW_ATTR_QUERY_CONN_RESP,
						    &resp, sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(RNIC_SW_METHOD_QUERY_CONN,
			    UVERBS_ATTR_IDR(RNIC_SW_ATTR_QUERY_CONN_HANDLE,
					    UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(RNIC_SW_ATTR_QUERY_CONN_RESP,
						UVERBS_ATTR_STRUCT(struct rnic_sw_query_conn_resp,
								   private_data_len),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(RNIC_SW_ATTR_QUERY_CONN_PRIVATE_DATA,
						UVERBS_ATTR_MIN_SIZE(0),
						UA_OPTIONAL));

ADD_UVERBS_METHODS(rnic_qp_methods, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(RNIC_SW_METHOD_QUERY_CONN));

const struct uapi_definition rnic_qp_conn_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &rnic_qp_methods),
	{},
};
