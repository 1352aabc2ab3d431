/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What cm.c and cm_listen.c know of each other. */
#ifndef _RNIC_SW_CM_H
#define _RNIC_SW_CM_H

#include <ddp/session.h>

#include "rnic.h"

struct iw_cm_id;
struct net;

/* The lower layers of a device, by enum rnic_sw_llp */
#define RNIC_LLPS	(RNIC_SW_LLP_SCTP + 1)

/* Each is found when it is first asked for, and held until the device goes */
struct rnic_llps {
	const struct ddp_session_type	*type[RNIC_LLPS];	/* or NULL */
};

/* A listener of iw_cm's, and those below it */
struct rnic_lep {
	struct rnic_dev		*dev;
	struct iw_cm_id		*id;
	struct ddp_listener	*l[RNIC_LLPS];	/* or NULL */
};

extern const struct ddp_session_user rnic_session_user;

bool rnic_serves(const struct net *net, const struct iw_cm_id *id);
void rnic_fill_policy(const struct rnic_dev *dev, struct ddp_policy *p);
const struct ddp_session_type *rnic_llp(const struct rnic_dev *dev, u8 llp);

#endif
