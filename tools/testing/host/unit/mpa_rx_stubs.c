// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Includes drivers/mpa/rx.c, and has stubs of TCP's receive queue and of DDP for
 * its tests.
 */
#include <linux/compiler.h>

/* rx.c and internal.h have a barrier() after each read of the queue: a test may change the queue */
#undef barrier
#define barrier()	run_after_read()
static void run_after_read(void);

#include "mpa_rx.h"
#include "../../../../drivers/mpa/rx.c"

struct mpa_rx_stubs stubs;

static void run_after_read(void)
{
	stubs.reads_done++;
	if (stubs.after_read)
		stubs.after_read();
}

/* TCP's queue ----------------------------------------------------------------- */

/* Copy only bytes that are in one skb */
bool mpa_cursor_copy_extents(struct mpa_cursor *cur, void *dst, u32 len)
{
	if (mpa_cursor_has_contiguous_bytes(cur, len)) {
		mpa_cursor_copy_contiguous(cur, dst, len);
		return true;
	}
	memset(dst, 0, len);
	return false;
}

/* Move to the second skb, if there is one */
void mpa_cursor_refill(struct mpa_cursor *cur)
{
	if (!stubs.skb_len || cur->extent_left)
		return;
	cur->skb = &stubs.skb2;
	if (stubs.skb2_at)
		cur->at = stubs.skb2_at;
	cur->extent_left = cur->left;
	cur->left = 0;
}

bool mpa_cursor_skip_extents(struct mpa_cursor *cur, u32 len)
{
	len -= cur->extent_left;
	mpa_cursor_advance(cur, cur->extent_left);
	mpa_cursor_refill(cur);
	if (len > cur->extent_left)
		return false;
	mpa_cursor_advance(cur, len);
	return true;
}

u32 tcp_inq(struct sock *sk)
{
	return stubs.unread;
}

struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off)
{
	*off = 0;
	return &stubs.skb;
}

/* Let TCP use half of the receive buffer for data */
int tcp_full_space(const struct sock *sk)
{
	return sk->sk_rcvbuf / 2;
}

void tcp_read_done(struct sock *sk, size_t len)
{
	stubs.unread -= len;
}

/* Fill the queue with identical FPDUs of WIRE bytes */
void mpa_cursor_seek(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		     const struct sk_buff *skb, u32 off, u32 left)
{
	static u8 fpdus[1025 * WIRE];
	u32 run = stubs.skb_len ?: left;
	u8 *p;

	for (p = fpdus; p < fpdus + sizeof(fpdus); p += WIRE)
		write_fpdu_length_and_crc(p, ULPDU);
	WARN_ON(left > sizeof(fpdus));
	*cur = (struct mpa_cursor) {
		.at = fpdus, .extent_left = run, .left = left - run, .skb = skb, .frag = -1,
	};
}

void queue_two_extents(const u8 *at, u32 len, const u8 *at2, u32 len2)
{
	stubs.skb_len = len2 ? len : 0;
	stubs.skb2_at = at2;
	stubs.c.cur = (struct mpa_cursor) {
		.at = at, .extent_left = len, .left = len2, .skb = &stubs.skb, .frag = -1,
	};
}

void queue_received_bytes(u32 at, u32 len)
{
	queue_two_extents(stubs.octets + at, len, NULL, 0);
}

/* DDP ------------------------------------------------------------------------- */

bool ddp_rx_has_pending_fault(const struct ddp_stream *s)
{
	return stubs.waits;
}

void ddp_rx_begin(struct ddp_stream *s)
{
	stubs.runs++;
}

void ddp_rx_end(struct ddp_stream *s)
{
	stubs.runs--;
}

enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len)
{
	u32 ahead = min_t(u32, len, IW_DDP_T_HDR_LEN);
	u32 reads = min(len - ahead, stubs.reads);

	stubs.segments++;
	if (stubs.why)
		return stubs.why;
	memcpy(stubs.got + stubs.len, head, ahead);
	stubs.len += ahead;
	/* read the rest of the segment in two calls */
	if (reads && (!mpa_rx_read(&stubs.c, stubs.got + stubs.len, reads / 2) ||
		      !mpa_rx_read(&stubs.c, stubs.got + stubs.len + reads / 2,
				   reads - reads / 2)))
		return IW_UNREADABLE;
	stubs.len += reads;
	return IW_OK;
}

u32 ddp_rx_get_next_page_off(struct ddp_stream *s)
{
	stubs.off_calls++;
	return stubs.off;
}

u32 get_expected_payload(void)
{
	return stubs.ulpdu - stubs.hdr_len;
}

bool ddp_rx_get_expected(const struct ddp_stream *s, struct ddp_expected *e)
{
	const bool tagged = stubs.hdr_len == IW_DDP_T_HDR_LEN;

	stubs.expect_calls++;
	if (!stubs.possible || (stubs.after_first && !stubs.segments))
		return false;
	*e = (struct ddp_expected) {
		.start = (u64)stubs.ulpdu << 48,
		.start_mask = stubs.expects == RX_NEXT_MSG ? 0 : (u64)U16_MAX << 48,
		.hdr_len = stubs.hdr_len,
		.most = stubs.expects == RX_NEXT_MSG ? 1 : min(stubs.most, stubs.possible),
	};
	if (stubs.expects != RX_NEXT_FIELD)
		return true;
	e->field = stubs.field;
	e->field_mask = U64_MAX;
	e->field_step = tagged ? get_expected_payload() : 0;
	e->mo = stubs.mo;
	e->mo_mask = tagged ? 0 : U32_MAX;
	e->mo_step = tagged ? 0 : get_expected_payload();
	return true;
}

/* Store the payload of segment @i of a batch; DDP gets no headers of a batch */
static void accept_batch_segment(const struct ddp_rx_batch *b, u32 i)
{
	const u32 payload = b->len - stubs.hdr_len;

	WARN_ON(b->joined && i && b->body[i] != b->body[i - 1] + payload);
	WARN_ON(stubs.len + payload > sizeof(stubs.got));
	memcpy(stubs.got + stubs.len, b->body[i], payload);
	stubs.len += payload;
	stubs.off = (stubs.off + payload) & ~PAGE_MASK;
	if (stubs.hdr_len == IW_DDP_T_HDR_LEN)
		stubs.field += payload;
	else
		stubs.mo += payload;
}

/* Accept up to @batch_takes segments, but none that is shorter than its header */
u32 ddp_rx_batch(struct ddp_stream *s, const struct ddp_rx_batch *b, enum iw_reason *why)
{
	u32 done = b->len < stubs.hdr_len ? 0 : min(b->n, stubs.batch_takes), i;

	WARN_ON(!b->n || b->n > min(stubs.most, stubs.possible));
	/* the payloads are joined if, and only if, they are in the copy buffer */
	WARN_ON(b->joined != !!host_held);
	stubs.batch = *b;
	stubs.batch_calls++;
	stubs.batch_segs += done;
	stubs.batch_takes -= done;
	stubs.possible -= done;
	for (i = 0; i < done; i++)
		accept_batch_segment(b, i);
	*why = done < b->n ? stubs.why_not : IW_OK;
	return done;
}

void ddp_llp_report_error(struct ddp_stream *s, enum iw_reason why)
{
	stubs.errors++;
	stubs.wrong = why;
}

void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	stubs.kicks++;
}

/* Helpers of all cases -------------------------------------------------------- */

void write_fpdu_length_and_crc(u8 *p, u32 ulpdu_len)
{
	u32 end = mpa_fpdu_content_len(ulpdu_len) - MPA_CRC_SIZE;

	put_unaligned_be16(ulpdu_len, p);
	mpa_crc_final(mpa_crc_update(mpa_crc_init(), p, end), p + end);
}

void write_expected_headers(void)
{
	const bool tagged = stubs.hdr_len == IW_DDP_T_HDR_LEN;
	u32 i, off;
	u8 *p;

	for (i = 0; i < 3; i++) {
		p = stubs.octets + i * WIRE;
		off = i * get_expected_payload();
		put_unaligned_be64(stubs.field + (tagged ? off : 0), p + 8);
		if (!tagged)
			put_unaligned_be32(stubs.mo + off, p + 16);
		write_fpdu_length_and_crc(p, ULPDU);
	}
}

void expect_got(struct kunit *test, const char *how)
{
	const u8 *p = stubs.octets + MPA_LEN_SIZE;
	u32 len = 0, skip;

	for (; *how; how++, p += WIRE) {
		skip = *how == 'f' ? stubs.hdr_len : 0;
		KUNIT_EXPECT_EQ(test, 0, memcmp(p + skip, stubs.got + len, ULPDU - skip));
		len += ULPDU - skip;
	}
	KUNIT_EXPECT_EQ(test, len, stubs.len);
}

void forget_results(void)
{
	stubs.len = 0;
	stubs.segments = 0;
	stubs.expect_calls = 0;
	stubs.batch_calls = 0;
	stubs.batch_segs = 0;
	stubs.off_calls = 0;
	stubs.reads_done = 0;
	stubs.c.rx_pos = 0;
	stubs.c.rx_deferred = false;
	stubs.c.rx_stopped = false;
}

int rx_test_init(struct kunit *test)
{
	u32 i;
	u8 *p;

	memset(&stubs, 0, sizeof(stubs));
	for (i = 0; i < sizeof(stubs.octets); i++)
		stubs.octets[i] = i;
	for (p = stubs.octets; p < stubs.octets + sizeof(stubs.octets); p += WIRE)
		write_fpdu_length_and_crc(p, ULPDU);
	stubs.reads = ULPDU;
	stubs.ulpdu = ULPDU;
	stubs.hdr_len = IW_DDP_T_HDR_LEN;
	stubs.most = DDP_RX_BATCH_MAX;
	stubs.batch_takes = U32_MAX;
	KUNIT_ASSERT_EQ(test, 0, mpa_rx_init());
	return 0;
}

void rx_test_exit(struct kunit *test)
{
	mpa_rx_exit();
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
	KUNIT_EXPECT_EQ(test, 0, stubs.runs);
}

void let_ddp_expect(enum rx_expects expects, u32 hdr_len, u32 possible)
{
	stubs.expects = expects;
	stubs.hdr_len = hdr_len;
	stubs.ulpdu = ULPDU;
	stubs.possible = possible;
}

u32 receive_fpdus(void)
{
	int budget = INT_MAX;

	return mpa_rx_receive_fpdus(&stubs.c, &budget);
}

u32 receive_fpdus_with_budget(int *budget)
{
	return mpa_rx_receive_fpdus(&stubs.c, budget);
}

bool receive_from_queue(u32 unread)
{
	stubs.unread = unread;
	return mpa_rx_receive_or_discard(&stubs.c, &stubs.tp.sk);
}

void receive_and_expect_stream_failure(struct kunit *test, u32 used, enum iw_reason why)
{
	u32 before = stubs.kicks;

	KUNIT_EXPECT_EQ(test, used, receive_fpdus());
	KUNIT_EXPECT_EQ(test, 1u, stubs.errors);
	KUNIT_EXPECT_EQ(test, why, stubs.wrong);
	KUNIT_EXPECT_TRUE(test, stubs.c.rx_stopped);
	/* one kick for the error, and one if DDP has accepted the first segment */
	KUNIT_EXPECT_EQ(test, before + 1 + !!stubs.segments, stubs.kicks);
}
