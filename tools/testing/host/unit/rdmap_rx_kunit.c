// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdmap_rx.c: receiving each opcode. DDP's
 * segments, verbs and memory are stubs.
 */
#include <kunit/test.h>

#include "../../../../drivers/rnic_sw/rdmap.h"
#include "rdmap_tx.h"
#include "mem_results.h"

#define DEPTH	2	/* IRD */
#define DEAD	0xdead00	/* STag that cannot be invalidated */

static struct {
	u32			taken, done;	/* receives consumed and completed */
	u32			invalidations, stag;	/* number of invalidations; last STag */
	u32			answered;
	bool			empty;		/* no receive is posted */
	bool			waits;		/* a message may wait for a receive */
	struct rdmap_recv	recv;		/* receive completed last */
	enum iw_reason	sink;	/* result of storing the response of an atomic */
} stubs;

enum iw_reason rdmap_rq_dequeue(struct rdmap *r)
{
	if (stubs.empty)
		return IW_DDP_U_NO_BUFFER;
	stubs.taken++;
	return IW_OK;
}

enum iw_reason rdmap_rq_dequeue_or_wait(struct rdmap *r)
{
	return stubs.waits ? IW_AGAIN : IW_DDP_U_NO_BUFFER;
}

void rdmap_rq_complete(struct rdmap *r, const struct rdmap_recv *rc)
{
	stubs.done++;
	stubs.recv = *rc;
}

void rdmap_sq_complete_answered_wr(struct rdmap *r, u32 slot)
{
	stubs.answered++;
}

void rdmap_count_early_segment(struct rdmap *r) { }

enum iw_reason ddp_mem_invalidate(struct ddp_stream *s, u32 stag, bool remote)
{
	stubs.invalidations++;
	stubs.stag = stag;
	return stag == DEAD ? IW_RDMAP_INVALIDATE : IW_OK;
}

enum iw_reason ddp_mem_store(struct ddp_stream *s, const struct ddp_sge *sink,
			     const void *bytes)
{
	return stubs.sink;
}

static const struct ddp_ulp_ops rdmap_ops;

static struct rdmap *open_receiver(void)
{
	static struct rdmap_req theirs[2 * DEPTH + 1];
	static struct rdmap r;

	memset(&r, 0, sizeof(r));
	memset(&mem, 0, sizeof(mem));
	memset(&stubs, 0, sizeof(stubs));
	ddp_stream_init(&r.stream, &rdmap_ops, NULL, NULL);
	rdmap_reqq_init(&r.irq, theirs, ARRAY_SIZE(theirs));
	r.ird = DEPTH;
	ddp_stream_set_rights(&r.stream, DDP_REMOTE_READ | DDP_REMOTE_WRITE);
	return &r;
}

/*
 * Receive a message of one segment: admit it, copy an untagged payload to its
 * buffer, deliver it
 */
static enum iw_reason receive_message(struct rdmap *r, struct ddp_hdr h, const void *bytes, u32 len)
{
	struct ddp_grant g = {};
	enum iw_reason why;

	h.last = true;
	why = rdmap_admit(&r->stream, &h, len, &g);
	if (why)
		return why;
	if (!h.tagged && len > g.buf->len)
		return IW_DDP_U_TOO_LONG;
	if (!h.tagged && g.buf->flat)
		memcpy(g.buf->flat, bytes, len);
	return rdmap_deliver(&r->stream, &h, len);
}

static enum iw_reason receive_read(struct rdmap *r, u32 size, u32 ulp32)
{
	const struct rdmap_rreq q = {
		.sink_stag = 1, .sink_to = 2, .len = size, .src_stag = 4, .src_to = 5,
	};
	u8 bytes[RDMAP_RREQ_LEN];

	rdmap_rreq_encode(bytes, &q);
	return receive_message(r, (struct ddp_hdr){ .ulp8 = 0x41, .qn = 1, .ulp32 = ulp32 }, bytes,
		     sizeof(bytes));
}

static enum iw_reason receive_atomic(struct rdmap *r)
{
	const struct rdmap_atomic a = { .stag = 4, .to = 5 };
	u8 bytes[RDMAP_AREQ_LEN];

	rdmap_atomic_encode(bytes, &a);
	return receive_message(r, (struct ddp_hdr){ .ulp8 = 0x4a, .qn = 1 }, bytes, sizeof(bytes));
}

static enum iw_reason receive_send(struct rdmap *r, u8 ulp8, u32 ulp32)
{
	r->recv_buf.len = 100;
	return receive_message(r, (struct ddp_hdr){ .ulp8 = ulp8, .ulp32 = ulp32 }, NULL, 9);
}

struct kind {
	const char	*name;
	u8		ulp8;
	bool		invalidates, solicited;
};

static const struct kind kinds[] = {
	{ "Send", 0x43 },
	{ "with Invalidate", 0x44, true },
	{ "solicited", 0x45, false, true },
	{ "solicited, with Invalidate", 0x46, true, true },
};

static void describe_kind(const struct kind *k, char *desc)
{
	strscpy(desc, k->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

/*
 * RDMAP-8, RDMAP-26, RDMAP-90, RDMAP-92, RDMAP-95, RDMAP-103: a Send of each
 * kind consumes one receive and fills in the completion; only two kinds use the
 * STag
 */
static void each_kind_of_send_consumes_receive(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct rdmap *r = open_receiver();

	KUNIT_EXPECT_EQ(test, IW_OK, receive_send(r, k->ulp8, 7));
	KUNIT_EXPECT_EQ(test, 1u, stubs.taken);
	KUNIT_EXPECT_EQ(test, 1u, stubs.done);
	KUNIT_EXPECT_EQ(test, 9u, stubs.recv.len);
	KUNIT_EXPECT_EQ(test, k->solicited, stubs.recv.solicited);
	KUNIT_EXPECT_EQ(test, k->invalidates, stubs.recv.invalidated);
	KUNIT_EXPECT_EQ(test, k->invalidates ? 7u : 0u, stubs.recv.inv);
	KUNIT_EXPECT_EQ(test, (u32)k->invalidates, stubs.invalidations);
	KUNIT_EXPECT_EQ(test, k->invalidates ? 7u : 0u, stubs.stag);
}

/*
 * If the sink of an atomic's response is no longer valid, the work request fails.
 * If the sink's page is not present, the response is deferred.
 */
static void atomic_response_checks_sink(struct kunit *test)
{
	struct rdmap_req ours[DEPTH], *req;
	struct rdmap *r = open_receiver();
	u8 bytes[RDMAP_ARESP_LEN];
	u32 failed = posted.failed;

	rdmap_reqq_init(&r->orq, ours, ARRAY_SIZE(ours));
	req = rdmap_reqq_push(&r->orq);
	*req = (struct rdmap_req){ .is_atomic = true, .slot = 9 };
	rdmap_aresp_encode(bytes, 9, 1);
	stubs.sink = IW_DDP_T_STAG;
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT,
			receive_message(r, (struct ddp_hdr){ .ulp8 = 0x4b, .qn = 3 }, bytes, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, failed + 1, posted.failed);
	stubs.sink = IW_AGAIN;
	KUNIT_EXPECT_EQ(test, IW_AGAIN,
			receive_message(r, (struct ddp_hdr){ .ulp8 = 0x4b, .qn = 3 }, bytes, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, failed + 1, posted.failed);
	KUNIT_EXPECT_EQ(test, 0u, stubs.answered);
	stubs.sink = IW_OK;
	KUNIT_EXPECT_EQ(test, IW_OK,
			receive_message(r, (struct ddp_hdr){ .ulp8 = 0x4b, .qn = 3 }, bytes, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, 1u, stubs.answered);
}

/* RDMAP-102, RDMAP-104: a failed invalidation is an error, and nothing is delivered */
static void failed_invalidation_is_error(struct kunit *test)
{
	struct rdmap *r = open_receiver();

	KUNIT_EXPECT_EQ(test, IW_RDMAP_INVALIDATE, receive_send(r, 0x44, DEAD));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_INVALIDATE, receive_send(r, 0x46, DEAD));
	KUNIT_EXPECT_EQ(test, 0u, stubs.done);
}

/*
 * RDMAP-10, RDMAP-12, RDMAP-26, RDMAP-57, RDMAP-68: a Write and a Read Request
 * consume no receive and invalidate nothing
 */
static void write_and_read_consume_no_receive(struct kunit *test)
{
	struct rdmap *r = open_receiver();
	const struct ddp_hdr write = {
		.tagged = true, .ulp8 = 0x40, .stag = 7, .ulp32 = 7,
	};

	KUNIT_EXPECT_EQ(test, IW_OK, receive_message(r, write, NULL, 50));
	KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 3, 7));
	KUNIT_EXPECT_EQ(test, 0u, stubs.taken + stubs.done + stubs.invalidations + stubs.answered);
	KUNIT_EXPECT_EQ(test, 1u, (u32)r->irq.used);
}

static enum iw_reason receive_empty_send(struct rdmap *r)
{
	r->recv_buf.len = 100;
	return receive_message(r, (struct ddp_hdr){ .ulp8 = 0x43 }, "", 0);
}

/* Open a receiver that expects an RTR message of type Send as the first message */
static struct rdmap *open_receiver_expecting_rtr(void)
{
	struct rdmap *r = open_receiver();

	r->rtr_expected = DDP_RTR_SEND;
	return r;
}

/*
 * MPA2-58: an RTR Send consumes no receive, but the next Send consumes one, and
 * so does the first Send after an RTR Write or Read
 */
static void rtr_send_consumes_no_receive(struct kunit *test)
{
	const struct ddp_hdr write = { .tagged = true, .ulp8 = 0x40 };
	struct rdmap *r = open_receiver_expecting_rtr();

	KUNIT_EXPECT_EQ(test, IW_OK, receive_empty_send(r));
	KUNIT_EXPECT_EQ(test, 0u, stubs.taken + stubs.done);
	KUNIT_EXPECT_EQ(test, IW_OK, receive_empty_send(r));
	KUNIT_EXPECT_EQ(test, 1u, stubs.done);

	r = open_receiver_expecting_rtr();
	KUNIT_EXPECT_EQ(test, IW_OK, receive_message(r, write, NULL, 0));
	KUNIT_EXPECT_EQ(test, IW_OK, receive_empty_send(r));
	KUNIT_EXPECT_EQ(test, 1u, stubs.done);

	r = open_receiver_expecting_rtr();
	KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 0, 0));
	KUNIT_EXPECT_EQ(test, IW_OK, receive_empty_send(r));
	KUNIT_EXPECT_EQ(test, 1u, stubs.done);

	r = open_receiver_expecting_rtr();
	KUNIT_EXPECT_EQ(test, IW_OK, receive_send(r, 0x43, 0));
	KUNIT_EXPECT_EQ(test, IW_OK, receive_empty_send(r));
	KUNIT_EXPECT_EQ(test, 2u, stubs.done);
}

/* MPA2-58: a Send with Invalidate or Solicited Event is not an RTR message */
static void only_plain_send_is_rtr(struct kunit *test)
{
	u32 i;

	for (i = 1; i < ARRAY_SIZE(kinds); i++) {
		const struct ddp_hdr h = { .ulp8 = kinds[i].ulp8, .ulp32 = 7 };
		struct rdmap *r = open_receiver_expecting_rtr();

		KUNIT_EXPECT_EQ(test, IW_OK, receive_message(r, h, "", 0));
		KUNIT_EXPECT_EQ(test, 1u, stubs.done);
		KUNIT_EXPECT_EQ(test, (u32)kinds[i].invalidates, stubs.invalidations);
		KUNIT_EXPECT_EQ(test, kinds[i].solicited, stubs.recv.solicited);
	}
}

/* RDMAP-67, RDMAP-72: Read Requests must be queued unchanged and in the order of arrival */
static void read_requests_are_queued_in_order(struct kunit *test)
{
	struct rdmap *r = open_receiver();
	u32 size;

	for (size = 3; size < 5; size++)
		KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, size, 0));
	KUNIT_EXPECT_TRUE(test, r->irq_pending);
	for (size = 3; size < 5; size++) {
		struct rdmap_req *req = rdmap_reqq_peek_unserved(&r->irq);

		KUNIT_ASSERT_NOT_NULL(test, req);
		KUNIT_EXPECT_EQ(test, 1u, req->rreq.sink_stag);
		KUNIT_EXPECT_EQ(test, 2ull, req->rreq.sink_to);
		KUNIT_EXPECT_EQ(test, size, req->rreq.len);
		KUNIT_EXPECT_EQ(test, 4u, req->rreq.src_stag);
		KUNIT_EXPECT_EQ(test, 5ull, req->rreq.src_to);
		rdmap_reqq_mark_served(&r->irq);
	}
	KUNIT_EXPECT_NULL(test, rdmap_reqq_peek_unserved(&r->irq));
}

/*
 * RDMAP-66, RDMAP-82, RDMAP-143: as many requests as the IRD are accepted at
 * first, then one more after each response
 */
static void ird_limits_requests(struct kunit *test)
{
	struct rdmap *r = open_receiver();
	int n;

	for (n = 0; n < DEPTH; n++)
		KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 3, 0));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_NO_BUFFER, receive_read(r, 3, 0));
	rdmap_reqq_mark_served(&r->irq);
	KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 3, 0));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_NO_BUFFER, receive_read(r, 3, 0));
}

/* SEC-32: requests of one stream take no slots of another stream */
static void streams_have_own_request_slots(struct kunit *test)
{
	struct rdmap *r = open_receiver();
	static struct rdmap_req others[2 * DEPTH + 1];
	static struct rdmap other;
	int n;

	other = *r;
	rdmap_reqq_init(&other.irq, others, ARRAY_SIZE(others));
	for (n = 0; n < DEPTH; n++)
		KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 3, 0));
	for (n = 0; n < DEPTH; n++)
		KUNIT_EXPECT_EQ(test, IW_OK, receive_read(&other, 3, 0));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_NO_BUFFER, receive_read(r, 3, 0));
	KUNIT_EXPECT_EQ(test, IW_DDP_U_NO_BUFFER, receive_read(&other, 3, 0));
	KUNIT_EXPECT_EQ(test, DEPTH, (int)other.irq.used);
}

static const struct {
	enum iw_reason	ddp, rdmap;
} sources[] = {
	{ IW_DDP_T_STAG, IW_RDMAP_P_STAG },
	{ IW_DDP_T_BOUNDS, IW_RDMAP_P_BOUNDS },
	{ IW_DDP_T_ASSOC, IW_RDMAP_P_ASSOC },
	{ IW_DDP_T_WRAP, IW_RDMAP_P_WRAP },
};

/*
 * RDMAP-77, RDMAP-155, RDMAP-165 to RDMAP-169: a wrong source is an error of
 * the Read. RDMAP-78: the source of a Read of length 0 is not checked.
 */
static void read_source_is_checked(struct kunit *test)
{
	struct rdmap *r;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		r = open_receiver();
		mem.check = sources[i].ddp;
		KUNIT_EXPECT_EQ(test, sources[i].rdmap, receive_read(r, 1, 0));
		KUNIT_EXPECT_TRUE(test, r->bad_rreq);
		KUNIT_EXPECT_EQ(test, 0u, (u32)r->irq.used);
		r = open_receiver();
		mem.check = sources[i].ddp;
		KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 0, 0));
		KUNIT_EXPECT_FALSE(test, r->bad_rreq);
		KUNIT_EXPECT_EQ(test, 1u, (u32)r->irq.used);
	}
}

/*
 * EXT-86, EXT-92: the target of an atomic is checked like the source of a Read, but the Terminate
 * does not include a Read Request
 */
static void atomic_target_is_checked(struct kunit *test)
{
	struct rdmap *r;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		r = open_receiver();
		KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 1, 0));
		mem.check = sources[i].ddp;
		KUNIT_EXPECT_EQ(test, sources[i].rdmap, receive_atomic(r));
		KUNIT_EXPECT_FALSE(test, r->bad_rreq);
		KUNIT_EXPECT_EQ(test, 1u, (u32)r->irq.used);
	}
	r = open_receiver();
	KUNIT_EXPECT_EQ(test, IW_RDMAP_P_ACCESS, receive_atomic(r));
	KUNIT_EXPECT_FALSE(test, r->bad_rreq);
	ddp_stream_set_rights(&r->stream, DDP_REMOTE_ATOMIC);
	mem.atomic = IW_RDMAP_STREAM;
	KUNIT_EXPECT_EQ(test, IW_RDMAP_STREAM, receive_atomic(r));
	KUNIT_EXPECT_FALSE(test, r->bad_rreq);
	/*
	 * if the memory becomes invalid after the first check of the request, the error is still
	 * reported as an RDMAP error
	 */
	mem.atomic = IW_DDP_T_STAG;
	KUNIT_EXPECT_EQ(test, IW_RDMAP_P_STAG, receive_atomic(r));
	KUNIT_EXPECT_EQ(test, 0u, (u32)r->irq.used);
}

/* RDMAP-170: a Read Request fails if the QP does not permit remote reads */
static void read_needs_right_of_qp(struct kunit *test)
{
	struct rdmap *r = open_receiver();

	ddp_stream_set_rights(&r->stream, DDP_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, IW_RDMAP_P_ACCESS, receive_read(r, 1, 0));
	KUNIT_EXPECT_EQ(test, IW_OK, receive_read(r, 0, 0));
}

/*
 * RDMAP-109, RDMAP-110: a complete Terminate is recognised; a truncated one is
 * an error
 */
static void terminate_is_recognised(struct kunit *test)
{
	static const u8 bytes[24] = { 0x12, 0x05, 0xc0, 0, 0, 24, 0x41, 0x43 };
	const struct ddp_hdr h = { .ulp8 = 0x47, .qn = 2 };
	struct rdmap *r;
	u32 len;

	for (len = 0; len < sizeof(bytes); len++) {
		r = open_receiver();
		KUNIT_EXPECT_EQ(test, IW_RDMAP_UNSPEC, receive_message(r, h, bytes, len));
	}
	r = open_receiver();
	KUNIT_EXPECT_EQ(test, IW_PEER_TERMINATE, receive_message(r, h, bytes, len));
	KUNIT_EXPECT_EQ(test, 1, (int)r->peer_layer);
	KUNIT_EXPECT_EQ(test, 2, (int)r->peer_type);
	KUNIT_EXPECT_EQ(test, 5, (int)r->peer_code);
	KUNIT_EXPECT_EQ(test, 0u, stubs.taken);
}

/*
 * Receive the next segment of a Write: on the fast path if @more, else on the
 * general path
 */
static enum iw_reason receive_write_segment(struct rdmap *r, bool more, u32 bytes)
{
	const struct ddp_hdr h = { .tagged = true, .ulp8 = 0x40, .last = !more };
	struct ddp_grant g = {};

	if (more)
		return rdmap_admit_more(&r->stream, &h, bytes, 1);
	return rdmap_admit(&r->stream, &h, bytes, &g);
}

/*
 * DDP-48: a message may have 2^32 - 1 bytes, but not more, at whatever TOs its
 * segments are placed. A following Immediate reports the length of the Write.
 */
static void write_length_is_limited(struct kunit *test)
{
	const struct ddp_hdr imm = { .ulp8 = 0x48 };
	const struct ddp_hdr write = { .tagged = true, .ulp8 = 0x40, .last = true };
	const u8 bytes[RDMAP_IMM_LEN] = {};
	struct rdmap *r;
	int more;

	for (more = 0; more < 2; more++) {
		r = open_receiver();
		KUNIT_EXPECT_EQ(test, IW_OK, receive_write_segment(r, true, U32_MAX - 4));
		KUNIT_EXPECT_EQ(test, IW_RDMAP_UNSPEC, receive_write_segment(r, more, 5));
		KUNIT_EXPECT_EQ(test, IW_OK, receive_write_segment(r, more, 4));
		KUNIT_EXPECT_EQ(test, IW_OK, receive_write_segment(r, more, 0));
		KUNIT_EXPECT_EQ(test, IW_OK, rdmap_deliver(&r->stream, &write, 0));
		KUNIT_EXPECT_EQ(test, IW_OK, receive_message(r, imm, bytes, sizeof(bytes)));
		KUNIT_EXPECT_EQ(test, U32_MAX, stubs.recv.len);
		/* the length of the next Write is counted from zero */
		KUNIT_EXPECT_EQ(test, IW_OK, receive_write_segment(r, more, 5));
	}
}

/* A batch of segments is accepted and counted completely or not at all */
static void batch_is_accepted_completely_or_not_at_all(struct kunit *test)
{
	const struct ddp_hdr write = { .tagged = true, .ulp8 = 0x40 };
	struct rdmap *r = open_receiver();

	posted.received = 0;
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_admit_more(&r->stream, &write, U32_MAX - 4, 3));
	KUNIT_EXPECT_EQ(test, 3u, posted.received);
	KUNIT_EXPECT_EQ(test, IW_RDMAP_UNSPEC, rdmap_admit_more(&r->stream, &write, 6, 2));
	KUNIT_EXPECT_EQ(test, 3u, posted.received);
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_admit_more(&r->stream, &write, 3, 1));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_UNSPEC, rdmap_admit_more(&r->stream, &write, 3, 1));
	KUNIT_EXPECT_EQ(test, 5u, posted.received);
}

/* The next segment of a Send uses the buffer of the first segment */
static void send_continues_in_its_buffer(struct kunit *test)
{
	const struct ddp_hdr h = { .ulp8 = 0x43 };
	struct rdmap *r = open_receiver();
	struct ddp_grant g = {};

	posted.received = 0;
	stubs.taken = 0;
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_admit(&r->stream, &h, 10, &g));
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_admit_more(&r->stream, &h, 10, 1));
	KUNIT_EXPECT_EQ(test, 1u, stubs.taken);
	KUNIT_EXPECT_EQ(test, 2u, posted.received);
	KUNIT_EXPECT_EQ(test, 0u, r->write_len);
}

/*
 * Repeated Writes are reported together; a following Immediate reports the
 * length of the last one
 */
static void repeated_writes_are_counted(struct kunit *test)
{
	const struct ddp_hdr imm = { .ulp8 = 0x48 };
	const u8 bytes[RDMAP_IMM_LEN] = {};
	struct rdmap *r = open_receiver();

	posted.received = 0;
	posted.bytes = 0;
	posted.delivered = 0;
	rdmap_deliver_writes(&r->stream, 100, 3);
	KUNIT_EXPECT_EQ(test, 300u, posted.bytes);
	KUNIT_EXPECT_EQ(test, 3u, posted.received);
	KUNIT_EXPECT_EQ(test, 3u, posted.delivered);
	KUNIT_EXPECT_EQ(test, IW_OK, receive_message(r, imm, bytes, sizeof(bytes)));
	KUNIT_EXPECT_EQ(test, 100u, stubs.recv.len);
}

static struct kunit_case rdmap_rx_cases[] = {
	KUNIT_CASE_PARAM(each_kind_of_send_consumes_receive, kind_gen_params),
	KUNIT_CASE(atomic_response_checks_sink),
	KUNIT_CASE(failed_invalidation_is_error),
	KUNIT_CASE(write_and_read_consume_no_receive),
	KUNIT_CASE(rtr_send_consumes_no_receive),
	KUNIT_CASE(only_plain_send_is_rtr),
	KUNIT_CASE(read_requests_are_queued_in_order),
	KUNIT_CASE(ird_limits_requests),
	KUNIT_CASE(streams_have_own_request_slots),
	KUNIT_CASE(read_source_is_checked),
	KUNIT_CASE(atomic_target_is_checked),
	KUNIT_CASE(read_needs_right_of_qp),
	KUNIT_CASE(terminate_is_recognised),
	KUNIT_CASE(write_length_is_limited),
	KUNIT_CASE(batch_is_accepted_completely_or_not_at_all),
	KUNIT_CASE(repeated_writes_are_counted),
	KUNIT_CASE(send_continues_in_its_buffer),
	{}
};

static struct kunit_suite rdmap_rx_suite = {
	.name = "rdmap_rx",
	.test_cases = rdmap_rx_cases,
};

kunit_test_suite(rdmap_rx_suite);
