/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Settings of a device. */
#ifndef _RNIC_SW_POLICY_H
#define _RNIC_SW_POLICY_H

#include <rdma/ib_verbs.h>

#include "../../compat/rdma.h"

struct rnic_policy;

/* All settings; terminated by an empty entry */
extern const struct ib_device_param rnic_params[];
void rnic_policy_init(struct rnic_policy *p);
void rnic_policy_paths(const struct rnic_policy *p, int *paths);

#endif
