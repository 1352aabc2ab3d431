// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * References of iw_cm to queue pairs.
 *
 * iw_cm keeps a reference to a QP until it has processed CLOSE.  If it never got
 * ESTABLISHED, it keeps the reference until the program destroys the ID.  Destroying a QP
 * waits for iw_cm's references.
 *
 * The references are counted in a handle that may outlive the QP.  So rnic_qp_cm_revoke()
 * can end a wait that would otherwise last until the program destroys the ID.
 */
#include <linux/slab.h>

#include "rnic.h"

/*
 * Handle of a QP for iw_cm.  iw_cm gets a pointer to @ib.  It passes the pointer to the
 * functions of this file and to ib_modify_qp(), which uses only ->real_qp.
 */
struct rnic_qp_cm {
	struct ib_qp	ib;
	spinlock_t	lock;	/* leaf; protects the members below */
	struct rnic_qp	*qp;	/* NULL after iw_cm's references are revoked */
	unsigned int	refs;	/* number of iw_cm's references, plus one of the QP itself */
	/* references that rnic_get_qp() took, for later rnic_qp_add_ref() calls */
	unsigned int	early_refs;
};

static struct rnic_qp_cm *to_rnic_qp_cm(struct ib_qp *ib)
{
	return container_of(ib, struct rnic_qp_cm, ib);
}

/**
 * rnic_qp_cm_init - allocate the handle of a QP for iw_cm
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

/* Drop a reference of iw_cm, or the reference of the QP itself if @own */
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
 * @qp: the QP; iw_cm's references to it must have been dropped or revoked; the QP may
 *	have no handle yet
 */
void rnic_qp_cm_exit(struct rnic_qp *qp)
{
	if (qp->cm)
		put_ref(qp->cm, true);
}

/**
 * rnic_qp_cm_revoke - drop iw_cm's references to a QP on behalf of iw_cm
 * @qp: the QP, referenced by the caller or by iw_cm
 *
 * iw_cm keeps its pointer to the handle, and passes it to rnic_qp_rem_ref() at an unknown
 * later time.  The caller must ensure that the iw_cm ID is in a state in which iw_cm does
 * not use the QP until then.
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

/*
 * Take a reference that the next rnic_qp_add_ref() takes over.
 *
 * Return: true; false if the references are revoked, because a QP is connected only once.
 */
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
 * iw_cm calls this function and then rnic_qp_add_ref(), holding a lock of its own.  This
 * function takes a reference, so that the QP cannot be freed between the calls, and
 * rnic_qp_add_ref() takes it over.
 *
 * A program chooses the number, and iw_cm later moves the QP to the error state.  So the
 * function returns only a QP of the calling program.
 *
 * Return: the handle of the QP; NULL if there is no such QP, if it does not belong to the
 * caller, or if its references are revoked.
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
 * @ib: the handle, from rnic_get_qp()
 *
 * Takes over a reference that rnic_get_qp() took, if there is one.
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
 * Any context.  If the reference was revoked, the QP may have been freed already.
 */
void rnic_qp_rem_ref(struct ib_qp *ib)
{
	put_ref(to_rnic_qp_cm(ib), false);
}

/**
 * rnic_qp_cm_put - release a reference of iw_cm that iw_cm will not release itself
 * @qp: the QP
 */
void rnic_qp_cm_put(struct rnic_qp *qp)
{
	put_ref(qp->cm, false);
}
