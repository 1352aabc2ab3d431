// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Long sequences of messages, for networks that lose or reorder packets: all bytes must arrive
 * unchanged, once, and in order.
 */
#include <sched.h>

#include "verbs.h"

enum { WINDOW = 32 };

#define SLOT	70000u
#define MIB	(1024u * 1024)

/* State of the Sends in one direction */
struct flow {
	struct end	*from, *to;
	struct buf	*out, *in;
	uint32_t	len[WINDOW];
	uint32_t	posted, sent, done, got;
	uint64_t	octets;
};

static void post_until_full(struct flow *f, bool more)
{
	for (; f->posted < f->got + WINDOW; f->posted++)
		post_recv(f->to, f->posted, f->in, f->posted % WINDOW * SLOT,
			  SLOT);
	for (; more && f->sent < f->posted && f->sent < f->done + WINDOW;
	     f->sent++) {
		uint32_t at = f->sent % WINDOW;

		f->len[at] = get_random_below(3) ? get_random_below(3000) : get_random_below(SLOT);
		buf_fill(f->out, at * SLOT, f->len[at], f->sent);
		post_send(f->from, f->sent, f->out, at * SLOT, f->len[at]);
		f->octets += f->len[at];
	}
}

static void check_completion(struct flow *f, const struct ibv_wc *wc)
{
	uint32_t at = f->got % WINDOW;

	CHECK(wc->status == IBV_WC_SUCCESS && wc->wr_id == f->got,
	      "message %u: %llu, %s, vendor error %u", f->got,
	      (unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
	      wc->vendor_err);
	CHECK(wc->byte_len == f->len[at], "message %u: %u bytes of %u",
	      f->got, wc->byte_len, f->len[at]);
	buf_expect_pattern(f->in, at * SLOT, f->len[at], f->got);
	f->got++;
}

/*
 * Poll the completions of Sends whose data has been checked, and those of received messages, and
 * check the data of these.  Return: true if there was a completion, false otherwise
 */
static bool poll_completions(struct flow *f)
{
	struct ibv_wc wc;
	bool any = false;

	while (f->done < f->got && ibv_poll_cq(f->from->scq, 1, &wc)) {
		CHECK(!wc.status && wc.wr_id == f->done, "%llu: %s",
		      (unsigned long long)wc.wr_id,
		      ibv_wc_status_str(wc.status));
		f->done++;
		any = true;
	}
	while (f->got < f->sent && ibv_poll_cq(f->to->rcq, 1, &wc)) {
		check_completion(f, &wc);
		any = true;
	}
	return any;
}

static void test_stream_send(void)
{
	const uint64_t want = (uint64_t)setting.mib * MIB / 2;
	struct flow f[2] = {};
	struct buf c2, s2;	/* for the other direction */
	struct fixture d;
	int i;

	fixture_open(&d, &(struct opts){ .sq = WINDOW, .rq = WINDOW },
		     WINDOW * SLOT);
	buf_create(&c2, WINDOW * SLOT);
	buf_create(&s2, WINDOW * SLOT);
	buf_reg(&c2, d.p.c.pd, RIGHTS_ALL);
	buf_reg(&s2, d.p.s.pd, RIGHTS_ALL);
	f[0] = (struct flow){
		.from = &d.p.c, .to = &d.p.s, .out = &d.c, .in = &d.s };
	f[1] = (struct flow){
		.from = &d.p.s, .to = &d.p.c, .out = &s2, .in = &c2 };
	do {
		bool any = false;

		for (i = 0; i < 2; i++) {
			post_until_full(&f[i], f[i].octets < want);
			any |= poll_completions(&f[i]);
		}
		if (!any)
			sched_yield();
	} while (f[0].octets < want || f[1].octets < want ||
		 f[0].done < f[0].sent || f[1].done < f[1].sent);
	expect_no_completion(d.p.c.scq);
	expect_no_completion(d.p.s.scq);
	buf_free(&c2);
	buf_free(&s2);
	fixture_close(&d);
}

/*
 * Write to different offsets, and immediately read each range back to another part of the buffer:
 * the Read must return the data of the Write before it (RDMAP-122).
 */
static uint64_t write_and_read_back(struct fixture *d, uint32_t seed)
{
	struct job j[WINDOW];
	uint64_t octets = 0;
	uint32_t i;

	for (i = 0; i < WINDOW; i++) {
		uint32_t len = get_random_below(3) ? get_random_below(3000) :
		get_random_below(SLOT);

		j[i] = (struct job){
			.id = i, .op = IBV_WR_RDMA_WRITE, .b = &d->c,
			.off = i * SLOT, .len = len, .rkey = d->s.mr->rkey,
			.raddr = (uintptr_t)d->s.at + i * SLOT };
		buf_fill(&d->c, i * SLOT, len, seed + i);
		octets += 2 * len;
		post_job(&d->p.c, &j[i]);
		j[i].op = IBV_WR_RDMA_READ;
		j[i].off += WINDOW * SLOT;
		j[i].flags = SIG;
		post_job(&d->p.c, &j[i]);
	}
	for (i = 0; i < WINDOW; i++) {
		expect_success(d->p.c.scq, i, IBV_WC_RDMA_READ);
		buf_expect_pattern(&d->s, i * SLOT, j[i].len, seed + i);
		buf_expect_pattern(&d->c, j[i].off, j[i].len, seed + i);
	}
	return octets;
}

static void test_stream_rw(void)
{
	const uint64_t want = (uint64_t)setting.mib * MIB;
	uint64_t octets = 0;
	struct fixture d;
	uint32_t seed;

	fixture_open(&d, &(struct opts){ .sq = 2 * WINDOW, .ird = 8, .ord = 8 },
		     2 * WINDOW * SLOT);
	for (seed = 0; octets < want; seed += WINDOW)
		octets += write_and_read_back(&d, seed);
	buf_expect_clear(&d.s, WINDOW * SLOT, WINDOW * SLOT);
	fixture_close(&d);
}

const struct test stream_tests[] = {
	CASE("stream_send", test_stream_send, 120,
	  "DDP-4 DDP-50 DDP-63 DDP-64 RDMAP-94"),
	CASE("stream_rw", test_stream_rw, 120,
	  "DDP-50 RDMAP-121 RDMAP-122"),
	{}
};
