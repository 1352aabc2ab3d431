// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs that are newer than the installed libibverbs: the exact port speed, registration by
 * attributes (ibv_reg_mr_ex()), and rings in memory of the program, which the driver refuses.
 */
#include "verbs_ioctl.h"

/* Methods and attributes of the RDMA core */
enum { QUERY_SPEED = 7, SPEED_PORT = 0, SPEED_RESP };
enum { REG_MR = 5, MR_DESTROY = 1 };
enum {
	MR_HANDLE = 0, MR_PD, MR_DMA_HANDLE, MR_IOVA, MR_ADDR, MR_LENGTH, MR_ACCESS, MR_FD,
	MR_FD_OFFSET, MR_LKEY, MR_RKEY,
};
enum { UHW_IN = 1 << 12 };
enum { CREATE = 0, DESTROY = 1 };
enum {
	CQ_HANDLE = 0, CQ_CQE, CQ_USER, CQ_VECTOR = 4, CQ_RESP_CQE = 6, CQ_BUF_VA = 8,
	CQ_BUF_LENGTH, CQ_BUF_FD, CQ_BUF_OFFSET, CQ_UMEM,
};
enum {
	SRQ_HANDLE = 0, SRQ_PD, SRQ_USER = 4, SRQ_MAX_WR, SRQ_MAX_SGE, SRQ_LIMIT, SRQ_TYPE = 9,
	SRQ_RESP_WR = 11, SRQ_RESP_SGE, SRQ_UMEM = 14,
};
enum {
	QP_HANDLE = 0, QP_PD = 2, QP_SEND_CQ = 4, QP_RECV_CQ, QP_USER = 7, QP_CAP, QP_TYPE,
	QP_RESP_CAP = 13, QP_RESP_NUM, QP_UMEM, QP_RQ_UMEM, QP_SQ_UMEM,
};

/* Port speed --------------------------------------------------------------- */

static int query_speed(const struct ibv_context *ctx, uint32_t port, uint64_t *speed)
{
	struct call c;

	call_begin(&c, NEW_DEVICE, QUERY_SPEED);
	call_add_value(&c, SPEED_PORT, 8, port);
	call_add_pointer(&c, SPEED_RESP, 8, speed);
	return call_issue(&c, ctx);
}

/* Return: the speed of a port in 100 Mbit/s, computed from the older attributes */
static uint64_t compute_speed_from_port_attr(const struct ibv_port_attr *port)
{
	static const struct { uint8_t speed, rate; } lanes[] = {
		{ 1, 25 }, { 2, 50 }, { 4, 100 }, { 32, 250 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lanes); i++)
		if (lanes[i].speed == port->active_speed)
			return lanes[i].rate * (port->active_width == 2 ? 4 : 1);
	CHECK(false, "speed %u, width %u", port->active_speed, port->active_width);
}

/*
 * The new query and the older attributes must give the same speed: the interfaces of the tests have
 * a speed that the older attributes can express, or none
 */
static void test_newer_port_speed(void)
{
	struct ibv_port_attr port;
	struct pair p = {};
	uint64_t speed = 0;
	int err;

	pair_prepare(&p, &(struct opts){});
	err = query_speed(p.c.id->verbs, 1, &speed);
	if (err == EPROTONOSUPPORT)
		skip("the RDMA core of this kernel has no query of the port speed");
	CHECK(!err, "%s", strerror(err));
	CHECK(!ibv_query_port(p.c.id->verbs, 1, &port), "%m");
	CHECK(speed == compute_speed_from_port_attr(&port), "%llu, not %llu", (unsigned long long)speed,
	      (unsigned long long)compute_speed_from_port_attr(&port));
	CHECK(query_speed(p.c.id->verbs, 0, &speed) == EINVAL, "port 0: %m");
	CHECK(query_speed(p.c.id->verbs, 2, &speed) == EINVAL, "port 2: %m");
	pair_free(&p);
}

/* Registration ------------------------------------------------------------- */

struct reg {
	uint32_t	handle, lkey, rkey;
};

static void begin_mr_registration(struct call *c, struct reg *r, const struct ibv_pd *pd,
				  uint64_t iova,
				  uint64_t len, uint32_t access)
{
	call_begin(c, NEW_MR, REG_MR);
	call_add_value(c, MR_HANDLE, 0, 0);
	call_add_value(c, MR_PD, 0, pd->handle);
	call_add_value(c, MR_IOVA, 8, iova);
	call_add_value(c, MR_LENGTH, 8, len);
	call_add_value(c, MR_ACCESS, 4, access);
	call_add_pointer(c, MR_LKEY, 4, &r->lkey);
	call_add_pointer(c, MR_RKEY, 4, &r->rkey);
}

static int deregister_mr(const struct ibv_context *ctx, uint32_t handle)
{
	struct call c;

	call_begin(&c, NEW_MR, MR_DESTROY);
	call_add_value(&c, MR_HANDLE, 0, handle);
	return call_issue(&c, ctx);
}

/* Check that registration by attributes refuses invalid arguments, with @d's server buffer */
static void expect_bad_registrations_refused(const struct fixture *d)
{
	const struct ibv_pd *pd = d->p.s.pd;
	uint64_t at = (uintptr_t)d->s.at;
	struct call c;
	struct reg r;

	begin_mr_registration(&c, &r, pd, at, d->s.len, RIGHTS_ALL);
	CHECK(call_issue(&c, pd->context) == EINVAL, "neither address nor file: %m");
	begin_mr_registration(&c, &r, pd, at + 1, d->s.len, RIGHTS_ALL);
	call_add_value(&c, MR_ADDR, 8, at);
	CHECK(call_issue(&c, pd->context) == EINVAL, "another offset in the page: %m");
	begin_mr_registration(&c, &r, pd, at, d->s.len, IBV_ACCESS_REMOTE_WRITE);
	call_add_value(&c, MR_ADDR, 8, at);
	CHECK(call_issue(&c, pd->context) == EINVAL, "remote without local write: %m");
	begin_mr_registration(&c, &r, pd, at, d->s.len, 0x40000000);
	call_add_value(&c, MR_ADDR, 8, at);
	CHECK(call_issue(&c, pd->context) == EINVAL, "an unknown flag: %m");
	begin_mr_registration(&c, &r, pd, at, d->s.len, RIGHTS_ALL);
	call_add_value(&c, MR_ADDR, 8, at);
	call_add_value(&c, MR_DMA_HANDLE, 0, 1);
	CHECK(call_issue(&c, pd->context), "DMA hints must be refused");
}

/* Data must be placed through an MR that is registered by attributes, with a separate IOVA */
static void test_newer_reg_mr(void)
{
	uint64_t at, iova;
	struct fixture d;
	struct call c;
	struct reg r;
	int err;

	fixture_open(&d, &(struct opts){}, 5000);
	at = (uintptr_t)d.s.at;
	iova = (0x5ull << 40) + at % get_page_size();
	begin_mr_registration(&c, &r, d.p.s.pd, iova, d.s.len, RIGHTS_ALL);
	call_add_value(&c, MR_ADDR, 8, at);
	err = call_issue(&c, d.p.s.pd->context);
	if (err == EPROTONOSUPPORT)
		skip("the RDMA core of this kernel has no registration by attributes");
	CHECK(!err, "%s", strerror(err));
	r.handle = c.attrs[0].data;
	buf_fill(&d.c, 7, 4000, 3);
	buf_clear(&d.s);
	post_job(&d.p.c, &(struct job){ .id = 1, .op = IBV_WR_RDMA_WRITE, .flags = SIG, .b = &d.c,
					.off = 7, .len = 4000, .raddr = iova + 7, .rkey = r.rkey });
	expect_success(d.p.c.scq, 1, IBV_WC_RDMA_WRITE);
	wait_all_placed_by_read(&d);
	buf_expect_only_pattern(&d.s, 7, 4000, 3);
	expect_bad_registrations_refused(&d);
	CHECK(!deregister_mr(d.p.s.pd->context, r.handle), "%m");
	fixture_close(&d);
}

/* Rings in memory of the program ------------------------------------------- */

static const uint64_t no_driver_data[4];
static uint32_t resp[8];

/* Memory of the program, as UVERBS_ATTR_UMEM describes it */
static struct {
	uint32_t	type, fd, flags, optional;
	uint64_t	addr, length;
} own_memory;

static void fill_create_cq_attrs(struct call *c)
{
	call_begin(c, NEW_CQ, CREATE);
	call_add_value(c, CQ_HANDLE, 0, 0);
	call_add_value(c, CQ_CQE, 4, 16);
	call_add_value(c, CQ_USER, 8, 0);
	call_add_value(c, CQ_VECTOR, 4, 0);
	call_add_pointer(c, CQ_RESP_CQE, 4, resp);
	call_add_pointer(c, UHW_IN, 16, no_driver_data);
}

static void begin_srq_creation(struct call *c, const struct end *e)
{
	call_begin(c, NEW_SRQ, CREATE);
	call_add_value(c, SRQ_HANDLE, 0, 0);
	call_add_value(c, SRQ_PD, 0, e->pd->handle);
	call_add_value(c, SRQ_USER, 8, 0);
	call_add_value(c, SRQ_MAX_WR, 4, 4);
	call_add_value(c, SRQ_MAX_SGE, 4, 1);
	call_add_value(c, SRQ_LIMIT, 4, 0);
	call_add_value(c, SRQ_TYPE, 8, 0);
	call_add_pointer(c, SRQ_RESP_WR, 4, resp);
	call_add_pointer(c, SRQ_RESP_SGE, 4, resp + 1);
	/* driver data of 8 bytes are in the attribute itself */
	call_add_value(c, UHW_IN, 8, 0);
}

static void begin_qp_creation(struct call *c, const struct end *e)
{
	static const uint32_t cap[5] = { 4, 4, 1, 1, 0 };

	call_begin(c, NEW_QP, CREATE);
	call_add_value(c, QP_HANDLE, 0, 0);
	call_add_value(c, QP_PD, 0, e->pd->handle);
	call_add_value(c, QP_SEND_CQ, 0, e->scq->handle);
	call_add_value(c, QP_RECV_CQ, 0, e->rcq->handle);
	call_add_value(c, QP_USER, 8, 0);
	call_add_pointer(c, QP_CAP, 20, cap);
	call_add_value(c, QP_TYPE, 8, IBV_QPT_RC);
	call_add_pointer(c, QP_RESP_CAP, 20, resp);
	call_add_pointer(c, QP_RESP_NUM, 4, resp + 5);
	call_add_pointer(c, UHW_IN, 16, no_driver_data);
}

/*
 * A ring that the kernel allocates would be of no use for a program that expects it in its own
 * memory, so the driver must refuse the attribute rather than ignore it
 */
static void test_newer_rings_in_own_memory_refused(void)
{
	struct pair p = {};
	struct call c;
	uint16_t attr;
	void *mem;
	int err;

	pair_prepare(&p, &(struct opts){});
	mem = aligned_alloc(get_page_size(), 16 * get_page_size());
	CHECK(mem, "%m");
	own_memory.type = 1;
	own_memory.addr = (uintptr_t)mem;
	own_memory.length = 16 * get_page_size();
	fill_create_cq_attrs(&c);
	call_add_value(&c, CQ_BUF_VA, 8, (uintptr_t)mem);
	call_add_value(&c, CQ_BUF_LENGTH, 8, own_memory.length);
	err = call_issue(&c, p.c.id->verbs);
	if (err == EPROTONOSUPPORT)
		skip("the RDMA core of this kernel has no rings in memory of the program");
	CHECK(err == EOPNOTSUPP, "CQ, address: %s", strerror(err));
	fill_create_cq_attrs(&c);
	call_add_pointer(&c, CQ_UMEM, sizeof(own_memory), &own_memory);
	err = call_issue(&c, p.c.id->verbs);
	CHECK(err == EOPNOTSUPP, "CQ: %s", strerror(err));
	begin_srq_creation(&c, &p.c);
	call_add_pointer(&c, SRQ_UMEM, sizeof(own_memory), &own_memory);
	err = call_issue(&c, p.c.id->verbs);
	CHECK(err == EOPNOTSUPP, "SRQ: %s", strerror(err));
	for (attr = QP_UMEM; attr <= QP_SQ_UMEM; attr++) {
		begin_qp_creation(&c, &p.c);
		call_add_pointer(&c, attr, sizeof(own_memory), &own_memory);
		err = call_issue(&c, p.c.id->verbs);
		CHECK(err == EOPNOTSUPP, "QP, attribute %u: %s", attr, strerror(err));
	}
	/* the same commands without the attribute succeed; the kernel frees the objects at exit */
	fill_create_cq_attrs(&c);
	CHECK(!call_issue(&c, p.c.id->verbs), "CQ: %m");
	begin_srq_creation(&c, &p.c);
	CHECK(!call_issue(&c, p.c.id->verbs), "SRQ: %m");
	begin_qp_creation(&c, &p.c);
	CHECK(!call_issue(&c, p.c.id->verbs), "QP: %m");
	free(mem);
}

const struct test newer_tests[] = {
	CASE("newer_port_speed", test_newer_port_speed, 0, ""),
	CASE("newer_reg_mr", test_newer_reg_mr, 0, ""),
	CASE("newer_own_rings", test_newer_rings_in_own_memory_refused, 0, ""),
	{}
};
