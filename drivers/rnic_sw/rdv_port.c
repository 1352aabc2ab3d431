// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listeners on the rendezvous port.  A device listens on an address only while one of its queue
 * pairs waits there for the peer's Request.  Queue pairs on the same address share the listener.
 *
 * The list and the counts are protected by rnic_dev.rdv_lock, a mutex that is also held while a
 * listener is started or stopped.  Stopping waits for the upcalls of the listener, so an upcall
 * must not take the mutex.
 */
#include <linux/err.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <ddp/addr.h>

#include "cm.h"
#include "rdv.h"

/* Listener on one address */
struct rdv_port {
	struct list_head	list;	/* entry in rnic_dev.rdv_ports */
	struct rnic_dev		*dev;
	struct sockaddr_storage	addr;	/* with the rendezvous port */
	struct ddp_sock_owner	owner;	/* owner of the socket: a kernel worker */
	struct ddp_listener	*l;
	u32			users;	/* number of queue pairs that wait */
};

static struct rdv_port *find_rdv_port(struct rnic_dev *dev, const struct ddp_session_type *type,
				      const struct sockaddr_storage *addr)
{
	struct rdv_port *p;

	lockdep_assert_held(&dev->rdv_lock);
	list_for_each_entry(p, &dev->rdv_ports, list)
		if (p->l->type == type && ddp_addr_equal(&p->addr, addr))
			return p;
	return NULL;
}

static int start_rdv_listener(struct rdv_port *p, const struct ddp_session_type *type)
{
	struct ddp_policy policy;
	struct ddp_listen args = {
		.net = rnic_get_net(p->dev),
		.ifindex = rnic_get_ifindex(p->dev),
		.backlog = SOMAXCONN,
		.v6only = true,
		.owner = &p->owner,
		.local = &p->addr,
		.policy = &policy,
	};

	if (!args.net)
		return -ENODEV;
	rnic_fill_llp_policy(p->dev, &policy);
	p->l = type->listen(&args, &rdv_session_user, p);
	put_net(args.net);
	return PTR_ERR_OR_ZERO(p->l);
}

struct open_port {
	struct work_struct		work;
	struct rdv_port			*port;
	const struct ddp_session_type	*type;
	int				err;
};

/*
 * Open the socket in a kernel worker, so that the socket belongs to the device and not to the
 * first of the programs that share the socket. The worker may also bind a port below 1024.
 */
static void rnic_rdv_open_work(struct work_struct *work)
{
	struct open_port *o = container_of(work, struct open_port, work);
	/*
	 * memory reclaim must not wait for storage that is reached over this device, because the
	 * device's workers may wait for rdv_lock
	 */
	unsigned int noio = memalloc_noio_save();

	ddp_sock_owner_init(&o->port->owner, NULL);
	o->err = start_rdv_listener(o->port, o->type);
	if (o->err)
		ddp_sock_owner_exit(&o->port->owner);
	memalloc_noio_restore(noio);
}

static struct rdv_port *open_rdv_port(struct rnic_dev *dev, const struct ddp_session_type *type,
				      const struct sockaddr_storage *addr)
{
	struct rdv_port *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);
	struct open_port o = { .port = p, .type = type };

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->dev = dev;
	p->addr = *addr;
	INIT_WORK_ONSTACK(&o.work, rnic_rdv_open_work);
	schedule_work(&o.work);
	flush_work(&o.work);
	destroy_work_on_stack(&o.work);
	if (!o.err) {
		list_add(&p->list, &dev->rdv_ports);
		return p;
	}
	kfree(p);
	return ERR_PTR(o.err);
}

/**
 * rdv_port_get - listen on the rendezvous port for a queue pair
 * @rdv: rendezvous of the queue pair; its port is RDV_PORT_OPENING, and is set to the listener, or
 *	to NULL on failure; the caller must hold rnic_dev.rdv_lock
 *
 * Context: the task that modifies the queue pair; may sleep.
 *
 * Return: 0 or the negative errno that says why the address and port cannot be used.
 */
int rdv_port_get(struct rnic_rdv *rdv)
{
	struct rnic_dev *dev = rdv->qp->dev;
	struct sockaddr_storage addr = rdv->local;
	struct rdv_port *p;

	lockdep_assert_held(&dev->rdv_lock);
	ddp_addr_set_port(&addr, ddp_addr_get_port(&rdv->remote));
	p = find_rdv_port(dev, rdv->type, &addr);
	if (!p)
		p = open_rdv_port(dev, rdv->type, &addr);
	WRITE_ONCE(rdv->port, IS_ERR(p) ? NULL : p);
	if (IS_ERR(p))
		return PTR_ERR(p);
	p->users++;
	return 0;
}

/**
 * rdv_port_put - stop listening for a queue pair, if that has not been done yet
 * @rdv: rendezvous of the queue pair
 *
 * Concurrent calls are permitted; only one of them stops the listening.
 *
 * Context: process, not in an upcall of the listener; may sleep.
 */
void rdv_port_put(struct rnic_rdv *rdv)
{
	struct rnic_dev *dev = rdv->qp->dev;
	unsigned int noio;
	struct rdv_port *p;

	/* do not wait for the lock, which a program may hold for long, if there is nothing to do */
	if (!READ_ONCE(rdv->port))
		return;
	noio = memalloc_noio_save();
	mutex_lock(&dev->rdv_lock);
	p = rdv->port;
	WRITE_ONCE(rdv->port, NULL);
	if (p && !--p->users) {
		list_del(&p->list);
		p->l->type->unlisten(p->l);
		ddp_sock_owner_exit(&p->owner);
		kfree(p);
	}
	mutex_unlock(&dev->rdv_lock);
	memalloc_noio_restore(noio);
}

/**
 * rdv_port_get_dev - get the device of a listener
 * @l: listener that rdv_port_get() has started
 *
 * Return: the device.
 */
struct rnic_dev *rdv_port_get_dev(const struct ddp_listener *l)
{
	const struct rdv_port *p = l->ctx;

	return p->dev;
}
