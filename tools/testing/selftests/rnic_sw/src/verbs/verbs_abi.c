// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The kernel must refuse WQEs and commands with bits that this version of the ABI does not define.
 * Other cases: lengths of buffers, a response that the kernel cannot write, and a ring that the
 * program cannot map.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "rings.h"
#include "verbs.h"

/* Offsets in a WQE, see include/uapi/rdma/rnic_sw-abi.h */
enum { AT_FLAGS = 9, AT_INLINE_LEN = 12, AT_IMM = 16, AT_SWAP = 40 };
/* Flags in the second word of the driver's data to create a CQ or a QP */
enum { OWN_TIMESTAMPS = 1, OWN_TCP = 1 };
/* Flags for packed rings: in the second word for a CQ, in the third for a QP */
enum { OWN_PACK_CQ = 2, OWN_PACK_QP = 1 };

enum { AT_SQE_RESERVED = 48, AT_RQE_RESERVED = 12 };

#define MAGIC	0x5eed0f00dba5e1e5ull

/* Find the WQE of a request that the kernel has not fetched yet */
static uint8_t *find_marked_wqe(void)
{
	struct ring ring[32];
	size_t i, at, n = rings_find_mapped(ring, ARRAY_SIZE(ring));

	for (i = 0; i < n; i++)
		for (at = 0; at < ring[i].words; at += 2)
			if (*(volatile uint64_t *)(ring[i].at + at) == MAGIC)
				return (uint8_t *)(ring[i].at + at);
	CHECK(false, "the WQE must be in a ring");
}

struct spoil {
	const char	*what;
	size_t		at;
	uint8_t		value;
};

static const struct spoil sends[] = {
	{ "reserved, first byte", AT_SQE_RESERVED, 1 },
	{ "reserved, last byte", AT_SQE_RESERVED + 15, 0x80 },
	{ "an undefined flag", AT_FLAGS, SIG | 0x10 },
	{ "another undefined flag", AT_FLAGS, SIG | 0x80 },
	{ "inline length without the flag", AT_INLINE_LEN, 1 },
	{ "immediate data of a Send", AT_IMM, 1 },
	{ "value of an atomic in a Send", AT_SWAP, 1 },
};

/*
 * Post the request before the connection is established, and then spoil its WQE: the kernel fetches
 * requests only after the connection is established
 */
static void spoil_send_and_expect_error(const struct spoil *s)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	post_job(&p.c, &(struct job){ .id = MAGIC, .op = IBV_WR_SEND,
				    .flags = SIG });
	find_marked_wqe()[s->at] = s->value;
	pair_request(&p);
	pair_create_qp(&p, &p.s);
	CHECK(!try_post_recv(&p.s, 1, NULL, 0, 0), "recv");
	pair_accept(&p);
	printf("# %s\n", s->what);
	expect_status(p.c.scq, MAGIC, IBV_WC_LOC_QP_OP_ERR);
	expect_status(p.s.rcq, 1, IBV_WC_WR_FLUSH_ERR);
	CHECK(query_qp_state(&p.c) == IBV_QPS_ERR, "%d", query_qp_state(&p.c));
	pair_free(&p);
}

static void test_abi_undefined_bits_of_sends(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sends); i++)
		spoil_send_and_expect_error(&sends[i]);
}

static void post_marked_recv(struct pair *p)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = MAGIC };
	int err = p->s.srq ? ibv_post_srq_recv(p->s.srq, &wr, &bad) :
			     ibv_post_recv(p->s.qp, &wr, &bad);

	CHECK(!err, "%s", strerror(err));
}

static void spoil_recv_and_expect_error(uint32_t srq, size_t at)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .srq = srq });
	pair_request(&p);
	pair_create_qp(&p, &p.s);
	post_marked_recv(&p);
	find_marked_wqe()[at] = 1;
	pair_accept(&p);
	CHECK(!try_post_job(&p.c, &(struct job){ .op = IBV_WR_SEND }), "send");
	expect_status(p.s.rcq, MAGIC, IBV_WC_LOC_QP_OP_ERR);
	CHECK(query_qp_state(&p.s) == IBV_QPS_ERR, "%d", query_qp_state(&p.s));
	pair_free(&p);
}

/* A receive with undefined bits, in the receive queue of a QP or in an SRQ, must fail locally */
static void test_abi_undefined_bits_of_receives(void)
{
	spoil_recv_and_expect_error(0, AT_RQE_RESERVED);
	spoil_recv_and_expect_error(0, AT_RQE_RESERVED + 3);
	spoil_recv_and_expect_error(8, AT_RQE_RESERVED);
}

/* Commands ---------------------------------------------------------------- */

enum { CORE_ANSWER = 960, ANSWER = 1024, OWN_MOST = 48 };

struct verb {
	const char	*what;
	uint8_t		nr;
	bool		ex;
	bool		answers;	/* has a response; if !ex, @core begins with its address */
	size_t		own;		/* minimum length of the driver's data, in bytes */
	const void	*core;
	size_t		len;
};

/* Issue a command.  Return: 0 or an errno */
static int issue_command(int fd, const struct verb *v, const void *own, size_t len,
			 void *answer)
{
	uint64_t words[64] = {};
	struct ib_uverbs_cmd_hdr *hdr = (void *)words;
	struct ib_uverbs_ex_cmd_hdr *ex = (void *)(hdr + 1);
	uint8_t *core = (void *)(v->ex ? (void *)(ex + 1) : (void *)(hdr + 1));
	size_t all = core + v->len + len - (uint8_t *)words;

	memcpy(core, v->core, v->len);
	memcpy(core + v->len, own, len);
	hdr->command = v->nr;
	if (v->ex) {
		hdr->command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		hdr->in_words = v->len / 8;
		hdr->out_words = CORE_ANSWER / 8;
		ex->response = (uintptr_t)answer;
		ex->provider_in_words = len / 8;
		ex->provider_out_words = (ANSWER - CORE_ANSWER) / 8;
	} else {
		hdr->in_words = all / 4;
		hdr->out_words = v->answers ? ANSWER / 4 : 0;
		if (v->answers)
			memcpy(core, &(uint64_t){ (uintptr_t)answer }, 8);
	}
	return write(fd, words, all) < 0 ? errno : 0;
}

static void issue_and_expect_errno(int fd, const struct verb *v, const void *own,
				   size_t len, int want)
{
	uint8_t answer[ANSWER];
	int err;
	size_t i;

	memset(answer, 0xff, sizeof(answer));
	err = issue_command(fd, v, own, len, answer);
	CHECK(err == want, "%s, %zu bytes: %s", v->what, len, strerror(err));
	if (err || !v->answers)
		return;
	/* ANSWER exceeds the longest response: the kernel must zero the rest of the buffer */
	for (i = ANSWER - 8; i < ANSWER; i++)
		CHECK(!answer[i], "%s: byte %zu is %#x", v->what, i, answer[i]);
}

/* Try each length of the driver's data, and a byte that is not 0 at several offsets */
static void try_driver_data_lengths(int fd, const struct verb *v)
{
	static const uint8_t none[OWN_MOST];
	uint8_t own[OWN_MOST] = {};
	size_t unit = v->ex ? 8 : 4, len, at;

	for (len = 0; len <= OWN_MOST; len += unit)
		issue_and_expect_errno(fd, v, none, len, len < v->own ? EINVAL : 0);
	/*
	 * A byte that is not 0 must be refused in the first word, which is comp_mask without any
	 * defined bit, or undefined, and in the last words, which are undefined
	 */
	for (at = 0; at < OWN_MOST; at += at ? 7 : OWN_MOST - 15) {
		own[at] = 1;
		issue_and_expect_errno(fd, v, own, OWN_MOST, EOPNOTSUPP);
		own[at] = 0;
	}
	own[OWN_MOST - 1] = 0x80;
	issue_and_expect_errno(fd, v, own, OWN_MOST, EOPNOTSUPP);
}

#define VERB(name, NAME, ...)						\
	{ .what = #name, .nr = IB_USER_VERBS_CMD_##NAME,		\
	  .core = &(const struct ib_uverbs_##name){ __VA_ARGS__ },	\
	  .len = sizeof(struct ib_uverbs_##name)

/* Commands with data of the driver: @pd and @cq are handles */
#define MAKE_CQ								\
	VERB(create_cq, CREATE_CQ, .cqe = 8, .comp_channel = -1),	\
	     .answers = true, .own = 4 }
#define MAKE_SRQ(pd)							\
	VERB(create_srq, CREATE_SRQ, .pd_handle = (pd), .max_wr = 4,	\
	     .max_sge = 1), .answers = true, .own = 4 }
#define MAKE_QP(pd, cq)							\
	VERB(create_qp, CREATE_QP, .pd_handle = (pd),			\
	     .send_cq_handle = (cq), .recv_cq_handle = (cq),		\
	     .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,	\
	     .max_recv_sge = 1, .qp_type = IBV_QPT_RC),			\
	     .answers = true, .own = 4 }

static void try_create_commands(struct ibv_context *ctx, struct pair *p)
{
	static uint64_t mem[8];
	struct ibv_mr *mr = ibv_reg_mr(p->c.id->pd, mem, sizeof(mem), 1);
	uint32_t pd = p->c.id->pd->handle, cq = p->c.scq->handle;
	const uintptr_t at = (uintptr_t)mem;
	size_t i;

	CHECK(mr, "%m");
	const struct verb verbs[] = {
		VERB(alloc_pd, ALLOC_PD, 0), .answers = true },
		VERB(reg_mr, REG_MR, .start = at, .length = sizeof(mem),
		     .hca_va = at, .pd_handle = pd, .access_flags = 1),
		     .answers = true },
		VERB(rereg_mr, REREG_MR, .mr_handle = mr->handle,
		     .flags = IBV_REREG_MR_CHANGE_ACCESS, .pd_handle = pd,
		     .access_flags = 1), .answers = true },
		VERB(alloc_mw, ALLOC_MW, .pd_handle = pd, .mw_type = 1),
		     .answers = true },
		MAKE_CQ,
		VERB(resize_cq, RESIZE_CQ, .cq_handle = cq, .cqe = 8),
		     .answers = true, .own = 4 },
		MAKE_SRQ(pd),
		MAKE_QP(pd, cq),
	};

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		try_driver_data_lengths(ctx->cmd_fd, &verbs[i]);
	CHECK(!ibv_dereg_mr(mr), "%m");
}

static void try_modify_and_query_commands(struct ibv_context *ctx, struct pair *p)
{
	size_t i;

	const struct verb verbs[] = {
		VERB(modify_srq, MODIFY_SRQ, .srq_handle = p->s.srq->handle,
		     .attr_mask = IBV_SRQ_LIMIT) },
		{ .what = "ex_modify_qp", .ex = true, .answers = true,
		  .nr = IB_USER_VERBS_EX_CMD_MODIFY_QP,
		  .core = &(const struct ib_uverbs_ex_modify_qp){
			.base.qp_handle = p->c.qp->handle },
		  .len = sizeof(struct ib_uverbs_ex_modify_qp) },
		{ .what = "ex_query_device", .ex = true, .answers = true,
		  .nr = IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
		  .core = &(const struct ib_uverbs_ex_query_device){},
		  .len = sizeof(struct ib_uverbs_ex_query_device) },
	};

	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		try_driver_data_lengths(ctx->cmd_fd, &verbs[i]);
}

/* Try each command that can have data of the driver, with correct and incorrect data */
static void test_abi_driver_data_of_commands(void)
{
	struct pair p = {};

	pair_prepare(&p, &(struct opts){ .srq = 8 });
	pair_request(&p);
	pair_create_qp(&p, &p.s);
	try_create_commands(p.c.id->verbs, &p);
	try_modify_and_query_commands(p.s.id->verbs, &p);
	/* reject the request: without a reply this process could exit only after a timeout */
	CHECK(!rdma_reject(p.s.id, NULL, 0), "%m");
	/*
	 * The program does not know the handles of the created objects, so it cannot destroy them.
	 * The kernel frees them at exit.
	 */
}

struct word {
	uint32_t at, value;
};

/* Set one word at a time to a wrong value */
static void expect_bad_words_refused(struct pair *p, const struct verb *create,
				     const struct word *bad,
				     size_t n)
{
	uint32_t own[6];
	size_t i;

	for (i = 0; i < n; i++) {
		memset(own, 0, sizeof(own));
		own[bad[i].at] = bad[i].value;
		issue_and_expect_errno(p->c.id->verbs->cmd_fd, create, own, sizeof(own),
				       EOPNOTSUPP);
	}
}

static void test_abi_wrong_words_are_refused(void)
{
	static const struct word of_cq[] = {
		{ 0, 1 }, { 0, 1u << 31 },	/* comp_mask */
		{ 1, 4 }, { 1, 1u << 31 },	/* flags */
		{ 2, 1 }, { 3, 1 },		/* reserved */
		{ 5, 1 },			/* beyond the end */
	}, of_srq[] = {
		{ 0, 1 }, { 0, 1u << 31 },
		{ 1, 2 }, { 1, 1u << 31 },
		{ 2, 1 },
	}, of_qp[] = {
		{ 0, 1 }, { 0, 1u << 31 },
		{ 2, 2 }, { 2, 1u << 31 },
		{ 3, 1 }, { 4, 1 },
	};
	struct pair p = {};

	pair_prepare(&p, &(struct opts){});
	const struct verb cq = MAKE_CQ;
	const struct verb srq = MAKE_SRQ(p.c.id->pd->handle);
	const struct verb qp = MAKE_QP(p.c.id->pd->handle, p.c.scq->handle);

	expect_bad_words_refused(&p, &cq, of_cq, ARRAY_SIZE(of_cq));
	expect_bad_words_refused(&p, &srq, of_srq, ARRAY_SIZE(of_srq));
	expect_bad_words_refused(&p, &qp, of_qp, ARRAY_SIZE(of_qp));
	pair_free(&p);
}

/*
 * The kernel can write the driver's part of the response, but the part of the RDMA core is at an
 * address that is not mapped. The command must then fail, and the kernel must destroy the object
 * that it has just created, here one with options of the driver, without a warning.
 */
static void test_abi_unwritable_response_fails(void)
{
	const size_t page = sysconf(_SC_PAGESIZE);
	const uint32_t timestamps[] = { 0, OWN_TIMESTAMPS | OWN_PACK_CQ, 0, 0 };
	const uint32_t over_tcp[] = { 0, OWN_TCP, OWN_PACK_QP, 0 };
	struct pair p = {};
	uint8_t *at;
	int fd;

	pair_prepare(&p, &(struct opts){});
	fd = p.c.id->verbs->cmd_fd;
	at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(at != MAP_FAILED && !munmap(at, page), "%m");
	at += page;
	const struct verb cq = MAKE_CQ;
	const struct verb qp = MAKE_QP(p.c.id->pd->handle, p.c.scq->handle);

	CHECK(issue_command(fd, &cq, timestamps, sizeof(timestamps),
			    at - sizeof(struct ib_uverbs_create_cq_resp)) == EFAULT,
	      "CQ");
	CHECK(issue_command(fd, &qp, over_tcp, sizeof(over_tcp),
			    at - sizeof(struct ib_uverbs_create_qp_resp)) == EFAULT,
	      "QP");
	/* pair_free() fails if there is still an object that uses the PD, a CQ or the SRQ */
	pair_free(&p);
}

/* A query must return the attribute with which the QP was created */
static void test_abi_query_returns_sig_all(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	}, init;
	struct ibv_qp_attr now;
	struct pair p = {};
	struct ibv_qp *qp;

	pair_prepare(&p, &(struct opts){});
	attr.send_cq = p.c.scq;
	attr.recv_cq = p.c.scq;
	for (attr.sq_sig_all = 0; attr.sq_sig_all < 2; attr.sq_sig_all++) {
		qp = ibv_create_qp(p.c.id->pd, &attr);
		CHECK(qp, "%m");
		CHECK(!ibv_query_qp(qp, &now, IBV_QP_STATE, &init), "query");
		CHECK(!init.sq_sig_all == !attr.sq_sig_all, "%d for %d",
		      init.sq_sig_all, attr.sq_sig_all);
		CHECK(!ibv_destroy_qp(qp), "%m");
	}
	pair_free(&p);
}

/* Methods ----------------------------------------------------------------- */

/* See include/uapi/rdma/rnic_sw-abi.h */
enum { OWN_DRIVER_ID = 0x726e7377, OWN_QUERY_CONN = 1 << UVERBS_ID_NS_SHIFT };
enum { QUERY_HANDLE = 1 << UVERBS_ID_NS_SHIFT, QUERY_RESP, QUERY_DATA, QUERY_UNKNOWN };
enum { RESP_LEN = 16, RESP_LLP = 12, RESP_DATA_LEN = 14, QUERY_MOST = 65535 };

/* Output buffers of a query, and the lengths that the command gives for them */
struct query {
	uint8_t		resp[RESP_LEN * 4], data[QUERY_MOST + 1];
	uint16_t	resp_len, data_len;
	uint16_t	last;		/* last attribute of the command */
};

/* Query the QP @handle of the file @fd.  Return: 0 or an errno */
static int query_conn(int fd, uint32_t handle, struct query *q)
{
	struct {
		struct ib_uverbs_ioctl_hdr	hdr;
		struct ib_uverbs_attr		attrs[4];
	} c = { .attrs = {
		{ .attr_id = QUERY_HANDLE, .data = handle },
		{ .attr_id = QUERY_RESP, .len = q->resp_len, .data = (uintptr_t)q->resp },
		{ .attr_id = QUERY_DATA, .len = q->data_len, .data = (uintptr_t)q->data },
		{ .attr_id = QUERY_UNKNOWN, .flags = UVERBS_ATTR_F_MANDATORY },
	} };

	memset(q->resp, 0xff, sizeof(q->resp));
	memset(q->data, 0xff, sizeof(q->data));
	c.hdr.num_attrs = q->last - QUERY_HANDLE + 1;
	c.hdr.length = sizeof(c.hdr) + c.hdr.num_attrs * sizeof(c.attrs[0]);
	c.hdr.object_id = UVERBS_OBJECT_QP;
	c.hdr.method_id = OWN_QUERY_CONN;
	c.hdr.driver_id = OWN_DRIVER_ID;
	return ioctl(fd, RDMA_VERBS_IOCTL, &c) ? errno : 0;
}

/*
 * Check an output buffer of @all bytes: the first @len bytes must be @want, followed by zeros; the
 * kernel must not write the rest, which was filled with 0xff
 */
static void expect_output(const uint8_t *got, size_t len, const char *want, size_t want_len,
			  size_t all)
{
	size_t i;

	for (i = 0; i < all; i++) {
		uint8_t octet = i >= len ? 0xff : i < want_len ? want[i] : 0;

		CHECK(got[i] == octet, "byte %zu of %zu is %#x", i, len, got[i]);
	}
}

/*
 * Try each length of the buffers: the kernel must truncate its outputs, or zero the rest of the
 * buffer
 */
static void try_query_lengths(int fd, uint32_t handle, struct query *q)
{
	static const uint16_t lengths[] = { 0, 1, 4, 5, 6, 512, 513, QUERY_MOST };
	uint16_t len;
	size_t i;
	int err;

	q->data_len = 512;
	for (len = 0; len <= sizeof(q->resp); len++) {
		q->resp_len = len;
		err = query_conn(fd, handle, q);
		CHECK(err == (len < RESP_LEN ? EINVAL : 0), "%u bytes: %s", len, strerror(err));
		if (!err)
			expect_output(q->resp + RESP_LEN, len - RESP_LEN, "", 0,
				      sizeof(q->resp) - RESP_LEN);
	}
	q->resp_len = RESP_LEN;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		q->data_len = lengths[i];
		err = query_conn(fd, handle, q);
		CHECK(!err, "%u bytes: %s", lengths[i], strerror(err));
		CHECK(q->resp[RESP_DATA_LEN] == 5, "%u", q->resp[RESP_DATA_LEN]);
		CHECK(q->resp[RESP_LLP] == (is_over_sctp() ? 2 : 1), "%u", q->resp[RESP_LLP]);
		expect_output(q->data, lengths[i], "hello", 5, sizeof(q->data));
	}
}

static void test_abi_query_conn(void)
{
	static struct query q = { .resp_len = RESP_LEN, .last = QUERY_DATA };
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_send_sge = 1 }, .qp_type = IBV_QPT_RC,
	};
	struct ibv_context *other;
	struct pair p = {};
	struct ibv_qp *idle;
	int fd;

	pair_open(&p, &(struct opts){ .hello = "hello", .hello_len = 5 });
	fd = p.s.id->verbs->cmd_fd;
	try_query_lengths(fd, p.s.qp->handle, &q);
	/*
	 * the attribute for the data is optional, all other attributes are required, and an
	 * unknown attribute must be refused
	 */
	q.last = QUERY_RESP;
	CHECK(!query_conn(fd, p.s.qp->handle, &q), "%m");
	q.last = QUERY_HANDLE;
	CHECK(query_conn(fd, p.s.qp->handle, &q) == EINVAL, "%m");
	q.last = QUERY_UNKNOWN;
	CHECK(query_conn(fd, p.s.qp->handle, &q) == EPROTONOSUPPORT, "%m");
	q.last = QUERY_DATA;
	/* only the file through which a QP was created can query the QP */
	other = ibv_open_device(p.s.id->verbs->device);
	CHECK(other, "%m");
	CHECK(query_conn(other->cmd_fd, p.s.qp->handle, &q) == ENOENT, "%m");
	CHECK(!ibv_close_device(other), "%m");
	attr.send_cq = p.s.scq;
	attr.recv_cq = p.s.scq;
	idle = ibv_create_qp(p.s.id->pd, &attr);
	CHECK(idle && query_conn(fd, idle->handle, &q) == ENOTCONN, "%m");
	expect_output(q.resp, 0, "", 0, sizeof(q.resp));
	CHECK(!ibv_destroy_qp(idle), "%m");
	pair_close(&p);
}

/* Resizing ---------------------------------------------------------------- */

static rlim_t read_address_space_size(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%lu", &pages) == 1, "%m");
	fclose(f);
	return (rlim_t)pages * sysconf(_SC_PAGESIZE);
}

/* If the program cannot map the new ring, the CQ must keep its old one */
static void test_cq_kept_if_resize_fails(void)
{
	struct rlimit was, tight;
	struct fixture d;
	int i, err;

	fixture_open(&d, &(struct opts){ .cqe = 8 }, 100);
	for (i = 0; i < 4; i++) {
		post_recv(&d.p.s, i, &d.s, 0, 50);
		post_send(&d.p.c, i, &d.c, 0, 9);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
	}
	CHECK(!getrlimit(RLIMIT_AS, &was), "%m");
	tight = was;
	tight.rlim_cur = read_address_space_size() + 0x40000;
	CHECK(!setrlimit(RLIMIT_AS, &tight), "%m");
	err = ibv_resize_cq(d.p.s.rcq, 100000);
	CHECK(!setrlimit(RLIMIT_AS, &was), "%m");
	CHECK(err, "the resize must fail");
	/* no completion may be lost, and resizing must work again */
	for (; i < 7; i++) {
		post_recv(&d.p.s, i, &d.s, 0, 50);
		post_send(&d.p.c, i, &d.c, 0, 9);
	}
	for (i = 0; i < 7; i++)
		expect_recv(d.p.s.rcq, i, 9);
	CHECK(!ibv_resize_cq(d.p.s.rcq, 100000), "%m");
	post_recv(&d.p.s, i, &d.s, 0, 50);
	post_send(&d.p.c, i, &d.c, 0, 9);
	expect_recv(d.p.s.rcq, i, 9);
	fixture_close(&d);
}

const struct test abi_tests[] = {
	CASE("abi_sends", test_abi_undefined_bits_of_sends, 60, "the ABI"),
	CASE("abi_receives", test_abi_undefined_bits_of_receives, 0, "the ABI"),
	CASE("abi_commands", test_abi_driver_data_of_commands, 0, "the ABI"),
	CASE("abi_words", test_abi_wrong_words_are_refused, 0, "the ABI"),
	CASE("abi_unanswered", test_abi_unwritable_response_fails, 0, "the ABI"),
	CASE("abi_signal_all", test_abi_query_returns_sig_all, 0, "the ABI"),
	CASE("abi_query_conn", test_abi_query_conn, 0, "the ABI"),
	CASE("abi_resize_unmapped", test_cq_kept_if_resize_fails, 0, "the ABI"),
	{}
};
