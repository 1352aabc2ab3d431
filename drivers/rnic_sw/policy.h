/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Settings of a device: values (policy.c) and text form (settings.c). */
#ifndef _RNIC_SW_POLICY_H
#define _RNIC_SW_POLICY_H

#include <rdma/ib_verbs.h>

#include "../../compat/rdma.h"

struct rnic_policy;

/* policy.c: values */
void rnic_policy_init(struct rnic_policy *p);
void rnic_policy_get_paths(const struct rnic_policy *p, int *paths);
void rnic_policy_set_paths(struct rnic_policy *p, const int *paths);

/* settings.c: table of all settings; an empty entry ends the table */
extern const struct ib_device_param rnic_params[];

#endif
