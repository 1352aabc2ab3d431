// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbell file: a file descriptor with which a program rings the doorbells of its send queues.
 *
 * The command POST_SEND of uverbs rings a doorbell, too, but allocates memory and copies arguments
 * for work requests, although the program has already written these to its ring.  An ioctl on the
 * doorbell file only looks up the doorbell by its number, and then calls the driver.  A context has
 * at most one doorbell file.  A QP has a doorbell in this file if the file existed when the program
 * created the QP.
 *
 * The lookup takes no lock.  A doorbell in a file stays allocated and keeps its number, and new
 * QPs use the doorbells of destroyed QPs.  When the file is closed, the idle doorbells are freed
 * after an RCU grace period; the doorbell of an existing QP is freed with the QP.  While a call
 * rings a doorbell, it is a user of the doorbell.  The destruction of a QP first stops the
 * doorbell, so that there are no new users, and then waits for the last one.
 *
 * A doorbell file keeps the module loaded, because the operations of the file are here.
 */
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/uverbs_std_types.h>

#include "doorbell.h"
#include "rnic.h"

#define UVERBS_MODULE_NAME rnic_sw
#include <rdma/uverbs_named_ioctl.h>

/*
 * Length of the array of doorbells, by number. To find a doorbell in the array costs less than to
 * find it in the xarray. Most programs have fewer QPs than this.
 */
#define FIRST_DOORBELLS	16

/**
 * struct rnic_doorbell_file - doorbell file of a context
 * @uobj: object of uverbs; the last close of the file frees it
 * @first: struct rnic_doorbell by number, for numbers below FIRST_DOORBELLS
 * @bells: all struct rnic_doorbell by number
 * @idle: doorbells of destroyed QPs; protected by rnic_uctx.doorbells_lock
 * @closed: the context has been destroyed, or the program has closed the file
 */
struct rnic_doorbell_file {
	struct ib_uobject	uobj;
	struct rnic_doorbell __rcu *first[FIRST_DOORBELLS];
	struct xarray		bells;
	struct list_head	idle;
	bool			closed;
};

static struct rnic_doorbell_file *to_doorbell_file(struct ib_uobject *uobj)
{
	return container_of(uobj, struct rnic_doorbell_file, uobj);
}

/* Added to the number of users while no QP uses the doorbell, so that the sum is negative */
#define DOORBELL_STOPPED	INT_MIN

/*
 * Become a user of a doorbell, unless it is stopped.  atomic_inc_unless_negative() orders the
 * caller's read of the QP after the release in rnic_doorbell_enable(); litmus: publish.
 *
 * Return: the doorbell; NULL if no QP uses a doorbell with this number.
 */
static struct rnic_doorbell *get_doorbell(struct rnic_doorbell_file *f, unsigned long number)
{
	struct rnic_doorbell *bell;

	rcu_read_lock();
	if (number < FIRST_DOORBELLS)
		bell = rcu_dereference(f->first[array_index_nospec(number, FIRST_DOORBELLS)]);
	else
		bell = xa_load(&f->bells, number);
	if (bell && !atomic_inc_unless_negative(&bell->users))
		bell = NULL;
	rcu_read_unlock();
	return bell;
}

static void put_doorbell(struct rnic_doorbell *bell)
{
	if (atomic_dec_return(&bell->users) == DOORBELL_STOPPED)
		complete(&bell->unused);
}

/*
 * Poll the network device of a QP's connection.
 *
 * Return: 0; -EOPNOTSUPP if the device's setting forbids it, or if there is no such network device.
 */
static int busy_poll(struct rnic_qp *qp)
{
	if (!READ_ONCE(qp->dev->policy.busy_poll))
		return -EOPNOTSUPP;
	return ddp_stream_busy_poll(&qp->rdmap.stream) ? 0 : -EOPNOTSUPP;
}

/*
 * Ring the doorbell of a send queue, or poll the network device of its connection.  Any process
 * that has the file may do so, even after a fork or a change of credentials: the call only sends
 * what the owner of the queue has posted, or receives what has arrived.
 */
static long rnic_doorbell_ioctl(struct file *filp, unsigned int cmd, unsigned long number)
{
	struct rnic_doorbell_file *f = to_doorbell_file(filp->private_data);
	struct rnic_doorbell *bell;
	int err = 0;

	if (cmd != RNIC_SW_IOCTL_RING_SQ && cmd != RNIC_SW_IOCTL_BUSY_POLL)
		return -ENOTTY;
	bell = get_doorbell(f, number);
	if (!bell)
		return READ_ONCE(f->closed) ? -EIO : -ENOENT;
	if (cmd == RNIC_SW_IOCTL_RING_SQ)
		rnic_qp_handle_doorbell(bell->qp);
	else
		err = busy_poll(bell->qp);
	put_doorbell(bell);
	return err;
}

static const struct file_operations rnic_doorbell_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = rnic_doorbell_ioctl,
	.compat_ioctl = rnic_doorbell_ioctl,
	.release = uverbs_uobject_fd_release,
};

/*
 * Remove all doorbells from a file.  Called when the program closes the file, or when its context
 * is destroyed; in the second case other threads can still be using the file.  The doorbell of a
 * QP that still exists is freed with the QP.
 */
static void rnic_doorbell_file_destroy(struct ib_uobject *uobj, enum rdma_remove_reason why)
{
	struct rnic_doorbell_file *f = to_doorbell_file(uobj);
	struct rnic_uctx *u = to_rnic_uctx(uobj->context);
	struct rnic_doorbell *bell, *next;
	int i;

	mutex_lock(&u->doorbells_lock);
	u->doorbells = NULL;
	WRITE_ONCE(f->closed, true);
	for (i = 0; i < FIRST_DOORBELLS; i++)
		RCU_INIT_POINTER(f->first[i], NULL);
	xa_destroy(&f->bells);
	mutex_unlock(&u->doorbells_lock);
	list_for_each_entry_safe(bell, next, &f->idle, entry)
		kfree_rcu(bell, rcu);
}

/* Method RNIC_SW_METHOD_DOORBELL_ALLOC.  The core installs the file after this function. */
static int UVERBS_HANDLER(RNIC_SW_METHOD_DOORBELL_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs,
							  RNIC_SW_ATTR_DOORBELL_ALLOC_HANDLE);
	struct rnic_doorbell_file *f = to_doorbell_file(uobj);
	struct rnic_uctx *u = to_rnic_uctx(uobj->context);
	int err = 0;

	xa_init_flags(&f->bells, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&f->idle);
	mutex_lock(&u->doorbells_lock);
	if (u->doorbells) {
		err = -EBUSY;
	} else {
		u->doorbells = f;
		u->doorbell_files++;
	}
	mutex_unlock(&u->doorbells_lock);
	return err;
}

DECLARE_UVERBS_NAMED_METHOD(RNIC_SW_METHOD_DOORBELL_ALLOC,
			    UVERBS_ATTR_FD(RNIC_SW_ATTR_DOORBELL_ALLOC_HANDLE,
					   RNIC_SW_OBJECT_DOORBELL,
					   UVERBS_ACCESS_NEW,
					   UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(RNIC_SW_OBJECT_DOORBELL,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct rnic_doorbell_file),
						 rnic_doorbell_file_destroy,
						 &rnic_doorbell_fops, "[rnic_sw_doorbell]",
						 O_RDWR),
			    &UVERBS_METHOD(RNIC_SW_METHOD_DOORBELL_ALLOC));

const struct uapi_definition rnic_doorbell_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(RNIC_SW_OBJECT_DOORBELL),
	{},
};

/* Allocate a doorbell that is in no file */
static struct rnic_doorbell *alloc_doorbell(void)
{
	struct rnic_doorbell *bell = kzalloc(sizeof(*bell), GFP_KERNEL_ACCOUNT);

	if (bell)
		atomic_set(&bell->users, DOORBELL_STOPPED);
	return bell;
}

/* Allocate a doorbell, and insert it into a file.  Return: NULL if memory is short. */
static struct rnic_doorbell *alloc_doorbell_in_file(struct rnic_doorbell_file *f, u64 file_id)
{
	struct rnic_doorbell *bell = alloc_doorbell();

	if (!bell)
		return NULL;
	bell->file_id = file_id;
	if (xa_alloc(&f->bells, &bell->number, bell, xa_limit_31b, GFP_KERNEL_ACCOUNT)) {
		kfree(bell);
		return NULL;
	}
	if (bell->number < FIRST_DOORBELLS)
		rcu_assign_pointer(f->first[bell->number], bell);
	return bell;
}

/* Get a stopped doorbell: an idle one, or a new one.  Return: NULL if memory is short. */
static struct rnic_doorbell *get_idle_or_new_doorbell(struct rnic_uctx *u)
{
	struct rnic_doorbell_file *f;
	struct rnic_doorbell *bell;

	mutex_lock(&u->doorbells_lock);
	f = u->doorbells;
	bell = f ? list_first_entry_or_null(&f->idle, struct rnic_doorbell, entry) : NULL;
	if (bell)
		list_del(&bell->entry);
	else
		bell = f ? alloc_doorbell_in_file(f, u->doorbell_files) : alloc_doorbell();
	mutex_unlock(&u->doorbells_lock);
	return bell;
}

/**
 * rnic_doorbell_create - create the doorbell of a program's send queue
 * @qp: the queue pair, which is being created
 * @uctx: context of the program
 *
 * The program cannot ring the doorbell until rnic_doorbell_enable() is called.
 *
 * Context: process, may sleep.
 *
 * Return: 0, with qp->sq.doorbell set; or -ENOMEM.
 */
int rnic_doorbell_create(struct rnic_qp *qp, struct rnic_uctx *uctx)
{
	struct rnic_doorbell *bell = get_idle_or_new_doorbell(uctx);

	if (!bell)
		return -ENOMEM;
	bell->qp = qp;
	bell->uctx = uctx;
	rnic_sq_coalesce_init(bell);
	qp->sq.doorbell = bell;
	return 0;
}

/**
 * rnic_doorbell_enable - let the program ring the doorbell
 * @qp: the queue pair, completely initialized; ignored if it belongs to a kernel consumer, because
 *	it then has no doorbell
 */
void rnic_doorbell_enable(struct rnic_qp *qp)
{
	struct rnic_doorbell *bell = qp->sq.doorbell;

	if (!bell)
		return;
	init_completion(&bell->unused);
	/* set @qp before @users; pairs with get_doorbell(); litmus: publish */
	atomic_set_release(&bell->users, 0);
}

/**
 * rnic_doorbell_disable - let no further call ring the doorbell, and wait for the calls in progress
 * @qp: the queue pair, which is being destroyed; rnic_doorbell_enable() was called
 *
 * Context: process; sleeps.
 */
void rnic_doorbell_disable(struct rnic_qp *qp)
{
	struct rnic_doorbell *bell = qp->sq.doorbell;

	if (!bell)
		return;
	if (atomic_add_return(DOORBELL_STOPPED, &bell->users) != DOORBELL_STOPPED)
		wait_for_completion(&bell->unused);
}

/**
 * rnic_doorbell_free - free the doorbell of a QP, or keep the doorbell for the next QP
 * @qp: the queue pair, which may have no doorbell; rnic_doorbell_enable() was not called, or
 *	rnic_doorbell_disable() was called
 *
 * Context: process, may sleep.
 */
void rnic_doorbell_free(struct rnic_qp *qp)
{
	struct rnic_doorbell *bell = qp->sq.doorbell;
	struct rnic_uctx *u;

	if (!bell)
		return;
	u = bell->uctx;
	qp->sq.doorbell = NULL;
	mutex_lock(&u->doorbells_lock);
	if (bell->number && u->doorbells && bell->file_id == u->doorbell_files)
		list_add(&bell->entry, &u->doorbells->idle);
	else
		kfree_rcu(bell, rcu);
	mutex_unlock(&u->doorbells_lock);
}
