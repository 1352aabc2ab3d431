/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Check that the work requests of a program use only supported fields. */
#ifndef _RNIC_SW_SQE_H
#define _RNIC_SW_SQE_H

#include <ddp/pure.h>
#include <rdma/rnic_sw-abi.h>

bool rnic_sqe_is_well_formed(const struct rnic_sw_sqe *e);
bool rnic_rqe_is_well_formed(const struct rnic_sw_rqe *e);

#endif
