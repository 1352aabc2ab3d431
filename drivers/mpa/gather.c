// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs from TCP's receive queue.
 *
 * An FPDU that is not all there stays where it is: nothing is kept of it, and
 * nobody above ever hears of half a segment.  The pages of the queue may be
 * somebody else's, who goes on writing them: each octet is copied once into
 * memory of ours, and nothing is decided but by the copy.
 *
 * With a CRC or markers an FPDU that is whole is copied first, then the copy is
 * verified (RFC 5044 section 6) and handed up.  Without either there is nothing
 * to verify: its length and DDP's header are copied in one go, and DDP reads the
 * octets behind them from the queue to where they go.  Behind the first of a message
 * most are as long as that one, and go a shorter way (mpa_gather_more()).
 */
/* local_lock.h uses it */
#include <linux/spinlock.h>
#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "take.h"

/* What leads an FPDU without markers, and DDP's shorter header */
#define HEADS_MAX	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

static_assert(HEADS_MAX >= MPA_FPDU_HEAD_MAX);

/* However short it is, taking an FPDU is worth so many octets of the budget */
#define FPDU_COST	256

/* So far into that memory a long one may begin */
#define SKEW_MAX	(MPA_ULPDU_MAX / DDP_COPY_LONG ? PAGE_SIZE : 0)

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
	else if (!ddp_rx_more(c->stream, fpdu + MPA_LEN_SIZE, fpdu + HEADS_MAX,
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
	u8 head[HEADS_MAX];
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
	mpa_cursor_look(&c->cur, head, HEADS_MAX);
	/* if it is another one, another look at it counts */
	return get_unaligned_be16(head) == f->ulpdu_len;
}

/*
 * Behind @f: as many FPDUs of its length as go on in its message and lie together each,
 * with nothing to verify.  Adds the octets to @used.  Return: as mpa_gather_outcome().
 */
static int mpa_gather_more(struct mpa_conn *c, const struct mpa_fpdu *f,
			   int *budget, u32 *used)
{
	int n = f->wire;
	enum iw_reason why;
	u8 head[HEADS_MAX];

	if (c->crc || c->rx_markers || f->wire < sizeof(head) ||
	    mpa_cursor_left(&c->cur) < f->wire)
		return n;
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
