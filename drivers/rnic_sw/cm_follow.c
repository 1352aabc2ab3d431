// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who listens follows what its device is set to: all of them, or none.
 *
 * A setting goes through the listeners in rounds, with a lock of each and none over all
 * of them, so that who begins or ends to listen waits for nobody else's.
 */
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>

#include "cm.h"

static void begin_round(struct rnic_llps *llps)
{
	spin_lock(&llps->lock);
	llps->round++;
	spin_unlock(&llps->lock);
}

/* The next that the round has not come to, held.  Who begins meanwhile is behind it. */
static struct rnic_lep *next_lep(struct rnic_llps *llps)
{
	struct rnic_lep *lep;

	spin_lock(&llps->lock);
	lep = list_first_entry_or_null(&llps->leps, struct rnic_lep, list);
	if (lep && lep->round != llps->round) {
		lep->round = llps->round;
		list_move_tail(&lep->list, &llps->leps);
		kref_get(&lep->ref);
	} else {
		lep = NULL;
	}
	spin_unlock(&llps->lock);
	return lep;
}

/* A program may be stopped while it holds its own: who sets the device can be killed */
static int do_one(struct rnic_lep *lep, int (*what)(struct rnic_lep *lep, u8 which),
		  u8 which)
{
	int err = mutex_lock_killable(&lep->lock);

	if (err)
		return err;
	if (!lep->gone)
		err = what(lep, which);
	mutex_unlock(&lep->lock);
	return err;
}

/* With each, until there is an error */
static int do_all(struct rnic_llps *llps, int (*what)(struct rnic_lep *lep, u8 which),
		  u8 which)
{
	struct rnic_lep *lep;
	int err = 0;

	begin_round(llps);
	while (!err && (lep = next_lep(llps))) {
		err = do_one(lep, what, which);
		rnic_lep_put(lep);
	}
	return err;
}

/* With each that nobody is busy with: that one has just begun, as the device is set, or ends */
static void do_idle(struct rnic_llps *llps, int (*what)(struct rnic_lep *lep, u8 which),
		    u8 which)
{
	struct rnic_lep *lep;

	begin_round(llps);
	while ((lep = next_lep(llps))) {
		if (mutex_trylock(&lep->lock)) {
			if (!lep->gone)
				what(lep, which);
			mutex_unlock(&lep->lock);
		}
		rnic_lep_put(lep);
	}
}

/* All could; but who has begun meanwhile */
static int rnic_lep_follow(struct rnic_lep *lep, u8 which)
{
	int err = rnic_lep_listen(lep, which);

	if (err)
		ibdev_warn_ratelimited(&lep->dev->ib,
				       "who has just begun to listen cannot follow the setting: %d\n",
				       err);
	return rnic_lep_leave(lep, which);
}

static int move_all(struct rnic_dev *dev, u8 which)
{
	int err = 0;

	if (which != dev->policy.llp_listen)
		err = do_all(dev->llps, rnic_lep_listen, which);
	if (err) {
		do_idle(dev->llps, rnic_lep_leave, dev->policy.llp_listen);
		return err;
	}
	WRITE_ONCE(dev->policy.llp_listen, which);
	err = do_all(dev->llps, rnic_lep_follow, which);
	if (err)
		do_idle(dev->llps, rnic_lep_follow, which);
	return err;
}

/**
 * rnic_listen_over - the device's setting: what its listeners take requests over
 * @dev: the device
 * @which: a bit for each of enum rnic_sw_llp, all of which are there
 *
 * Those that listen already follow: all of them, or none.  Who begins or ends to listen
 * waits for it only while it is at that very listener.  Sleeps.
 *
 * Return: 0, or why one of them cannot; -EINTR: who sets it is being killed.  Then it may
 * be set, and one whose program is in the middle of a call be where it was.
 */
int rnic_listen_over(struct rnic_dev *dev, u8 which)
{
	/* memory may be wanted back by what is stored through us */
	unsigned int noio = memalloc_noio_save();
	int err = mutex_lock_killable(&dev->llps->setting);

	if (!err) {
		err = move_all(dev, which);
		mutex_unlock(&dev->llps->setting);
	}
	memalloc_noio_restore(noio);
	return err;
}
