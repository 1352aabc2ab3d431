// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Endpoints: the object between an iw_cm ID and a session, and the table of pending
 * connection requests.
 *
 * An endpoint is referenced by its session until rnic_cm_closed().  On the passive side
 * the table holds a second reference, until the program accepts the request or the
 * session ends.
 *
 * iw_cm may drop a request silently if its listener is being destroyed or memory is short.
 * So iw_cm gets the number of a request, never a pointer.  Either the accept or the end of
 * the session removes the endpoint from the table, and thereby gets the table's reference.
 *
 * Destroying the QP ends an accepted request, and rnic_pending_abort() ends pending ones.
 * So removal of a device does not wait for a program or a peer.
 */
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "cm.h"

static void rnic_ep_free(struct kref *ref)
{
	struct rnic_ep *ep = container_of(ref, struct rnic_ep, ref);
	struct rnic_dev *dev = ep->dev;

	if (ep->ss)
		ddp_session_put(ep->ss);
	kfree(ep);
	rnic_uncharge(dev, RNIC_EPS);
}

/**
 * rnic_ep_new - allocate an endpoint
 * @dev: the device
 *
 * May sleep.  The memory is charged to the control group of the program that connects.
 * For a peer's request the caller is a worker, so the memory is charged to no program.
 *
 * Return: the endpoint with one reference, or NULL if there is no memory or the device's
 * limit is reached.
 */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev)
{
	struct rnic_ep *ep;

	if (rnic_charge(dev, RNIC_EPS))
		return NULL;
	ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);
	if (!ep) {
		rnic_uncharge(dev, RNIC_EPS);
		return NULL;
	}
	ep->dev = dev;
	kref_init(&ep->ref);
	return ep;
}

/**
 * rnic_ep_get - take a reference to an endpoint
 * @ep: the endpoint; the caller must have a reference or hold the lock of the table
 */
void rnic_ep_get(struct rnic_ep *ep)
{
	kref_get(&ep->ref);
}

/**
 * rnic_ep_put - release a reference to an endpoint
 * @ep: the endpoint, which is freed with the last reference
 */
void rnic_ep_put(struct rnic_ep *ep)
{
	kref_put(&ep->ref, rnic_ep_free);
}

/**
 * rnic_ep_abort - abort the session of a pending request
 * @ep: the endpoint, referenced by the caller
 *
 * Any context.  rnic_cm_closed() is called later, when the session has ended.
 */
void rnic_ep_abort(struct rnic_ep *ep)
{
	ep->ss->type->stop(ep->ss, true);
}

/**
 * rnic_ep_attach - attach an iw_cm ID and a QP to an endpoint
 * @ep: the endpoint
 * @id: the ID; the endpoint takes a reference
 * @qp: the QP; the endpoint takes a reference
 */
void rnic_ep_attach(struct rnic_ep *ep, struct iw_cm_id *id, struct rnic_qp *qp)
{
	id->add_ref(id);
	kref_get(&qp->ref);
	ep->id = id;
	ep->qp = qp;
}

/**
 * rnic_ep_detach - release the iw_cm ID and the QP of an endpoint, if attached
 * @ep: the endpoint
 */
void rnic_ep_detach(struct rnic_ep *ep)
{
	struct iw_cm_id *id = ep->id;
	struct rnic_qp *qp = ep->qp;

	ep->id = NULL;
	ep->qp = NULL;
	if (id)
		id->rem_ref(id);
	if (qp)
		rnic_qp_put(qp);
}

/* The table of pending requests --------------------------------------------------- */

/**
 * rnic_pending_init - initialize the table of pending requests
 * @dev: the device, not yet registered
 */
void rnic_pending_init(struct rnic_dev *dev)
{
	xa_init_flags(&dev->pending, XA_FLAGS_ALLOC1);
}

/**
 * rnic_pending_add - add a request to the table, before it is reported to iw_cm
 * @dev: the device
 * @ep: the endpoint; the table takes a reference
 * @number: set to the number of the request, for iw_cm; numbers are assigned cyclically
 *
 * Return: 0 or a negative errno.
 */
int rnic_pending_add(struct rnic_dev *dev, struct rnic_ep *ep, u32 *number)
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
 * rnic_pending_remove - remove a request from the table
 * @dev: the device
 * @number: the number of the request
 *
 * Called when a program accepts the request, and when its session has ended.
 *
 * Return: the endpoint with the table's reference, or NULL if the request has been removed
 * already.
 */
struct rnic_ep *rnic_pending_remove(struct rnic_dev *dev, u32 number)
{
	return xa_erase(&dev->pending, number);
}

/**
 * rnic_pending_get - look up a request in order to reject it
 * @dev: the device
 * @number: the number of the request
 *
 * The request stays in the table until its session has ended.  So removal of the device
 * can abort the session instead of waiting until the peer has received the reject.
 *
 * Return: the endpoint with a new reference, or NULL if the request has been removed.
 */
struct rnic_ep *rnic_pending_get(struct rnic_dev *dev, u32 number)
{
	struct rnic_ep *ep;

	xa_lock(&dev->pending);
	ep = xa_load(&dev->pending, number);
	if (ep)
		rnic_ep_get(ep);
	xa_unlock(&dev->pending);
	return ep;
}

static struct rnic_ep *get_next_pending(struct rnic_dev *dev, unsigned long *at)
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
 * rnic_pending_abort - abort all pending requests
 * @dev: the device, which is being removed
 *
 * The caller must have preemption enabled.  Does not wait until the sessions have ended;
 * only then are the requests removed from the table.
 */
void rnic_pending_abort(struct rnic_dev *dev)
{
	unsigned long at = 0;
	struct rnic_ep *ep;

	while ((ep = get_next_pending(dev, &at))) {
		rnic_ep_abort(ep);
		rnic_ep_put(ep);
	}
}
