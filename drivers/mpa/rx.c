// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive path: pass FPDUs from TCP's receive queue to DDP. sock.c locks the
 * socket and calls mpa_rx_receive_or_discard().
 *
 * The slow path, mpa_rx_recv_fpdu_on_slow_path(), receives any FPDU. On a connection with neither
 * CRC nor markers, the fast path mpa_rx_recv_fpdus_on_fast_path() receives the FPDUs whose segments
 * ddp_rx_try_fast_path() accepts. On a connection with CRC and without markers, the CRC fast path
 * mpa_rx_recv_batches() receives the FPDUs whose segments ddp_rx_continues_msg() accepts.
 *
 * Both fast paths require that the FPDU is contiguous in the queue. ddp_rx_try_fast_path() accepts
 * a segment that continues the current message, or that is a message of one segment like the
 * previous one. ddp_rx_continues_msg() accepts a segment that continues a tagged message and is as
 * long as the previous one. The CRC fast path handles only ULPDUs shorter than DDP_COPY_LONG, and
 * places the payloads of many FPDUs at once.
 *
 * An incomplete FPDU stays in the queue. No part of an incomplete FPDU is stored elsewhere
 * or passed to DDP.
 *
 * A sender on this machine may share pages with the queue and still write to them. So all
 * bytes that a decision depends on are first copied to private memory. The CRC fast path
 * copies a header twice, and requires that both copies are equal.
 *
 * With CRC or markers, a complete FPDU is copied, then the copy is verified (RFC
 * 5044 section 6) and passed to DDP. Without CRC and markers nothing has to be
 * verified. So only the length field and the DDP header are copied to private
 * memory, and DDP copies the payload from the queue to its destination.
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
 * Maximum number of bytes to receive in one call of mpa_rx_receive_or_discard(). When they are used
 * up, the socket lock is released, so that other contexts can take it, and the worker continues to
 * receive. An FPDU shorter than FPDU_COST counts as FPDU_COST bytes.
 */
#define RX_BUDGET	(256 * 1024)

/* Minimum number of bytes by which an FPDU reduces the budget */
#define FPDU_COST	256

/*
 * Maximum number of bytes by which a copy begins later in the copy buffer, to get a particular
 * page offset: see choose_copy_offset() and mpa_rx_get_batch_dst(). 0 if no ULPDU is as long as
 * DDP_COPY_LONG, because the kernel's pages are large.
 */
#define SKEW_MAX	(MPA_ULPDU_MAX / DDP_COPY_LONG ? PAGE_SIZE : 0)

static_assert(MPA_FPDU_BATCH_SIZE <= MPA_CONTENT_MAX);

/* Result of receiving an FPDU */
enum mpa_rx_result {
	MPA_RX_NEXT,	/* the FPDU was consumed, or must be received on the slow path */
	MPA_RX_WAIT,	/* the FPDU stays queued: incomplete, or deferred by a page fault */
	MPA_RX_FAILED,	/* the stream has failed */
};

/* Buffer of a CPU for copies of FPDUs; the content is valid until BH is enabled again */
struct copy {
	local_lock_t	lock;	/* needed on PREEMPT_RT, where code with BH off is preemptible */
	u8		*fpdu;
};

static DEFINE_PER_CPU(struct copy, copies) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/**
 * mpa_rx_read - read the next bytes of the segment that DDP is processing
 * @c: the connection
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if @len bytes were read. False if the segment has fewer bytes
 * left, and @dst is then all zeros; or if a byte is in device memory, which no CPU
 * can read, and @dst then has zeros for the missing bytes.
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

/*
 * Permit sending, because a valid FPDU was received. A responder must not send before it has
 * received the initiator's first valid FPDU (RFC 5044 7.1.2 (4)).
 */
static void permit_tx(struct mpa_conn *c)
{
	if (c->tx_permitted)
		return;
	/*
	 * Pairs with may_send_fpdus(): a context that sees tx_permitted set also sees tx_stream,
	 * which enter_full_operation() has set before; litmus: publish
	 */
	smp_store_release(&c->tx_permitted, true);
	mpa_tx_kick(c, false);
}

/*
 * Pass a segment to DDP. @head: at least the first IW_DDP_T_HDR_LEN bytes of the ULPDU;
 * @copied: true if the whole ULPDU is at @head, so that DDP reads the remaining bytes
 * there; false if DDP reads the remaining bytes from the queue.
 */
static enum iw_reason pass_segment_to_ddp(struct mpa_conn *c, const struct mpa_fpdu *f,
					  const u8 *head, bool copied)
{
	u32 len = min_t(u32, f->ulpdu_len, IW_DDP_T_HDR_LEN);

	c->rx_copy = copied ? head + len : NULL;
	c->rx_left = f->ulpdu_len - len;
	permit_tx(c);
	return ddp_rx_segment(c->stream, &c->llp, head, f->ulpdu_len);
}

/*
 * Copy an FPDU to @fpdu, leaving out markers, and verify the copy. Return: IW_OK if
 * the FPDU is valid; IW_UNREADABLE if a byte is in device memory, which no CPU can
 * read; or the reason that mpa_verify_get_result() returns.
 */
static enum iw_reason mpa_rx_copy_fpdu(struct mpa_conn *c,
				       const struct mpa_fpdu *f,
				       const u8 *head, u8 *fpdu)
{
	struct mpa_verify t = { .markers = c->rx_markers, .crc = c->crc };
	void *to;
	u32 len;

	mpa_verify_begin(&t, f, head, fpdu);
	while ((to = mpa_verify_get_next_dst(&t, &len))) {
		if (!mpa_cursor_copy(&c->cur, to, len))
			return IW_UNREADABLE;
		mpa_verify_add_copied(&t, len);
	}
	return mpa_verify_get_result(&t);
}

/* Report to DDP an error that MPA has detected; DDP then fails the stream. Return: @why. */
static enum iw_reason mpa_rx_report_error(struct mpa_conn *c, enum iw_reason why)
{
	ddp_llp_report_error(c->stream, why);
	return why;
}

/*
 * Choose the offset in the copy buffer to which an FPDU is copied. If the ULPDU has at least
 * DDP_COPY_LONG bytes, the copy gets the page offset that the FPDU has in the queue, so that
 * whole pages are copied, which is faster. If this driver on this machine is the sender, the
 * payload has the page offset of its source buffer. If DDP then places the payload at the
 * same page offset, the copy from the copy buffer to the MR also copies whole pages.
 */
static u32 choose_copy_offset(struct mpa_conn *c, const struct mpa_fpdu *f)
{
	if (f->ulpdu_len < DDP_COPY_LONG || !mpa_cursor_has_contiguous_bytes(&c->cur, 1))
		return 0;
	return offset_in_page(c->cur.at - MPA_LEN_SIZE);
}

/* Copy a complete FPDU, verify the copy and pass it to DDP */
static enum iw_reason copy_verify_and_pass_fpdu(struct mpa_conn *c, const struct mpa_fpdu *f,
						const u8 *head)
{
	enum iw_reason why;
	u8 *fpdu;

	local_lock_nested_bh(&copies.lock);
	fpdu = this_cpu_read(copies.fpdu) + choose_copy_offset(c, f);
	why = mpa_rx_copy_fpdu(c, f, head, fpdu);
	if (why)
		why = mpa_rx_report_error(c, why);
	else if (!ddp_rx_try_fast_path(c->stream, fpdu + MPA_LEN_SIZE, fpdu + MPA_HEADS_MAX,
				       f->ulpdu_len, &why))
		why = pass_segment_to_ddp(c, f, fpdu + MPA_LEN_SIZE, true);
	local_unlock_nested_bh(&copies.lock);
	return why;
}

/*
 * Advance the cursor to the end of @f, past all bytes that were not read, such as the PAD and
 * the CRC field. @from: result of mpa_cursor_bytes_left() at the beginning of @f.
 *
 * The number of bytes to skip is never negative, because DDP accepts no segment
 * that is shorter than the header that mpa_rx_recv_fpdu_on_slow_path() has copied.
 */
static enum iw_reason mpa_rx_skip_fpdu_rest(struct mpa_conn *c,
					    const struct mpa_fpdu *f,
					    u32 from)
{
	c->rx_pos += f->wire_len;
	if (!mpa_cursor_skip(&c->cur, f->wire_len - (from - mpa_cursor_bytes_left(&c->cur))))
		return mpa_rx_report_error(c, IW_UNREADABLE);
	return IW_OK;
}

/*
 * Convert DDP's result @why for an FPDU to enum mpa_rx_result. If a page fault
 * defers the FPDU (IW_AGAIN), set @c->rx_deferred.
 */
static enum mpa_rx_result mpa_rx_defer_or_convert_result(struct mpa_conn *c,
							 enum iw_reason why)
{
	if (unlikely(why == IW_AGAIN)) {
		WRITE_ONCE(c->rx_deferred, true);
		return MPA_RX_WAIT;
	}
	return why ? MPA_RX_FAILED : MPA_RX_NEXT;
}

/*
 * Receive the FPDU at the cursor on the slow path, if the FPDU is complete. @f:
 * filled in if the length field has arrived. Return: MPA_RX_NEXT if @f->wire_len
 * bytes were consumed; MPA_RX_WAIT if the FPDU stays in the queue; MPA_RX_FAILED
 * if the stream has failed.
 */
static enum mpa_rx_result mpa_rx_recv_fpdu_on_slow_path(struct mpa_conn *c, struct mpa_fpdu *f)
{
	const struct mpa_cursor from = c->cur;
	const bool plain = !c->crc && !c->rx_markers;
	const u32 left = mpa_cursor_bytes_left(&from);
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
	if (f->wire_len > left) {
		/* the header will be copied again when more bytes have arrived */
		c->cur = from;
		return MPA_RX_WAIT;
	}
	why = plain ? pass_segment_to_ddp(c, f, head + f->head_len, false)
		    : copy_verify_and_pass_fpdu(c, f, head);
	if (!why)
		why = mpa_rx_skip_fpdu_rest(c, f, left);
	if (unlikely(why == IW_AGAIN))
		c->cur = from;
	return mpa_rx_defer_or_convert_result(c, why);
}

/* Reduce the budget by the cost of an FPDU of @wire bytes. Return: @wire. */
static u32 charge_budget(int *budget, u32 wire)
{
	*budget -= max_t(int, wire, FPDU_COST);
	return wire;
}

/*
 * Copy the headers of the next FPDU without consuming it. Return: true if the
 * FPDU is contiguous and as long as @f, false otherwise.
 */
static bool mpa_rx_peek_headers(struct mpa_conn *c, const struct mpa_fpdu *f, u8 *head)
{
	if (!mpa_cursor_has_contiguous_bytes(&c->cur, f->wire_len))
		return false;
	mpa_cursor_peek(&c->cur, head, MPA_HEADS_MAX);
	/* if the lengths differ, the slow path will copy the header again */
	return get_unaligned_be16(head) == f->ulpdu_len;
}

/*
 * Copy the headers of the next FPDU of a connection without CRC and markers, and do not consume it.
 * @f: FPDU with its lengths, set to those of the next FPDU. Return: true if the FPDU is contiguous
 * and has space for a tagged header, false otherwise.
 */
static bool mpa_rx_peek_plain_fpdu(struct mpa_conn *c, struct mpa_fpdu *f, u8 *head)
{
	u32 len;

	if (!mpa_cursor_has_contiguous_bytes(&c->cur, MPA_HEADS_MAX))
		return false;
	mpa_cursor_peek(&c->cur, head, MPA_HEADS_MAX);
	len = get_unaligned_be16(head);
	if (len != f->ulpdu_len) {
		f->ulpdu_len = len;
		f->wire_len = mpa_fpdu_wire_len(c->rx_pos, len, false);
	}
	return f->wire_len > MPA_HEADS_MAX && mpa_cursor_has_contiguous_bytes(&c->cur, f->wire_len);
}

/*
 * Get the address in the copy buffer for the first payload of a batch. The payload
 * gets the page offset at which DDP will place it in the MR, so that DDP can copy
 * whole pages.
 */
static u8 *mpa_rx_get_batch_dst(const struct mpa_conn *c)
{
	int off = ddp_rx_get_next_page_off(c->stream);

	return this_cpu_read(copies.fpdu) + MPA_HEADS_MAX +
	       (SKEW_MAX ? (off - MPA_HEADS_MAX) & ~PAGE_MASK : 0);
}

/*
 * Copy and verify the FPDUs that follow @f and continue its message, and add them to the
 * batch @r. Stop if @r has no more space, the budget is used up, or the next FPDU is
 * invalid, is not contiguous, has another length or does not continue the message. Return:
 * number of FPDUs added to @r.
 */
static u32 mpa_rx_fill_batch(struct mpa_conn *c, const struct mpa_fpdu *f,
			     struct mpa_fpdu_batch *r, int *budget)
{
	u8 head[MPA_HEADS_MAX];
	u32 n = 0;

	while (r->left && *budget > 0 && mpa_rx_peek_headers(c, f, head) &&
	       ddp_rx_continues_msg(c->stream, head + MPA_LEN_SIZE, f->ulpdu_len, n)) {
		charge_budget(budget, f->wire_len);
		mpa_cursor_peek(&c->cur, mpa_fpdu_batch_prepare_dst(r), f->wire_len);
		if (!mpa_fpdu_batch_add_if_valid(r, head))
			break;
		mpa_cursor_advance(&c->cur, f->wire_len);
		n++;
	}
	return n;
}

/*
 * Move the cursor back to the first FPDU of a batch that DDP has not placed.
 * @from: cursor at the beginning of the batch; @bytes: total length of the placed
 * FPDUs; @why: DDP's result for the first FPDU that is not placed. Return: @why,
 * converted by mpa_rx_defer_or_convert_result().
 */
static enum mpa_rx_result mpa_rx_rewind_cursor(struct mpa_conn *c,
					       const struct mpa_cursor *from,
					       u32 bytes, enum iw_reason why)
{
	c->cur = *from;
	mpa_cursor_skip(&c->cur, bytes);
	return mpa_rx_defer_or_convert_result(c, why);
}

/*
 * Copy and verify as many FPDUs as @r has space for, and let DDP place their payloads with
 * one call. *@used: increased by the length of the placed FPDUs. Return: MPA_RX_NEXT if all
 * FPDUs of the batch were placed, or the batch is empty; otherwise the result of the first
 * FPDU that was not placed.
 */
static enum mpa_rx_result mpa_rx_recv_one_batch(struct mpa_conn *c,
						const struct mpa_fpdu *f,
						struct mpa_fpdu_batch *r, int *budget, u32 *used)
{
	const struct mpa_cursor from = c->cur;
	u8 *at = mpa_rx_get_batch_dst(c);
	enum iw_reason why;
	u32 n, taken;

	mpa_fpdu_batch_begin(r, f->ulpdu_len, at);
	n = mpa_rx_fill_batch(c, f, r, budget);
	if (!n)
		return MPA_RX_NEXT;
	taken = ddp_rx_batch(c->stream, at, n, &why);
	c->rx_pos += taken * f->wire_len;
	*used += taken * f->wire_len;
	if (unlikely(taken < n))
		return mpa_rx_rewind_cursor(c, &from, taken * f->wire_len, why);
	return MPA_RX_NEXT;
}

/*
 * Receive batches of FPDUs that continue the message of @f, on the CRC fast path.
 * noinline, so that this code does not slow down the reception of single-segment
 * messages. Parameters and result are those of mpa_rx_recv_fpdus_on_fast_path().
 */
static noinline enum mpa_rx_result
mpa_rx_recv_batches(struct mpa_conn *c, const struct mpa_fpdu *f, int *budget, u32 *used)
{
	enum mpa_rx_result result;
	struct mpa_fpdu_batch r;
	u32 before;

	local_lock_nested_bh(&copies.lock);
	do {
		before = *used;
		result = mpa_rx_recv_one_batch(c, f, &r, budget, used);
		/* if the batch was not filled, the next FPDU needs the slow path */
	} while (result == MPA_RX_NEXT && *used > before && !r.left);
	local_unlock_nested_bh(&copies.lock);
	return result;
}

/*
 * Check whether FPDUs that follow @f can be received in batches. Leave long FPDUs to the slow path,
 * which copies whole pages.
 */
static bool may_recv_batches(const struct mpa_conn *c, const struct mpa_fpdu *f)
{
	return f->wire_len >= MPA_HEADS_MAX && mpa_cursor_bytes_left(&c->cur) >= f->wire_len &&
	       f->ulpdu_len < DDP_COPY_LONG && ddp_rx_get_next_page_off(c->stream) >= 0;
}

/*
 * Receive FPDUs on a fast path, as long as they are contiguous in the queue and DDP accepts them.
 * @f: previous FPDU of this receive pass, or zeros; undefined on return. Add the length of the
 * consumed FPDUs to *@used.
 * Return: MPA_RX_NEXT if the next FPDU may be received on the slow path; otherwise the
 * result of the last FPDU.
 */
static enum mpa_rx_result mpa_rx_recv_fpdus_on_fast_path(struct mpa_conn *c,
							 struct mpa_fpdu *f,
							 int *budget, u32 *used)
{
	enum mpa_rx_result result = MPA_RX_NEXT;
	enum iw_reason why;
	u8 head[MPA_HEADS_MAX];

	if (c->rx_markers)
		return MPA_RX_NEXT;
	if (c->crc)
		return may_recv_batches(c, f) ? mpa_rx_recv_batches(c, f, budget, used) :
						MPA_RX_NEXT;
	while (*budget > 0 && mpa_rx_peek_plain_fpdu(c, f, head) &&
	       ddp_rx_try_fast_path(c->stream, head + MPA_LEN_SIZE, c->cur.at + sizeof(head),
				    f->ulpdu_len, &why)) {
		result = mpa_rx_defer_or_convert_result(c, why);
		if (result != MPA_RX_NEXT)
			break;
		mpa_cursor_advance(&c->cur, f->wire_len);
		c->rx_pos += f->wire_len;
		*used += charge_budget(budget, f->wire_len);
	}
	return result;
}

/*
 * Stop receiving after the stream has failed. If a responder has received no valid FPDU
 * so far, it will never be permitted to send. Schedule the transmit routine, which
 * detects this and lets a graceful close proceed, see is_tx_never_permitted().
 */
static void mpa_rx_stop(struct mpa_conn *c)
{
	WRITE_ONCE(c->rx_stopped, true);
	mpa_tx_kick(c, false);
}

/*
 * Receive FPDUs, beginning at the cursor, while *@budget is positive. Each FPDU
 * reduces *@budget by its length or FPDU_COST, whichever is greater. If the stream
 * fails, set @c->rx_stopped. Return: number of bytes consumed.
 */
static u32 mpa_rx_receive_fpdus(struct mpa_conn *c, int *budget)
{
	struct ddp_stream *s = c->stream;
	struct mpa_fpdu f = {};
	enum mpa_rx_result result;
	u32 used = 0;

	ddp_rx_begin(s);
	do {
		result = mpa_rx_recv_fpdus_on_fast_path(c, &f, budget, &used);
		if (result != MPA_RX_NEXT || *budget <= 0 || !mpa_cursor_bytes_left(&c->cur))
			break;
		result = mpa_rx_recv_fpdu_on_slow_path(c, &f);
		if (result == MPA_RX_NEXT)
			used += charge_budget(budget, f.wire_len);
	} while (result == MPA_RX_NEXT && *budget > 0 && mpa_cursor_bytes_left(&c->cur));
	ddp_rx_end(s);
	if (result == MPA_RX_FAILED)
		mpa_rx_stop(c);
	return used;
}

/*
 * Grow the receive buffer for the incomplete FPDU at the cursor, which stays in TCP's queue.
 * If the cursor is at the end of an skb, first move it to the next skb, in which the FPDU
 * begins: TCP frees the skb that is used up.
 */
static void grow_rcvbuf_for_next_fpdu(struct mpa_conn *c, struct sock *sk)
{
	mpa_cursor_refill(&c->cur);
	mpa_sock_grow_rcvbuf(sk, c->cur.skb);
}

/**
 * mpa_rx_receive_or_discard - receive FPDUs from TCP, or discard data after a failure
 * @c: the connection
 * @sk: socket of @c
 *
 * Context: BH off; TCP's data_ready callback, or the socket is locked by
 * lock_as_softirq().
 *
 * Return: true if RX_BUDGET is used up and the queue still has data, false
 * otherwise.
 */
bool mpa_rx_receive_or_discard(struct mpa_conn *c, struct sock *sk)
{
	u32 avail = tcp_inq(sk), used = 0, off;
	struct sk_buff *skb = NULL;
	int budget = RX_BUDGET;

	if (avail)
		skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &off);
	if (!skb)
		return false;
	if (c->rx_deferred) {
		if (!c->rx_stopped && ddp_rx_has_pending_fault(c->stream))
			return false;
		WRITE_ONCE(c->rx_deferred, false);
	}
	if (!c->rx_stopped) {
		mpa_cursor_seek(&c->cur, &sk->sk_receive_queue, skb, off, avail);
		used = mpa_rx_receive_fpdus(c, &budget);
	}
	if (c->rx_stopped)
		used = avail;
	else if (used < avail)
		grow_rcvbuf_for_next_fpdu(c, sk);
	/* consume the bytes; TCP sends a window update if necessary */
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
