// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Tests of small rings that share a mapping. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "provider_test.h"

static bool is_mapped(void *at)
{
	uintptr_t size = sysconf(_SC_PAGESIZE);

	return !msync((void *)((uintptr_t)at & -size), size, MS_ASYNC);
}

static size_t get_ring_hdr_distance(const struct rnic_sw_queue *q, const struct rnic_sw_queue *from)
{
	return (uint8_t *)q->hdr - (uint8_t *)from->hdr;
}

/* Rings of all kinds of queues share a mapping, which is unmapped with the last ring. */
static void test_shared_mapping(void)
{
	struct rnic_sw_cq *cq = make_cq(), *other = make_cq_ex(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	const size_t cq_bytes = RNIC_SW_RING_HDR + SLOTS * CQE_STRIDE;
	struct rnic_sw_qp *qp = make_qp(cq, 2);
	struct rnic_sw_srq *srq = make_srq();
	void *mem = cq->q.hdr;

	CHECK(cq_flags == (RNIC_SW_CREATE_CQ_TIMESTAMP | RNIC_SW_CREATE_CQ_PACK));
	CHECK(get_ring_hdr_distance(&other->q, &cq->q) == cq_bytes);
	CHECK(get_ring_hdr_distance(&qp->sq, &cq->q) == 2 * cq_bytes);
	CHECK(get_ring_hdr_distance(&qp->rq, &qp->sq) == RING && srq);
	CHECK(get_ring_hdr_distance(&srq->q, &qp->sq) == 2 * RING);
	CHECK(!rnic_sw_destroy_qp(&qp->vqp.qp));
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq) && is_mapped(mem));
	CHECK(!rnic_sw_destroy_srq(&srq->ibsrq) && is_mapped(mem));
	CHECK(!rnic_sw_destroy_cq(&other->vcq.cq) && !is_mapped(mem));
}

/*
 * The provider identifies shared mappings by number: rings in mappings with
 * different numbers do not share memory, even if the keys are the same.
 */
static void test_mappings_are_told_apart_by_number(void)
{
	struct rnic_sw_cq *old = make_cq(), *cq, *next;

	page.number++;
	page.key += AREA;
	cq = make_cq();
	page.number++;
	next = make_cq();
	CHECK(old->q.page != cq->q.page && next->q.page != cq->q.page);
	next->q.hdr->flags = 7;
	CHECK(cq->q.hdr != next->q.hdr && !old->q.hdr->flags);
	next->q.hdr->flags = 0;
	CHECK(!rnic_sw_destroy_cq(&old->vcq.cq) && is_mapped(cq->q.hdr));
	CHECK(!rnic_sw_destroy_cq(&next->vcq.cq) && is_mapped(cq->q.hdr));
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
}

static struct rnic_sw_ring *given_up;

/*
 * Called during each resize command. After the second command the kernel may
 * give the old ring's memory to another queue; imitate that by setting a flag,
 * which the provider must not copy to the new ring.
 */
static void reuse_old_ring(bool step2)
{
	if (step2)
		given_up->flags = RNIC_SW_ARM_ANY;
}

/* A resize must replace a ring in a shared mapping with a ring that does not share its mapping. */
static void test_resized_ring_is_not_shared(void)
{
	struct rnic_sw_cq *cq = make_cq();
	void *mem = cq->q.hdr;

	given_up = cq->q.hdr;
	resizing = reuse_old_ring;
	CHECK(!rnic_sw_resize_cq(&cq->vcq.cq, 2 * SLOTS));
	resizing = NULL;
	CHECK(!cq->q.page && !is_mapped(mem));
	CHECK(!cq->q.hdr->flags);
	mem = cq->q.hdr;
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq) && !is_mapped(mem));
}

static void expect_create_cq_refused(void)
{
	errno = 0;
	CHECK(!rnic_sw_create_cq(&own.vctx.context, SLOTS, NULL, 0));
	CHECK(errno == EINVAL);
}

/* Invalid ring locations in responses of the kernel are rejected. */
static void test_invalid_ring_locations_refused(void)
{
	const struct played_page good = page;
	struct rnic_sw_cq *cq = make_cq();
	void *mem = cq->q.hdr;

	page.used = 64;
	expect_create_cq_refused();
	page.used = AREA / 2;
	expect_create_cq_refused();
	page.used = AREA;
	expect_create_cq_refused();
	/*
	 * first, report another size for an existing mapping; then report a new
	 * mapping that cannot be mapped
	 */
	page.used = 0;
	page.bytes = AREA;
	expect_create_cq_refused();
	page.bytes = good.bytes;
	page.number++;
	page.key = 1;
	expect_create_cq_refused();
	/* a mapping that is not shared must begin with the ring */
	page = good;
	page.used = RNIC_SW_RING_HDR;
	page.number = 0;
	expect_create_cq_refused();
	page = good;
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq) && !is_mapped(mem));
}

void test_ring_packing(void)
{
	struct rnic_sw_cq *cq = make_cq();

	CHECK(!(cq_flags & RNIC_SW_CREATE_CQ_PACK) && !cq->q.page);
	CHECK(!rnic_sw_destroy_cq(&cq->vcq.cq));
	own.can_pack = true;
	test_shared_mapping();
	test_mappings_are_told_apart_by_number();
	test_resized_ring_is_not_shared();
	test_invalid_ring_locations_refused();
	own.can_pack = false;
}
