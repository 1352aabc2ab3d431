// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a program may not say yet, by hand: slots and commands with something
 * in them that this ABI does not know.  And rings that cannot be mapped.
 */
#include <sys/resource.h>

#include <rdma/ib_user_verbs.h>

#include "rings.h"
#include "verbs.h"

/* Slots: see include/uapi/rdma/rnic_sw-abi.h */
enum { AT_FLAGS = 9, AT_INLINE_LEN = 12, AT_IMM = 16, AT_SWAP = 40 };
enum { AT_SQE_RESERVED = 48, AT_RQE_RESERVED = 12 };

#define MAGIC	0x5eed0f00dba5e1e5ull

/* The slot of a request that is posted and that the kernel has not taken */
static uint8_t *find_slot(void)
{
	struct ring ring[32];
	size_t i, at, n = rings_mapped(ring, ARRAY_SIZE(ring));

	for (i = 0; i < n; i++)
		for (at = 0; at < ring[i].words; at += 2)
			if (*(volatile uint64_t *)(ring[i].at + at) == MAGIC)
				return (uint8_t *)(ring[i].at + at);
	CHECK(false, "no slot has it");
}

struct spoil {
	const char	*what;
	size_t		at;
	uint8_t		value;
};

static const struct spoil sends[] = {
	{ "reserved, first octet", AT_SQE_RESERVED, 1 },
	{ "reserved, last octet", AT_SQE_RESERVED + 15, 0x80 },
	{ "a flag", AT_FLAGS, SIG | 0x10 },
	{ "another flag", AT_FLAGS, SIG | 0x80 },
	{ "inline octets, but no flag", AT_INLINE_LEN, 1 },
	{ "immediate data of a Send", AT_IMM, 1 },
	{ "an atomic's value of a Send", AT_SWAP, 1 },
};

/* Connected only after it was posted: the kernel takes it then */
static void spoil_send(const struct spoil *s)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	do_job(&p.c, &(struct job){ .id = MAGIC, .op = IBV_WR_SEND,
				    .flags = SIG });
	find_slot()[s->at] = s->value;
	pair_request(&p);
	pair_make_qp(&p, &p.s);
	CHECK(!try_recv(&p.s, 1, NULL, 0, 0), "recv");
	pair_accept(&p);
	printf("# %s\n", s->what);
	want_status(p.c.scq, MAGIC, IBV_WC_LOC_QP_OP_ERR);
	want_status(p.s.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	CHECK(qp_state(&p.c) == IBV_QPS_ERR, "%d", qp_state(&p.c));
	pair_free(&p);
}

static void abi_sends(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sends); i++)
		spoil_send(&sends[i]);
}

static void post_recv(struct pair *p)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = MAGIC };
	int err = p->s.srq ? ibv_post_srq_recv(p->s.srq, &wr, &bad) :
			     ibv_post_recv(p->s.qp, &wr, &bad);

	CHECK(!err, "%s", strerror(err));
}

static void spoil_recv(uint32_t srq, size_t at)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .srq = srq });
	pair_request(&p);
	pair_make_qp(&p, &p.s);
	post_recv(&p);
	find_slot()[at] = 1;
	pair_accept(&p);
	CHECK(!try_job(&p.c, &(struct job){ .op = IBV_WR_SEND }), "send");
	want_status(p.s.rcq, MAGIC, IBV_WC_LOC_QP_OP_ERR);
	CHECK(qp_state(&p.s) == IBV_QPS_ERR, "%d", qp_state(&p.s));
	pair_free(&p);
}

/* Of a queue of its own and of a shared one: its fault, not the peer's */
static void abi_receives(void)
{
	spoil_recv(0, AT_RQE_RESERVED);
	spoil_recv(0, AT_RQE_RESERVED + 3);
	spoil_recv(8, AT_RQE_RESERVED);
}

/* Commands ---------------------------------------------------------------- */

struct create_cq {
	struct ib_uverbs_cmd_hdr	hdr;
	struct ib_uverbs_create_cq	cmd;
	uint32_t			own[6];
};

static int create_cq(struct ibv_context *ctx, const uint32_t *own, size_t words)
{
	uint64_t resp[16] = {};
	struct create_cq c = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_CREATE_CQ,
			.in_words = (offsetof(struct create_cq, own) +
				     4 * words) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.cmd = {
			.response = (uintptr_t)resp,
			.cqe = 8,
			.comp_channel = -1,
		},
	};

	memcpy(c.own, own, 4 * words);
	return write(ctx->cmd_fd, &c, 4 * c.hdr.in_words) < 0 ? errno : 0;
}

static void refused(struct ibv_context *ctx, size_t at, uint32_t value)
{
	uint32_t own[6] = {};
	int err;

	own[at] = value;
	err = create_cq(ctx, own, 6);
	CHECK(err == EOPNOTSUPP, "word %zu: %s", at, strerror(err));
}

/* What the kernel does not know it refuses, whatever the length */
static void abi_commands(void)
{
	static const uint32_t none[6] = {};
	struct ibv_context *ctx;
	struct pair p = {};
	size_t words;

	pair_prepare(&p, &(struct opts){});
	ctx = p.c.id->verbs;
	for (words = 0; words <= 6; words += 2)
		CHECK(!create_cq(ctx, none, words), "%zu words", words);
	refused(ctx, 0, 1);		/* comp_mask */
	refused(ctx, 0, 1u << 31);
	refused(ctx, 1, 2);		/* flags */
	refused(ctx, 2, 1);		/* reserved */
	refused(ctx, 3, 1);
	refused(ctx, 5, 1);		/* beyond */
	pair_free(&p);
}

/* Resizing ---------------------------------------------------------------- */

static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%lu", &pages) == 1, "%m");
	fclose(f);
	return (rlim_t)pages * sysconf(_SC_PAGESIZE);
}

/* A ring that the program cannot map is not the queue's */
static void resize_unmapped(void)
{
	struct rlimit was, tight;
	struct desk d;
	int i, err;

	desk_open(&d, &(struct opts){ .cqe = 8 }, 100);
	for (i = 0; i < 4; i++) {
		do_recv(&d.p.s, i, &d.s, 0, 50);
		do_send(&d.p.c, i, &d.c, 0, 9);
		want_ok(d.p.c.scq, i, IBV_WC_SEND);
	}
	CHECK(!getrlimit(RLIMIT_AS, &was), "%m");
	tight = was;
	tight.rlim_cur = address_space() + 0x40000;
	CHECK(!setrlimit(RLIMIT_AS, &tight), "%m");
	err = ibv_resize_cq(d.p.s.rcq, 100000);
	CHECK(!setrlimit(RLIMIT_AS, &was), "%m");
	CHECK(err, "resized");
	/* what was there and what comes is seen; it can be resized again */
	for (; i < 7; i++) {
		do_recv(&d.p.s, i, &d.s, 0, 50);
		do_send(&d.p.c, i, &d.c, 0, 9);
	}
	for (i = 0; i < 7; i++)
		want_recv(d.p.s.rcq, i, 9);
	CHECK(!ibv_resize_cq(d.p.s.rcq, 100000), "%m");
	do_recv(&d.p.s, i, &d.s, 0, 50);
	do_send(&d.p.c, i, &d.c, 0, 9);
	want_recv(d.p.s.rcq, i, 9);
	desk_close(&d);
}

const struct test abi_tests[] = {
	CASE("abi_sends", abi_sends, 60, "the ABI"),
	CASE("abi_receives", abi_receives, 0, "the ABI"),
	CASE("abi_commands", abi_commands, 0, "the ABI"),
	CASE("abi_resize_unmapped", resize_unmapped, 0, "the ABI"),
	{}
};
