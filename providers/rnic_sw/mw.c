// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory windows: allocation, deallocation, and bind with ibv_bind_mw() (type 1). */
#include <errno.h>
#include <stdlib.h>

#include "rnic_sw.h"

struct ibv_mw *rnic_sw_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw = calloc(1, sizeof(*mw));
	int ret;

	if (!mw)
		return NULL;
	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	mw->pd = rnic_sw_get_pd(pd);
	return mw;
}

int rnic_sw_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (ret)
		return ret;
	rnic_sw_put_pd(mw->pd);
	free(mw);
	return 0;
}

/*
 * Bind a window. Each bind assigns a new rkey; the previous rkey becomes
 * invalid.
 */
int rnic_sw_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		    struct ibv_mw_bind *bind)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = bind->bind_info,
		},
	};
	int ret = rnic_sw_post_bind(qp, &wr, &bad);

	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}
