// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Format of receive WQEs in the rings of receive queues and SRQs: compute the
 * size of a WQE, read a WQE, and write a WQE. rq.c and srq.c decide which WQE
 * is read or written.
 *
 * The kernel reads each field of a WQE once, because a program can change the
 * WQE at any time. With a second read the kernel could use a value that it has
 * not checked.
 */
#include "rnic.h"
#include "sqe.h"

/**
 * rnic_rqe_compute_stride - compute the distance between receive WQEs in a ring
 * @max_sge: maximum number of SGEs of each WQE
 *
 * Return: the distance in bytes.
 */
u32 rnic_rqe_compute_stride(u32 max_sge)
{
	return sizeof(struct rnic_sw_rqe) +
	       max_sge * sizeof(struct rnic_sw_sge);
}

/**
 * rnic_rqe_read - read a receive WQE once and check it
 * @slot: the WQE, which a program can change at any time
 * @max_sge: maximum number of SGEs of the queue
 * @r: RDMAP state, whose recv_buf is set to the buffer that the WQE describes
 * @wr_id: set to the wr_id of the WQE, even if the WQE is invalid
 *
 * Return: true if the WQE is valid; false if it has too many SGEs, or if the
 * reserved field is not zero. If false, the caller must fail the queue pair.
 */
bool rnic_rqe_read(const struct rnic_sw_rqe *slot, u32 max_sge,
		   struct rdmap *r, u64 *wr_id)
{
	const struct rnic_sw_sge *sge = (void *)(slot + 1);
	struct ddp_sge *dst = r->recv_sge;
	const struct rnic_sw_rqe e = {
		.wr_id = READ_ONCE(slot->wr_id),
		.num_sge = READ_ONCE(slot->num_sge),
		.reserved = READ_ONCE(slot->reserved),
	};
	u32 i, n = e.num_sge;
	u64 len = 0;

	*wr_id = e.wr_id;
	if (n > max_sge || n > RDMAP_SGE_MAX || !rnic_rqe_is_well_formed(&e))
		return false;
	for (i = 0; i < n; i++) {
		dst[i].addr = READ_ONCE(sge[i].addr);
		dst[i].len = READ_ONCE(sge[i].length);
		dst[i].stag = READ_ONCE(sge[i].lkey);
		len += dst[i].len;
	}
	r->recv_buf = (struct ddp_buf) {
		.sge = dst,
		.nsge = n,
		.len = min_t(u64, len, RNIC_MAX_MSG),
	};
	return true;
}

/**
 * rnic_rqe_post - write a receive request of a kernel consumer to a ring
 * @ring: the ring; the caller must hold the lock of the queue
 * @oldest: index of the oldest WQE that is still in use
 * @max_sge: maximum number of SGEs of each WQE
 * @wr: receive request to write
 *
 * Return: 0; -ENOMEM if the ring is full; -EINVAL if the request has too many
 * SGEs.
 */
int rnic_rqe_post(struct rnic_ring *ring, u32 oldest, u32 max_sge,
		  const struct ib_recv_wr *wr)
{
	u32 prod = ring->hdr->prod;
	struct rnic_sw_rqe *slot;
	struct rnic_sw_sge *sge;
	int i;

	if (prod - oldest >= ring->slots)
		return -ENOMEM;
	if (wr->num_sge > max_sge)
		return -EINVAL;
	slot = rnic_ring_get_slot(ring, prod);
	sge = (struct rnic_sw_sge *)(slot + 1);
	slot->wr_id = wr->wr_id;
	slot->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		sge[i].addr = wr->sg_list[i].addr;
		sge[i].length = wr->sg_list[i].length;
		sge[i].lkey = wr->sg_list[i].lkey;
	}
	rnic_ring_set_prod(ring, prod + 1);
	return 0;
}
