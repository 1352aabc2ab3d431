// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints, each of which links a session in an LLP to an iw_cm ID and a QP; and the table of
 * pending connection requests.
 *
 * The session holds a reference to its endpoint until rnic_cm_handle_closed().  For a pending
 * request the table holds a second reference.  The function that removes the endpoint from the
 * table takes over this reference: rnic_iw_accept() after success, rnic_cm_handle_closed() when the
 * session has ended, or rnic_cm_handle_request() after an error.
 *
 * iw_cm gets the number of a request instead of a pointer to the endpoint.  iw_cm may discard
 * a request without notifying the driver, if the listener is being destroyed or memory is
 * short, and then a reference held by iw_cm would never be dropped.
 *
 * Removal of a device does not wait for a program or a peer: destroying the QP aborts an
 * accepted connection, and rnic_pending_reqs_abort() aborts all pending requests.
 */
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "cm.h"
#include "qp_conn.h"

static void rnic_ep_free(struct kref *ref)
{
	struct rnic_ep *ep = container_of(ref, struct rnic_ep, ref);
	struct rnic_dev *dev = ep->dev;

	if (ep->ss)
		ddp_session_put(ep->ss);
	kfree(ep->peer_msg);
	kfree(ep);
	rnic_uncharge_object(dev, RNIC_EPS);
}

/**
 * rnic_ep_new - allocate an endpoint
 * @dev: the device
 *
 * May sleep.  The memory is charged to the control group of the current task.  For a peer's
 * request this is an LLP's worker, so no program is charged for such a request.
 *
 * Return: the endpoint with one reference; NULL if memory is short or the device has the
 * maximum number of endpoints.
 */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev)
{
	struct rnic_ep *ep;

	if (rnic_charge_object(dev, RNIC_EPS))
		return NULL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep) {
		rnic_uncharge_object(dev, RNIC_EPS);
		return NULL;
	}
	ep->dev = dev;
	kref_init(&ep->ref);
	return ep;
}

/*
 * Take a reference to an endpoint.  The caller must have a reference already, or hold the lock
 * of the table while the table has a reference.
 */
static void rnic_ep_get(struct rnic_ep *ep)
{
	kref_get(&ep->ref);
}

/**
 * rnic_ep_put - drop a reference to an endpoint
 * @ep: the endpoint, freed if this was the last reference
 */
void rnic_ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, rnic_ep_free);
}

/*
 * Begin to abort the session of a pending request, without waiting for its end.  When the
 * session has ended, the LLP calls rnic_cm_handle_closed().  The caller must have a reference to
 * @ep. Any context.
 */
static void rnic_ep_abort(struct rnic_ep *ep)
{
	ep->ss->type->stop(ep->ss, true);
}

/* Reject @ep with Private Data.  Return: 0 or a negative errno. */
static int reject_with_data(struct rnic_ep *ep, const struct ddp_offer *empty, const void *pd,
			    u8 len)
{
	struct ddp_offer *o = kmalloc(sizeof(*o), GFP_KERNEL);
	int err;

	if (!o)
		return -ENOMEM;
	*o = *empty;
	o->pd_len = len;
	memcpy(o->pd, pd, len);
	err = ep->ss->type->reject(ep->ss, o);
	kfree(o);
	return err;
}

/**
 * rnic_ep_reject - reject a pending request
 * @ep: the endpoint, referenced by the caller
 * @pd: Private Data for the peer; ignored if @len is 0
 * @len: length of the Private Data in bytes
 *
 * If the LLP cannot send the reject, aborts the session, so that the peer does not wait for a
 * reply.  Needs no memory if @len is 0.  May sleep.
 */
void rnic_ep_reject(struct rnic_ep *ep, const void *pd, u8 len)
{
	static const struct ddp_offer empty[] = {
		{ .ird = NEG_DEPTH_NONE, .ord = NEG_DEPTH_NONE },
		{ .ird = NEG_DEPTH_NONE, .ord = NEG_DEPTH_NONE, .enhanced = true },
	};
	const struct ddp_offer *o = &empty[ep->request.enhanced];
	int err = len ? reject_with_data(ep, o, pd, len) : ep->ss->type->reject(ep->ss, o);

	if (err)
		rnic_ep_abort(ep);
}

/**
 * rnic_ep_attach_id_and_qp - attach an iw_cm ID and a QP to an endpoint
 * @ep: the endpoint
 * @id: the ID; the endpoint takes a reference
 * @qp: the QP; the endpoint takes a reference
 */
void rnic_ep_attach_id_and_qp(struct rnic_ep *ep, struct iw_cm_id *id, struct rnic_qp *qp)
{
	id->add_ref(id);
	kref_get(&qp->ref);
	ep->id = id;
	ep->qp = qp;
}

/**
 * rnic_ep_detach_id_and_qp - drop an endpoint's references to its iw_cm ID and QP, if any
 * @ep: the endpoint
 */
void rnic_ep_detach_id_and_qp(struct rnic_ep *ep)
{
	struct iw_cm_id *id = ep->id;
	struct rnic_qp *qp = ep->qp;

	rnic_ep_unwatch_program(ep);
	ep->id = NULL;
	ep->qp = NULL;
	if (id)
		id->rem_ref(id);
	if (qp)
		rnic_qp_put(qp);
}

/* The peer's start-up message ------------------------------------------------------ */

/**
 * rnic_ep_save_peer_msg - keep the peer's start-up message until a QP can take it
 * @ep: the endpoint, with its session; must have no message
 * @o: contents of the message
 * @flags: RNIC_SW_CONN_REJECTED if the message is a reject, else 0
 *
 * May sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_ep_save_peer_msg(struct rnic_ep *ep, const struct ddp_offer *o, u8 flags)
{
	bool sctp = ep->ss->type == rnic_get_llp(ep->dev, RNIC_SW_LLP_SCTP);

	ep->peer_msg = rnic_peer_msg_new(o, sctp ? RNIC_SW_LLP_SCTP : RNIC_SW_LLP_TCP, flags);
	return ep->peer_msg ? 0 : -ENOMEM;
}

/**
 * rnic_ep_pass_peer_msg_to_qp - pass the peer's start-up message to the QP
 * @ep: the endpoint, with its QP; has no message on return
 *
 * The caller must report ESTABLISHED or the reject to iw_cm afterwards, because the program may
 * query the message from that event on.  May sleep.
 *
 * Return: 0; -ENOMEM, also if rnic_ep_save_peer_msg() had no memory.
 */
int rnic_ep_pass_peer_msg_to_qp(struct rnic_ep *ep)
{
	int err = ep->peer_msg ? rnic_qp_set_peer_msg(ep->qp, ep->peer_msg) : -ENOMEM;

	kfree(ep->peer_msg);
	ep->peer_msg = NULL;
	return err;
}

/* The table of pending requests --------------------------------------------------- */

/**
 * rnic_pending_reqs_init - initialize the table of pending requests
 * @dev: the device, not yet registered
 */
void rnic_pending_reqs_init(struct rnic_dev *dev)
{
	xa_init_flags(&dev->pending, XA_FLAGS_ALLOC1);
}

/**
 * rnic_pending_req_add - add a request to the table before reporting the request to iw_cm
 * @dev: the device
 * @ep: the endpoint; the table takes a reference
 * @number: filled in with the number that iw_cm gets for the request; allocated cyclically
 *
 * Return: 0 or a negative errno.
 */
int rnic_pending_req_add(struct rnic_dev *dev, struct rnic_ep *ep, u32 *number)
{
	int err;

	rnic_ep_get(ep);
	err = xa_alloc_cyclic(&dev->pending, number, ep, xa_limit_32b,
			      &dev->pending_next, GFP_KERNEL);
	if (err >= 0)
		return 0;
	rnic_ep_put(ep);
	return err;
}

/**
 * rnic_pending_req_remove - remove a request from the table
 * @ep: the endpoint
 *
 * Called when a program has accepted the request, when the session of the request has ended,
 * and when reporting the request to iw_cm has failed.
 *
 * Return: true if the request was in the table, so the caller must drop the table's reference;
 * false otherwise.
 */
bool rnic_pending_req_remove(struct rnic_ep *ep)
{
	struct xarray *pending = &ep->dev->pending;
	bool was_pending;

	xa_lock(pending);
	/* if @ep is no longer in the table, another request may have its number */
	was_pending = xa_load(pending, ep->number) == ep;
	if (was_pending)
		__xa_erase(pending, ep->number);
	xa_unlock(pending);
	return was_pending;
}

/**
 * rnic_pending_req_get - look up a request that is to be accepted or rejected
 * @dev: the device
 * @number: the number of the request
 *
 * Does not remove the request: a request that is not accepted stays in the table until its
 * session has ended. Otherwise removal of the device could not find and abort the session of a
 * rejected request, and would wait until the LLP has sent the reject.
 *
 * Return: the endpoint with a new reference, or NULL if the request is not in the table.
 */
struct rnic_ep *rnic_pending_req_get(struct rnic_dev *dev, u32 number)
{
	struct rnic_ep *ep;

	xa_lock(&dev->pending);
	ep = xa_load(&dev->pending, number);
	if (ep)
		rnic_ep_get(ep);
	xa_unlock(&dev->pending);
	return ep;
}

static struct rnic_ep *get_next_pending_req(struct rnic_dev *dev, unsigned long *at)
{
	struct rnic_ep *ep;

	xa_lock(&dev->pending);
	ep = xa_find_after(&dev->pending, at, ULONG_MAX, XA_PRESENT);
	if (ep)
		rnic_ep_get(ep);
	xa_unlock(&dev->pending);
	return ep;
}

/**
 * rnic_pending_reqs_abort - abort all pending requests
 * @dev: the device, which is being removed
 *
 * Does not wait for the end of the sessions; when a session has ended, rnic_cm_handle_closed()
 * removes its request from the table.  The caller must have preemption enabled, because the table
 * may be large.
 */
void rnic_pending_reqs_abort(struct rnic_dev *dev)
{
	unsigned long at = 0;
	struct rnic_ep *ep;

	while ((ep = get_next_pending_req(dev, &at))) {
		rnic_ep_abort(ep);
		rnic_ep_put(ep);
	}
}
