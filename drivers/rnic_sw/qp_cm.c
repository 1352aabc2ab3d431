// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * References of iw_cm to queue pairs (QPs).
 *
 * rnic_destroy_qp() waits until iw_cm has dropped its references. iw_cm drops its
 * reference when a connect or an accept fails, or when it processes the CLOSE event.  If
 * the driver has accepted a request but never reported ESTABLISHED, iw_cm drops the
 * reference only when the program destroys the iw_cm ID.
 *
 * The references are counted in a handle, which can outlive the QP.  So
 * rnic_qp_cm_revoke_refs() can drop iw_cm's references early, when rnic_destroy_qp() would
 * otherwise wait until the program destroys the ID.
 */
#include <linux/mutex.h>
#include <linux/slab.h>

#include "rnic.h"

/*
 * Handle of a QP for iw_cm. iw_cm gets a pointer to @ib instead of a pointer to the QP.
 * iw_cm passes this pointer only to the functions of this file, and to ib_modify_qp(),
 * which only uses ->real_qp.
 */
struct rnic_qp_cm {
	struct ib_qp	ib;
	spinlock_t	lock;	/* leaf lock; protects the members below */
	struct rnic_qp	*qp;	/* NULL after rnic_qp_cm_revoke_refs() */
	unsigned int	refs;	/* number of iw_cm's references, plus one for the QP */
	/*
	 * number of references taken by rnic_get_qp() that rnic_qp_add_ref() has not taken over yet
	 */
	unsigned int	early_refs;
	/* serializes modifies of the QP; not in struct rnic_qp, which must not become larger */
	struct mutex	modify_lock;
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
	mutex_init(&cm->modify_lock);
	cm->ib.real_qp = &qp->ib;
	cm->qp = qp;
	cm->refs = 1;
	qp->cm = cm;
	return 0;
}

/**
 * rnic_qp_lock_modify - exclude other modifies of a QP until rnic_qp_unlock_modify()
 * @qp: the QP
 *
 * A reset replaces the stream of the QP.  Without this lock a concurrent modify could check the
 * state of the old stream, and then change the new one.
 *
 * Context: process; sleeps.
 */
void rnic_qp_lock_modify(struct rnic_qp *qp)
{
	mutex_lock(&qp->cm->modify_lock);
}

void rnic_qp_unlock_modify(struct rnic_qp *qp)
{
	mutex_unlock(&qp->cm->modify_lock);
}

static void __get_cm_ref(struct rnic_qp_cm *cm)
{
	lockdep_assert_held(&cm->lock);
	cm->refs++;
	if (cm->qp)
		kref_get(&cm->qp->ref);
}

/* Drop a reference of iw_cm or, if @own is set, the QP's own reference to the handle */
static void put_cm_ref(struct rnic_qp_cm *cm, bool own)
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
 * @qp: the QP, to which iw_cm must have no reference; may have no handle yet
 */
void rnic_qp_cm_exit(struct rnic_qp *qp)
{
	if (qp->cm)
		put_cm_ref(qp->cm, true);
}

/**
 * rnic_qp_cm_revoke_refs - drop iw_cm's references to a QP on behalf of iw_cm
 * @qp: the QP; the caller or iw_cm must have a reference to it
 *
 * iw_cm still has its pointer to the handle, and later passes the pointer to
 * rnic_qp_rem_ref().  The caller must ensure that the iw_cm ID is in a state in which iw_cm
 * does not use the handle in any other way.
 */
void rnic_qp_cm_revoke_refs(struct rnic_qp *qp)
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

/**
 * rnic_qp_cm_has_refs - check whether iw_cm uses a QP
 * @qp: the QP
 *
 * If rnic_qp_unpublish() has hidden the QP from lookups, iw_cm cannot begin to use the QP, so the
 * result false stays valid.
 *
 * Return: true if iw_cm has references to the QP; also after rnic_qp_cm_revoke_refs(), because
 * iw_cm may still have the handle.
 */
bool rnic_qp_cm_has_refs(struct rnic_qp *qp)
{
	struct rnic_qp_cm *cm = qp->cm;
	unsigned long flags;
	bool has;

	spin_lock_irqsave(&cm->lock, flags);
	has = !cm->qp || cm->refs > 1;
	spin_unlock_irqrestore(&cm->lock, flags);
	return has;
}

/*
 * Take a reference for iw_cm, which the next rnic_qp_add_ref() takes over.
 *
 * Return: true if the reference was taken; false if rnic_qp_cm_revoke_refs() was called before.
 * Such a QP has been connected once, and no QP can be connected a second time.
 */
static bool try_get_early_ref(struct rnic_qp_cm *cm)
{
	unsigned long flags;
	bool valid;

	spin_lock_irqsave(&cm->lock, flags);
	valid = cm->qp;
	if (valid) {
		__get_cm_ref(cm);
		cm->early_refs++;
	}
	spin_unlock_irqrestore(&cm->lock, flags);
	return valid;
}

/**
 * rnic_get_qp - look up a QP by number (iw_cm operation)
 * @ib: the device
 * @qpn: the QP number
 *
 * iw_cm calls this function and then rnic_qp_add_ref(), and holds a lock of iw_cm during
 * both calls.  This function takes a reference, so that the QP cannot be freed between
 * the calls; rnic_qp_add_ref() takes that reference over.
 *
 * A program chooses @qpn, and iw_cm later moves the QP to the error state.  So the
 * function must not return a QP of another program.
 *
 * Return: the handle of the QP; NULL if there is no such QP, if the QP does not belong to
 * the caller, or if rnic_qp_cm_revoke_refs() was called for it.
 */
struct ib_qp *rnic_get_qp(struct ib_device *ib, int qpn)
{
	struct rnic_qp *qp = rnic_qp_find_get(to_rnic_dev(ib), qpn);
	struct ib_qp *handle = NULL;

	if (!qp)
		return NULL;
	if (rnic_current_may_connect_qp(qp) && try_get_early_ref(qp->cm))
		handle = &qp->cm->ib;
	rnic_qp_put(qp);
	return handle;
}

/**
 * rnic_qp_add_ref - take a reference to a QP (iw_cm operation)
 * @ib: the handle, from rnic_get_qp()
 *
 * If rnic_get_qp() has taken a reference that no call of this function has taken over yet,
 * takes that reference over instead of taking another one.
 *
 * Context: any.
 */
void rnic_qp_add_ref(struct ib_qp *ib)
{
	struct rnic_qp_cm *cm = to_rnic_qp_cm(ib);
	unsigned long flags;

	spin_lock_irqsave(&cm->lock, flags);
	if (cm->early_refs)
		cm->early_refs--;
	else
		__get_cm_ref(cm);
	spin_unlock_irqrestore(&cm->lock, flags);
}

/**
 * rnic_qp_rem_ref - drop a reference to a QP (iw_cm operation)
 * @ib: the handle; if its references were revoked, the QP may be freed already
 *
 * Context: any.
 */
void rnic_qp_rem_ref(struct ib_qp *ib)
{
	put_cm_ref(to_rnic_qp_cm(ib), false);
}

/**
 * rnic_qp_cm_put - drop a reference of iw_cm that iw_cm will not drop itself
 * @qp: the QP
 */
void rnic_qp_cm_put(struct rnic_qp *qp)
{
	put_cm_ref(qp->cm, false);
}
