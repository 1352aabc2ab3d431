/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Driver-specific entries of "rdma -dd resource show". */
#ifndef _RNIC_SW_DETAILS_H
#define _RNIC_SW_DETAILS_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct ib_srq;
struct sk_buff;

int rnic_show_qp(struct sk_buff *msg, struct ib_qp *ib);
int rnic_show_mr(struct sk_buff *msg, struct ib_mr *ib);
int rnic_show_cq(struct sk_buff *msg, struct ib_cq *ib);
int rnic_show_srq(struct sk_buff *msg, struct ib_srq *ib);

#endif
