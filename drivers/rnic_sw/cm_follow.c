// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Apply the "listen" setting of a device to all its listeners, or to none.
 *
 * A change visits the listeners in rounds and locks one at a time.  A program
 * that starts or stops one listener never waits for another listener.
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

/*
 * The next listener that this round has not visited, with a reference; NULL at
 * the end.  Listeners added meanwhile are at the tail and not visited.
 */
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

/* Killable: a program may be stopped for long while it holds its listener's lock */
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

/* Call @what for all listeners, until it fails */
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

/*
 * Call @what for listeners whose lock is free.  The others are just being
 * started, with the current setting, or stopped.
 */
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

/*
 * Switch over to @which.  Only a listener started after the first round can
 * fail here
 */
static int rnic_lep_follow(struct rnic_lep *lep, u8 which)
{
	int err = rnic_lep_listen(lep, which);

	if (err)
		ibdev_warn_ratelimited(&lep->dev->ib,
				       "who has just begun to listen cannot follow the setting: %d\n",
				       err);
	return rnic_lep_leave(lep, which);
}

/*
 * Let all listeners listen over @which as well, store the setting, then let
 * them leave other LLPs.  Listeners started meanwhile are included in the last
 * step.  If the first step fails, it is undone.
 */
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
 * rnic_listen_over - set the LLPs of a device's listeners
 * @dev: the device
 * @which: mask of 1 << enum rnic_sw_llp; rnic_need_llp() has succeeded for each
 *
 * Existing listeners follow, all of them or none.  Starting or stopping a
 * listener waits for this call only while the call works on that listener.
 * Sleeps.
 *
 * Return: 0; -EINTR if the task is being killed; or the error of a listener,
 * and nothing has changed.  After -EINTR the setting may have changed, and a
 * listener that its program had locked may not have followed.
 */
int rnic_listen_over(struct rnic_dev *dev, u8 which)
{
	/* reclaim may depend on storage that is reached through this device */
	unsigned int noio = memalloc_noio_save();
	int err = mutex_lock_killable(&dev->llps->setting);

	if (!err) {
		err = move_all(dev, which);
		mutex_unlock(&dev->llps->setting);
	}
	memalloc_noio_restore(noio);
	return err;
}
