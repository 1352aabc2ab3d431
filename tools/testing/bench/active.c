// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The posting end of a measurement: RDMA Writes, Sends, RDMA Reads. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "rate.h"

#define LIST_MAX	256
#define BATCH		32

/**
 * struct run - a running measurement
 * @s: this end
 * @peer: the passive process
 * @posted: number of messages posted so far
 * @done: number of messages completed so far
 * @batch: number of Sends after which the passive end is woken to post receives again
 * @sge: SGEs of a list
 * @wr: work requests of a list
 */
struct run {
	struct side s;
	pid_t peer;
	uint64_t posted;
	uint64_t done;
	uint32_t batch;
	struct ibv_sge sge[LIST_MAX];
	struct ibv_send_wr wr[LIST_MAX];
};

static const enum ibv_wr_opcode opcodes[] = {
	[OP_WRITE] = IBV_WR_RDMA_WRITE,
	[OP_SEND] = IBV_WR_SEND,
	[OP_READ] = IBV_WR_RDMA_READ,
};

/*
 * Build message @n. Its completion shows that all messages before it have completed as well, so
 * wr_id is the number of messages up to this one.
 */
static void fill_wr(struct run *r, struct ibv_send_wr *wr, struct ibv_sge *sge,
		    uint64_t n)
{
	const struct options *opt = r->s.opt;
	uint64_t slot = get_slot_offset(&r->s, n);

	*sge = (struct ibv_sge) {
		.addr = (uintptr_t)r->s.buf + slot,
		.length = opt->size,
		.lkey = r->s.mr->lkey,
	};
	*wr = (struct ibv_send_wr) {
		.wr_id = n + 1,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcodes[opt->op],
		.wr.rdma.remote_addr = r->s.sh->addr + slot,
		.wr.rdma.rkey = r->s.sh->rkey,
	};
	if ((n + 1) % opt->signal == 0)
		wr->send_flags |= IBV_SEND_SIGNALED;
	if (opt->faults && madvise(r->s.buf + slot, opt->size, MADV_DONTNEED))
		die("madvise");
}

/*
 * Wake the passive end, so that it posts its receives again. It does so in batches, because
 * otherwise the measurement would include a wake-up for each receive. Solicited events would avoid
 * these wake-ups as well, but siw does not support them.
 */
static void request_reposts(struct run *r)
{
	struct shared *sh = r->s.sh;

	__atomic_store_n(&sh->wanted, r->posted, __ATOMIC_SEQ_CST);
	eventfd_write(sh->work, 1);
}

static void post_messages(struct run *r, uint32_t n)
{
	struct ibv_send_wr *bad;
	uint32_t i;

	for (i = 0; i < n; i++) {
		fill_wr(r, &r->wr[i], &r->sge[i], r->posted + i);
		r->wr[i].next = i + 1 < n ? &r->wr[i + 1] : NULL;
	}
	if (ibv_post_send(r->s.id->qp, r->wr, &bad))
		die("ibv_post_send");
	r->posted += n;
	if (r->s.opt->op == OP_SEND && r->posted % r->batch < n)
		request_reposts(r);
}

static bool poll_completions(struct run *r)
{
	struct ibv_wc wc[BATCH];
	int n = side_poll_cq(&r->s, wc, BATCH);

	if (n)
		r->done = wc[n - 1].wr_id;
	return n;
}

/* Sleep until something completes */
static void wait_completion(struct run *r)
{
	while (!poll_completions(r)) {
		side_arm_cq(&r->s);
		if (poll_completions(r))
			return;
		side_get_and_ack_cq_event(&r->s);
	}
}

/*
 * Wait until a list of work requests fits into the queues. Return: true if a completion was polled,
 * false otherwise
 */
static bool wait_for_queue_space(struct run *r)
{
	const struct options *opt = r->s.opt;
	bool seen = false;

	while (r->posted + opt->list - r->done > opt->depth) {
		wait_completion(r);
		seen = true;
	}
	if (opt->op == OP_SEND)
		shared_wait_for_count(r->s.sh, &r->s.sh->allowed, r->posted + opt->list);
	return seen;
}

static void post_messages_until(struct run *r, double end)
{
	do {
		while (!wait_for_queue_space(r))
			post_messages(r, r->s.opt->list);
		post_messages(r, r->s.opt->list);
	} while (now() < end);
}

/*
 * Wait until all messages have arrived. For Writes, post a Read: it completes after the
 * Writes before it are placed. Sends are counted by the passive end.
 */
static void post_last_and_wait_all_arrived(struct run *r)
{
	const struct options *opt = r->s.opt;
	struct ibv_send_wr *bad;

	while (r->posted + 1 - r->done > opt->depth)
		wait_completion(r);
	if (opt->op == OP_SEND)
		shared_wait_for_count(r->s.sh, &r->s.sh->allowed, r->posted + 1);
	fill_wr(r, &r->wr[0], &r->sge[0], r->posted);
	r->wr[0].send_flags |= IBV_SEND_SIGNALED;
	if (opt->op == OP_WRITE) {
		r->wr[0].opcode = IBV_WR_RDMA_READ;
		r->sge[0].addr = (uintptr_t)r->s.buf + r->s.window;
		r->sge[0].length = 1;
	}
	if (ibv_post_send(r->s.id->qp, r->wr, &bad))
		die("ibv_post_send");
	r->posted++;
	if (opt->op == OP_SEND)
		request_reposts(r);
	while (r->done < r->posted)
		wait_completion(r);
	if (opt->op == OP_SEND)
		shared_wait_for_count(r->s.sh, &r->s.sh->received, r->posted);
}

static void record_run_mark(struct run *r, struct mark *m)
{
	record_mark(m, r->peer);
	m->messages = r->done;
}

/* Do not call post_last_and_wait_all_arrived(): after a round no message is in flight */
static void measure_ping_rounds(struct run *r, struct mark *m, struct rounds *rounds)
{
	r->done = ping_until(&r->s, 0, now() + r->s.opt->warm, rounds);
	record_run_mark(r, &m[0]);
	r->done = ping_until(&r->s, r->done, m[0].time + r->s.opt->secs, rounds);
	record_run_mark(r, &m[1]);
	ping_end(&r->s, r->done);
}

static void measure_messages(struct run *r, struct mark *m)
{
	post_messages_until(r, now() + r->s.opt->warm);
	post_last_and_wait_all_arrived(r);
	record_run_mark(r, &m[0]);
	post_messages_until(r, m[0].time + r->s.opt->secs);
	post_last_and_wait_all_arrived(r);
	record_run_mark(r, &m[1]);
}

void run_rdma_active_side(const struct options *opt, struct shared *sh, pid_t peer,
			  struct mark *m, struct rounds *rounds)
{
	struct run *r = calloc(1, sizeof(*r));

	if (!r || opt->list > LIST_MAX)
		die("memory");
	r->s.opt = opt;
	r->s.sh = sh;
	r->peer = peer;
	r->batch = opt->recvs / 4 ? opt->recvs / 4 : 1;
	side_connect(&r->s);
	if (opt->op != OP_READ)
		fill_pattern(r->s.buf, r->s.window);
	if (opt->op == OP_PING) {
		post_recvs(&r->s, 0, 1);
		measure_ping_rounds(r, m, rounds);
	} else {
		measure_messages(r, m);
	}
	if (opt->op == OP_READ && has_filled_all_slots(&r->s, r->done))
		sh->bad = !has_pattern(r->s.buf, r->s.window);
	eventfd_write(sh->stop, r->done);
	side_destroy(&r->s);
	free(r);
}
