// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receive path: pass FPDUs from TCP's receive queue to DDP. sock.c locks the
 * socket and calls mpa_rx_receive_or_discard().
 *
 * The slow path, mpa_rx_recv_fpdu_on_slow_path(), receives any FPDU. On a connection without
 * markers, the fast path mpa_rx_recv_fpdus_on_fast_path() receives the FPDUs whose segments have
 * the header that DDP expects, and which are contiguous in the queue. It passes many of them to
 * DDP with one call of ddp_rx_batch(). With CRC, it leaves ULPDUs of at least DDP_COPY_LONG bytes
 * to the slow path.
 *
 * An incomplete FPDU stays in the queue. No part of an incomplete FPDU is stored elsewhere
 * or passed to DDP.
 *
 * A sender on this machine may share pages with the queue and still write to them. So all
 * bytes that a decision depends on are first copied to private memory. With CRC, the fast path
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

/* Length of the length field and a tagged DDP header, in bytes */
#define MPA_HEADS_MAX	(MPA_LEN_SIZE + IW_DDP_T_HDR_LEN)

static_assert(MPA_HEADS_MAX >= MPA_FPDU_HEAD_MAX);
static_assert(MPA_LEN_SIZE + IW_DDP_HDR_MAX == DDP_RX_HEAD_LEN);

/*
 * Maximum number of bytes to receive in one call of mpa_rx_receive_or_discard(). When they are used
 * up, the socket lock is released, so that other contexts can take it, and the worker continues to
 * receive. An FPDU shorter than FPDU_COST counts as FPDU_COST bytes.
 */
#define RX_BUDGET	(256 * 1024)

/* Minimum number of bytes by which an FPDU reduces the budget */
#define FPDU_COST	256

/*
 * Maximum number of bytes that are placed with one call, unless one FPDU is longer:
 * ddp_region_revoke() waits until they are placed
 */
#define RX_BATCH_BYTES	(64 * 1024)

/*
 * Maximum number of bytes by which a copy begins later in the copy buffer, to get a particular
 * page offset: see choose_copy_offset() and mpa_rx_get_batch_dst(). 0 if no ULPDU is as long as
 * DDP_COPY_LONG, because the kernel's pages are large.
 */
#define SKEW_MAX	(MPA_ULPDU_MAX / DDP_COPY_LONG ? PAGE_SIZE : 0)

/* the first FPDU of a batch begins some bytes after the copy buffer if its header is tagged */
static_assert(DDP_RX_HEAD_LEN - MPA_HEADS_MAX + MPA_FPDU_BATCH_SIZE <= MPA_CONTENT_MAX);

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

/*
 * Pass the segment of a verified copy of an FPDU to DDP if it has the expected header. Return: true
 * if DDP has processed the segment and @why is set; false if nothing was done. noinline keeps the
 * batch off the stack of the other paths.
 */
static noinline bool pass_copy_if_expected(struct mpa_conn *c, const u8 *fpdu, u32 ulpdu_len,
					   enum iw_reason *why)
{
	struct ddp_rx_batch b __uninitialized;
	struct ddp_expected e;
	struct ddp_rx_head h;

	if (ulpdu_len < IW_DDP_HDR_MAX || !ddp_rx_get_expected(c->stream, &e))
		return false;
	ddp_rx_head_read(&h, fpdu);
	if (!ddp_rx_is_expected(&e, &h, 0))
		return false;
	b.n = 1;
	b.len = ulpdu_len;
	b.joined = true;
	b.body[0] = fpdu + MPA_LEN_SIZE + e.hdr_len;
	b.field[0] = h.field;
	return ddp_rx_batch(c->stream, &b, why) || *why;
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
	else if (!pass_copy_if_expected(c, fpdu, f->ulpdu_len, &why))
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

/* FPDUs whose segments have the expected header, and which are passed to DDP with one call */
struct rx_batch {
	struct ddp_expected	e;
	struct ddp_rx_batch	b;
	u32			wire_len;	/* length of each FPDU in bytes */
	struct mpa_fpdu_batch	copies;		/* with CRC: verified copies of the FPDUs */
};

/*
 * Read the header of the next FPDU without consuming it. Return: true if the header is the expected
 * one after @n other FPDUs, false otherwise.
 */
static __always_inline bool mpa_rx_peek_expected_head(struct mpa_conn *c,
						      const struct ddp_expected *e, u32 n,
						      struct ddp_rx_head *head)
{
	if (!mpa_cursor_has_contiguous_bytes(&c->cur, DDP_RX_HEAD_LEN))
		return false;
	ddp_rx_head_read(head, c->cur.at);
	/* a sender may still write to these bytes: prevent the compiler from reading them again */
	barrier();
	return ddp_rx_is_expected(e, head, n);
}

/*
 * Get the address in the copy buffer for the first payload of a batch. The payload
 * gets the page offset at which DDP will place it in the MR, so that DDP can copy
 * whole pages.
 */
static u8 *mpa_rx_get_batch_dst(const struct mpa_conn *c)
{
	u32 off = SKEW_MAX ? ddp_rx_get_next_page_off(c->stream) - DDP_RX_HEAD_LEN : 0;

	return this_cpu_read(copies.fpdu) + DDP_RX_HEAD_LEN + (off & ~PAGE_MASK);
}

/*
 * Copy the next FPDU, whose header is @head, to the copy buffer, and verify the copy. Return:
 * address of the copied payload; NULL if the buffer is full or the copy is invalid.
 */
static const u8 *mpa_rx_copy_and_verify_fpdu(struct mpa_conn *c, struct rx_batch *r,
					     const struct ddp_rx_head *head)
{
	const u8 *body = r->copies.at;

	if (!r->copies.left)
		return NULL;
	mpa_cursor_peek(&c->cur, mpa_fpdu_batch_prepare_dst(&r->copies), r->wire_len);
	return mpa_fpdu_batch_add_if_valid(&r->copies, head) ? body : NULL;
}

/*
 * Prepare a batch whose first FPDU is the next one. Return: true if prepared; false if that FPDU
 * does not have the expected header. With CRC, also return false for a long FPDU: the slow path
 * copies whole pages.
 */
static __always_inline bool mpa_rx_begin_batch(struct mpa_conn *c, bool crc, struct rx_batch *r,
					       struct ddp_rx_head *head)
{
	if (!ddp_rx_get_expected(c->stream, &r->e) ||
	    !mpa_rx_peek_expected_head(c, &r->e, 0, head))
		return false;
	r->b.len = ddp_rx_head_get_len(head);
	r->b.joined = crc;
	r->wire_len = mpa_fpdu_content_len(r->b.len);
	if (crc && r->b.len >= DDP_COPY_LONG)
		return false;
	if (crc)
		mpa_fpdu_batch_begin(&r->copies, r->b.len, r->e.hdr_len, mpa_rx_get_batch_dst(c));
	return true;
}

/*
 * Add up to @most FPDUs to a batch, and advance the cursor past them. Stop at the first FPDU that
 * DDP does not expect, or that is not contiguous or not valid. @head: header of the first FPDU.
 */
static __always_inline void mpa_rx_fill_batch(struct mpa_conn *c, bool crc, struct rx_batch *r,
					      u32 most, struct ddp_rx_head head)
{
	const u8 *body;
	u32 n = 0;

	while (mpa_cursor_has_contiguous_bytes(&c->cur, r->wire_len)) {
		body = crc ? mpa_rx_copy_and_verify_fpdu(c, r, &head)
			   : c->cur.at + MPA_LEN_SIZE + r->e.hdr_len;
		if (!body)
			break;
		r->b.body[n] = body;
		r->b.field[n] = head.field;
		mpa_cursor_advance(&c->cur, r->wire_len);
		if (++n == most || !mpa_rx_peek_expected_head(c, &r->e, n, &head))
			break;
	}
	r->b.n = n;
}

/*
 * Move the cursor back to the first FPDU of a batch that DDP has not placed.
 * @from: cursor at the beginning of the batch; @bytes: total length of the placed
 * FPDUs; @why: DDP's result for the first FPDU that is not placed. Return: @why,
 * converted by mpa_rx_defer_or_convert_result().
 */
static noinline enum mpa_rx_result mpa_rx_rewind_cursor(struct mpa_conn *c,
							const struct mpa_cursor *from,
							u32 bytes, enum iw_reason why)
{
	c->cur = *from;
	mpa_cursor_skip(&c->cur, bytes);
	return mpa_rx_defer_or_convert_result(c, why);
}

/*
 * Receive one batch. Add the length of the consumed FPDUs to *@used. Return: true if DDP has
 * processed a batch of maximum size, so that the next FPDU may belong to a batch as well; false
 * if not, and *@result is then the result of the last FPDU.
 */
static __always_inline bool mpa_rx_recv_batch(struct mpa_conn *c, bool crc, int *budget,
					      u32 *used, enum mpa_rx_result *result)
{
	const struct mpa_cursor from = c->cur;
	/* only few elements are used, so an initialization would cost more than the rest */
	struct rx_batch r __uninitialized;
	struct ddp_rx_head head;
	u32 cost, most, done;
	enum iw_reason why;

	*result = MPA_RX_NEXT;
	if (!mpa_rx_begin_batch(c, crc, &r, &head))
		return false;
	cost = max_t(u32, r.wire_len, FPDU_COST);
	most = clamp(min_t(u32, *budget, RX_BATCH_BYTES) / cost, 1u, r.e.most);
	mpa_rx_fill_batch(c, crc, &r, most, head);
	if (!r.b.n)
		return false;
	done = ddp_rx_batch(c->stream, &r.b, &why);
	*budget -= done * cost;
	c->rx_pos += done * r.wire_len;
	*used += done * r.wire_len;
	if (unlikely(done < r.b.n)) {
		*result = mpa_rx_rewind_cursor(c, &from, done * r.wire_len, why);
		return false;
	}
	return (r.b.n == most || (crc && !r.copies.left)) && *budget > 0 &&
	       mpa_cursor_bytes_left(&c->cur);
}

/* Receive FPDUs with CRC as mpa_rx_recv_fpdus_on_fast_path() does */
static noinline enum mpa_rx_result mpa_rx_recv_copied_fpdus(struct mpa_conn *c, int *budget,
							    u32 *used)
{
	enum mpa_rx_result result;

	local_lock_nested_bh(&copies.lock);
	while (mpa_rx_recv_batch(c, true, budget, used, &result))
		;
	local_unlock_nested_bh(&copies.lock);
	return result;
}

/*
 * Receive FPDUs on the fast path, as long as DDP expects their headers and they are contiguous in
 * the queue. Add the length of the consumed FPDUs to *@used. *@budget must be positive. Return:
 * MPA_RX_NEXT if the next FPDU may be received on the slow path; otherwise the result of the last
 * FPDU. noinline keeps the batch off the stack of the slow path.
 */
static noinline enum mpa_rx_result mpa_rx_recv_fpdus_on_fast_path(struct mpa_conn *c,
								  int *budget, u32 *used)
{
	enum mpa_rx_result result;

	if (c->rx_markers)
		return MPA_RX_NEXT;
	if (c->crc)
		return mpa_rx_recv_copied_fpdus(c, budget, used);
	while (mpa_rx_recv_batch(c, false, budget, used, &result))
		;
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
	enum mpa_rx_result result;
	struct mpa_fpdu f;
	u32 used = 0;

	ddp_rx_begin(s);
	do {
		result = mpa_rx_recv_fpdus_on_fast_path(c, budget, &used);
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
