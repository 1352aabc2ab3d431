// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* An association for which SCTP had no room, or nobody memory, and that tries again. */
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "share.h"

/*
 * Both directions wait by one timer, and events that come meanwhile find no more than
 * before: none puts off when it runs out.  Return: whether it is to run out then
 */
static bool try_again(struct sddp_assoc *a, unsigned long delay)
{
	unsigned long at = jiffies + delay;

	/* if it is set already what is so now is looked at then: a full barrier */
	if (!queue_delayed_work(sddp_wq, &a->retry, delay)) {
		if (!time_before(at, a->retry_at))
			return false;
		mod_delayed_work(sddp_wq, &a->retry, delay);
	}
	a->retry_at = at;
	return true;
}

/**
 * sddp_assoc_retry - SCTP takes no more
 * @a: the association; worker
 *
 * It kicks when it has sent something.  If it has no memory left to account
 * for, nothing may be under way, and it does not.
 */
void sddp_assoc_retry(struct sddp_assoc *a)
{
	try_again(a, HZ / 2);
}

/**
 * sddp_assoc_backoff - memory was short
 * @a: the association; worker
 *
 * It tries again after a while, which gets longer each time.
 */
void sddp_assoc_backoff(struct sddp_assoc *a)
{
	u32 delay = sddp_share_delay(a->delay);

	if (try_again(a, msecs_to_jiffies(delay)))
		a->delay = delay;
}

/**
 * sddp_assoc_retry_expired - it is time
 * @w: the timer's
 */
void sddp_assoc_retry_expired(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, retry);

	WRITE_ONCE(a->full, false);
	WRITE_ONCE(a->deep, false);
	sddp_assoc_kick(a);
}
