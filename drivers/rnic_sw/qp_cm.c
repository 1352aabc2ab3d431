// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * References of iw_cm to queue pairs.
 *
 * iw_cm holds a QP until it has processed CLOSE, or until its ID is destroyed if it
 * never got ESTABLISHED.  Destroying a QP waits for iw_cm's references.  They are
 * counted on a handle that may outlive the QP, so that rnic_qp_cm_revoke() can end this
 * wait where it would last until the program destroys the ID.
 */
#include <linux/slab.h>

#include "rnic.h"

/*
 * @ib is all that iw_cm sees of a QP.  iw_cm passes it back to the functions of
 * this file and to ib_modify_qp(), which uses nothing but ->real_qp.
 */
struct rnic_qp_cm {
	struct ib_qp	ib;
	spinlock_t	lock;	/* leaf; protects the members below */
	struct rnic_qp	*qp;	/* NULL once iw_cm's references are revoked */
	unsigned int	refs;	/* iw_cm's, plus one of the QP itself */
	unsigned int	early_refs;	/* taken by rnic_get_qp(), not yet by rnic_qp_add_ref() */
};

static struct rnic_qp_cm *to_rnic_qp_cm(struct ib_qp *ib)
{
	return container_of(ib, struct rnic_qp_cm, ib);
}

/**
 * rnic_qp_cm_init - allocate the handle that iw_cm gets of a QP
 * @qp: the QP, not yet published
 *
 * Return: 0 or -ENOMEM.
 */
int rnic_qp_cm_init(struct rnic_qp *qp)
{
	struct rnic_qp_cm *cm = kzalloc(sizeof(*cm), GFP_KERNEL_ACCOUNT);

	if (!cm)
		return -ENOMEM;
	spin_lock_init(&cm->lock);
	cm->ib.real_qp = &qp->ib;
	cm->qp = qp;
	cm->refs = 1;
	qp->cm = cm;
	return 0;
}

static void __get_ref(struct rnic_qp_cm *cm)
{
	lockdep_assert_held(&cm->lock);
	cm->refs++;
	if (cm->qp)
		kref_get(&cm->qp->ref);
}

/* Drop a reference of iw_cm, or the one of the QP (@own) */
static void put_ref(struct rnic_qp_cm *cm, bool own)
{
	struct rnic_qp *qp;
	unsigned long flags;
	bool last;

	spin_lock_irqsave(&cm->lock, flags);
	qp = own ? NULL : cm->qp;
	last = !--cm->refs;
	spin_unlock_irqrestore(&cm->lock, flags);
	if (qp)
		rnic_qp_put(qp);
	if (last)
		kfree(cm);
}

/**
 * rnic_qp_cm_exit - drop the QP's own reference to its handle
 * @qp: the QP, on which iw_cm holds no reference that is not revoked; it may
 *	have no handle yet
 */
void rnic_qp_cm_exit(struct rnic_qp *qp)
{
	if (qp->cm)
		put_ref(qp->cm, true);
}

/**
 * rnic_qp_cm_revoke - release what iw_cm holds of a QP in its place
 * @qp: the QP, referenced by the caller or by iw_cm
 *
 * iw_cm keeps its pointer, and passes it to rnic_qp_rem_ref() at an unknown later time.
 * Until then it must not use the QP: the caller knows that the iw_cm ID is in a
 * state in which iw_cm does not.
 */
void rnic_qp_cm_revoke(struct rnic_qp *qp)
{
	struct rnic_qp_cm *cm = qp->cm;
	unsigned long flags;
	unsigned int n;

	spin_lock_irqsave(&cm->lock, flags);
	n = cm->qp ? cm->refs - 1 : 0;
	cm->qp = NULL;
	spin_unlock_irqrestore(&cm->lock, flags);
	while (n--)
		rnic_qp_put(qp);
}

/* A QP is connected once: a revoked handle stays revoked */
static bool get_early(struct rnic_qp_cm *cm)
{
	unsigned long flags;
	bool valid;

	spin_lock_irqsave(&cm->lock, flags);
	valid = cm->qp;
	if (valid) {
		__get_ref(cm);
		cm->early_refs++;
	}
	spin_unlock_irqrestore(&cm->lock, flags);
	return valid;
}

/**
 * rnic_get_qp - iw_cm operation: look up a QP by number
 * @ib: the device
 * @qpn: the QP number
 *
 * iw_cm calls this with a lock of its own held, and then rnic_qp_add_ref().  The
 * reference is taken here, so that the QP stays in between, and
 * rnic_qp_add_ref() takes it over.
 *
 * The number comes from a program, and iw_cm later moves the QP to error:
 * only a QP of the caller's own is returned.
 *
 * Return: the handle of the QP, or NULL if there is none, or not the caller's.
 */
struct ib_qp *rnic_get_qp(struct ib_device *ib, int qpn)
{
	struct rnic_qp *qp = rnic_qp_find(to_rnic_dev(ib), qpn);
	struct ib_qp *handle = NULL;

	if (!qp)
		return NULL;
	if (rnic_qp_is_callers(qp) && get_early(qp->cm))
		handle = &qp->cm->ib;
	rnic_qp_put(qp);
	return handle;
}

/**
 * rnic_qp_add_ref - iw_cm operation: take a reference to a QP
 * @ib: the handle, from rnic_get_qp(), whose reference the first call takes over
 *
 * Any context.
 */
void rnic_qp_add_ref(struct ib_qp *ib)
{
	struct rnic_qp_cm *cm = to_rnic_qp_cm(ib);
	unsigned long flags;

	spin_lock_irqsave(&cm->lock, flags);
	if (cm->early_refs)
		cm->early_refs--;
	else
		__get_ref(cm);
	spin_unlock_irqrestore(&cm->lock, flags);
}

/**
 * rnic_qp_rem_ref - iw_cm operation: release a reference to a QP
 * @ib: the handle
 *
 * The QP may be gone if the reference was revoked.  Any context.
 */
void rnic_qp_rem_ref(struct ib_qp *ib)
{
	put_ref(to_rnic_qp_cm(ib), false);
}

/**
 * rnic_qp_cm_put - release a reference that iw_cm has lost track of
 * @qp: the QP
 */
void rnic_qp_cm_put(struct rnic_qp *qp)
{
	put_ref(qp->cm, false);
}
