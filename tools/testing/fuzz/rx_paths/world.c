// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The world of a run: stubs of the verbs, which record what RDMAP reports, and the local
 * side's actions and transmissions.
 */
#include "memory.h"

#include "../../../../drivers/ddp/untagged.h"

struct world world;

_Thread_local int host_held, host_reads, host_bh_off;

/* The result ---------------------------------------------------------------------- */

void world_record_event(enum event_what what, u32 a, u32 b, u32 c)
{
	struct result *result = world.result;

	if (result->events < EVENTS)
		result->event[result->events] = (struct event) { what, a, b, c };
	result->events++;
}

u32 world_hash_bytes(const void *p, u32 len)
{
	const u8 *s = p;
	u32 h = 2166136261u;

	while (len--)
		h = (h ^ *s++) * 16777619u;
	return h;
}

/* Record the state after a step; it must be the same on every receive path */
void world_record_state(void)
{
	const struct rdmap *r = &world.r;
	const struct ddp_stream *s = &r->stream;
	u32 i;

	world_record_event(EV_SEGMENTS, world.segments, world.bytes, s->failed);
	for (i = 0; i < RDMAP_OP_NR; i += 3)
		world_record_event(EV_MESSAGES, world.messages[i], world.messages[i + 1],
				   world.messages[i + 2]);
	/* a failure ends the stream, so its receive state has no meaning any more */
	if (s->failed)
		return;
	world_record_event(EV_STATE, r->write_len, r->last_write_len,
			   r->in_recv | !!r->rtr_expected << 1 | s->deferred.valid << 2);
	for (i = 0; i < DDP_QUEUES; i++)
		world_record_event(EV_QUEUE, s->uq[i].msn, s->uq[i].mo, r->opcode[i]);
	world_record_event(EV_REQUESTS, r->orq.used, r->irq.used,
			   r->orq.used ? rdmap_reqq_peek(&r->orq)->done : 0);
}

/* The receive queue --------------------------------------------------------------- */

enum iw_reason rdmap_rq_dequeue(struct rdmap *r)
{
	const struct plan_action *a;
	u32 i;

	if (world.recv_taken == world.recv_posted)
		return IW_DDP_U_NO_BUFFER;
	a = &world.plan->action[world.recv[world.recv_taken++]];
	if (a->what == PLAN_RECV_INVALID)
		return IW_LOCAL_PROT;
	r->recv_buf = (struct ddp_buf) { .sge = a->sge, .nsge = a->nsge };
	for (i = 0; i < a->nsge; i++)
		r->recv_buf.len += a->sge[i].len;
	return IW_OK;
}

/* Post the plan's first receive again, for the message that waits for a receive */
static void post_late_recv(void)
{
	world.recv[world.recv_posted++] = world.recv[0];
	world.late_recvs++;
}

static void cancel_recv_wait(struct ddp_fault *w) { }

static const struct ddp_mem_ops recv_wait_ops = { .cancel = cancel_recv_wait };

enum iw_reason rdmap_rq_dequeue_or_wait(struct rdmap *r)
{
	struct ddp_stream *s = &r->stream;

	if (!world.recv_posted || world.late_recvs == world.plan->late_recvs)
		return IW_DDP_U_NO_BUFFER;
	MUST("recv-one-wait", !world.fault[0]);
	ddp_rx_begin_wait(s, &recv_wait_ops, NULL);
	if (!world.plan->faults_at_once) {
		world.fault[0] = &s->rx_fault;
		return IW_AGAIN;
	}
	post_late_recv();
	ddp_rx_cancel_wait(s);
	return rdmap_rq_dequeue(r);
}

void rdmap_rq_complete(struct rdmap *r, const struct rdmap_recv *rc)
{
	world_record_event(EV_RECV, world.recv[world.recv_done++], rc->len, rc->inv);
	world_record_event(EV_RECV_DATA, rc->imm, r->recv_buf.len,
			   rc->invalidated | rc->solicited << 1 | rc->immediate << 2);
	if (world.recv_done == world.plan->cq_room)
		rdmap_fail(r, IW_LOCAL_CQ);
	/* nothing may be placed in the receive any more */
	r->recv_buf.sge = NULL;
}

/* The send queue ------------------------------------------------------------------ */

bool rdmap_sq_pull_wr(struct rdmap *r, struct rdmap_wr *wr)
{
	const struct plan_action *a;

	if (world.wr_pulled == world.wr_posted || test_bit(0, &r->stream.failed))
		return false;
	a = &world.plan->action[world.wr[world.wr_pulled]];
	*wr = (struct rdmap_wr) {
		.op = a->what == PLAN_READ ? RDMAP_WR_READ :
		      a->what == PLAN_ATOMIC ? RDMAP_WR_FETCH_ADD : RDMAP_WR_LOCAL_INV,
		.slot = world.wr_pulled++,
		.inv = get_test_mr(a->mr)->stag,
		.rkey = 0xabcd00,
		.raddr = 0x1000,
		.sge = (struct ddp_sge *)a->sge,
		.buf = { .sge = a->sge, .nsge = 1, .len = a->sge[0].len },
	};
	/* a Read that invalidates its sink, as kernel consumers post it */
	if (a->what == PLAN_READ && a->rights) {
		wr->flags = RDMAP_WR_INVALIDATE;
		wr->inv = a->sge[0].stag;
	}
	return true;
}

bool rdmap_sq_execute_local_wr(struct rdmap *r, const struct rdmap_wr *wr)
{
	enum iw_reason why = ddp_mem_invalidate(&r->stream, wr->inv, false);

	world_record_event(EV_INVALIDATED, wr->slot, wr->inv, why);
	return !why;
}

void rdmap_sq_mark_segmented(struct rdmap *r, u32 slot) { }
bool rdmap_sq_complete_sent_wrs(struct rdmap *r, bool look)
{
	return true;
}


void rdmap_sq_complete_answered_wr(struct rdmap *r, u32 slot)
{
	world_record_event(EV_RESPONSE, slot, 0, 0);
}

void rdmap_sq_set_wr_failed(struct rdmap *r, u32 slot)
{
	world_record_event(EV_WR_FAILED, slot, 0, 0);
}

/* Counters and failures ----------------------------------------------------------- */

void rdmap_count_messages(struct rdmap *r, u8 opcode, u32 n, bool sent)
{
	if (!sent)
		world.messages[opcode] += n;
}

void rdmap_count_peer_ops(struct rdmap *r, u8 opcode, u32 n) { }

void rdmap_count_segments(struct rdmap *r, u32 segments, u32 bytes, bool sent)
{
	if (sent)
		return;
	world.segments += segments;
	world.bytes += bytes;
}

void rdmap_count_early_segment(struct rdmap *r) { }

void rdmap_report_failure(struct rdmap *r, const struct iw_failure *f)
{
	/*
	 * a failed stream must have dropped its cached MR reference, because revocation of the
	 * MR waits for this reference
	 */
	MUST("rx-reference-at-failure", !r->stream.rx_mr);
	world_record_event(EV_FAILED, f->why, f->seg_len, f->ddp_len | f->rdma_len << 8);
	world_record_event(EV_QUOTE, world_hash_bytes(f->ddp, f->ddp_len),
			   world_hash_bytes(f->rdma, f->rdma_len),
			   world_hash_bytes(r->term, r->term_len) + r->term_len);
	world_record_event(EV_TERMINATE, r->peer_layer, r->peer_type, r->peer_code);
}

void rdmap_report_down(struct rdmap *r, enum iw_reason why) { }

/* Stubs of the functions of the lower layer ---------------------------------------- */

void mpa_tx_kick(struct mpa_conn *c, bool bulk)
{
	world.kicked = true;
}

void mpa_sock_grow_rcvbuf(struct sock *sk, const struct sk_buff *skb) { }

bool world_resolve_faults(void)
{
	struct ddp_fault *w;
	bool any = false;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(world.fault); i++) {
		w = world.fault[i];
		world.fault[i] = NULL;
		if (!w)
			continue;
		if (w->ops == &recv_wait_ops) {
			post_late_recv();
			ddp_fault_complete(w, false);
		} else {
			memory_resolve_fault(w);
		}
		any = true;
	}
	return any;
}

/* Pull all segments that the stream has to send, and record them */
static void pull_and_record_segments(struct ddp_stream *s)
{
	static u8 bytes[2048];
	struct ddp_txseg seg;

	ddp_tx_begin(s);
	while (ddp_tx_pull(s, sizeof(bytes) - IW_DDP_HDR_MAX, &seg)) {
		if (!ddp_tx_copy_payload(s, bytes, seg.len))
			continue;
		world_record_event(EV_SENT, world_hash_bytes(seg.hdr, seg.hdr_len), seg.len,
				   world_hash_bytes(bytes, seg.len));
	}
	ddp_tx_end(s);
	ddp_tx_report_sent(s, false);
}

void world_transmit(void)
{
	u32 passes = 0;

	do {
		world.kicked = false;
		pull_and_record_segments(&world.r.stream);
		/* each pass resolves at least one page, or ends a batch */
		MUST("tx-ends", ++passes < 1000);
	} while (world_resolve_faults() || world.kicked);
}

/* The local side ------------------------------------------------------------------ */

void world_run_action(const struct plan_action *a, u32 index)
{
	switch (a->what) {
	case PLAN_RECV:
	case PLAN_RECV_INVALID:
		world.recv[world.recv_posted++] = index;
		break;
	case PLAN_READ:
	case PLAN_ATOMIC:
	case PLAN_INVALIDATE:
		world.wr[world.wr_posted++] = index;
		break;
	case PLAN_RIGHTS:
		ddp_stream_set_rights(&world.r.stream, a->rights);
		break;
	case PLAN_REVOKE:
		memory_revoke_mr(a->mr);
		break;
	case PLAN_VALIDATE:
		memory_validate_mr(a->mr);
		break;
	case PLAN_ABSENT:
		memory_drop_odp_pages();
		break;
	}
}

/* Begin and end ------------------------------------------------------------------- */

void world_begin_run(const struct plan *p, struct result *result, bool fast)
{
	memset(&world, 0, sizeof(world));
	world.plan = p;
	world.result = result;
	world.fast = fast;
	result->events = 0;
	memory_reset();
	rdmap_init(&world.r, &memory_stags, &memory_stags);
	memory_register_mrs(&world.r.stream);
	world.r.rtr_expected = p->rtr_send ? DDP_RTR_SEND : 0;
	world.r.stream.dma_ok = p->dma_ok;
	ddp_stream_set_rights(&world.r.stream, DDP_REMOTE);
	if (rdmap_set_depths(&world.r, p->ird, p->ord))
		abort();
}

void world_end_run(void)
{
	rdmap_free_queues(&world.r);
	memory_remove_mrs_and_copy_pages(world.result);
	MUST("rx-lock-held", !host_held && !host_reads && !host_bh_off);
}
