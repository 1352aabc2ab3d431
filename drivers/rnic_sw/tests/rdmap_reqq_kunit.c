// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>
#include <linux/prandom.h>

#include "../rdmap_reqq.h"

#define MODEL_MAX	128

/* Reference model of the queue: an array whose oldest entry has index 0 */
struct model {
	u32	id[MODEL_MAX];
	u32	size;
	u32	used;
	u32	served;
};

static void remove_from_model(struct model *m, u32 n)
{
	m->used -= n;
	m->served -= min(n, m->served);
	memmove(m->id, m->id + n, m->used * sizeof(m->id[0]));
}

static void push_to_model_and_queue(struct kunit *test, struct model *m,
				    struct rdmap_reqq *q, u32 id)
{
	struct rdmap_req *req = rdmap_reqq_push(q);

	KUNIT_ASSERT_EQ(test, m->used < m->size, !!req);
	if (!req)
		return;
	KUNIT_EXPECT_EQ(test, 0u, req->done | req->slot | req->inv);
	req->slot = id;
	req->is_atomic = id & 1 << 20;
	req->is_rtr = id & 1 << 21;
	req->done = ~id;
	m->id[m->used++] = id;
}

static void release_from_model_and_queue(struct model *m, struct rdmap_reqq *q, u32 n)
{
	n = min(n, m->used);
	rdmap_reqq_release(q, n);
	remove_from_model(m, n);
}

static void expect_queue_equals_model(struct kunit *test, const struct model *m,
				      const struct rdmap_reqq *q)
{
	struct rdmap_req *req = rdmap_reqq_peek(q);

	KUNIT_ASSERT_LE(test, (u32)q->used, m->size);
	KUNIT_ASSERT_EQ(test, m->used == m->size, rdmap_reqq_is_full(q));
	KUNIT_ASSERT_EQ(test, m->used == 0, rdmap_reqq_is_empty(q));
	KUNIT_ASSERT_EQ(test, m->used != 0, !!req);
	if (req)
		KUNIT_ASSERT_EQ(test, m->id[0], req->slot);
	req = rdmap_reqq_peek_unserved(q);
	KUNIT_ASSERT_EQ(test, m->served < m->used, !!req);
	if (req)
		KUNIT_ASSERT_EQ(test, m->id[m->served], req->slot);
}

/*
 * Expect that the queue counts the Reads among its @n oldest requests correctly. In the
 * model, bit 20 of an ID marks an atomic, and bit 21 marks the RTR message.
 */
static void expect_read_count(struct kunit *test, const struct model *m, const struct rdmap_reqq *q,
			      u32 n)
{
	u32 i, reads = 0;

	for (i = 0; i < n && i < m->used; i++)
		reads += !(m->id[i] & 3 << 20);
	KUNIT_ASSERT_EQ(test, reads, (u32)rdmap_reqq_count_reads(q, n));
}

static void apply_random_step_and_compare(struct kunit *test, struct model *m, struct rdmap_reqq *q,
					  u32 rnd)
{
	switch (rnd % 5) {
	case 0:
	case 1:
		push_to_model_and_queue(test, m, q, rnd);
		break;
	case 2:
		if (m->served < m->used)
			m->served++;
		rdmap_reqq_mark_served(q);
		break;
	case 3:
		if (m->used)
			remove_from_model(m, 1);
		rdmap_reqq_pop(q);
		break;
	case 4:
		release_from_model_and_queue(m, q, (rnd >> 8) % 4);
		break;
	}
	expect_queue_equals_model(test, m, q);
	expect_read_count(test, m, q, (rnd >> 10) % 6);
}

/*
 * For each queue size the queue behaves like the model in 30000 random steps.
 * RFC 5040 6.1 (RDMAP-142): the queue never has more requests than its size.
 * RFC 5040 5.2.1, 5.2.2, 5.5 (20) (RDMAP-72, RDMAP-86, RDMAP-131): requests are
 * served and answered oldest first.
 */
static void queue_matches_model(struct kunit *test)
{
	static const u16 sizes[] = { 0, 1, 2, 3, 7, 128 };
	struct rdmap_req *req;
	struct rdmap_reqq q;
	struct rnd_state rnd;
	struct model *m;
	u32 i, n;

	m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&rnd, 5040);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		req = kunit_kzalloc(test, (sizes[i] + 1) * sizeof(*req),
				    GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, req);
		rdmap_reqq_init(&q, req, sizes[i]);
		*m = (struct model){ .size = sizes[i] };
		expect_queue_equals_model(test, m, &q);
		for (n = 0; n < 30000; n++)
			apply_random_step_and_compare(test, m, &q, prandom_u32_state(&rnd));
		KUNIT_EXPECT_EQ(test, 0u, req[sizes[i]].slot);
	}
}

/*
 * A full queue accepts a new request only after the oldest request has been
 * released.
 */
static void full_queue_refuses_push(struct kunit *test)
{
	struct rdmap_req req[4];
	struct rdmap_reqq q;
	int i;

	rdmap_reqq_init(&q, req, 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_NOT_NULL(test, rdmap_reqq_push(&q));
	KUNIT_EXPECT_NULL(test, rdmap_reqq_push(&q));
	rdmap_reqq_mark_served(&q);
	KUNIT_EXPECT_NULL(test, rdmap_reqq_push(&q));
	rdmap_reqq_release(&q, 1);
	KUNIT_EXPECT_PTR_EQ(test, &req[0], rdmap_reqq_push(&q));
	KUNIT_EXPECT_NULL(test, rdmap_reqq_push(&q));
}

/* A queue of size 0 needs no array and refuses all requests. */
static void queue_of_size_zero_refuses_push(struct kunit *test)
{
	struct rdmap_reqq q;

	rdmap_reqq_init(&q, NULL, 0);
	KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_full(&q));
	KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_empty(&q));
	KUNIT_EXPECT_NULL(test, rdmap_reqq_push(&q));
	KUNIT_EXPECT_NULL(test, rdmap_reqq_peek(&q));
	KUNIT_EXPECT_NULL(test, rdmap_reqq_peek_unserved(&q));
	rdmap_reqq_mark_served(&q);
	rdmap_reqq_pop(&q);
	KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_empty(&q));
}

/* rdmap_reqq_push() zeroes the entry, even if its memory had other contents. */
static void push_zeroes_entry(struct kunit *test)
{
	struct rdmap_req *req, mem;
	struct rdmap_reqq q;

	memset(&mem, 0xa5, sizeof(mem));
	rdmap_reqq_init(&q, &mem, 1);
	req = rdmap_reqq_push(&q);
	KUNIT_ASSERT_PTR_EQ(test, &mem, req);
	KUNIT_EXPECT_EQ(test, 0u, req->done | req->rreq.len | req->inv);
	KUNIT_EXPECT_EQ(test, 0, req->flags);
}

static struct rdmap_req make_request(u32 len, u64 to)
{
	return (struct rdmap_req){
		.rreq = { .sink_stag = 0xabcd01, .sink_to = to, .len = len },
	};
}

static struct ddp_hdr make_response(const struct rdmap_req *req, u32 payload)
{
	return (struct ddp_hdr){
		.tagged = true, .ulp8 = 0x42, .stag = req->rreq.sink_stag,
		.to = req->rreq.sink_to + req->done,
		.last = req->done + payload == req->rreq.len,
	};
}

/*
 * Check that rdmap_resp_check() refuses a segment of @payload bytes that has a
 * wrong STag, TO or L bit, or is too long; RFC 5040 5.2.2 (RDMAP-84, RDMAP-87),
 * RFC 5041 5.2, 5.4
 */
static void expect_faulty_segments_refused(struct kunit *test, const struct rdmap_req *req,
					   u32 payload)
{
	const struct ddp_hdr good = make_response(req, payload);
	struct ddp_hdr h = good;

	h.stag ^= 0x100;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_STAG, rdmap_resp_check(req, &h, payload));
	h = good;
	h.to++;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
			rdmap_resp_check(req, &h, payload));
	h.to -= 2;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
			rdmap_resp_check(req, &h, payload));
	h = good;
	h.last = !h.last;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
			rdmap_resp_check(req, &h, payload));
	h = good;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
			rdmap_resp_check(req, &h,
					 req->rreq.len - req->done + 1));
}

/*
 * rdmap_resp_check() accepts each segment of 2000 responses with random segment
 * lengths, and refuses the faulty variants of each segment.
 */
static void only_correct_response_segments_are_accepted(struct kunit *test)
{
	struct rnd_state rnd;
	struct rdmap_req req;
	struct ddp_hdr h;
	u32 i, payload;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 2000; i++) {
		req = make_request(1 + prandom_u32_state(&rnd) % 100000,
				   -(u64)(prandom_u32_state(&rnd) % 1000));
		while (req.done < req.rreq.len) {
			payload = 1 + prandom_u32_state(&rnd) % 20000;
			payload = min(payload, req.rreq.len - req.done);
			h = make_response(&req, payload);
			KUNIT_ASSERT_EQ(test, IW_OK,
					rdmap_resp_check(&req, &h, payload));
			expect_faulty_segments_refused(test, &req, payload);
			req.done += payload;
		}
	}
}

/* rdmap_resp_check() does not overflow for a request of 2^32 - 1 bytes. */
static void longest_response_does_not_overflow(struct kunit *test)
{
	struct rdmap_req req = make_request(0xffffffff, 0x10000);
	struct ddp_hdr h = make_response(&req, 0xffffffff);

	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_resp_check(&req, &h, 0xffffffff));
	req.done = 0xfffffff0;
	h = make_response(&req, 0xf);
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_resp_check(&req, &h, 0xf));
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS,
			rdmap_resp_check(&req, &h, 0xffffffff));
}

/*
 * RFC 5040 7.2 (2) (RDMAP-158): a response is refused if no request is
 * outstanding.
 */
static void response_without_request_is_refused(struct kunit *test)
{
	struct rdmap_req req = make_request(10, 0);
	struct ddp_hdr h = make_response(&req, 10);

	KUNIT_EXPECT_EQ(test, IW_RDMAP_OPCODE, rdmap_resp_check(NULL, &h, 10));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_OPCODE, rdmap_resp_check(NULL, &h, 0));
}

/*
 * RFC 6581 9.3 (MPA2-59), RFC 5041 5.2 (DDP-56): STag and TO of an empty
 * response are ignored.
 */
static void stag_and_to_of_empty_response_are_ignored(struct kunit *test)
{
	struct rdmap_req req = make_request(0, 0x1000);
	struct ddp_hdr h = { .tagged = true, .last = true, .stag = 77 };

	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_resp_check(&req, &h, 0));
	h.last = false;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, rdmap_resp_check(&req, &h, 0));
	h = make_response(&req, 0);
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, rdmap_resp_check(&req, &h, 1));

	req = make_request(1, 0x1000);
	h.last = true;
	KUNIT_EXPECT_EQ(test, IW_DDP_T_BOUNDS, rdmap_resp_check(&req, &h, 0));
}

/*
 * rdmap_resp_is_expected() accepts an out-of-order segment only if the sink of
 * an outstanding Read covers it.
 */
static void early_response_must_fit_sink(struct kunit *test)
{
	struct rdmap_req mem[3], *req;
	struct rdmap_reqq q;
	struct ddp_hdr h;

	rdmap_reqq_init(&q, mem, 3);
	h = (struct ddp_hdr){ .tagged = true, .stag = 0xabcd01, .to = 0x1000 };
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 1));

	*rdmap_reqq_push(&q) = make_request(100, 0x1000);
	*rdmap_reqq_push(&q) = make_request(16, -(u64)16);
	req = rdmap_reqq_push(&q);
	*req = make_request(100, 0x9000);
	req->is_atomic = true;

	KUNIT_EXPECT_TRUE(test, rdmap_resp_is_expected(&q, &h, 100));
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 101));
	h.to += 99;
	KUNIT_EXPECT_TRUE(test, rdmap_resp_is_expected(&q, &h, 1));
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 2));
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 0xffffffff));
	h.to = 0xfff;
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 1));
	h.to = -(u64)16;
	KUNIT_EXPECT_TRUE(test, rdmap_resp_is_expected(&q, &h, 16));
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 17));
	h.stag ^= 0x100;
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 16));
	h.stag ^= 0x100;
	h.to = 0x9000;
	KUNIT_EXPECT_FALSE(test, rdmap_resp_is_expected(&q, &h, 8));
}

static struct kunit_case rdmap_reqq_cases[] = {
	KUNIT_CASE(queue_matches_model),
	KUNIT_CASE(full_queue_refuses_push),
	KUNIT_CASE(queue_of_size_zero_refuses_push),
	KUNIT_CASE(push_zeroes_entry),
	KUNIT_CASE(only_correct_response_segments_are_accepted),
	KUNIT_CASE(longest_response_does_not_overflow),
	KUNIT_CASE(response_without_request_is_refused),
	KUNIT_CASE(stag_and_to_of_empty_response_are_ignored),
	KUNIT_CASE(early_response_must_fit_sink),
	{}
};

static struct kunit_suite rdmap_reqq_suite = {
	.name = "rnic_sw_rdmap_reqq",
	.test_cases = rdmap_reqq_cases,
};

kunit_test_suite(rdmap_reqq_suite);
