// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs from TCP's receive queue.
 *
 * An FPDU that is not all there stays where it is: nothing is kept of it, and
 * nobody above ever hears of half a segment.  The pages of the queue may be
 * somebody else's, who goes on writing them: octets are copied into memory of ours, and
 * nothing is decided but by the copy; where one is copied twice, the second has to be as
 * the first.
 *
 * With a CRC or markers an FPDU that is whole is copied first, then the copy is
 * verified (RFC 5044 section 6) and handed up.  Without either there is nothing
 * to verify: its length and DDP's header are copied in one go, and DDP reads the
 * octets behind them from the queue to where they go.  Behind the first of a message, or
 * of many short Writes, most are as long as that one, and go a shorter way: one by one
 * (mpa_gather_more()), or, with a CRC, those of a message many together (mpa_gather_run()).
 */
/* local_lock.h uses it */
#include <linux/spinlock.h>
#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "run.h"
#include "take.h"

static_assert(MPA_HEADS_MAX >= MPA_FPDU_HEAD_MAX);

/* However short it is, taking an FPDU is worth so many octets of the budget */
#define FPDU_COST	256

/* So far into that memory a long one may begin */
#define SKEW_MAX	(MPA_ULPDU_MAX / DDP_COPY_LONG ? PAGE_SIZE : 0)

static_assert(MPA_RUN_ROOM <= MPA_CONTENT_MAX);

/* Where a CPU copies to; used from there within the same stretch of BH off */
struct copy {
	local_lock_t	lock;	/* what BH off is not enough for on PREEMPT_RT */
	u8		*fpdu;
};

static DEFINE_PER_CPU(struct copy, copies) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/**
 * mpa_gather_read - the next octets of the segment being handed up
 * @c: the connection
 * @dst: where to
 * @len: how many; the segment has as many left
 *
 * Return: false if they cannot be read; zeros are in their place.
 */
bool mpa_gather_read(struct mpa_conn *c, void *dst, u32 len)
{
	if (len > c->rx_left) {
		memset(dst, 0, len);
		return false;
	}
	c->rx_left -= len;
	if (!c->rx_copy)
		return mpa_cursor_copy(&c->cur, dst, len);
	ddp_copy(dst, c->rx_copy, len);
	c->rx_copy += len;
	return true;
}

/* A responder may send once it has had a valid FPDU (RFC 5044 7.1.2 (4)) */
static void open_tx(struct mpa_conn *c)
{
	if (c->tx_open)
		return;
	/* who finds it open finds the stream; litmus: publish */
	smp_store_release(&c->tx_open, true);
	mpa_tx_kick(c, false);
}

/* @head: of the ULPDU; what is behind it DDP reads */
static enum iw_reason hand_up(struct mpa_conn *c, const struct mpa_fpdu *f,
			      const u8 *head, bool copied)
{
	u32 len = min_t(u32, f->ulpdu_len, IW_DDP_T_HDR_LEN);

	c->rx_copy = copied ? head + len : NULL;
	c->rx_left = f->ulpdu_len - len;
	open_tx(c);
	return ddp_rx_segment(c->stream, &c->llp, head, f->ulpdu_len);
}

static enum iw_reason mpa_gather_take(struct mpa_conn *c,
				      const struct mpa_fpdu *f,
				      const u8 *head, u8 *fpdu)
{
	struct mpa_take t = { .markers = c->rx_markers, .crc = c->crc };
	void *to;
	u32 len;

	mpa_take_begin(&t, f, head, fpdu);
	while ((to = mpa_take_want(&t, &len))) {
		if (!mpa_cursor_copy(&c->cur, to, len))
			return IW_UNREADABLE;
		mpa_take_got(&t, len);
	}
	return mpa_take_verdict(&t);
}

/* The stream's own failures DDP knows of; ours it is told */
static enum iw_reason mpa_gather_refuse(struct mpa_conn *c, enum iw_reason why)
{
	ddp_llp_error(c->stream, why);
	return why;
}

/*
 * Where in the CPU's memory an FPDU is copied to: what is long lies in its pages as it
 * does in the queue, so that they are copied whole.  (It does there as in its sender's
 * memory, if that is on this machine.)
 */
static u32 mpa_gather_skew(struct mpa_conn *c, const struct mpa_fpdu *f)
{
	if (f->ulpdu_len < DDP_COPY_LONG || !mpa_cursor_together(&c->cur, 1))
		return 0;
	return offset_in_page(c->cur.at - MPA_LEN_SIZE);
}

static enum iw_reason from_copy(struct mpa_conn *c, const struct mpa_fpdu *f,
				const u8 *head)
{
	enum iw_reason why;
	u8 *fpdu;

	local_lock_nested_bh(&copies.lock);
	fpdu = this_cpu_read(copies.fpdu) + mpa_gather_skew(c, f);
	why = mpa_gather_take(c, f, head, fpdu);
	if (why)
		why = mpa_gather_refuse(c, why);
	else if (!ddp_rx_more(c->stream, fpdu + MPA_LEN_SIZE, fpdu + MPA_HEADS_MAX,
			      f->ulpdu_len, &why))
		why = hand_up(c, f, fpdu + MPA_LEN_SIZE, true);
	local_unlock_nested_bh(&copies.lock);
	return why;
}

/*
 * @from: octets left where @f begins; go to its end, over what DDP did not read.  What
 * DDP has taken is longer than what was copied ahead.
 */
static enum iw_reason mpa_gather_leave(struct mpa_conn *c,
				       const struct mpa_fpdu *f,
				       u32 from)
{
	c->rx_pos += f->wire;
	if (!mpa_cursor_skip(&c->cur, f->wire - (from - mpa_cursor_left(&c->cur))))
		return mpa_gather_refuse(c, IW_UNREADABLE);
	return IW_OK;
}

/*
 * What has become of an FPDU of @wire octets.  Return: octets used up, 0 if it stays there
 * because memory has to come first (@c->rx_waits), or -EIO if the stream has failed.
 */
static int mpa_gather_outcome(struct mpa_conn *c, enum iw_reason why, u32 wire)
{
	if (unlikely(why == IW_NOT_NOW)) {
		WRITE_ONCE(c->rx_waits, true);
		return 0;
	}
	return why ? -EIO : wire;
}

/*
 * The FPDU that the cursor stands at, if it is whole, as @f.  Return: as
 * mpa_gather_outcome(); 0 also if it is not all there.
 */
static int mpa_gather_one(struct mpa_conn *c, struct mpa_fpdu *f)
{
	const struct mpa_cursor from = c->cur;
	const bool plain = !c->crc && !c->rx_markers;
	const u32 left = mpa_cursor_left(&from);
	u32 len = mpa_fpdu_head(c->rx_pos, c->rx_markers);
	u8 head[MPA_HEADS_MAX];
	enum iw_reason why;

	if (len > left)
		return 0;
	if (plain)
		len = min_t(u32, sizeof(head), left);
	if (!mpa_cursor_copy(&c->cur, head, len)) {
		mpa_gather_refuse(c, IW_UNREADABLE);
		return -EIO;
	}
	mpa_fpdu_peek(f, c->rx_pos, c->rx_markers, head, len);
	if (f->wire > left) {
		/* another look at its head then counts, not this one */
		c->cur = from;
		return 0;
	}
	why = plain ? hand_up(c, f, head + f->head, false)
		    : from_copy(c, f, head);
	if (!why)
		why = mpa_gather_leave(c, f, left);
	if (unlikely(why == IW_NOT_NOW))
		c->cur = from;
	return mpa_gather_outcome(c, why, f->wire);
}

static u32 spend(int *budget, u32 wire)
{
	*budget -= max_t(int, wire, FPDU_COST);
	return wire;
}

/* The FPDU that the cursor stands at, as long as @f: how it begins, and not in two pieces */
static bool mpa_gather_peek(struct mpa_conn *c, const struct mpa_fpdu *f, u8 *head)
{
	if (!mpa_cursor_together(&c->cur, f->wire))
		return false;
	mpa_cursor_look(&c->cur, head, MPA_HEADS_MAX);
	/* if it is another one, another look at it counts */
	return get_unaligned_be16(head) == f->ulpdu_len;
}

/*
 * Where in the CPU's memory the payload of what goes on is copied to.  It lies in its pages
 * as it will where it goes, so that they are placed whole.
 */
static u8 *mpa_gather_start(const struct mpa_conn *c)
{
	int off = ddp_rx_run_off(c->stream);

	return this_cpu_read(copies.fpdu) + MPA_HEADS_MAX +
	       (SKEW_MAX ? (off - MPA_HEADS_MAX) & ~PAGE_MASK : 0);
}

/* Behind @f: as many as go on, are right, and have room.  Return: their number */
static u32 mpa_gather_verify(struct mpa_conn *c, const struct mpa_fpdu *f,
			     struct mpa_run *r, int *budget)
{
	u8 head[MPA_HEADS_MAX];
	u32 n = 0;

	while (r->left && *budget > 0 && mpa_gather_peek(c, f, head) &&
	       ddp_rx_joins(c->stream, head + MPA_LEN_SIZE, f->ulpdu_len, n)) {
		spend(budget, f->wire);
		mpa_cursor_look(&c->cur, mpa_run_want(r), f->wire);
		if (!mpa_run_got(r, head))
			break;
		mpa_cursor_advance(&c->cur, f->wire);
		n++;
	}
	return n;
}

/* Not all are taken: the cursor, which stood at @from, is to stand behind who is */
static int mpa_gather_less(struct mpa_conn *c, const struct mpa_cursor *from, u32 octets,
			   enum iw_reason why)
{
	c->cur = *from;
	mpa_cursor_skip(&c->cur, octets);
	return mpa_gather_outcome(c, why, 0);
}

/* Verify some, as many as @r has room for if all is well, and place them in one go */
static int mpa_gather_some(struct mpa_conn *c, const struct mpa_fpdu *f,
			   struct mpa_run *r, int *budget, u32 *used)
{
	const struct mpa_cursor from = c->cur;
	u8 *at = mpa_gather_start(c);
	enum iw_reason why;
	u32 n, taken;

	mpa_run_begin(r, f->ulpdu_len, at);
	n = mpa_gather_verify(c, f, r, budget);
	if (!n)
		return f->wire;
	taken = ddp_rx_run(c->stream, at, n, &why);
	c->rx_pos += taken * f->wire;
	*used += taken * f->wire;
	if (unlikely(taken < n))
		return mpa_gather_less(c, &from, taken * f->wire, why);
	return f->wire;
}

/* As mpa_gather_more(), with a CRC.  Who never goes on is not to pay for it */
static noinline int mpa_gather_run(struct mpa_conn *c, const struct mpa_fpdu *f,
				   int *budget, u32 *used)
{
	struct mpa_run r;
	u32 before;
	int n;

	local_lock_nested_bh(&copies.lock);
	do {
		before = *used;
		n = mpa_gather_some(c, f, &r, budget, used);
		/* if there was room for more, who comes next is another matter */
	} while (n > 0 && *used > before && !r.left);
	local_unlock_nested_bh(&copies.lock);
	return n;
}

/*
 * Behind @f: as many FPDUs of its length as DDP takes for like it, and lie together each.
 * Adds the octets to @used.  Return: as mpa_gather_outcome().
 */
static int mpa_gather_more(struct mpa_conn *c, const struct mpa_fpdu *f,
			   int *budget, u32 *used)
{
	int n = f->wire;
	enum iw_reason why;
	u8 head[MPA_HEADS_MAX];

	if (c->rx_markers || f->wire < sizeof(head) || mpa_cursor_left(&c->cur) < f->wire)
		return n;
	/* long ones are placed by the page one by one */
	if (c->crc)
		return f->ulpdu_len < DDP_COPY_LONG && ddp_rx_run_off(c->stream) >= 0 ?
		       mpa_gather_run(c, f, budget, used) : n;
	while (*budget > 0 && mpa_gather_peek(c, f, head) &&
	       ddp_rx_more(c->stream, head + MPA_LEN_SIZE, c->cur.at + sizeof(head),
			   f->ulpdu_len, &why)) {
		n = mpa_gather_outcome(c, why, f->wire);
		if (n <= 0)
			break;
		mpa_cursor_advance(&c->cur, n);
		c->rx_pos += n;
		*used += spend(budget, n);
	}
	return n;
}

/* A responder whose turn has not come waits for it in vain from now on */
static void mpa_gather_stop(struct mpa_conn *c)
{
	WRITE_ONCE(c->rx_stopped, true);
	mpa_tx_kick(c, false);
}

/**
 * mpa_gather - hand up FPDUs, from where the cursor stands
 * @c: the connection, its socket locked, BH off
 * @budget: octets, at least one; what is left of it on return. An FPDU is begun as
 *	long as there is some, and takes its octets, or what it costs beside them.
 *
 * If the stream fails nothing is received any more (@c->rx_stopped).
 *
 * Return: octets used up.
 */
u32 mpa_gather(struct mpa_conn *c, int *budget)
{
	struct ddp_stream *s = c->stream;
	struct mpa_fpdu f;
	u32 used = 0;
	int n;

	ddp_rx_begin(s);
	do {
		n = mpa_gather_one(c, &f);
		if (n > 0) {
			used += spend(budget, n);
			n = mpa_gather_more(c, &f, budget, &used);
		}
	} while (n > 0 && *budget > 0 && mpa_cursor_left(&c->cur));
	ddp_rx_end(s);
	if (n < 0)
		mpa_gather_stop(c);
	return used;
}

/**
 * mpa_gather_exit - give back the CPUs' memory
 */
void mpa_gather_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu(copies.fpdu, cpu));
}

/**
 * mpa_gather_init - memory for each CPU to copy an FPDU to
 *
 * Return: 0, or -ENOMEM.
 */
int mpa_gather_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		u8 *p = vmalloc_node(SKEW_MAX + MPA_CONTENT_MAX, cpu_to_node(cpu));

		per_cpu(copies.fpdu, cpu) = p;
		if (!p) {
			mpa_gather_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
