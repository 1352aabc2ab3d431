// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit side as the lower layer runs it: drivers/ddp/{tx,stream}.c and
 * drivers/rnic_sw/rdmap_tx.c between a lower layer and verbs of the test's.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <ddp/llp.h>

#include "../../../../drivers/ddp/hdr.h"
#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/rnic_sw/rdmap.h"

/* Memory ------------------------------------------------------------------- */

static u32 fetched;

enum iw_reason ddp_fetch(struct ddp_stream *s, struct ddp_cursor *from,
			 void *dst, u32 len)
{
	fetched += len;
	return IW_OK;
}

enum iw_reason ddp_mem_check(struct ddp_stream *s, u32 stag, u64 to, u32 len,
			     u8 rights)
{
	return IW_OK;
}

enum iw_reason ddp_mem_atomic(struct ddp_stream *s, u32 stag, u64 to,
			      u64 (*result)(const void *how, u64 old),
			      const void *how, u64 *old)
{
	return IW_OK;
}

/* A lower layer ------------------------------------------------------------ */

static u32 kicks;

static void llp_kick(struct ddp_llp *llp, bool bulk)
{
	kicks++;
}

static const struct ddp_llp_ops llp_ops = { .kick = llp_kick };
static struct ddp_llp llp = { .ops = &llp_ops };

static struct ddp_txseg pulled;

/* One segment of whatever is next; false: nothing */
static bool pull(struct ddp_stream *s)
{
	u8 octets[1000];

	return ddp_tx_next(s, sizeof(octets), &pulled) &&
	       ddp_tx_fill(s, octets, pulled.len);
}

static u32 pull_all(struct ddp_stream *s)
{
	u32 n = 0;

	ddp_tx_begin(s);
	while (pull(s))
		n++;
	ddp_tx_end(s);
	return n;
}

/* Verbs -------------------------------------------------------------------- */

static struct {
	enum rdmap_wr_op	op;
	u32			left;
	u32			locals;
} posted;

bool rdmap_sq_pull(struct rdmap *r, struct rdmap_wr *wr)
{
	if (!posted.left)
		return false;
	posted.left--;
	memset(wr, 0, sizeof(*wr));
	wr->op = posted.op;
	return true;
}

bool rdmap_sq_local(struct rdmap *r, const struct rdmap_wr *wr)
{
	posted.locals++;
	return true;
}

void rdmap_sq_cut(struct rdmap *r, u32 slot) { }
void rdmap_sq_sent(struct rdmap *r) { }
void rdmap_sq_failed(struct rdmap *r, u32 slot) { }
void rdmap_count(struct rdmap *r, u8 opcode, bool sent) { }
void rdmap_count_octets(struct rdmap *r, u32 segments, u32 octets, bool sent)
{
}

void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	const struct iw_fault f = { .why = why };

	ddp_stream_fail(&r->stream, &f);
}

static void failed(struct ddp_stream *s, const struct iw_fault *f)
{
}

static const struct ddp_ulp_ops rdmap_ops = {
	.next = rdmap_next, .sent = rdmap_sent, .failed = failed,
};

static struct rdmap *open_rdmap(enum rdmap_wr_op op, u32 n)
{
	static struct rdmap r;

	memset(&r, 0, sizeof(r));
	ddp_stream_init(&r.stream, &rdmap_ops, NULL, NULL);
	ddp_stream_bind(&r.stream, &llp);
	posted.op = op;
	posted.left = n;
	posted.locals = 0;
	kicks = 0;
	return &r;
}

/* 64 local requests, then others' turn: however many are posted */
static void locals_rest(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_BIND, 150);

	KUNIT_EXPECT_EQ(test, 0u, pull_all(&r->stream));
	KUNIT_EXPECT_EQ(test, 64u, posted.locals);
	KUNIT_EXPECT_EQ(test, 1u, kicks);
	KUNIT_EXPECT_TRUE(test, ddp_tx_rests(&r->stream));

	KUNIT_EXPECT_EQ(test, 0u, pull_all(&r->stream));
	KUNIT_EXPECT_EQ(test, 128u, posted.locals);
	KUNIT_EXPECT_EQ(test, 2u, kicks);

	/* and when there are no more, it is over */
	KUNIT_EXPECT_EQ(test, 0u, pull_all(&r->stream));
	KUNIT_EXPECT_EQ(test, 150u, posted.locals);
	KUNIT_EXPECT_EQ(test, 2u, kicks);
	KUNIT_EXPECT_FALSE(test, ddp_tx_rests(&r->stream));
}

/* Messages of no octets, and requests of either kind in turn, likewise */
static void messages_rest(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 300);

	KUNIT_EXPECT_EQ(test, 256u, pull_all(&r->stream));
	KUNIT_EXPECT_EQ(test, 1u, kicks);
	KUNIT_EXPECT_TRUE(test, ddp_tx_rests(&r->stream));
	ddp_tx_taken(&r->stream);

	KUNIT_EXPECT_EQ(test, 44u, pull_all(&r->stream));
	KUNIT_EXPECT_EQ(test, 1u, kicks);
	KUNIT_EXPECT_FALSE(test, ddp_tx_rests(&r->stream));
}

/* What the lower layer has taken does not count any more */
static void turn_ends_when_taken(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1000);
	u32 i;

	ddp_tx_begin(&r->stream);
	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_TRUE(test, pull(&r->stream));
		ddp_tx_taken(&r->stream);
	}
	ddp_tx_end(&r->stream);
	KUNIT_EXPECT_EQ(test, 0u, kicks);
}

/* DDP-41, DDP-43: MSNs go on behind 2^32 - 1 with 0, each queue's by itself */
static void msn_wraps(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 4);
	static const u32 want[] = { U32_MAX - 1, U32_MAX, 0, 1 };
	struct ddp_txseg seg;
	struct ddp_hdr h;
	int i;

	r->stream.msn[0] = U32_MAX - 1;
	ddp_tx_begin(&r->stream);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, ddp_tx_next(&r->stream, 1000, &seg));
		KUNIT_ASSERT_EQ(test, IW_OK,
				ddp_hdr_decode(&h, seg.hdr, seg.hdr_len));
		KUNIT_EXPECT_EQ(test, 0u, h.qn);
		KUNIT_EXPECT_EQ(test, want[i], h.msn);
		ddp_tx_taken(&r->stream);
	}
	ddp_tx_end(&r->stream);
	KUNIT_EXPECT_EQ(test, 1u, r->stream.msn[1]);
}

/* What leaves first -------------------------------------------------------- */

/* Opcode of what is next; 0xff: nothing is */
static u8 next_opcode(struct rdmap *r)
{
	struct ddp_hdr h;

	if (!pull(&r->stream))
		return 0xff;
	ddp_hdr_decode(&h, pulled.hdr, pulled.hdr_len);
	return h.ulp8 & RDMAP_OPCODE_MASK;
}

/* A Send is posted and a Read of the peer's is due: the indication goes first */
static void expect_first(struct kunit *test, u8 kind, u8 opcode)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 2);
	struct rdmap_req theirs[2], ours[2];

	rdmap_reqq_init(&r->irq, theirs, ARRAY_SIZE(theirs));
	rdmap_reqq_init(&r->orq, ours, ARRAY_SIZE(ours));
	rdmap_reqq_push(&r->irq);
	r->wr_turn = true;
	r->rtr = kind;
	KUNIT_EXPECT_EQ(test, opcode, next_opcode(r));
	KUNIT_EXPECT_EQ(test, 0u, (u32)r->rtr);
	KUNIT_EXPECT_EQ(test, RDMAP_OP_SEND, next_opcode(r));
	KUNIT_EXPECT_EQ(test, RDMAP_OP_READ_RESP, next_opcode(r));
}

/* MPA2-2 */
static void ready_indication_is_first(struct kunit *test)
{
	expect_first(test, DDP_RTR_WRITE, RDMAP_OP_WRITE);
	expect_first(test, DDP_RTR_READ, RDMAP_OP_READ_REQ);
	expect_first(test, DDP_RTR_SEND, RDMAP_OP_SEND);
}

/* Failure ------------------------------------------------------------------ */

static struct ddp_buf memory;
static u8 words[20];

/* A message of 100 octets, or after a failure the last words */
static bool one_message(struct ddp_stream *s, struct ddp_msg *m)
{
	memset(m, 0, sizeof(*m));
	memory.flat = words;
	m->last_words = test_bit(0, &s->failed);
	memory.len = m->last_words ? sizeof(words) : 100;
	m->buf = &memory;
	return true;
}

/* The stream fails while the message is being chosen, which sees it */
static bool fails_just_then(struct ddp_stream *s, struct ddp_msg *m)
{
	const struct iw_fault f = { .why = IW_LOCAL_ABORT };

	ddp_stream_fail(s, &f);
	return one_message(s, m);
}

static const struct ddp_ulp_ops one_ops = {
	.next = one_message, .failed = failed,
};

static const struct ddp_ulp_ops just_then_ops = {
	.next = fails_just_then, .failed = failed,
};

static struct ddp_stream *open_stream(void)
{
	static struct ddp_stream s;

	ddp_stream_init(&s, &one_ops, NULL, NULL);
	fetched = 0;
	return &s;
}

static void fail(struct ddp_stream *s)
{
	const struct iw_fault f = { .why = IW_LOCAL_ABORT };

	ddp_stream_fail(s, &f);
}

/* Pulled before the failure, to be filled after it: its memory is not read */
static void left_over(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 octets[100];

	KUNIT_EXPECT_TRUE(test, ddp_tx_begin(s));
	KUNIT_EXPECT_TRUE(test, ddp_tx_next(s, 50, &seg));
	ddp_tx_end(s);
	fail(s);
	KUNIT_EXPECT_FALSE(test, ddp_tx_begin(s));
	KUNIT_EXPECT_FALSE(test, ddp_tx_fill(s, octets, seg.len));
	KUNIT_EXPECT_EQ(test, 0u, fetched);

	/* the last words can be said, in pieces and in as many runs */
	KUNIT_EXPECT_TRUE(test, ddp_tx_next(s, 25, &seg));
	KUNIT_EXPECT_TRUE(test, seg.more);
	ddp_tx_end(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_begin(s));
	KUNIT_EXPECT_TRUE(test, ddp_tx_fill(s, octets, seg.len));
	KUNIT_EXPECT_TRUE(test, ddp_tx_next(s, 50, &seg));
	KUNIT_EXPECT_FALSE(test, seg.more);
	KUNIT_EXPECT_TRUE(test, ddp_tx_fill(s, octets, seg.len));
	ddp_tx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(words), fetched);
}

/* The last words are those that were chosen as such */
static void failed_when_asked(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 octets[100];

	s->ulp = &just_then_ops;
	KUNIT_EXPECT_TRUE(test, ddp_tx_begin(s));
	KUNIT_EXPECT_TRUE(test, ddp_tx_next(s, 100, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_fill(s, octets, seg.len));
	ddp_tx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(words), fetched);
}

/* It fails while a segment is being filled: the rest of it is not read */
static void failed_under_way(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 octets[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_next(s, 50, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_fill(s, octets, 10));
	fail(s);
	KUNIT_EXPECT_FALSE(test, ddp_tx_fill(s, octets, seg.len - 10));
	KUNIT_EXPECT_EQ(test, 10u, fetched);
	ddp_tx_end(s);
}

/* Who settles sleeps; meanwhile a runner goes on */
static struct {
	struct ddp_stream	*s;
	bool			tx;
	u32			sleeps;
	u32			ends_after;	/* sleeps */
} wait;

void host_sleep(void)
{
	if (++wait.sleeps < wait.ends_after)
		return;
	if (wait.tx)
		ddp_tx_end(wait.s);
	else
		wait.s->rx_busy = false;
}

static void settle(struct ddp_stream *s, bool tx)
{
	memset(&wait, 0, sizeof(wait));
	wait.s = s;
	wait.tx = tx;
	wait.ends_after = 5;
	ddp_stream_settle(s);
}

/* Nobody is told of a flush while the transmit runner is within a batch */
static void settle_waits_for_tx(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_next(s, 50, &seg));
	fail(s);
	settle(s, true);
	KUNIT_EXPECT_EQ(test, 5u, wait.sleeps);
	/* nobody is there now: no wait */
	settle(s, true);
	KUNIT_EXPECT_EQ(test, 0u, wait.sleeps);
}

static void settle_waits_for_rx(struct kunit *test)
{
	struct ddp_stream *s = open_stream();

	s->rx_busy = true;
	fail(s);
	settle(s, false);
	KUNIT_EXPECT_EQ(test, 5u, wait.sleeps);
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE(locals_rest),
	KUNIT_CASE(messages_rest),
	KUNIT_CASE(turn_ends_when_taken),
	KUNIT_CASE(msn_wraps),
	KUNIT_CASE(ready_indication_is_first),
	KUNIT_CASE(left_over),
	KUNIT_CASE(failed_when_asked),
	KUNIT_CASE(failed_under_way),
	KUNIT_CASE(settle_waits_for_tx),
	KUNIT_CASE(settle_waits_for_rx),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "tx",
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);
