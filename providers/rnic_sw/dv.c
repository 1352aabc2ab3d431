// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Direct verbs; rnic_sw_dv.h documents them. */
#include <errno.h>

#include <infiniband/cmd_ioctl.h>

#include "rnic_sw.h"
#include "rnic_sw_dv.h"

static_assert((int)RNIC_SW_DV_LLP_DEFAULT == RNIC_SW_LLP_DEFAULT &&
	      (int)RNIC_SW_DV_LLP_TCP == RNIC_SW_LLP_TCP &&
	      (int)RNIC_SW_DV_LLP_SCTP == RNIC_SW_LLP_SCTP,
	      "enum rnic_sw_dv_llp must have the values of enum rnic_sw_llp");
static_assert((int)RNIC_SW_DV_CONN_DEPTHS == RNIC_SW_CONN_DEPTHS &&
	      (int)RNIC_SW_DV_CONN_REJECTED == RNIC_SW_CONN_REJECTED &&
	      (int)RNIC_SW_DV_CONN_CRC == RNIC_SW_CONN_CRC &&
	      (int)RNIC_SW_DV_CONN_TX_MARKERS == RNIC_SW_CONN_TX_MARKERS &&
	      (int)RNIC_SW_DV_CONN_RX_MARKERS == RNIC_SW_CONN_RX_MARKERS,
	      "enum rnic_sw_dv_conn_flags must have the values of RNIC_SW_CONN_*");

/* Flags that this version knows */
#define CONN_FLAGS	(RNIC_SW_DV_CONN_DEPTHS | RNIC_SW_DV_CONN_REJECTED | RNIC_SW_DV_CONN_CRC | \
			 RNIC_SW_DV_CONN_TX_MARKERS | RNIC_SW_DV_CONN_RX_MARKERS)

bool rnic_sw_dv_is_supported(struct ibv_device *device)
{
	return verbs_get_device(device)->ops == &rnic_sw_dev_ops;
}

int rnic_sw_dv_set_llp(struct ibv_context *context, enum rnic_sw_dv_llp llp)
{
	if (!rnic_sw_dv_is_supported(context->device))
		return EOPNOTSUPP;
	switch (llp) {
	case RNIC_SW_DV_LLP_DEFAULT:
	case RNIC_SW_DV_LLP_TCP:
	case RNIC_SW_DV_LLP_SCTP:
		to_ctx(context)->llp = llp;
		return 0;
	default:
		return EINVAL;
	}
}

/* Call the kernel's method. Returns 0 or an errno; EOPNOTSUPP if the kernel lacks the method. */
static int query_conn(struct ibv_qp *qp, struct rnic_sw_query_conn_resp *resp,
		      uint8_t *private_data)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, RNIC_SW_METHOD_QUERY_CONN, 3);
	int ret;

	fill_attr_in_obj(cmd, RNIC_SW_ATTR_QUERY_CONN_HANDLE, qp->handle);
	fill_attr_out_ptr(cmd, RNIC_SW_ATTR_QUERY_CONN_RESP, resp);
	fill_attr_out(cmd, RNIC_SW_ATTR_QUERY_CONN_PRIVATE_DATA, private_data,
		      RNIC_SW_DV_PRIVATE_DATA_MAX);
	ret = execute_ioctl(qp->context, cmd);
	return ret == EPROTONOSUPPORT ? EOPNOTSUPP : ret;
}

int rnic_sw_dv_query_conn(struct ibv_qp *qp, struct rnic_sw_dv_conn *conn)
{
	struct rnic_sw_query_conn_resp resp = {};
	int ret;

	if (!rnic_sw_dv_is_supported(qp->context->device))
		return EOPNOTSUPP;
	if (conn->comp_mask)
		return EINVAL;
	ret = query_conn(qp, &resp, conn->private_data);
	if (ret)
		return ret;
	conn->flags = resp.flags & CONN_FLAGS;
	conn->llp = resp.llp;
	conn->revision = resp.revision;
	conn->ird = resp.ird;
	conn->ord = resp.ord;
	conn->private_data_len = resp.private_data_len;
	return 0;
}
