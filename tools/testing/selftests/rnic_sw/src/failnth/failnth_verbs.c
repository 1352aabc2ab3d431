// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Scenes of failnth without a connection: objects, and a device. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>

#include "failnth.h"

#define OCTETS	80000
#define QPS	5

struct objects {
	struct ibv_context	*ctx;
	struct ibv_pd		*pd;
	struct ibv_comp_channel	*cc;
	struct ibv_cq		*cq;
	struct ibv_srq		*srq;
	struct ibv_qp		*qp[QPS];
	struct ibv_mr		*mr;
	struct ibv_mw		*mw;
	char			*mem;
};

struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	if (!list)
		return NULL;
	for (i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "iw0"))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

static int open_device_and_create_cq(struct objects *o)
{
	int err = MADE(o->ctx = open_device());

	if (!err)
		err = MADE(o->pd = ibv_alloc_pd(o->ctx));
	if (!err)
		err = MADE(o->cc = ibv_create_comp_channel(o->ctx));
	if (!err)
		err = MADE(o->cq = ibv_create_cq(o->ctx, 10, NULL, o->cc, 0));
	if (!err)
		err = TRY(ibv_resize_cq(o->cq, 1000));
	return err;
}

static int create_qp_in_error_state(struct objects *o, int i, struct ibv_srq *srq, bool long_ones)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = o->cq, .recv_cq = o->cq,
		.srq = srq,
		.cap = { .max_send_wr = 100, .max_recv_wr = 100,
			 .max_send_sge = 4, .max_recv_sge = 4 },
	};
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_ERR };
	int err;

	if (!long_ones) {
		attr.cap = (struct ibv_qp_cap){ .max_send_wr = 16, .max_recv_wr = 8,
						.max_send_sge = 1, .max_recv_sge = 1 };
	}
	err = MADE(o->qp[i] = ibv_create_qp(o->pd, &attr));
	return err ? err : TRY(ibv_modify_qp(o->qp[i], &to, IBV_QP_STATE));
}

static int create_queues(struct objects *o)
{
	struct ibv_srq_init_attr attr = { .attr = { 100, 4, 0 } };
	int err = MADE(o->srq = ibv_create_srq(o->pd, &attr)), i;

	if (!err)
		err = create_qp_in_error_state(o, 0, o->srq, true);
	if (!err)
		err = create_qp_in_error_state(o, 1, NULL, true);
	/* rings share pages, but one of these QPs needs a new page, whose allocation can fail */
	for (i = 2; !err && i < QPS; i++)
		err = create_qp_in_error_state(o, i, NULL, false);
	return err;
}

static int create_memory_objects(struct objects *o)
{
	int err;

	o->mem = mmap(NULL, OCTETS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (o->mem == MAP_FAILED) {
		o->mem = NULL;
		return ENOMEM;
	}
	err = MADE(o->mr = ibv_reg_mr(o->pd, o->mem + 1, OCTETS - 1,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	if (!err)
		err = MADE(o->mw = ibv_alloc_mw(o->pd, IBV_MW_TYPE_2));
	return err;
}

static int destroy_objects_and_close_device(struct objects *o, int err)
{
	int bad = 0, i;

	if (o->mw)
		bad |= ibv_dealloc_mw(o->mw);
	if (o->mr)
		bad |= ibv_dereg_mr(o->mr);
	for (i = 0; i < QPS; i++)
		if (o->qp[i])
			bad |= ibv_destroy_qp(o->qp[i]);
	if (o->srq)
		bad |= ibv_destroy_srq(o->srq);
	if (o->cq)
		bad |= ibv_destroy_cq(o->cq);
	if (o->cc)
		bad |= ibv_destroy_comp_channel(o->cc);
	if (o->pd)
		bad |= ibv_dealloc_pd(o->pd);
	if (o->ctx)
		bad |= ibv_close_device(o->ctx);
	if (o->mem)
		munmap(o->mem, OCTETS);
	return bad ? report_wrong_result("an object cannot be destroyed") : err;
}

int run_verbs_scene(void)
{
	struct objects o = {};
	int err = open_device_and_create_cq(&o);

	if (!err)
		err = create_queues(&o);
	if (!err)
		err = create_memory_objects(&o);
	return destroy_objects_and_close_device(&o, err);
}

/* Devices ----------------------------------------------------------------- */

int run_device_scene(void)
{
	int err = add_link("iwf", setting.netdev), gone;

	gone = delete_link("iwf");
	if (err)
		return gone == ENODEV ? err : report_wrong_result("not added, but it exists");
	return gone ? report_wrong_result("the device cannot be deleted: %s", strerror(gone)) : 0;
}
