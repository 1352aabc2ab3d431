// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Retries after SCTP has accepted no more data or memory was short. */
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "internal.h"
#include "share.h"

/*
 * Start the retry timer, or let it expire earlier. Both directions share the
 * timer, and it is never postponed: events that arrive meanwhile do not mean
 * that a retry would succeed. Return: true if the timer expires after @delay,
 * false if it expires before.
 */
static bool try_again(struct sddp_assoc *a, unsigned long delay)
{
	unsigned long at = jiffies + delay;

	/* a full barrier: a timer that is queued already sees the present state */
	if (!queue_delayed_work(sddp_wq, &a->retry, delay)) {
		if (!time_before(at, a->retry_at))
			return false;
		mod_delayed_work(sddp_wq, &a->retry, delay);
	}
	a->retry_at = at;
	return true;
}

/**
 * sddp_assoc_retry - schedule a retry because SCTP accepts no more data
 * @a: the association; worker context
 *
 * Normally an acknowledgement schedules the worker, see sddp_sock_space(). But
 * if SCTP is short of socket memory, nothing may be in flight.
 */
void sddp_assoc_retry(struct sddp_assoc *a)
{
	try_again(a, HZ / 2);
}

/**
 * sddp_assoc_backoff - schedule a retry because memory was short
 * @a: the association; worker context
 *
 * The delay grows with each failure in a row, see sddp_share_delay().
 */
void sddp_assoc_backoff(struct sddp_assoc *a)
{
	u32 delay = sddp_share_delay(a->delay);

	if (try_again(a, msecs_to_jiffies(delay)))
		a->delay = delay;
}

/**
 * sddp_assoc_retry_expired - handle the expiry of the retry timer
 * @w: the timer's work item
 */
void sddp_assoc_retry_expired(struct work_struct *w)
{
	struct sddp_assoc *a = container_of(to_delayed_work(w),
					    struct sddp_assoc, retry);

	WRITE_ONCE(a->full, false);
	WRITE_ONCE(a->deep, false);
	sddp_assoc_kick(a);
}
