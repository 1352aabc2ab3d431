// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdmap_tx.c with DDP's transmit side: the choice
 * of the next message to send. Lower layer and verbs are stubs.
 */
#include <kunit/test.h>
#include <ddp/llp.h>

#include "../../../../drivers/ddp/hdr.h"
#include "rdmap_tx.h"

/* Cases ---------------------------------------------------------------------- */

/* After 64 local requests the transmit path yields, however many are posted */
static void tx_yields_after_local_requests(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_BIND, 150);

	KUNIT_EXPECT_EQ(test, 0u, pull_all_segments(&r->stream));
	KUNIT_EXPECT_EQ(test, 64u, posted.locals);
	KUNIT_EXPECT_EQ(test, 1u, kicks);
	KUNIT_EXPECT_TRUE(test, ddp_tx_expects_kick(&r->stream));

	KUNIT_EXPECT_EQ(test, 0u, pull_all_segments(&r->stream));
	KUNIT_EXPECT_EQ(test, 128u, posted.locals);
	KUNIT_EXPECT_EQ(test, 2u, kicks);

	/* when no request is left, the transmit path does not schedule itself again */
	KUNIT_EXPECT_EQ(test, 0u, pull_all_segments(&r->stream));
	KUNIT_EXPECT_EQ(test, 150u, posted.locals);
	KUNIT_EXPECT_EQ(test, 2u, kicks);
	KUNIT_EXPECT_FALSE(test, ddp_tx_expects_kick(&r->stream));
}

/* After 256 messages without payload the transmit path yields */
static void tx_yields_after_empty_messages(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 300);

	KUNIT_EXPECT_EQ(test, 256u, pull_all_segments(&r->stream));
	KUNIT_EXPECT_EQ(test, 1u, kicks);
	KUNIT_EXPECT_TRUE(test, ddp_tx_expects_kick(&r->stream));
	ddp_tx_report_sent(&r->stream, false);

	KUNIT_EXPECT_EQ(test, 44u, pull_all_segments(&r->stream));
	KUNIT_EXPECT_EQ(test, 1u, kicks);
	KUNIT_EXPECT_FALSE(test, ddp_tx_expects_kick(&r->stream));
}

/* Messages that the lower layer has accepted do not count against the limit of a pass */
static void accepted_messages_reset_limit(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1000);
	u32 i;

	ddp_tx_begin(&r->stream);
	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
		ddp_tx_report_sent(&r->stream, false);
	}
	ddp_tx_end(&r->stream);
	KUNIT_EXPECT_EQ(test, 0u, kicks);
}

/* RDMAP-125: a request is not complete if its last segment did not fit */
static void request_with_undone_pull_is_incomplete(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 2);

	ddp_tx_begin(&r->stream);
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_ASSERT_TRUE(test, ddp_tx_pull(&r->stream, 1000, &pulled));
	ddp_tx_undo_pull(&r->stream);
	ddp_tx_end(&r->stream);
	ddp_tx_report_sent(&r->stream, false);
	KUNIT_EXPECT_EQ(test, 1u, posted.cut);
	KUNIT_EXPECT_EQ(test, 1u, pull_all_segments(&r->stream));
	ddp_tx_report_sent(&r->stream, false);
	KUNIT_EXPECT_EQ(test, 2u, posted.cut);
}

/* DDP-41, DDP-43: MSNs wrap from 2^32 - 1 to 0, independently in each queue */
static void each_queue_has_own_msn(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 4);
	static const u32 want[] = { U32_MAX - 1, U32_MAX, 0, 1 };
	struct ddp_txseg seg;
	struct ddp_hdr h;
	int i;

	r->stream.msn[0] = U32_MAX - 1;
	ddp_tx_begin(&r->stream);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, ddp_tx_pull(&r->stream, 1000, &seg));
		KUNIT_ASSERT_EQ(test, IW_OK,
				ddp_hdr_decode(&h, seg.hdr, seg.hdr_len));
		KUNIT_EXPECT_EQ(test, 0u, h.qn);
		KUNIT_EXPECT_EQ(test, want[i], h.msn);
		ddp_tx_report_sent(&r->stream, false);
	}
	ddp_tx_end(&r->stream);
	KUNIT_EXPECT_EQ(test, 1u, r->stream.msn[1]);
}

/* What is sent first -------------------------------------------------------- */

static bool is_send_with_invalidate(u8 opcode)
{
	return opcode == RDMAP_OP_SEND_INV || opcode == RDMAP_OP_SEND_SE_INV;
}

/*
 * Expect that the next message has one segment and this opcode, and is either
 * @tagged or for queue @qn. An untagged message has an STag only if it invalidates
 * that STag.
 */
static void expect_next_message(struct kunit *test, struct rdmap *r, u8 opcode,
				bool tagged, u32 qn)
{
	struct ddp_hdr h;

	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_EQ(test, IW_OK,
			ddp_hdr_decode(&h, pulled.hdr, pulled.hdr_len));
	KUNIT_EXPECT_EQ(test, rdmap_make_ulp8(opcode), h.ulp8);
	KUNIT_EXPECT_EQ(test, tagged, h.tagged);
	KUNIT_EXPECT_EQ(test, qn, h.qn);
	KUNIT_EXPECT_EQ(test, is_send_with_invalidate(opcode) ? posted.wr.inv : 0u, h.ulp32);
	KUNIT_EXPECT_TRUE(test, h.last);
}

/*
 * Expect that the RTR message is sent before a posted Send and before the
 * response to the peer's Read
 */
static void expect_rtr_first(struct kunit *test, u8 kind, u8 opcode, bool tagged,
			     u32 qn)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 2);

	receive_peer_request(r);
	r->wr_preferred = true;
	r->rtr = kind;
	expect_next_message(test, r, opcode, tagged, qn);
	KUNIT_EXPECT_EQ(test, 0u, (u32)r->rtr);
	expect_next_message(test, r, RDMAP_OP_SEND, false, 0);
	expect_next_message(test, r, RDMAP_OP_READ_RESP, true, 0);
}

/* MPA2-2, RDMAP-21, RDMAP-25: each kind of RTR message is sent first */
static void rtr_is_sent_first(struct kunit *test)
{
	expect_rtr_first(test, DDP_RTR_WRITE, RDMAP_OP_WRITE, true, 0);
	expect_rtr_first(test, DDP_RTR_READ, RDMAP_OP_READ_REQ, false, 1);
	expect_rtr_first(test, DDP_RTR_SEND, RDMAP_OP_SEND, false, 0);
}

/* Each kind of message ----------------------------------------------------- */

struct kind {
	const char	*name;
	u8		flags, opcode;
};

static const struct kind kinds[] = {
	{ "Send", 0, RDMAP_OP_SEND },
	{ "solicited", RDMAP_WR_SOLICITED, RDMAP_OP_SEND_SE },
	{ "with Invalidate", RDMAP_WR_INVALIDATE, RDMAP_OP_SEND_INV },
	{ "solicited, with Invalidate",
	  RDMAP_WR_SOLICITED | RDMAP_WR_INVALIDATE, RDMAP_OP_SEND_SE_INV },
};

static void describe_kind(const struct kind *k, char *desc)
{
	strscpy(desc, k->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

/*
 * RDMAP-18 to RDMAP-21, RDMAP-25, RDMAP-89, RDMAP-97, RDMAP-101: each kind of Send has the right
 * opcode, queue and STag
 */
static void each_kind_of_send_has_its_header(struct kunit *test)
{
	const struct kind *k = test->param_value;
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	posted.wr.flags = k->flags;
	posted.wr.inv = 7;
	expect_next_message(test, r, k->opcode, false, RDMAP_QN_SEND);
	KUNIT_EXPECT_EQ(test, DDP_LOCAL_READ, r->stream.msg.rights);
}

/*
 * Expect that a Write with immediate data is sent as two messages, and completes
 * when the second one is sent
 */
static void expect_immediate_after_write(struct kunit *test, u8 flags, u8 opcode)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_WRITE, 1);
	const struct ddp_msg *m = &r->stream.msg;

	posted.wr.flags = RDMAP_WR_IMMEDIATE | flags;
	posted.wr.rkey = 1;
	posted.wr.raddr = 2;
	posted.wr.imm = cpu_to_be32(3);
	expect_next_message(test, r, RDMAP_OP_WRITE, true, 0);
	KUNIT_EXPECT_EQ(test, 1u, m->hdr.stag);
	KUNIT_EXPECT_EQ(test, 2ull, m->hdr.to);
	ddp_tx_report_sent(&r->stream, false);
	KUNIT_EXPECT_EQ(test, 0u, posted.cut);

	expect_next_message(test, r, opcode, false, RDMAP_QN_SEND);
	KUNIT_ASSERT_EQ(test, (u32)RDMAP_IMM_LEN, m->buf->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp("\0\0\0\3\0\0\0", m->buf->flat,
					RDMAP_IMM_LEN));
	ddp_tx_report_sent(&r->stream, false);
	KUNIT_EXPECT_EQ(test, 1u, posted.cut);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
}

static void immediate_follows_write(struct kunit *test)
{
	expect_immediate_after_write(test, 0, RDMAP_OP_IMM);
	expect_immediate_after_write(test, RDMAP_WR_SOLICITED, RDMAP_OP_IMM_SE);
}

/*
 * RDMAP-21, RDMAP-25, RDMAP-30, RDMAP-65, RDMAP-70: a Read Request has the fields
 * of the work request, and is recorded in the queue of outstanding requests
 */
static void read_request_has_wr_fields(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_READ, 1);
	const struct rdmap_rreq want = {
		.sink_stag = 1, .sink_to = 2, .len = 3, .src_stag = 4, .src_to = 5,
	};
	u8 bytes[RDMAP_RREQ_LEN];
	struct rdmap_req *req;

	posted.wr.slot = 6;
	posted.wr.inv = 7;
	posted.wr.rkey = 4;
	posted.wr.raddr = 5;
	posted.sge[0] = (struct ddp_sge){ .stag = 1, .addr = 2, .len = 3 };
	expect_next_message(test, r, RDMAP_OP_READ_REQ, false, RDMAP_QN_READ_REQ);
	rdmap_rreq_encode(bytes, &want);
	KUNIT_ASSERT_EQ(test, (u32)sizeof(bytes), r->stream.msg.buf->len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(bytes, r->stream.msg.buf->flat,
					sizeof(bytes)));
	req = rdmap_reqq_peek(&r->orq);
	KUNIT_ASSERT_NOT_NULL(test, req);
	KUNIT_EXPECT_EQ(test, 6u, req->slot);
	KUNIT_EXPECT_EQ(test, 1u, req->rreq.sink_stag);
	KUNIT_EXPECT_EQ(test, 2ull, req->rreq.sink_to);
	KUNIT_EXPECT_EQ(test, 3u, req->rreq.len);
	KUNIT_EXPECT_FALSE(test, req->is_atomic);
}

static void expect_empty_read(struct kunit *test, struct rdmap *r)
{
	expect_next_message(test, r, RDMAP_OP_READ_REQ, false, RDMAP_QN_READ_REQ);
	KUNIT_EXPECT_EQ(test, DDP_STAG_NONE, rdmap_reqq_peek(&r->orq)->rreq.sink_stag);
	KUNIT_EXPECT_EQ(test, DDP_STAG_NONE, rdmap_reqq_peek(&r->orq)->rreq.src_stag);
}

/*
 * MPA2-49: Writes and Reads of length 0, including RTR messages, do not have
 * STag 0, because adapters refuse that STag
 */
static void empty_messages_avoid_stag_0(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_WRITE, 2);

	memset(posted.sge, 0, sizeof(posted.sge));
	r->rtr = DDP_RTR_WRITE;
	expect_next_message(test, r, RDMAP_OP_WRITE, true, 0);
	KUNIT_EXPECT_EQ(test, DDP_STAG_NONE, r->stream.msg.hdr.stag);
	expect_next_message(test, r, RDMAP_OP_WRITE, true, 0);
	KUNIT_EXPECT_EQ(test, DDP_STAG_NONE, r->stream.msg.hdr.stag);
	r = open_rdmap(RDMAP_WR_READ, 1);
	expect_empty_read(test, r);
	r = open_rdmap(RDMAP_WR_SEND, 0);
	r->rtr = DDP_RTR_READ;
	expect_empty_read(test, r);
}

/* RDMAP-142: at most ORD requests are outstanding; after a response the next one is sent */
static void ord_limits_requests(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_READ, DEPTH + 1);
	int n;

	for (n = 0; n < DEPTH; n++)
		expect_next_message(test, r, RDMAP_OP_READ_REQ, false, 1);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	rdmap_reqq_pop(&r->orq);
	expect_next_message(test, r, RDMAP_OP_READ_REQ, false, 1);
}

/*
 * A fenced request waits for all responses; the peer's requests are answered
 * meanwhile
 */
static void fence_waits_for_responses(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	posted.wr.flags = RDMAP_WR_FENCE;
	rdmap_reqq_push(&r->orq);
	receive_peer_request(r);
	r->wr_preferred = true;
	expect_next_message(test, r, RDMAP_OP_READ_RESP, true, 0);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	rdmap_reqq_pop(&r->orq);
	expect_next_message(test, r, RDMAP_OP_SEND, false, 0);
}

/* A graceful end waits for work requests that cannot be sent before a response */
static void close_waits_for_blocked_requests(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	posted.wr.flags = RDMAP_WR_FENCE;
	rdmap_reqq_push(&r->orq);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, ddp_tx_is_blocked(&r->stream));
	/* the transmit path does not schedule itself to wait for the response */
	KUNIT_EXPECT_EQ(test, 0u, kicks);
	KUNIT_EXPECT_FALSE(test, ddp_tx_expects_kick(&r->stream));
	rdmap_reqq_pop(&r->orq);
	expect_next_message(test, r, RDMAP_OP_SEND, false, 0);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_FALSE(test, ddp_tx_is_blocked(&r->stream));

	r = open_rdmap(RDMAP_WR_READ, DEPTH + 1);
	KUNIT_EXPECT_EQ(test, (u32)DEPTH, pull_all_segments(&r->stream));
	KUNIT_EXPECT_TRUE(test, ddp_tx_is_blocked(&r->stream));
	/* if ORD is 0, no response can ever allow the Read, so a graceful end does not wait */
	r = open_rdmap(RDMAP_WR_READ, 1);
	rdmap_reqq_init(&r->orq, NULL, 0);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_FALSE(test, ddp_tx_is_blocked(&r->stream));
}

/*
 * RDMAP-21, RDMAP-31, RDMAP-32, RDMAP-81: a Read Response goes from the
 * requested source to the requested sink, with the peer's rights
 */
static void read_response_goes_to_requested_sink(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_WRITE, 1);
	const struct ddp_msg *m = &r->stream.msg;

	receive_peer_request(r)->rreq = (struct rdmap_rreq) {
		.sink_stag = 1, .sink_to = 2, .len = 3, .src_stag = 4, .src_to = 5,
	};
	expect_next_message(test, r, RDMAP_OP_READ_RESP, true, 0);
	KUNIT_EXPECT_EQ(test, 1u, m->hdr.stag);
	KUNIT_EXPECT_EQ(test, 2ull, m->hdr.to);
	KUNIT_EXPECT_EQ(test, 3u, m->buf->len);
	KUNIT_ASSERT_EQ(test, 1u, (u32)m->buf->nsge);
	KUNIT_EXPECT_EQ(test, 3u, m->buf->sge->len);
	KUNIT_EXPECT_EQ(test, 4u, m->buf->sge->stag);
	KUNIT_EXPECT_EQ(test, 5ull, m->buf->sge->addr);
	KUNIT_EXPECT_EQ(test, DDP_REMOTE_READ, m->rights);
	KUNIT_EXPECT_FALSE(test, m->send_if_failed);

	/* the program's own Write needs no remote right */
	expect_next_message(test, r, RDMAP_OP_WRITE, true, 0);
	KUNIT_EXPECT_EQ(test, DDP_LOCAL_READ, m->rights);
}

/* The slot of a request is free once the LLP has accepted the response */
static void sent_response_frees_slot(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 0);
	int i, n;

	for (i = 0; i < 3; i++) {
		for (n = 0; n < DEPTH; n++)
			KUNIT_ASSERT_NOT_NULL(test, receive_peer_request(r));
		for (n = 0; n < DEPTH; n++)
			expect_next_message(test, r, RDMAP_OP_READ_RESP, true, 0);
		KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
		KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_full(&r->irq));
		ddp_tx_report_sent(&r->stream, false);
		KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_empty(&r->irq));
	}
}

static struct rdmap *receive_atomic_request(u8 rights)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 0);
	struct rdmap_req *req = receive_peer_request(r);

	req->is_atomic = true;
	req->atomic.id = 7;
	ddp_stream_set_rights(&r->stream, rights);
	return r;
}

/* The peer's atomic is executed, and the response has the old value */
static void atomic_response_has_old_value(struct kunit *test)
{
	struct rdmap *r = receive_atomic_request(DDP_REMOTE_ATOMIC);
	u8 want[RDMAP_ARESP_LEN];

	expect_next_message(test, r, RDMAP_OP_ATOMIC_RESP, false, RDMAP_QN_ATOMIC_RESP);
	rdmap_aresp_encode(want, 7, 5);
	KUNIT_ASSERT_EQ(test, (u32)sizeof(want), r->stream.msg.buf->len);
	KUNIT_EXPECT_EQ(test, 0,
			memcmp(want, r->stream.msg.buf->flat, sizeof(want)));
	KUNIT_EXPECT_EQ(test, 0u, posted.failures);
}

/* An atomic fails if the QP does not permit atomics, or if the MR refuses the access */
static void atomic_needs_rights_of_qp_and_mr(struct kunit *test)
{
	struct rdmap *r = receive_atomic_request(0);

	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_P_ACCESS, posted.why);

	r = receive_atomic_request(DDP_REMOTE_ATOMIC);
	mem.atomic = IW_RDMAP_P_BOUNDS;
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_EQ(test, IW_RDMAP_P_STAG, posted.why);
}

/* An atomic on a non-present page is deferred, and answered later */
static void atomic_waits_for_page(struct kunit *test)
{
	struct rdmap *r = receive_atomic_request(DDP_REMOTE_ATOMIC);

	mem.atomic = IW_AGAIN;
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_FALSE(test, r->response_started);
	mem.atomic = IW_OK;
	expect_next_message(test, r, RDMAP_OP_ATOMIC_RESP, false, RDMAP_QN_ATOMIC_RESP);
	KUNIT_EXPECT_EQ(test, 0u, posted.failures);
}

/* Expect that the sink of a request is checked before the request is sent */
static void expect_sink_checked(struct kunit *test, enum rdmap_wr_op op, u8 opcode)
{
	struct rdmap *r = open_rdmap(op, 1);

	posted.sge[0].len = 8;
	expect_next_message(test, r, opcode, false, RDMAP_QN_READ_REQ);
	KUNIT_EXPECT_EQ(test, DDP_LOCAL_WRITE, mem.checked);
	KUNIT_EXPECT_EQ(test, 0u, posted.failed + posted.failures);

	r = open_rdmap(op, 1);
	posted.sge[0].len = 8;
	mem.check = IW_RDMAP_P_STAG;
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_EQ(test, 1u, posted.failed);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, posted.why);
	KUNIT_EXPECT_TRUE(test, rdmap_reqq_is_empty(&r->orq));
}

static void read_and_atomic_sinks_are_checked(struct kunit *test)
{
	expect_sink_checked(test, RDMAP_WR_READ, RDMAP_OP_READ_REQ);
	expect_sink_checked(test, RDMAP_WR_FETCH_ADD, RDMAP_OP_ATOMIC_REQ);
	expect_sink_checked(test, RDMAP_WR_CMP_SWAP, RDMAP_OP_ATOMIC_REQ);
}

/*
 * RDMAP-21, RDMAP-25, RDMAP-105, RDMAP-106, RDMAP-112: after a failure the
 * Terminate is sent, and nothing else
 */
static void terminate_is_last_after_failure(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 3);

	expect_next_message(test, r, RDMAP_OP_SEND, false, 0);
	receive_peer_request(r);
	posted.terminate_len = 20;
	rdmap_fail(r, IW_MPA_CRC);
	expect_next_message(test, r, RDMAP_OP_TERMINATE, false, 2);
	KUNIT_EXPECT_EQ(test, 20u, host_memory.fetched);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_EQ(test, 2u, posted.left);
	KUNIT_EXPECT_EQ(test, 0u, posted.terminates);
	rdmap_handle_sent(&r->stream, false);
	KUNIT_EXPECT_EQ(test, 1u, posted.terminates);
}

/*
 * RDMAP-105: if choosing the next message finds a fault, the Terminate is the
 * next message. Without a next message, a graceful close would treat the transmit
 * path as drained and would not send the Terminate.
 */
static void late_fault_sends_terminate(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_READ, 1);

	posted.sge[0].len = 8;
	posted.terminate_len = 20;
	mem.check = IW_RDMAP_P_STAG;
	expect_next_message(test, r, RDMAP_OP_TERMINATE, false, 2);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));

	r = receive_atomic_request(0);
	posted.terminate_len = 20;
	expect_next_message(test, r, RDMAP_OP_TERMINATE, false, 2);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
}

/*
 * If another CPU has marked the stream as failed, but has not built the Terminate
 * yet, the transmit path finds no message, and expects the kick for the Terminate
 */
static void no_message_is_sent_until_terminate_built(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	set_bit(0, &r->stream.failed);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, ddp_tx_expects_kick(&r->stream));
}

/* Send a Write whose MR reference is cached, then post a request that may invalidate the MR */
static struct rdmap *send_write_with_cached_ref_and_post(struct kunit *test, enum rdmap_wr_op op)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_WRITE, 1);

	posted.sge[0].len = 10;
	ddp_tx_begin(&r->stream);
	KUNIT_EXPECT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_NOT_NULL(test, r->stream.tx_mr);
	posted.wr.op = op;
	posted.left = 1;
	return r;
}

static void expect_no_cached_ref_after_pull(struct kunit *test, struct rdmap *r, u32 failures)
{
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	ddp_tx_end(&r->stream);
	KUNIT_EXPECT_EQ(test, failures, posted.failures);
	KUNIT_EXPECT_EQ(test, 0u, posted.mr_refs);
}

static void tx_drops_cached_refs_before_invalidation(struct kunit *test)
{
	struct rdmap *r = send_write_with_cached_ref_and_post(test, RDMAP_WR_LOCAL_INV);

	expect_no_cached_ref_after_pull(test, r, 0);
	KUNIT_EXPECT_EQ(test, 1u, posted.locals);

	/* the next request is a Read whose sink may not be written, so the stream fails */
	r = send_write_with_cached_ref_and_post(test, RDMAP_WR_READ);
	mem.check = IW_DDP_T_STAG;
	expect_no_cached_ref_after_pull(test, r, 1);

	/* the next message is the response to an atomic of the peer, which has lost its access */
	r = send_write_with_cached_ref_and_post(test, RDMAP_WR_WRITE);
	posted.left = 0;
	mem.atomic = IW_DDP_T_STAG;
	receive_peer_request(r)->is_atomic = true;
	expect_no_cached_ref_after_pull(test, r, 1);
}

static struct kunit_case rdmap_tx_cases[] = {
	KUNIT_CASE(tx_yields_after_local_requests),
	KUNIT_CASE(tx_yields_after_empty_messages),
	KUNIT_CASE(accepted_messages_reset_limit),
	KUNIT_CASE(request_with_undone_pull_is_incomplete),
	KUNIT_CASE(each_queue_has_own_msn),
	KUNIT_CASE(rtr_is_sent_first),
	KUNIT_CASE_PARAM(each_kind_of_send_has_its_header, kind_gen_params),
	KUNIT_CASE(immediate_follows_write),
	KUNIT_CASE(read_request_has_wr_fields),
	KUNIT_CASE(empty_messages_avoid_stag_0),
	KUNIT_CASE(ord_limits_requests),
	KUNIT_CASE(fence_waits_for_responses),
	KUNIT_CASE(close_waits_for_blocked_requests),
	KUNIT_CASE(read_response_goes_to_requested_sink),
	KUNIT_CASE(sent_response_frees_slot),
	KUNIT_CASE(atomic_response_has_old_value),
	KUNIT_CASE(atomic_needs_rights_of_qp_and_mr),
	KUNIT_CASE(atomic_waits_for_page),
	KUNIT_CASE(read_and_atomic_sinks_are_checked),
	KUNIT_CASE(terminate_is_last_after_failure),
	KUNIT_CASE(late_fault_sends_terminate),
	KUNIT_CASE(no_message_is_sent_until_terminate_built),
	KUNIT_CASE(tx_drops_cached_refs_before_invalidation),
	{}
};

static struct kunit_suite rdmap_tx_suite = {
	.name = "rdmap_tx",
	.test_cases = rdmap_tx_cases,
};

kunit_test_suite(rdmap_tx_suite);
