// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * User contexts: created when a program opens the device, and destroyed when
 * the program closes the device.
 *
 * This file also asserts the layout of all structures that programs and the
 * kernel share.
 */
#include <rdma/uverbs_ioctl.h>

#include "rnic.h"

/*
 * ABI 1: programs are compiled with these sizes and offsets, so they must not
 * change
 */
static_assert(sizeof(struct rnic_sw_ring) == RNIC_SW_RING_HDR &&
	      offsetof(struct rnic_sw_ring, cons) == 64 &&
	      offsetof(struct rnic_sw_ring, flags) == 68);
static_assert(sizeof(struct rnic_sw_sge) == 16 &&
	      offsetof(struct rnic_sw_sge, length) == 8 &&
	      offsetof(struct rnic_sw_sge, lkey) == 12);
static_assert(sizeof(struct rnic_sw_sqe) == 64 &&
	      offsetof(struct rnic_sw_sqe, opcode) == 8 &&
	      offsetof(struct rnic_sw_sqe, flags) == 9 &&
	      offsetof(struct rnic_sw_sqe, num_sge) == 10 &&
	      offsetof(struct rnic_sw_sqe, inline_len) == 12 &&
	      offsetof(struct rnic_sw_sqe, imm_data) == 16 &&
	      offsetof(struct rnic_sw_sqe, inv_stag) == 16 &&
	      offsetof(struct rnic_sw_sqe, rkey) == 20 &&
	      offsetof(struct rnic_sw_sqe, remote_addr) == 24 &&
	      offsetof(struct rnic_sw_sqe, compare_add) == 32 &&
	      offsetof(struct rnic_sw_sqe, swap) == 40 &&
	      offsetof(struct rnic_sw_sqe, bind.lkey) == 16 &&
	      offsetof(struct rnic_sw_sqe, bind.rkey) == 20 &&
	      offsetof(struct rnic_sw_sqe, bind.addr) == 24 &&
	      offsetof(struct rnic_sw_sqe, bind.length) == 32 &&
	      offsetof(struct rnic_sw_sqe, bind.access) == 40 &&
	      offsetof(struct rnic_sw_sqe, reserved) == 48);
static_assert(sizeof(struct rnic_sw_rqe) == 16 &&
	      offsetof(struct rnic_sw_rqe, num_sge) == 8);
static_assert(sizeof(struct rnic_sw_cqe) == 32 &&
	      offsetof(struct rnic_sw_cqe, qp_num) == 8 &&
	      offsetof(struct rnic_sw_cqe, byte_len) == 12 &&
	      offsetof(struct rnic_sw_cqe, status) == 16 &&
	      offsetof(struct rnic_sw_cqe, opcode) == 17 &&
	      offsetof(struct rnic_sw_cqe, flags) == 18 &&
	      offsetof(struct rnic_sw_cqe, vendor_err) == 20 &&
	      offsetof(struct rnic_sw_cqe, timestamp) == 24);
static_assert(RNIC_SW_PEER_TERMINATE == IW_PEER_TERMINATE);
static_assert(sizeof(struct rnic_sw_alloc_ctx) == 8 &&
	      sizeof(struct rnic_sw_alloc_ctx_resp) == 16 &&
	      sizeof(struct rnic_sw_create_cq) == 16 &&
	      sizeof(struct rnic_sw_create_cq_resp) == 40 &&
	      offsetof(struct rnic_sw_create_cq_resp, map_number) == 24 &&
	      sizeof(struct rnic_sw_resize_cq) == 16 &&
	      sizeof(struct rnic_sw_resize_cq_resp) == 24 &&
	      sizeof(struct rnic_sw_create_srq) == 8 &&
	      sizeof(struct rnic_sw_create_srq_resp) == 40 &&
	      offsetof(struct rnic_sw_create_srq_resp, map_number) == 24 &&
	      sizeof(struct rnic_sw_create_qp) == 16 &&
	      sizeof(struct rnic_sw_create_qp_resp) == 56 &&
	      offsetof(struct rnic_sw_create_qp_resp, map_number) == 40 &&
	      offsetof(struct rnic_sw_create_qp_resp, doorbell) == 52 &&
	      sizeof(struct rnic_sw_modify_qp) == 8 &&
	      sizeof(struct rnic_sw_query_conn_resp) == 16 &&
	      offsetof(struct rnic_sw_query_conn_resp, llp) == 12);

/**
 * rnic_alloc_ucontext - create the context of a program that opens the device
 * (device operation)
 * @ib: the context, allocated by ib_core
 * @udata: struct rnic_sw_alloc_ctx and its response
 *
 * Return: 0 or a negative errno.
 */
int rnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct rnic_sw_alloc_ctx_resp resp = {
		.comp_mask = RNIC_SW_CTX_PACKS | RNIC_SW_CTX_DLID | RNIC_SW_CTX_DOORBELL,
		.max_inline = RNIC_MAX_INLINE,
	};
	struct rnic_sw_alloc_ctx req;
	int err = ib_copy_validate_udata_in_cm(udata, req, comp_mask, 0);

	if (!err && req.reserved)
		err = -EOPNOTSUPP;
	if (READ_ONCE(to_rnic_dev(ib->device)->policy.busy_poll))
		resp.comp_mask |= RNIC_SW_CTX_BUSY_POLL;
	rnic_pages_init(to_rnic_uctx(ib));
	mutex_init(&to_rnic_uctx(ib)->doorbells_lock);
	return err ?: ib_respond_udata(udata, resp);
}

/**
 * rnic_dealloc_ucontext - destroy the context of a program that closes the device
 * (device operation)
 * @ib: the context; ib_core has destroyed all its queues
 */
void rnic_dealloc_ucontext(struct ib_ucontext *ib)
{
	rnic_pages_exit(to_rnic_uctx(ib));
	mutex_destroy(&to_rnic_uctx(ib)->doorbells_lock);
}

/**
 * rnic_has_any_attr - check whether a program's command has any attribute of a list
 * @udata: driver data of the command
 * @ids: the list: IDs of attributes, UVERBS_ATTR_*
 * @n: number of @ids
 *
 * Return: true if the command has at least one of the attributes, false otherwise.
 */
bool rnic_has_any_attr(struct ib_udata *udata, const u16 *ids, u32 n)
{
	const struct uverbs_attr_bundle *attrs =
		container_of(udata, struct uverbs_attr_bundle, driver_udata);
	u32 i;

	for (i = 0; i < n; i++)
		if (uverbs_attr_is_valid(attrs, ids[i]))
			return true;
	return false;
}
