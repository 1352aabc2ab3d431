// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * drivers/mpa/rx.c, with stubs of TCP's receive queue and of DDP for its tests.
 */
#include "mpa_gather.h"
#include "../../../../drivers/mpa/rx.c"

struct gather_world world;

/* TCP's queue ----------------------------------------------------------------- */

bool mpa_cursor_copy_runs(struct mpa_cursor *cur, void *dst, u32 len)
{
	memset(dst, 0, len);
	return false;
}

void mpa_cursor_next(struct mpa_cursor *cur)
{
}

bool mpa_cursor_skip_runs(struct mpa_cursor *cur, u32 len)
{
	return false;
}

u32 tcp_inq(struct sock *sk)
{
	return world.unread;
}

struct sk_buff *tcp_recv_skb(struct sock *sk, u32 seq, u32 *off)
{
	*off = 0;
	return &world.skb;
}

/* As on some kernels: half of the buffer is usable */
int tcp_full_space(const struct sock *sk)
{
	return sk->sk_rcvbuf / 2;
}

void tcp_read_done(struct sock *sk, size_t len)
{
	world.unread -= len;
}

/* The queue has FPDUs of WIRE bytes, all alike */
void mpa_cursor_set(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		    const struct sk_buff *skb, u32 off, u32 left)
{
	static u8 fpdus[1025 * WIRE];
	u8 *p;

	for (p = fpdus; p < fpdus + sizeof(fpdus); p += WIRE)
		finish_fpdu(p, ULPDU);
	WARN_ON(left > sizeof(fpdus));
	*cur = (struct mpa_cursor) { .at = fpdus, .run = left, .skb = skb, .frag = -1 };
}

void arrives(u32 at, u32 len)
{
	world.c.cur = (struct mpa_cursor) {
		.at = world.octets + at, .run = len, .frag = -1,
	};
}

/* DDP ------------------------------------------------------------------------- */

bool ddp_rx_waits(const struct ddp_stream *s)
{
	return world.waits;
}

void ddp_rx_begin(struct ddp_stream *s)
{
	world.runs++;
}

void ddp_rx_end(struct ddp_stream *s)
{
	world.runs--;
}

enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len)
{
	u32 ahead = min_t(u32, len, IW_DDP_T_HDR_LEN);
	u32 reads = min(len - ahead, world.reads);

	world.segments++;
	if (world.why)
		return world.why;
	memcpy(world.got + world.len, head, ahead);
	world.len += ahead;
	/* in two pieces */
	if (reads && (!mpa_gather_read(&world.c, world.got + world.len, reads / 2) ||
		      !mpa_gather_read(&world.c, world.got + world.len + reads / 2,
				       reads - reads / 2)))
		return IW_UNREADABLE;
	world.len += reads;
	return IW_OK;
}

bool ddp_rx_more(struct ddp_stream *s, const u8 *head, const void *body, u32 len,
		 enum iw_reason *why)
{
	if (world.went_on == world.more)
		return false;
	world.went_on++;
	*why = world.why_more;
	if (world.why_more)
		return true;
	memcpy(world.got + world.len, head, IW_DDP_T_HDR_LEN);
	memcpy(world.got + world.len + IW_DDP_T_HDR_LEN, body, len - IW_DDP_T_HDR_LEN);
	world.len += len;
	return true;
}

int ddp_rx_run_off(const struct ddp_stream *s)
{
	world.asked++;
	return world.off;
}

bool ddp_rx_joins(const struct ddp_stream *s, const u8 *head, u32 len, u32 n)
{
	return n < world.joins;
}

/* The batch has payloads only, no headers */
u32 ddp_rx_run(struct ddp_stream *s, const void *bodies, u32 n, enum iw_reason *why)
{
	u32 taken = min(n, world.takes);

	world.bodies = bodies;
	world.runs_up++;
	world.joins -= taken;
	world.takes -= taken;
	*why = taken < n ? world.why_not : IW_OK;
	world.off = (world.off + taken * world.payload) & ~PAGE_MASK;
	WARN_ON(!host_held);
	memcpy(world.got + world.len, bodies, taken * world.payload);
	world.len += taken * world.payload;
	return taken;
}

void ddp_llp_error(struct ddp_stream *s, enum iw_reason why)
{
	world.told++;
	world.wrong = why;
}

void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	world.kicks++;
}

/* What all cases do ----------------------------------------------------------- */

void finish_fpdu(u8 *p, u32 ulpdu_len)
{
	u32 end = mpa_fpdu_content(ulpdu_len) - MPA_CRC_SIZE;

	put_unaligned_be16(ulpdu_len, p);
	mpa_crc_final(mpa_crc_update(mpa_crc_init(), p, end), p + end);
}

int gather_open(struct kunit *test)
{
	u32 i;
	u8 *p;

	memset(&world, 0, sizeof(world));
	for (i = 0; i < sizeof(world.octets); i++)
		world.octets[i] = i;
	for (p = world.octets; p < world.octets + sizeof(world.octets); p += WIRE)
		finish_fpdu(p, ULPDU);
	world.reads = ULPDU;
	world.payload = ULPDU - IW_DDP_T_HDR_LEN;
	world.off = -1;
	world.takes = U32_MAX;
	KUNIT_ASSERT_EQ(test, 0, mpa_gather_init());
	return 0;
}

void gather_close(struct kunit *test)
{
	mpa_gather_exit();
	KUNIT_EXPECT_EQ(test, 0, host_pieces);
	KUNIT_EXPECT_EQ(test, 0, world.runs);
}

u32 gather(void)
{
	int budget = INT_MAX;

	return mpa_gather(&world.c, &budget);
}

u32 gather_within(int *budget)
{
	return mpa_gather(&world.c, budget);
}

bool receive(u32 unread)
{
	world.unread = unread;
	return mpa_rx(&world.c, &world.tp.sk);
}

void expect_refused(struct kunit *test, u32 used, enum iw_reason why)
{
	u32 before = world.kicks;

	KUNIT_EXPECT_EQ(test, used, gather());
	KUNIT_EXPECT_EQ(test, 1u, world.told);
	KUNIT_EXPECT_EQ(test, why, world.wrong);
	KUNIT_EXPECT_TRUE(test, world.c.rx_stopped);
	/* one for the error, and one if a first segment was accepted */
	KUNIT_EXPECT_EQ(test, before + 1 + !!world.segments, world.kicks);
}
