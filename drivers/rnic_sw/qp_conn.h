/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Interface to qp_conn.c: the start-up message that a queue pair has received from its peer */
#ifndef _RNIC_SW_QP_CONN_H
#define _RNIC_SW_QP_CONN_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

struct ddp_offer;
struct rnic_qp;

/**
 * struct rnic_peer_msg - start-up message of a peer: its Request, Reply or reject
 * @flags: RNIC_SW_CONN_*
 * @llp: lower layer of the connection, enum rnic_sw_llp
 * @revision: MPA revision of the message; 0 over SCTP
 * @ird: IRD in the message; valid if @flags has RNIC_SW_CONN_DEPTHS
 * @ord: ORD in the message; valid if @flags has RNIC_SW_CONN_DEPTHS
 * @pd_len: length of @pd in bytes, at most DDP_PD_MAX
 * @pd: Private Data, without the IRD/ORD word
 */
struct rnic_peer_msg {
	u8	flags;
	u8	llp;
	u8	revision;
	u16	ird;
	u16	ord;
	u16	pd_len;
	u8	pd[];
};

struct rnic_peer_msg *rnic_peer_msg_new(const struct ddp_offer *o, u8 llp, u8 flags);
int rnic_qp_set_peer_msg(struct rnic_qp *qp, const struct rnic_peer_msg *msg);

/* the uverbs method that queries a connection */
extern const struct uapi_definition rnic_qp_conn_defs[];

#endif
