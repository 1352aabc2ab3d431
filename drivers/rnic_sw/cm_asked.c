// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests that iw_cm has been told of, and that nobody has said yes to.
 *
 * iw_cm may drop one without a word, if its listener is just going, or if there is
 * no memory; to us that looks like a program that takes its time.  So what iw_cm
 * has is a number, not a pointer.  The table holds the endpoint, and gives it to
 * who comes first: an accept, or the end of the session.  Whoever comes after
 * that finds nothing, and can put nothing twice.  Who is accepted ends with the
 * queue pair, all others are here until their session has ended: so whatever
 * that waits for, a device that goes can end it.
 */
#include <linux/xarray.h>

#include "cm.h"

/**
 * rnic_asked_init - nobody has asked
 * @dev: a new device
 */
void rnic_asked_init(struct rnic_dev *dev)
{
	xa_init_flags(&dev->asked, XA_FLAGS_ALLOC1);
}

/**
 * rnic_asked_add - iw_cm is about to be told
 * @dev: the device
 * @ep: the endpoint, which is held from here on
 * @number: what to tell it by; none comes again soon
 *
 * Return: 0 or a negative errno.
 */
int rnic_asked_add(struct rnic_dev *dev, struct rnic_ep *ep, u32 *number)
{
	int err;

	rnic_ep_get(ep);
	err = xa_alloc_cyclic(&dev->asked, number, ep, xa_limit_32b,
			      &dev->asked_next, GFP_KERNEL);
	if (err >= 0)
		return 0;
	rnic_ep_put(ep);
	return err;
}

/**
 * rnic_asked_take - it is accepted, or does not want an answer any more
 * @dev: the device
 * @number: the endpoint's
 *
 * Return: the endpoint, which is the caller's to put; NULL: somebody else has
 * had it.
 */
struct rnic_ep *rnic_asked_take(struct rnic_dev *dev, u32 number)
{
	return xa_erase(&dev->asked, number);
}

/**
 * rnic_asked_get - it is rejected: the end of its session takes it out
 * @dev: the device
 * @number: the endpoint's
 *
 * iw_cm says no once, and nothing after it.
 *
 * Return: the endpoint, held; NULL: somebody has taken it.
 */
struct rnic_ep *rnic_asked_get(struct rnic_dev *dev, u32 number)
{
	struct rnic_ep *ep;

	xa_lock(&dev->asked);
	ep = xa_load(&dev->asked, number);
	if (ep)
		rnic_ep_get(ep);
	xa_unlock(&dev->asked);
	return ep;
}

/* The next one that waits, held */
static struct rnic_ep *next_asked(struct rnic_dev *dev, unsigned long *at)
{
	struct rnic_ep *ep;

	xa_lock(&dev->asked);
	ep = xa_find_after(&dev->asked, at, ULONG_MAX, XA_PRESENT);
	if (ep)
		rnic_ep_get(ep);
	xa_unlock(&dev->asked);
	return ep;
}

/**
 * rnic_asked_stop - the device goes: nobody will answer, nor wait for a no to leave
 * @dev: the device
 *
 * Any context that may be preempted.  The end of each session takes it out of
 * the table.
 */
void rnic_asked_stop(struct rnic_dev *dev)
{
	unsigned long at = 0;
	struct rnic_ep *ep;

	while ((ep = next_asked(dev, &at))) {
		rnic_ep_stop(ep);
		rnic_ep_put(ep);
	}
}
