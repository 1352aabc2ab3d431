// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdmap.c and rdmap_ulp.c: how a stream fails,
 * and which Terminate and events that causes.
 */
#include <kunit/test.h>

#include "../../../../drivers/rnic_sw/rdmap.h"

static struct {
	u32		events, downs;	/* calls of the QP's event and down functions */
	enum iw_reason	why;		/* reason of the last call */
} stubs;

void rdmap_report_failure(struct rdmap *r, const struct iw_failure *f)
{
	stubs.events++;
	stubs.why = f->why;
}

void rdmap_report_down(struct rdmap *r, enum iw_reason why)
{
	stubs.downs++;
}

static struct rdmap *open_rdmap(void)
{
	static struct rdmap r;

	memset(&stubs, 0, sizeof(stubs));
	rdmap_init(&r, NULL, NULL);
	return &r;
}

static void expect_terminate(struct kunit *test, const struct rdmap *r,
			     const u8 *bytes, u32 len)
{
	KUNIT_EXPECT_TRUE(test, r->term_pending);
	KUNIT_ASSERT_EQ(test, len, (u32)r->term_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(r->term, bytes, len));
}

/* Expect that only the first of two faults is reported, and determines the Terminate */
static void fail_twice_and_expect_first_fault(struct kunit *test, struct rdmap *r,
					      enum iw_reason why,
					      const u8 *bytes, u32 len)
{
	rdmap_fail(r, why);
	rdmap_fail(r, IW_MPA_MARKER);
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
	KUNIT_EXPECT_EQ(test, why, stubs.why);
	expect_terminate(test, r, bytes, len);
}

/* RDMAP-45, RDMAP-50, RDMAP-151, RDMAP-152: a local fault sends a Terminate */
static void local_fault_sends_terminate(struct kunit *test)
{
	static const u8 catastrophic[4];

	fail_twice_and_expect_first_fault(test, open_rdmap(), IW_LOCAL_PROT, catastrophic, 4);
	fail_twice_and_expect_first_fault(test, open_rdmap(), IW_LOCAL_CQ, catastrophic, 4);
}

/*
 * RDMAP-55, RDMAP-144, RDMAP-151, RDMAP-156: a fault that the lower layer has found sends a
 * Terminate
 */
static void llp_fault_sends_terminate(struct kunit *test)
{
	static const u8 crc[4] = { 0x20, 0x02 };

	fail_twice_and_expect_first_fault(test, open_rdmap(), IW_MPA_CRC, crc, 4);
}

/* An abort by the program is not an error and sends no Terminate */
static void abort_sends_no_terminate(struct kunit *test)
{
	struct rdmap *r = open_rdmap();

	rdmap_fail(r, IW_LOCAL_ABORT);
	KUNIT_EXPECT_EQ(test, 1u, stubs.events);
	KUNIT_EXPECT_FALSE(test, r->term_pending);
	KUNIT_EXPECT_EQ(test, 0u, (u32)r->term_len);
}

/*
 * A receive whose memory may not be written is a local fault, although the fault is detected when
 * a segment of the peer arrives
 */
static void bad_receive_is_local_fault(struct kunit *test)
{
	static const u8 catastrophic[4];
	struct iw_failure f = {
		.why = IW_LOCAL_PROT, .seg_len = 50, .ddp_len = 18,
	};
	struct rdmap *r = open_rdmap();

	ddp_stream_fail(&r->stream, &f);
	KUNIT_EXPECT_EQ(test, IW_RDMAP_CATASTROPHIC, stubs.why);
	expect_terminate(test, r, catastrophic, 4);
}

static const struct rdmap_rreq peer_read = {
	.sink_stag = 1, .sink_to = 2, .len = 5000, .src_stag = 4, .src_to = 5,
};

/*
 * RDMAP-47, RDMAP-153, RDMAP-155, EXT-86: a Terminate includes the Read Request
 * header only if the Read Request was wrong, and never an atomic request
 */
static void terminate_quotes_only_bad_read_request(struct kunit *test)
{
	struct iw_failure f = {
		.why = IW_RDMAP_P_BOUNDS, .seg_len = 46, .ddp_len = 18, .ddp = { 0x41, 0x41 },
	};
	u8 want[4 + 2 + 18 + RDMAP_RREQ_LEN] = { 0x01, 0x01, 0xe0, 0, 0, 46, 0x41, 0x41 };
	struct rdmap *r = open_rdmap();

	rdmap_rreq_encode(r->req, &peer_read);
	memcpy(want + 24, r->req, RDMAP_RREQ_LEN);
	r->bad_rreq = true;
	ddp_stream_fail(&r->stream, &f);
	expect_terminate(test, r, want, sizeof(want));

	r = open_rdmap();
	ddp_stream_fail(&r->stream, &f);
	want[2] = 0xc0;
	expect_terminate(test, r, want, 24);

	r = open_rdmap();
	f.why = IW_DDP_U_TOO_LONG;
	ddp_stream_fail(&r->stream, &f);
	want[0] = 0x12;
	want[1] = 0x05;
	expect_terminate(test, r, want, 24);
}

/*
 * Reduce the peer's rights to @rights while a Read Response is in progress, so that
 * the response fails. Expect that the Terminate quotes the Read Request, reduced to the
 * part that is not answered yet.
 */
static void expect_unanswered_part_quoted(struct kunit *test, u8 rights, enum iw_reason why,
					  u8 code)
{
	const struct rdmap_rreq left = {
		.sink_stag = 1, .sink_to = 2050, .len = 2952, .src_stag = 4, .src_to = 2053,
	};
	struct iw_failure f = { .why = IW_DDP_T_STAG };
	u8 want[4 + RDMAP_RREQ_LEN] = { 0x01, code, 0x20 };
	struct rdmap *r = open_rdmap();
	struct rdmap_req req[3] = {};

	rdmap_reqq_init(&r->irq, req, ARRAY_SIZE(req));
	rdmap_reqq_push(&r->irq)->rreq = peer_read;
	r->out_type = RDMAP_OUT_RESP;
	r->stream.msg_pulled_before = 2048;
	ddp_stream_set_rights(&r->stream, rights);
	ddp_stream_fail(&r->stream, &f);
	KUNIT_EXPECT_EQ(test, why, stubs.why);
	rdmap_rreq_encode(want + 4, &left);
	expect_terminate(test, r, want, sizeof(want));
}

/*
 * RDMAP-49, RDMAP-170: a Read Response must fail if the MR, or the right to
 * read it, is revoked meanwhile
 */
static void revoked_source_fails_response(struct kunit *test)
{
	expect_unanswered_part_quoted(test, DDP_REMOTE_READ, IW_RDMAP_P_STAG, 0x00);
	expect_unanswered_part_quoted(test, DDP_REMOTE_WRITE, IW_RDMAP_P_ACCESS, 0x02);
}

/* RDMAP-140, RDMAP-141: a query returns the negotiated IRD and ORD */
static void query_returns_ird_and_ord(struct kunit *test)
{
	struct rdmap *r = open_rdmap();
	u16 ird = 9, ord = 9;

	rdmap_get_depths(r, &ird, &ord);
	KUNIT_EXPECT_EQ(test, 0, ird + ord);
	KUNIT_ASSERT_EQ(test, 0, rdmap_set_depths(r, 3, 2));
	rdmap_get_depths(r, &ird, &ord);
	KUNIT_EXPECT_EQ(test, 3, (int)ird);
	KUNIT_EXPECT_EQ(test, 2, (int)ord);
	KUNIT_EXPECT_NOT_NULL(test, rdmap_reqq_push(&r->orq));
	KUNIT_EXPECT_NOT_NULL(test, rdmap_reqq_push(&r->orq));
	KUNIT_EXPECT_NULL(test, rdmap_reqq_push(&r->orq));
	rdmap_free_queues(r);
	KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_full(&r->orq));
}

static struct kunit_case rdmap_cases[] = {
	KUNIT_CASE(local_fault_sends_terminate),
	KUNIT_CASE(llp_fault_sends_terminate),
	KUNIT_CASE(abort_sends_no_terminate),
	KUNIT_CASE(bad_receive_is_local_fault),
	KUNIT_CASE(terminate_quotes_only_bad_read_request),
	KUNIT_CASE(revoked_source_fails_response),
	KUNIT_CASE(query_returns_ird_and_ord),
	{}
};

static struct kunit_suite rdmap_suite = {
	.name = "rdmap",
	.test_cases = rdmap_cases,
};

kunit_test_suite(rdmap_suite);
