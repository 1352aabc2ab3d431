// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Stubs of memory, lower layer and verbs for the tests of the transmit side,
 * see rdmap_tx_kunit.c
 */
#include <ddp/llp.h>

#include "rdmap_tx.h"

struct mem_results mem;

enum iw_reason ddp_mem_check_access(struct ddp_stream *s, u32 stag, u64 to, u32 len,
				    u8 rights)
{
	mem.checked = rights;
	return rights & s->denied ? IW_DDP_T_STAG : mem.check;
}

enum iw_reason ddp_mem_apply_atomic(struct ddp_stream *s, u32 stag, u64 to,
				    u64 (*result)(const void *how, u64 old),
				    const void *how, u64 *old)
{
	if (result)
		*old = 5;
	return s->denied & DDP_REMOTE_ATOMIC ? IW_DDP_T_STAG : mem.atomic;
}

/* A lower layer ------------------------------------------------------------ */

u32 kicks;

static void llp_kick(struct ddp_llp *llp, bool bulk)
{
	kicks++;
}

static const struct ddp_llp_ops llp_ops = { .kick = llp_kick };
static struct ddp_llp llp = { .ops = &llp_ops };

struct ddp_txseg pulled;

bool pull_segment(struct ddp_stream *s)
{
	u8 bytes[1000];

	return ddp_tx_pull(s, sizeof(bytes), &pulled) &&
	       ddp_tx_copy_payload(s, bytes, pulled.len);
}

u32 pull_all_segments(struct ddp_stream *s)
{
	u32 n = 0;

	ddp_tx_begin(s);
	while (pull_segment(s))
		n++;
	ddp_tx_end(s);
	return n;
}

/* Verbs -------------------------------------------------------------------- */

struct posted posted;

bool rdmap_sq_pull_wr(struct rdmap *r, struct rdmap_wr *wr)
{
	if (!posted.left)
		return false;
	posted.left--;
	*wr = posted.wr;
	wr->more = posted.left;
	wr->sge = posted.sge;
	wr->buf.sge = wr->sge;
	wr->buf.nsge = 1;
	wr->buf.len = wr->sge[0].len;
	return true;
}

bool rdmap_sq_execute_local_wr(struct rdmap *r, const struct rdmap_wr *wr)
{
	posted.locals++;
	posted.mr_refs += !!r->stream.tx_mr;
	return true;
}

void rdmap_sq_mark_segmented(struct rdmap *r, u32 slot)
{
	posted.cut++;
}

bool rdmap_sq_complete_sent_wrs(struct rdmap *r, bool look)
{
	posted.looks += look;
	return !look || posted.left;
}

void rdmap_count_messages(struct rdmap *r, u8 opcode, u32 n, bool sent)
{
	if (!sent)
		posted.delivered += n;
	else if (opcode == RDMAP_OP_TERMINATE)
		posted.terminates += n;
}

void rdmap_count_peer_ops(struct rdmap *r, u8 opcode, u32 n)
{
	*(opcode == RDMAP_OP_WRITE ? &posted.peer_writes : &posted.peer_reads) += n;
}

void rdmap_count_segments(struct rdmap *r, u32 segments, u32 bytes, bool sent)
{
	if (sent)
		return;
	posted.received += segments;
	posted.bytes += bytes;
}

void rdmap_sq_set_wr_failed(struct rdmap *r, u32 slot)
{
	posted.failed++;
}

static void count_failure(struct ddp_stream *s, const struct iw_failure *f)
{
	struct rdmap *r = to_rdmap(s);

	posted.failures++;
	posted.mr_refs += !!s->tx_mr;
	posted.why = f->why;
	r->term_len = posted.terminate_len;
	r->term_pending = posted.terminate_len;
}

static const struct ddp_ulp_ops rdmap_ops = {
	.next = rdmap_prepare_next_msg, .sent = rdmap_handle_sent, .failed = count_failure,
};

struct rdmap_req *receive_peer_request(struct rdmap *r)
{
	r->irq_pending = true;
	return rdmap_reqq_push(&r->irq);
}

struct rdmap *open_rdmap(enum rdmap_wr_op op, u32 n)
{
	static struct rdmap_req theirs[DEPTH], ours[DEPTH];
	static struct rdmap r;

	memset(&r, 0, sizeof(r));
	memset(&mem, 0, sizeof(mem));
	memset(&posted, 0, sizeof(posted));
	memset(&host_memory, 0, sizeof(host_memory));
	ddp_stream_init(&r.stream, &rdmap_ops, NULL, NULL);
	/* wrong values, so that tests fail if rdmap_tx.c does not set a field */
	r.stream.msg = (struct ddp_msg) {
		.hdr = { .ulp8 = 0xff, .ulp32 = 9, .qn = 9, .stag = 9, .to = 9 },
		.rights = DDP_REMOTE_WRITE,
	};
	ddp_stream_bind(&r.stream, &llp);
	rdmap_reqq_init(&r.irq, theirs, DEPTH);
	rdmap_reqq_init(&r.orq, ours, DEPTH);
	posted.wr.op = op;
	posted.left = n;
	kicks = 0;
	return &r;
}
