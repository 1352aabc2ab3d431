// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Build and issue a command of the RDMA core, see verbs_ioctl.h. */
#include "verbs_ioctl.h"

#define OWN_DRIVER_ID	0x726e7377	/* see include/uapi/rdma/rnic_sw-abi.h */

void call_begin(struct call *c, uint16_t object, uint16_t method)
{
	memset(c, 0, sizeof(*c));
	c->hdr.object_id = object;
	c->hdr.method_id = method;
	c->hdr.driver_id = OWN_DRIVER_ID;
}

static void add_attr(struct call *c, uint16_t attr, uint16_t len, uint64_t data)
{
	CHECK(c->hdr.num_attrs < CALL_ATTRS, "too many attributes");
	c->attrs[c->hdr.num_attrs++] = (struct ib_uverbs_attr){
		.attr_id = attr, .len = len, .flags = UVERBS_ATTR_F_MANDATORY, .data = data,
	};
}

void call_add_value(struct call *c, uint16_t attr, uint16_t len, uint64_t value)
{
	add_attr(c, attr, len, value);
}

void call_add_pointer(struct call *c, uint16_t attr, uint16_t len, const void *at)
{
	add_attr(c, attr, len, (uintptr_t)at);
}

int call_issue(struct call *c, const struct ibv_context *ctx)
{
	c->hdr.length = sizeof(c->hdr) + c->hdr.num_attrs * sizeof(c->attrs[0]);
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, c) ? errno : 0;
}
