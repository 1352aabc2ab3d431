// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Kernel consumer for tests. For each new device it checks on which CPU the
 * completion handler of each vector runs, that handlers of a CQ do not run
 * concurrently, which events QPs with an SRQ raise, and whether all requests
 * are flushed before the device is removed. The results for the last device are
 * module parameters.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rnic_sw-abi.h>

#define VECTORS_MOST	16
#define ROUNDS		16
#define REQUESTS	32768	/* maximum that a queue holds */
#define CROWD		1000

static int heard[VECTORS_MOST];
static unsigned int vectors;
module_param_array(heard, int, &vectors, 0444);
MODULE_PARM_DESC(heard, "for each vector the CPU where its handler was called; -1: not always the same; or an error");

static atomic_t nested;
static int doubled = -1;
module_param(doubled, int, 0444);
MODULE_PARM_DESC(doubled, "calls of a handler that was running, while two queue pairs were flushed");

static int unflushed = -1;
module_param(unflushed, int, 0444);
MODULE_PARM_DESC(unflushed, "requests not yet flushed when a device went");

static int ended[] = { -1, -1 };
module_param_array(ended, int, NULL, 0444);
MODULE_PARM_DESC(ended, "events of a queue pair at a shared queue: of one that was destroyed, and of one that had failed");

struct queue {
	struct ib_cq		*cq;
	struct ib_qp		*qp;
	struct completion	told;
	int			cpu;
	bool			again;		/* the handler arms the CQ */
	atomic_t		inside;
};

struct seen {
	struct ib_pd	*pd;
	/* full queues, kept until the device is removed */
	struct queue	sends;
	struct queue	receives;
};

static void on_completion(struct ib_cq *cq, void *context)
{
	struct queue *q = context;

	if (atomic_inc_return(&q->inside) > 1)
		atomic_inc(&nested);
	q->cpu = raw_smp_processor_id();
	if (q->again) {
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
		/* long enough for other completions to arrive */
		udelay(20);
	}
	complete(&q->told);
	atomic_dec(&q->inside);
}

static int make_qp(struct queue *q, struct ib_pd *pd, u32 requests)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.send_cq = q->cq,
		.recv_cq = q->cq,
		.cap = {
			.max_send_wr = requests,
			.max_recv_wr = requests,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	q->qp = ib_create_qp(pd, &attr);
	return PTR_ERR_OR_ZERO(q->qp);
}

static int make_queue(struct queue *q, struct ib_pd *pd, u32 requests,
		      u32 vector)
{
	struct ib_cq_init_attr attr = { .cqe = requests, .comp_vector = vector };
	int err;

	init_completion(&q->told);
	q->cq = ib_create_cq(pd->device, on_completion, NULL, q, &attr);
	if (IS_ERR(q->cq))
		return PTR_ERR(q->cq);
	err = make_qp(q, pd, requests);
	if (err)
		ib_destroy_cq(q->cq);
	return err;
}

static void destroy_queue(struct queue *q)
{
	ib_destroy_qp(q->qp);
	ib_destroy_cq(q->cq);
}

static int post_receives(struct queue *q, u32 n)
{
	const struct ib_recv_wr wr = {};
	int err = 0;

	while (!err && n--)
		err = ib_post_recv(q->qp, &wr, NULL);
	return err;
}

static int post_sends(struct queue *q, u32 n)
{
	const struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	int err = 0;

	while (!err && n--)
		err = ib_post_send(q->qp, &wr, NULL);
	return err;
}

static int move_qp_to_error(struct queue *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(q->qp, &attr, IB_QP_STATE);
}

/*
 * Cause one completion. Return: CPU on which the vector's handler ran, or a
 * negative errno
 */
static int cause_completion_and_get_cpu(struct ib_pd *pd, u32 vector)
{
	struct queue q = {};
	int err = make_queue(&q, pd, 1, vector);

	if (err)
		return err;
	err = ib_req_notify_cq(q.cq, IB_CQ_NEXT_COMP);
	if (!err)
		err = post_receives(&q, 1);
	if (!err)
		err = move_qp_to_error(&q);
	if (!err && !wait_for_completion_timeout(&q.told, 10 * HZ))
		err = -ETIMEDOUT;
	destroy_queue(&q);
	return err ?: q.cpu;
}

static int get_handler_cpu(struct ib_pd *pd, u32 vector)
{
	int i, cpu = cause_completion_and_get_cpu(pd, vector);

	for (i = 1; i < ROUNDS && cpu >= 0; i++)
		if (cause_completion_and_get_cpu(pd, vector) != cpu)
			return -1;
	return cpu;
}

static int drain_cq(struct ib_cq *cq, int n)
{
	unsigned long end = jiffies + 10 * HZ;
	struct ib_wc wc[8];

	while (n > 0 && time_before(jiffies, end)) {
		n -= ib_poll_cq(cq, ARRAY_SIZE(wc), wc);
		cond_resched();
	}
	return n > 0 ? -ETIMEDOUT : 0;
}

static int flush_two_queues(struct queue *one, struct queue *other)
{
	int err = ib_req_notify_cq(one->cq, IB_CQ_NEXT_COMP);

	if (!err)
		err = post_receives(one, CROWD);
	if (!err)
		err = post_receives(other, CROWD);
	if (!err)
		err = move_qp_to_error(one);
	if (!err)
		err = move_qp_to_error(other);
	return err ?: drain_cq(one->cq, 2 * CROWD);
}

/*
 * Flush two QPs that share a CQ. Return: concurrent handler calls, or a
 * negative errno
 */
static int count_nested_calls(struct ib_pd *pd)
{
	struct queue one = { .again = true }, other = {};
	int err = make_queue(&one, pd, 2 * CROWD, 0);

	if (err)
		return err;
	atomic_set(&nested, 0);
	other.cq = one.cq;
	err = make_qp(&other, pd, CROWD);
	if (!err) {
		err = flush_two_queues(&one, &other);
		ib_destroy_qp(other.qp);
	}
	destroy_queue(&one);
	return err ?: atomic_read(&nested);
}

static void on_qp_event(struct ib_event *ev, void *context)
{
	int *n = context;

	if (ev->event == IB_EVENT_QP_LAST_WQE_REACHED)
		WRITE_ONCE(*n, *n + 1);
}

static struct ib_qp *create_srq_qp(struct ib_pd *pd, struct ib_cq *cq, struct ib_srq *srq,
				   int *events)
{
	struct ib_qp_init_attr attr = {
		.event_handler = on_qp_event,
		.qp_context = events,
		.qp_type = IB_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};

	return ib_create_qp(pd, &attr);
}

/* Move the QP to error, and wait a second for an event; there may be none */
static int move_qp_to_error_and_wait_event(struct ib_qp *qp, const int *events)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int err = ib_modify_qp(qp, &attr, IB_QP_STATE);
	int tries = 1000;

	while (!err && !READ_ONCE(*events) && tries--)
		msleep(1);
	return err;
}

/*
 * Create and destroy a QP that uses an SRQ. If @fails, move the QP to the error
 * state in between. Return: the number of last-WQE events of the QP, or a
 * negative errno
 */
static int count_last_wqe_events(struct ib_pd *pd, struct ib_cq *cq, struct ib_srq *srq, bool fails)
{
	int events = 0, err = 0;
	struct ib_qp *qp = create_srq_qp(pd, cq, srq, &events);

	if (IS_ERR(qp))
		return PTR_ERR(qp);
	if (fails)
		err = move_qp_to_error_and_wait_event(qp, &events);
	ib_destroy_qp(qp);
	return err ?: events;
}

static int record_last_wqe_events(struct ib_pd *pd)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 1 };
	struct ib_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ib_cq *cq = ib_create_cq(pd->device, NULL, NULL, NULL, &cq_attr);
	struct ib_srq *srq;

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	srq = ib_create_srq(pd, &attr);
	if (!IS_ERR(srq)) {
		ended[0] = count_last_wqe_events(pd, cq, srq, false);
		ended[1] = count_last_wqe_events(pd, cq, srq, true);
		ib_destroy_srq(srq);
	}
	ib_destroy_cq(cq);
	return PTR_ERR_OR_ZERO(srq);
}

static int make_full_queue(struct queue *q, struct ib_pd *pd,
			   int (*post)(struct queue *, u32))
{
	int err = make_queue(q, pd, REQUESTS, 0);

	if (err)
		return err;
	err = post(q, REQUESTS);
	if (err)
		destroy_queue(q);
	return err;
}

static int make_full_queues(struct seen *s)
{
	int err = make_full_queue(&s->receives, s->pd, post_receives);

	if (err)
		return err;
	err = make_full_queue(&s->sends, s->pd, post_sends);
	if (err)
		destroy_queue(&s->receives);
	return err;
}

static int test_device_and_fill_queues(struct seen *s, struct ib_device *ib)
{
	unsigned int i;
	int err;

	s->pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	vectors = min(ib->num_comp_vectors, VECTORS_MOST);
	for (i = 0; i < vectors; i++)
		heard[i] = get_handler_cpu(s->pd, i);
	doubled = count_nested_calls(s->pd);
	err = record_last_wqe_events(s->pd) ?: make_full_queues(s);
	if (err)
		ib_dealloc_pd(s->pd);
	return err;
}

static struct ib_client client;

static int consumer_add(struct ib_device *ib)
{
	struct seen *s;
	int err;

	if (ib->ops.driver_id != (enum rdma_driver_id)RNIC_SW_DRIVER_ID)
		return -EOPNOTSUPP;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	err = test_device_and_fill_queues(s, ib);
	if (err) {
		kfree(s);
		return err;
	}
	ib_set_client_data(ib, &client, s);
	return 0;
}

/*
 * Count the requests that have no completion yet. Do not wait for them: the driver must have
 * flushed all requests before it calls the remove callback.
 */
static int count_unflushed_requests(struct ib_cq *cq)
{
	int n, left = REQUESTS;
	struct ib_wc wc[8];

	while ((n = ib_poll_cq(cq, ARRAY_SIZE(wc), wc)) > 0)
		left -= n;
	return left;
}

static void consumer_remove(struct ib_device *ib, void *data)
{
	struct seen *s = data;

	/* count first, because destroying the objects takes time */
	unflushed = count_unflushed_requests(s->sends.cq);
	unflushed += count_unflushed_requests(s->receives.cq);
	destroy_queue(&s->sends);
	destroy_queue(&s->receives);
	ib_dealloc_pd(s->pd);
	kfree(s);
}

static struct ib_client client = {
	.name	= "rnic_sw_consumer",
	.add	= consumer_add,
	.remove	= consumer_remove,
};

static int __init consumer_init(void)
{
	return ib_register_client(&client);
}

static void __exit consumer_exit(void)
{
	ib_unregister_client(&client);
}

module_init(consumer_init);
module_exit(consumer_exit);
MODULE_DESCRIPTION("A consumer of the kernel's, for tests of rnic_sw");
MODULE_LICENSE("Dual BSD/GPL");
