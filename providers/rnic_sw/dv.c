// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Direct verbs; rnic_sw_dv.h documents them. */
#include <errno.h>

#include "rnic_sw.h"
#include "rnic_sw_dv.h"

static_assert((int)RNIC_SW_DV_LLP_DEFAULT == RNIC_SW_LLP_DEFAULT &&
	      (int)RNIC_SW_DV_LLP_TCP == RNIC_SW_LLP_TCP &&
	      (int)RNIC_SW_DV_LLP_SCTP == RNIC_SW_LLP_SCTP,
	      "enum rnic_sw_dv_llp must have the values of enum rnic_sw_llp");

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
