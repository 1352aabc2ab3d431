/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Methods of the RDMA core that are newer than the installed libibverbs: a test calls them by
 * ioctl().  The numbers are those of <rdma/ib_user_ioctl_cmds.h> of Linux 7.3.
 */
#ifndef RNIC_SW_VERBS_IOCTL_H
#define RNIC_SW_VERBS_IOCTL_H

#include <stdint.h>
#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "verbs.h"

#define CALL_ATTRS	20	/* maximum number of attributes */

struct call {
	struct ib_uverbs_ioctl_hdr	hdr;
	struct ib_uverbs_attr		attrs[CALL_ATTRS];
};

/* Objects */
enum { NEW_DEVICE = 0, NEW_CQ = 3, NEW_QP = 4, NEW_SRQ = 5, NEW_MR = 7, NEW_COMP_CNTR = 19 };

void call_begin(struct call *c, uint16_t object, uint16_t method);
/* Add an attribute whose value is in the command itself: an input of up to 8 bytes, or a handle */
void call_add_value(struct call *c, uint16_t attr, uint16_t len, uint64_t value);
/* Add an attribute whose value is at an address: an output, or a longer input */
void call_add_pointer(struct call *c, uint16_t attr, uint16_t len, const void *at);
/* Return: 0 or an errno */
int call_issue(struct call *c, const struct ibv_context *ctx);

#endif
