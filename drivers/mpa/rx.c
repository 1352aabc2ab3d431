// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive path: FPDUs from TCP's receive queue to DDP. mpa_rx() is the entry;
 * sock.c locks the socket and calls it.
 *
 * Slow path, mpa_rx_slow(): any FPDU.
 * Fast path, mpa_rx_fast(): no CRC, no markers, accepted by ddp_rx_fast().
 * CRC fast path, mpa_rx_crc_batch(): CRC, no markers, accepted by ddp_rx_is_next().
 *
 * On both fast paths an FPDU is contiguous in the queue and as long as the
 * previous one. ddp_rx_fast() accepts a segment that continues its message or
 * repeats a Write of one segment; ddp_rx_is_next() one that continues a tagged
 * message. The CRC fast path takes ULPDUs shorter than DDP_COPY_LONG and places
 * many at once.
 *
 * An incomplete FPDU stays in the queue. Nothing of it is stored, and DDP only
 * sees complete segments. Pages in the queue may belong to a sender on this
 * machine that still writes them. So bytes are copied to private memory, and
 * only the copy is used for decisions. A header that is copied twice must be
 * the same both times.
 *
 * With CRC or markers a complete FPDU is copied, the copy is verified (RFC 5044
 * section 6) and passed to DDP. Without either there is nothing to verify: the
 * length and the DDP header are copied together, and DDP copies the payload
 * from the queue to its destination.
 */
/* local_lock.h needs spinlock.h */
#include <linux/spinlock.h>
#include <linux/local_lock.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/vmalloc.h>
#include <net/tcp.h>

#include "fpdu_verify.h"
#include "internal.h"

static_assert(MPA_HEADS_MAX >= MPA_FPDU_HEAD_MAX);

/*
 * Bytes to receive before the socket lock is released, since others wait for
 * it. The worker then continues. A short FPDU counts as FPDU_COST.
 */
#define RX_BUDGET	(256 * 1024)

/* Minimum cost of an FPDU, in bytes of the budget */
#define FPDU_COST	256

/*
 * Limit in bytes: enough for an skb that is full of fragments, of the longest
 * segments in the largest pages
 */
#define RCVBUF_MAX	(4 * 1024 * 1024)

/*
 * Space in the copy buffer for the page offset of a long FPDU; 0 where pages
 * are so large that no FPDU is long
 */
#define SKEW_MAX	(MPA_ULPDU_MAX / DDP_COPY_LONG ? PAGE_SIZE : 0)

static_assert(MPA_FPDU_BATCH_SIZE <= MPA_CONTENT_MAX);

/* What happened to an FPDU, and so what the receive path does next */
enum mpa_rx_result {
	MPA_RX_NEXT,	/* consumed, or left to the slow path: continue there */
	MPA_RX_WAIT,	/* incomplete, or deferred by a page fault: it stays */
	MPA_RX_FAILED,	/* the stream has failed */
};

/* Copy buffer of a CPU; its content is valid until BH is turned on again */
struct copy {
	local_lock_t	lock;	/* for PREEMPT_RT, where BH off is not enough */
	u8		*fpdu;
};

static DEFINE_PER_CPU(struct copy, copies) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/**
 * mpa_rx_read - read the next bytes of the segment that is passed to DDP
 * @c: the connection
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if all were read; false if the segment has fewer bytes or they
 * cannot be read: the missing ones are zeros in @dst.
 */
bool mpa_rx_read(struct mpa_conn *c, void *dst, u32 len)
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

/* A responder may send after the first valid FPDU (RFC 5044 7.1.2 (4)) */
static void open_tx(struct mpa_conn *c)
{
	if (c->tx_open)
		return;
	/* the stream is set before; pairs with may_send(); litmus: publish */
	smp_store_release(&c->tx_open, true);
	mpa_tx_kick(c, false);
}

/*
 * Pass a segment to DDP. @head: first bytes of the ULPDU; DDP reads the others,
 * from the copy if @copied, else from the queue.
 */
static enum iw_reason hand_up(struct mpa_conn *c, const struct mpa_fpdu *f,
			      const u8 *head, bool copied)
{
	u32 len = min_t(u32, f->ulpdu_len, IW_DDP_T_HDR_LEN);

	c->rx_copy = copied ? head + len : NULL;
	c->rx_left = f->ulpdu_len - len;
	open_tx(c);
	return ddp_rx_segment(c->stream, &c->llp, head, f->ulpdu_len);
}

static enum iw_reason mpa_rx_copy_fpdu(struct mpa_conn *c,
				       const struct mpa_fpdu *f,
				       const u8 *head, u8 *fpdu)
{
	struct mpa_verify t = { .markers = c->rx_markers, .crc = c->crc };
	void *to;
	u32 len;

	mpa_verify_begin(&t, f, head, fpdu);
	while ((to = mpa_verify_want(&t, &len))) {
		if (!mpa_cursor_copy(&c->cur, to, len))
			return IW_UNREADABLE;
		mpa_verify_got(&t, len);
	}
	return mpa_verify_result(&t);
}

/* Report a failure found by MPA to DDP, which knows its own failures */
static enum iw_reason mpa_rx_report_error(struct mpa_conn *c, enum iw_reason why)
{
	ddp_llp_error(c->stream, why);
	return why;
}

/*
 * Page offset of an FPDU in the copy buffer. A long one gets the page offset
 * that it has in the queue, so that whole pages are copied. (If the sender is
 * on this machine, its source has that offset, too.)
 */
static u32 mpa_rx_page_off(struct mpa_conn *c, const struct mpa_fpdu *f)
{
	if (f->ulpdu_len < DDP_COPY_LONG || !mpa_cursor_may_read(&c->cur, 1))
		return 0;
	return offset_in_page(c->cur.at - MPA_LEN_SIZE);
}

static enum iw_reason rx_from_copy(struct mpa_conn *c, const struct mpa_fpdu *f,
				   const u8 *head)
{
	enum iw_reason why;
	u8 *fpdu;

	local_lock_nested_bh(&copies.lock);
	fpdu = this_cpu_read(copies.fpdu) + mpa_rx_page_off(c, f);
	why = mpa_rx_copy_fpdu(c, f, head, fpdu);
	if (why)
		why = mpa_rx_report_error(c, why);
	else if (!ddp_rx_fast(c->stream, fpdu + MPA_LEN_SIZE, fpdu + MPA_HEADS_MAX,
			      f->ulpdu_len, &why))
		why = hand_up(c, f, fpdu + MPA_LEN_SIZE, true);
	local_unlock_nested_bh(&copies.lock);
	return why;
}

/*
 * Move the cursor to the end of @f, past the bytes that DDP has not read.
 * @from: bytes left where @f begins. A segment that DDP accepts is longer than
 * the header copied ahead, so the number of bytes to skip is not negative.
 */
static enum iw_reason mpa_rx_skip_rest(struct mpa_conn *c,
				       const struct mpa_fpdu *f,
				       u32 from)
{
	c->rx_pos += f->wire;
	if (!mpa_cursor_skip(&c->cur, f->wire - (from - mpa_cursor_left(&c->cur))))
		return mpa_rx_report_error(c, IW_UNREADABLE);
	return IW_OK;
}

/*
 * Convert the result of an FPDU. If it waits until a page is faulted in, set
 * @c->rx_deferred.
 */
static enum mpa_rx_result mpa_rx_outcome(struct mpa_conn *c,
					 enum iw_reason why)
{
	if (unlikely(why == IW_AGAIN)) {
		WRITE_ONCE(c->rx_deferred, true);
		return MPA_RX_WAIT;
	}
	return why ? MPA_RX_FAILED : MPA_RX_NEXT;
}

/*
 * Slow path: receive the FPDU at the cursor, if it is complete. @f is set to
 * its description. If the result is MPA_RX_NEXT, @f->wire bytes are consumed.
 */
static enum mpa_rx_result mpa_rx_slow(struct mpa_conn *c, struct mpa_fpdu *f)
{
	const struct mpa_cursor from = c->cur;
	const bool plain = !c->crc && !c->rx_markers;
	const u32 left = mpa_cursor_left(&from);
	u32 len = mpa_fpdu_head_len(c->rx_pos, c->rx_markers);
	u8 head[MPA_HEADS_MAX];
	enum iw_reason why;

	if (len > left)
		return MPA_RX_WAIT;
	if (plain)
		len = min_t(u32, sizeof(head), left);
	if (!mpa_cursor_copy(&c->cur, head, len)) {
		mpa_rx_report_error(c, IW_UNREADABLE);
		return MPA_RX_FAILED;
	}
	mpa_fpdu_decode(f, c->rx_pos, c->rx_markers, head, len);
	if (f->wire > left) {
		/* the header is copied again when the FPDU is complete */
		c->cur = from;
		return MPA_RX_WAIT;
	}
	why = plain ? hand_up(c, f, head + f->head, false)
		    : rx_from_copy(c, f, head);
	if (!why)
		why = mpa_rx_skip_rest(c, f, left);
	if (unlikely(why == IW_AGAIN))
		c->cur = from;
	return mpa_rx_outcome(c, why);
}

static u32 charge_budget(int *budget, u32 wire)
{
	*budget -= max_t(int, wire, FPDU_COST);
	return wire;
}

/*
 * Copy the headers of the next FPDU without consuming it. Return: true if the
 * FPDU is contiguous and as long as @f, false otherwise.
 */
static bool mpa_rx_peek(struct mpa_conn *c, const struct mpa_fpdu *f, u8 *head)
{
	if (!mpa_cursor_may_read(&c->cur, f->wire))
		return false;
	mpa_cursor_peek(&c->cur, head, MPA_HEADS_MAX);
	/* otherwise the slow path copies the header again and decides */
	return get_unaligned_be16(head) == f->ulpdu_len;
}

/*
 * Return: destination of the first payload in the copy buffer. The payloads get
 * the page offset that they have in the MR, so that whole pages are copied.
 */
static u8 *mpa_rx_start(const struct mpa_conn *c)
{
	int off = ddp_rx_next_page_off(c->stream);

	return this_cpu_read(copies.fpdu) + MPA_HEADS_MAX +
	       (SKEW_MAX ? (off - MPA_HEADS_MAX) & ~PAGE_MASK : 0);
}

/*
 * Copy and verify the FPDUs after @f that continue its message, until one is
 * wrong or @r has no more space. Return: their number.
 */
static u32 mpa_rx_verify(struct mpa_conn *c, const struct mpa_fpdu *f,
			 struct mpa_fpdu_batch *r, int *budget)
{
	u8 head[MPA_HEADS_MAX];
	u32 n = 0;

	while (r->left && *budget > 0 && mpa_rx_peek(c, f, head) &&
	       ddp_rx_is_next(c->stream, head + MPA_LEN_SIZE, f->ulpdu_len, n)) {
		charge_budget(budget, f->wire);
		mpa_cursor_peek(&c->cur, mpa_fpdu_batch_want(r), f->wire);
		if (!mpa_fpdu_batch_got(r, head))
			break;
		mpa_cursor_advance(&c->cur, f->wire);
		n++;
	}
	return n;
}

/*
 * DDP has placed only a part of the batch that begins at @from: move the cursor
 * to the first FPDU that is not placed, for the reason @why. Return: the result
 * of that FPDU.
 */
static enum mpa_rx_result mpa_rx_rewind(struct mpa_conn *c,
					const struct mpa_cursor *from,
					u32 bytes, enum iw_reason why)
{
	c->cur = *from;
	mpa_cursor_skip(&c->cur, bytes);
	return mpa_rx_outcome(c, why);
}

/*
 * Verify a batch of FPDUs, as many as @r has space for, and place them
 * together. Adds the bytes of those that are placed to @used. Return: the
 * result of the last FPDU; MPA_RX_NEXT also if the first one does not belong to
 * a batch.
 */
static enum mpa_rx_result mpa_rx_crc_one_batch(struct mpa_conn *c,
					       const struct mpa_fpdu *f,
					       struct mpa_fpdu_batch *r, int *budget, u32 *used)
{
	const struct mpa_cursor from = c->cur;
	u8 *at = mpa_rx_start(c);
	enum iw_reason why;
	u32 n, taken;

	mpa_fpdu_batch_begin(r, f->ulpdu_len, at);
	n = mpa_rx_verify(c, f, r, budget);
	if (!n)
		return MPA_RX_NEXT;
	taken = ddp_rx_batch(c->stream, at, n, &why);
	c->rx_pos += taken * f->wire;
	*used += taken * f->wire;
	if (unlikely(taken < n))
		return mpa_rx_rewind(c, &from, taken * f->wire, why);
	return MPA_RX_NEXT;
}

/*
 * CRC fast path, for mpa_rx_fast(). Not inlined: messages of one segment
 * should not pay for it.
 */
static noinline enum mpa_rx_result
mpa_rx_crc_batch(struct mpa_conn *c, const struct mpa_fpdu *f, int *budget, u32 *used)
{
	enum mpa_rx_result result;
	struct mpa_fpdu_batch r;
	u32 before;

	local_lock_nested_bh(&copies.lock);
	do {
		before = *used;
		result = mpa_rx_crc_one_batch(c, f, &r, budget, used);
		/* space left in the batch: the next FPDU needs the slow path */
	} while (result == MPA_RX_NEXT && *used > before && !r.left);
	local_unlock_nested_bh(&copies.lock);
	return result;
}

/*
 * Fast paths: receive FPDUs after @f while they are contiguous, have the length
 * of @f, and DDP accepts them as continuations or repeated Writes. Adds their
 * bytes to @used. Return: the result of the last FPDU; MPA_RX_NEXT if there is
 * none.
 */
static enum mpa_rx_result mpa_rx_fast(struct mpa_conn *c,
				      const struct mpa_fpdu *f,
				      int *budget, u32 *used)
{
	enum mpa_rx_result result = MPA_RX_NEXT;
	enum iw_reason why;
	u8 head[MPA_HEADS_MAX];

	if (c->rx_markers || f->wire < sizeof(head) || mpa_cursor_left(&c->cur) < f->wire)
		return MPA_RX_NEXT;
	/* long FPDUs are copied page by page, each on the slow path */
	if (c->crc)
		return f->ulpdu_len < DDP_COPY_LONG && ddp_rx_next_page_off(c->stream) >= 0 ?
		       mpa_rx_crc_batch(c, f, budget, used) : MPA_RX_NEXT;
	while (*budget > 0 && mpa_rx_peek(c, f, head) &&
	       ddp_rx_fast(c->stream, head + MPA_LEN_SIZE, c->cur.at + sizeof(head),
			   f->ulpdu_len, &why)) {
		result = mpa_rx_outcome(c, why);
		if (result != MPA_RX_NEXT)
			break;
		mpa_cursor_advance(&c->cur, f->wire);
		c->rx_pos += f->wire;
		*used += charge_budget(budget, f->wire);
	}
	return result;
}

/*
 * Stop receiving. A responder that has received no valid FPDU can never send
 * now, so run the transmit routine.
 */
static void mpa_rx_stop(struct mpa_conn *c)
{
	WRITE_ONCE(c->rx_stopped, true);
	mpa_tx_kick(c, false);
}

/*
 * Receive FPDUs from the cursor on. @budget: bytes to receive, at least one;
 * reduced by what is used. An FPDU is begun while the budget is positive, and
 * costs its length, at least FPDU_COST. If the stream fails, @c->rx_stopped is
 * set and nothing more is received. Return: number of bytes consumed.
 */
static u32 mpa_rx_fpdus(struct mpa_conn *c, int *budget)
{
	struct ddp_stream *s = c->stream;
	enum mpa_rx_result result;
	struct mpa_fpdu f;
	u32 used = 0;

	ddp_rx_begin(s);
	do {
		result = mpa_rx_slow(c, &f);
		if (result == MPA_RX_NEXT) {
			used += charge_budget(budget, f.wire);
			result = mpa_rx_fast(c, &f, budget, &used);
		}
	} while (result == MPA_RX_NEXT && *budget > 0 && mpa_cursor_left(&c->cur));
	ddp_rx_end(s);
	if (result == MPA_RX_FAILED)
		mpa_rx_stop(c);
	return used;
}

/*
 * Raise the receive buffer, so that the rest of an incomplete FPDU can arrive.
 *
 * The FPDU and the skb in which it begins stay in the queue. The whole skb
 * counts, consumed bytes included, and TCP appends data to it while it has
 * space for fragments. If the skb fills the buffer, TCP keeps the window
 * closed. So the buffer has space for the skb in addition to what an FPDU
 * needs. The window clamp is raised, too: TCP's tuning only raises it together
 * with the buffer.
 */
static void mpa_rx_grow_buffer(struct sock *sk, const struct sk_buff *skb)
{
	int room = min_t(u32, MPA_RCVBUF_MIN + skb->truesize, RCVBUF_MAX);
	struct tcp_sock *tp = tcp_sk(sk);

	if (sk->sk_rcvbuf >= room)
		return;
	WRITE_ONCE(sk->sk_rcvbuf, room);
	WRITE_ONCE(tp->window_clamp, max_t(u32, tp->window_clamp, tcp_full_space(sk)));
}

/**
 * mpa_rx - receive from TCP: FPDUs, or data to discard after a failure
 * @c: the connection
 * @sk: its socket
 *
 * Context: socket locked as in softirq, BH off.
 *
 * Return: true if the budget is used up and data is left, false otherwise.
 */
bool mpa_rx(struct mpa_conn *c, struct sock *sk)
{
	u32 avail = tcp_inq(sk), used = 0, off;
	struct sk_buff *skb = NULL;
	int budget = RX_BUDGET;

	if (avail)
		skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &off);
	if (!skb)
		return false;
	if (c->rx_deferred) {
		if (!c->rx_stopped && ddp_rx_fault_pending(c->stream))
			return false;
		WRITE_ONCE(c->rx_deferred, false);
	}
	if (!c->rx_stopped) {
		mpa_cursor_set(&c->cur, &sk->sk_receive_queue, skb, off, avail);
		used = mpa_rx_fpdus(c, &budget);
	}
	if (c->rx_stopped)
		used = avail;
	else if (used < avail)
		mpa_rx_grow_buffer(sk, c->cur.skb);
	/* may send a window update */
	if (used)
		tcp_read_done(sk, used);
	return used < avail && budget <= 0;
}

/**
 * mpa_rx_exit - free the copy buffers of all CPUs
 */
void mpa_rx_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		vfree(per_cpu(copies.fpdu, cpu));
}

/**
 * mpa_rx_init - allocate a copy buffer for each possible CPU
 *
 * Return: 0 or -ENOMEM.
 */
int mpa_rx_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		u8 *p = vmalloc_node(SKEW_MAX + MPA_CONTENT_MAX, cpu_to_node(cpu));

		per_cpu(copies.fpdu, cpu) = p;
		if (!p) {
			mpa_rx_exit();
			return -ENOMEM;
		}
	}
	return 0;
}
