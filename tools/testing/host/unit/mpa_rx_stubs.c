// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Includes drivers/mpa/rx.c, and has stubs of TCP's receive queue and of DDP for
 * its tests.
 */
#include "mpa_rx.h"
#include "../../../../drivers/mpa/rx.c"

struct mpa_rx_stubs stubs;

/* TCP's queue ----------------------------------------------------------------- */

bool mpa_cursor_copy_extents(struct mpa_cursor *cur, void *dst, u32 len)
{
	memset(dst, 0, len);
	return false;
}

/* Move to the second skb, if there is one */
void mpa_cursor_refill(struct mpa_cursor *cur)
{
	if (!stubs.skb_len || cur->extent_left)
		return;
	cur->skb = &stubs.skb2;
	cur->extent_left = cur->left;
	cur->left = 0;
}

bool mpa_cursor_skip_extents(struct mpa_cursor *cur, u32 len)
{
	return false;
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

void queue_received_bytes(u32 at, u32 len)
{
	stubs.c.cur = (struct mpa_cursor) {
		.at = stubs.octets + at, .extent_left = len, .frag = -1,
	};
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

bool ddp_rx_try_fast_path(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
			  enum iw_reason *why)
{
	if (stubs.next_segs == stubs.more)
		return false;
	stubs.next_segs++;
	*why = stubs.why_more;
	if (stubs.why_more)
		return true;
	memcpy(stubs.got + stubs.len, head, IW_DDP_T_HDR_LEN);
	memcpy(stubs.got + stubs.len + IW_DDP_T_HDR_LEN, body, len - IW_DDP_T_HDR_LEN);
	stubs.len += len;
	return true;
}

int ddp_rx_get_next_page_off(const struct ddp_stream *s)
{
	stubs.off_calls++;
	return stubs.off;
}

bool ddp_rx_continues_msg(const struct ddp_stream *s, const u8 *head, u32 len, u32 n)
{
	return n < stubs.next_possible;
}

/* Accept up to @batch_takes payloads; DDP gets no headers of a batch */
u32 ddp_rx_batch(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why)
{
	u32 taken = min(n, stubs.batch_takes);

	stubs.bodies = bodies;
	stubs.batch_calls++;
	stubs.next_possible -= taken;
	stubs.batch_takes -= taken;
	*why = taken < n ? stubs.why_not : IW_OK;
	stubs.off = (stubs.off + taken * stubs.payload) & ~PAGE_MASK;
	WARN_ON(!host_held);
	memcpy(stubs.got + stubs.len, bodies, taken * stubs.payload);
	stubs.len += taken * stubs.payload;
	return taken;
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
	stubs.payload = ULPDU - IW_DDP_T_HDR_LEN;
	stubs.off = -1;
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
