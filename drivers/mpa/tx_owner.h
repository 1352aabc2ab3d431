/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Ownership of the transmit side: mpa_conn.tx ensures that one context at a time, the owner, runs
 * the transmit routine of tx.c.
 */
#ifndef _MPA_TX_OWNER_H
#define _MPA_TX_OWNER_H

#include "internal.h"

/* litmus: owner-ask, owner-push, owner-pass, owner-stop ---------------------- */

#define MPA_TX_OWNED	0x1
#define MPA_TX_PENDING	0x2
#define MPA_TX_DEAD	0x4

/*
 * State of mpa_conn.tx:
 *
 *   0              no work is pending
 *   PENDING        work is pending, and exactly one context is scheduled to run a pass:
 *                  the softirq of a CPU, the worker or the retry timer. After TX_LOST no
 *                  context is scheduled, because the connection will be torn down
 *   OWNED          a context runs a pass
 *   OWNED|PENDING  a context runs a pass, and another pass is requested: the owner must
 *                  check for work again before it releases ownership
 *   DEAD           alone or with other bits: transmission was stopped, and no context can
 *                  become the owner
 *
 *   from state     function that changes the state         to state
 *   -------------  --------------------------------------  -------------
 *   0              tx_request_pass()                       PENDING
 *   0              tx_request_pass_or_become_owner()       OWNED
 *   PENDING        mpa_tx_try_become_owner()               OWNED
 *   OWNED          tx_request_pass()                       OWNED|PENDING
 *   OWNED          tx_request_pass_or_become_owner()       OWNED|PENDING
 *   OWNED          mpa_tx_try_release_ownership(): true    0
 *   OWNED|PENDING  mpa_tx_try_release_ownership(): false   OWNED
 *   OWNED          tx_release_with_work_pending()          PENDING
 *   OWNED|PENDING  tx_release_with_work_pending()          PENDING
 *
 * tx_request_pass() and tx_request_pass_or_become_owner() do not change the states PENDING
 * and OWNED|PENDING.
 *
 * mpa_tx_stop() adds DEAD to any state and waits until OWNED is clear. If DEAD is set,
 * mpa_tx_try_release_ownership() and tx_release_with_work_pending() keep DEAD, and no
 * function sets OWNED.
 */

/*
 * Request a pass for work that the caller has made pending. The atomic operation is a full barrier
 * even if the state does not change, so that the context that clears PENDING afterwards sees this
 * work. Pairs with mpa_tx_try_become_owner() and mpa_tx_try_release_ownership(). Return: true if
 * the caller must schedule a context for the pass; false if a context is scheduled already, the
 * owner will check for work again, or DEAD is set.
 */
static inline bool tx_request_pass(struct mpa_conn *c)
{
	return !atomic_fetch_or(MPA_TX_PENDING, &c->tx);
}

/*
 * Become the owner if the state is 0; request a pass in any other state. Return: true if the
 * caller is the owner now, false otherwise.
 */
static inline bool tx_request_pass_or_become_owner(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx), new;

	do {
		new = old ? old | MPA_TX_PENDING : MPA_TX_OWNED;
	} while (!atomic_try_cmpxchg(&c->tx, &old, new));
	return !old;
}

/*
 * Become the owner. The caller must be the context that was scheduled for the pass.
 * Return: true if the caller is the owner now, false if DEAD is set.
 */
static inline bool mpa_tx_try_become_owner(struct mpa_conn *c)
{
	int old = MPA_TX_PENDING;

	return atomic_try_cmpxchg_acquire(&c->tx, &old, MPA_TX_OWNED);
}

/*
 * Release ownership, unless another pass is requested. Return: true if ownership is released;
 * false if another pass was requested, so that the caller is still the owner and must check
 * for work again.
 */
static inline bool mpa_tx_try_release_ownership(struct mpa_conn *c)
{
	int old = MPA_TX_OWNED;

	if (atomic_try_cmpxchg_release(&c->tx, &old, 0))
		return true;
	if (old & MPA_TX_DEAD) {
		atomic_fetch_andnot_release(MPA_TX_OWNED, &c->tx);
		return true;
	}
	atomic_fetch_andnot_acquire(MPA_TX_PENDING, &c->tx);
	return false;
}

/*
 * Release ownership while work is pending, and set PENDING. Return: true if the caller must
 * schedule a context for the next pass, because no other context can become the owner while
 * PENDING is set; false if DEAD is set, so that no pass can follow.
 */
static inline bool tx_release_with_work_pending(struct mpa_conn *c)
{
	int old = atomic_read(&c->tx), new;

	do {
		new = old & MPA_TX_DEAD ? MPA_TX_DEAD : MPA_TX_PENDING;
	} while (!atomic_try_cmpxchg_release(&c->tx, &old, new));
	return new == MPA_TX_PENDING;
}

#endif
