// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/{tx,stream}.c: the transmit path, before and after
 * a failure of the stream. The lower layer and the ULP are stubs.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <ddp/llp.h>

#include "../../../../drivers/ddp/internal.h"
#include "fetch.h"

struct host_memory host_memory;

static struct ddp_region region;

enum iw_reason ddp_fetch_payload(struct ddp_stream *s, struct ddp_cursor *from,
				 void *dst, u32 len)
{
	u32 i;

	s->tx_mr = &region;
	host_memory.fetched += len;
	for (i = 0; i < len; i++)
		((u8 *)dst)[i] = from->off++;
	return host_memory.result;
}

static bool tagged_message;
static u32 run_ends_after = U32_MAX;	/* number of segments after which a batch ends */

u32 ddp_cursor_get_page_off(struct ddp_cursor *c)
{
	return host_memory.page_off;
}

u32 ddp_fetch_payload_batch(struct ddp_stream *s, struct ddp_cursor *from, void *dst,
			    u32 stride, u32 each, u32 n)
{
	u32 i;

	for (i = 0; i < min(n, run_ends_after); i++)
		ddp_fetch_payload(s, from, dst + i * stride, each);
	return i;
}

/* Failure ------------------------------------------------------------------ */

static struct ddp_buf memory;
static u8 words[20];
static bool no_octets;
static u32 held;	/* number of upcalls during which the stream has an MR reference */

static struct {
	u32		times;
	enum iw_reason	why;
} failure;

static void record_failure(struct ddp_stream *s, const struct iw_failure *f)
{
	failure.times++;
	held += !!s->tx_mr;
	failure.why = f->why;
}

/* Stub of the ULP: return a message of 100 bytes or, after a failure, a Terminate */
static bool get_next_message(struct ddp_stream *s, struct ddp_msg *m)
{
	held += !!s->tx_mr;
	memset(m, 0, sizeof(*m));
	m->hdr.tagged = tagged_message;
	m->hdr.to = 0xfffffff8;
	m->send_if_failed = test_bit(0, &s->failed);
	memory.len = m->send_if_failed ? sizeof(words) : no_octets ? 0 : 100;
	m->buf = &memory;
	return true;
}

/* Stub of the ULP: fail the stream while it chooses the next message */
static bool fail_stream_and_get_next_message(struct ddp_stream *s, struct ddp_msg *m)
{
	const struct iw_failure f = { .why = IW_LOCAL_ABORT };

	ddp_stream_fail(s, &f);
	return get_next_message(s, m);
}

static const struct ddp_ulp_ops one_ops = {
	.next = get_next_message, .failed = record_failure,
};

static const struct ddp_ulp_ops just_then_ops = {
	.next = fail_stream_and_get_next_message, .failed = record_failure,
};

static struct ddp_stream *open_stream(void)
{
	static struct ddp_stream s;

	ddp_stream_init(&s, &one_ops, NULL, NULL);
	memory.flat = words;
	host_memory.result = IW_OK;
	host_memory.fetched = 0;
	memset(&failure, 0, sizeof(failure));
	held = 0;
	return &s;
}

static void fail_stream(struct ddp_stream *s)
{
	const struct iw_failure f = { .why = IW_LOCAL_ABORT };

	ddp_stream_fail(s, &f);
}

/* Data of a segment that was begun before the failure is not read after it */
static void begun_segment_is_not_read_after_failure(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	ddp_tx_end(s);
	fail_stream(s);
	ddp_tx_begin(s);
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_EQ(test, 0u, host_memory.fetched);

	/* the Terminate can be sent, in several segments and passes */
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 25, &seg));
	KUNIT_EXPECT_TRUE(test, seg.left);
	ddp_tx_end(s);
	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	KUNIT_EXPECT_FALSE(test, seg.left);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	ddp_tx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(words), host_memory.fetched);
}

/* A message that is chosen after the failure is a Terminate */
static void next_message_after_failure_is_terminate(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	s->ulp = &just_then_ops;
	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 100, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	ddp_tx_end(s);
	KUNIT_EXPECT_EQ(test, (u32)sizeof(words), host_memory.fetched);
}

/* If the stream fails while a segment is being filled, the remaining payload must not be read */
static void failure_stops_segment_fill(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, 10));
	fail_stream(s);
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(s, bytes, seg.len - 10));
	KUNIT_EXPECT_EQ(test, 10u, host_memory.fetched);
	ddp_tx_end(s);
}

/* If memory may not be read, the stream fails once */
static void unreadable_memory_fails_stream_once(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	KUNIT_EXPECT_TRUE(test, seg.left);
	host_memory.result = IW_LOCAL_PROT;
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_TRUE(test, ddp_tx_has_failed(s));
	KUNIT_EXPECT_EQ(test, 1u, failure.times);
	KUNIT_EXPECT_EQ(test, IW_LOCAL_PROT, failure.why);
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_EQ(test, 1u, failure.times);
	KUNIT_EXPECT_EQ(test, 0u, held);
	ddp_tx_end(s);
}

/*
 * If a page is not present, the same segment is sent later, and the stream does
 * not fail
 */
static void missing_page_delays_segment(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg, again;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 64, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_FALSE(test, seg.left);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, 10));
	host_memory.result = IW_AGAIN;
	s->tx_fault.pending = true;
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(s, bytes, seg.len - 10));
	KUNIT_EXPECT_NULL(test, s->tx_mr);
	KUNIT_EXPECT_FALSE(test, ddp_tx_pull(s, 200, &again));
	/* a graceful end waits for the deferred segment */
	KUNIT_EXPECT_TRUE(test, ddp_tx_expects_kick(s));
	ddp_tx_end(s);

	host_memory.result = IW_OK;
	s->tx_fault.pending = false;
	/* a graceful end waits even if the page is present by now */
	KUNIT_EXPECT_TRUE(test, ddp_tx_expects_kick(s));
	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &again));
	KUNIT_EXPECT_EQ(test, seg.len, again.len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(seg.hdr, again.hdr, seg.hdr_len));
	KUNIT_EXPECT_EQ(test, 100u - seg.len, s->src.off);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, again.len));
	KUNIT_EXPECT_EQ(test, 2u, s->segments);
	KUNIT_EXPECT_EQ(test, 100u, s->bytes);
	KUNIT_EXPECT_EQ(test, 0u, failure.times);
	ddp_tx_end(s);
}

/* After ddp_tx_undo_pull() the segment is sent later, and may then have another size */
static void segment_is_pulled_again_after_undo(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 64, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_FALSE(test, seg.left);
	ddp_tx_undo_pull(s);
	ddp_tx_end(s);
	KUNIT_EXPECT_EQ(test, 1u, s->segments);
	KUNIT_EXPECT_TRUE(test, s->in_msg);
	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 40, &seg));
	KUNIT_EXPECT_TRUE(test, seg.left);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	ddp_tx_end(s);
	KUNIT_EXPECT_FALSE(test, s->in_msg);
	KUNIT_EXPECT_EQ(test, 100u, host_memory.fetched);
	KUNIT_EXPECT_EQ(test, 100u, s->bytes);
	KUNIT_EXPECT_EQ(test, 3u, s->segments);
}

/* A stream that fails during a page fault sends its Terminate */
static void failure_during_fault_sends_terminate(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	host_memory.result = IW_AGAIN;
	s->tx_fault.pending = true;
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	fail_stream(s);
	host_memory.result = IW_OK;
	KUNIT_EXPECT_FALSE(test, ddp_tx_expects_kick(s));
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	KUNIT_EXPECT_EQ(test, (u32)sizeof(words), seg.len);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	ddp_tx_end(s);
}

/* A cursor can start at any offset of a list of SGEs */
static void cursor_starts_in_any_sge(struct kunit *test)
{
	static const struct ddp_sge sge[] = {
		{ .len = 10 }, { .len = 0 }, { .len = 20 },
	};
	const struct ddp_buf buf = { .sge = sge, .nsge = 3, .len = 30 };
	struct ddp_cursor c;

	ddp_cursor_seek(&c, &buf, 0);
	KUNIT_EXPECT_TRUE(test, !c.sge && !c.off);
	ddp_cursor_seek(&c, &buf, 10);
	KUNIT_EXPECT_TRUE(test, !c.sge && c.off == 10);
	ddp_cursor_seek(&c, &buf, 11);
	KUNIT_EXPECT_TRUE(test, c.sge == 2 && c.off == 1);
	ddp_cursor_seek(&c, &buf, 30);
	KUNIT_EXPECT_TRUE(test, c.sge == 2 && c.off == 20);
}

/* The MR reference is cached for the next segment, within a transmit pass */
static void mr_ref_is_cached_within_pass(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u8 bytes[100];

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 64, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_TRUE(test, seg.left);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_PTR_EQ(test, &region, s->tx_mr);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_FALSE(test, seg.left);
	/*
	 * the reference stays cached if the next message is in an MR, and is
	 * dropped if the next message is in the ULP's own buffer
	 */
	memory.flat = NULL;
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_PTR_EQ(test, &region, s->tx_mr);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	memory.flat = words;
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_NULL(test, s->tx_mr);
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_PTR_EQ(test, &region, s->tx_mr);
	memory.flat = NULL;
	no_octets = true;
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	no_octets = false;
	KUNIT_EXPECT_NULL(test, s->tx_mr);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 200, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	KUNIT_EXPECT_PTR_EQ(test, &region, s->tx_mr);
	ddp_tx_put_mr(s);
	KUNIT_EXPECT_NULL(test, s->tx_mr);
	KUNIT_EXPECT_EQ(test, 3u, held);
	ddp_tx_end(s);
	KUNIT_EXPECT_NULL(test, s->tx_mr);
}

/* Headers and payload of a message, one segment after the other */
struct cut_message {
	u8	bytes[2048];
	u32	len;
	u32	runs;		/* number of segments built in batches */
};

/* Send the message with batches of up to @most segments; 0: no batches */
static void pull_message(struct kunit *test, struct cut_message *c, u32 mulpdu,
			 u32 most)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;
	u32 n;

	memset(c, 0, sizeof(*c));
	ddp_tx_begin(s);
	do {
		struct ddp_txbatch run = { .stride = mulpdu, .len = mulpdu, .max_segments = most };

		KUNIT_ASSERT_TRUE(test, ddp_tx_pull(s, mulpdu, &seg));
		memcpy(c->bytes + c->len, seg.hdr, seg.hdr_len);
		c->len += seg.hdr_len;
		KUNIT_ASSERT_TRUE(test, ddp_tx_copy_payload(s, c->bytes + c->len, seg.len));
		c->len += seg.len;
		run.at = c->bytes + c->len;
		n = most ? ddp_tx_pull_batch(s, &run) : 0;
		KUNIT_EXPECT_LE(test, n, most);
		c->len += n * mulpdu;
		c->runs += n;
		KUNIT_EXPECT_EQ(test, s->bytes, s->msg_pulled);
		KUNIT_EXPECT_EQ(test, s->bytes, s->src.off);
	} while (seg.left);
	ddp_tx_end(s);
	KUNIT_EXPECT_EQ(test, 100u, s->bytes);
	KUNIT_EXPECT_EQ(test, DIV_ROUND_UP(100u, mulpdu - seg.hdr_len), s->segments);
}

static void expect_batches_give_same_bytes(struct kunit *test, u32 mulpdu, u32 most)
{
	static struct cut_message one, many;

	pull_message(test, &one, mulpdu, 0);
	pull_message(test, &many, mulpdu, most);
	KUNIT_EXPECT_EQ(test, one.len, many.len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(one.bytes, many.bytes, one.len));
	/* the first and the last segment are never part of a batch */
	if (run_ends_after)
		KUNIT_EXPECT_EQ(test, one.len > 2 * mulpdu, !!many.runs);
}

/* Batches give the same bytes as single segments, with any number of segments */
static void batch_equals_single_segments(struct kunit *test)
{
	u32 mulpdu, most, ends, i;

	for (i = 0; i < 2; i++) {
		tagged_message = i;
		for (mulpdu = 19; mulpdu < 130; mulpdu++)
			for (most = 1; most < 8; most++)
				expect_batches_give_same_bytes(test, mulpdu, most);
		/* a non-present page ends a batch, and the rest is sent singly */
		for (ends = 0; ends < 8; ends++) {
			run_ends_after = ends;
			expect_batches_give_same_bytes(test, 30, 8);
		}
		run_ends_after = U32_MAX;
	}
	tagged_message = false;
}

/* After a failure or during a page fault there is no batch */
static void failure_or_pending_fault_prevents_batch(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	u8 bytes[100];
	struct ddp_txbatch run = { .at = bytes, .stride = 28, .len = 28, .max_segments = 3 };
	struct ddp_txseg seg;

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 28, &seg));
	KUNIT_EXPECT_TRUE(test, ddp_tx_copy_payload(s, bytes, seg.len));
	s->tx_fault.pending = true;
	KUNIT_EXPECT_EQ(test, 0u, ddp_tx_pull_batch(s, &run));
	s->tx_fault.pending = false;
	KUNIT_EXPECT_EQ(test, 3u, ddp_tx_pull_batch(s, &run));
	KUNIT_EXPECT_EQ(test, 40u, host_memory.fetched);
	fail_stream(s);
	KUNIT_EXPECT_EQ(test, 0u, ddp_tx_pull_batch(s, &run));
	KUNIT_EXPECT_EQ(test, 40u, host_memory.fetched);
	ddp_tx_end(s);
}

/*
 * ddp_stream_quiesce() sleeps while another context transmits or receives. After
 * @ends_after sleeps, host_on_sleep() ends the activity of that context.
 */
static struct {
	struct ddp_stream	*s;
	bool			tx;		/* the other context transmits; else it receives */
	u32			sleeps;
	u32			ends_after;
} wait;

void host_on_sleep(void)
{
	if (++wait.sleeps < wait.ends_after)
		return;
	if (wait.tx)
		ddp_tx_end(wait.s);
	else
		wait.s->rx_busy = false;
}

static void quiesce_stream(struct ddp_stream *s, bool tx)
{
	memset(&wait, 0, sizeof(wait));
	wait.s = s;
	wait.tx = tx;
	wait.ends_after = 5;
	ddp_stream_quiesce(s);
}

/* Quiescing the stream must wait until the transmit path has finished its pass */
static void quiesce_waits_for_tx(struct kunit *test)
{
	struct ddp_stream *s = open_stream();
	struct ddp_txseg seg;

	ddp_tx_begin(s);
	KUNIT_EXPECT_TRUE(test, ddp_tx_pull(s, 50, &seg));
	fail_stream(s);
	quiesce_stream(s, true);
	KUNIT_EXPECT_EQ(test, 5u, wait.sleeps);
	/* if no context transmits there is no wait */
	quiesce_stream(s, true);
	KUNIT_EXPECT_EQ(test, 0u, wait.sleeps);
}

static void quiesce_waits_for_rx(struct kunit *test)
{
	struct ddp_stream *s = open_stream();

	s->rx_busy = true;
	fail_stream(s);
	quiesce_stream(s, false);
	KUNIT_EXPECT_EQ(test, 5u, wait.sleeps);
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE(begun_segment_is_not_read_after_failure),
	KUNIT_CASE(next_message_after_failure_is_terminate),
	KUNIT_CASE(failure_stops_segment_fill),
	KUNIT_CASE(unreadable_memory_fails_stream_once),
	KUNIT_CASE(missing_page_delays_segment),
	KUNIT_CASE(segment_is_pulled_again_after_undo),
	KUNIT_CASE(failure_during_fault_sends_terminate),
	KUNIT_CASE(cursor_starts_in_any_sge),
	KUNIT_CASE(mr_ref_is_cached_within_pass),
	KUNIT_CASE(batch_equals_single_segments),
	KUNIT_CASE(failure_or_pending_fault_prevents_batch),
	KUNIT_CASE(quiesce_waits_for_tx),
	KUNIT_CASE(quiesce_waits_for_rx),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "ddp_tx",
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);
