// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Detection of a path MTU black hole. The proof covers one check in any state that satisfies
 * the invariant is_sound(). Each check preserves the invariant, so the properties hold for
 * any sequence of checks.
 *
 * Files: sctp_ddp/stall.c
 * Checks: unsigned-overflow
 * Bound: 3, the sizes that are tried
 * Mutation: sctp_ddp/stall.c s/++s->checks >= END_AT/++s->checks > END_AT/
 * Mutation: sctp_ddp/stall.c s/!v->ack_expected || v->acked != s->acked/!v->ack_expected/
 * Mutation: sctp_ddp/stall.c s/v->last_heard > s->since/v->last_heard > 0/
 * Mutation: sctp_ddp/stall.c s/s->step = PROBE_AT;/;/
 * Mutation: sctp_ddp/stall.c s/s->step = 0;/;/
 * Mutation: sctp_ddp/stall.c s/pmtu > sizes\[i\]/pmtu >= sizes[i]/
 * Mutation: sctp_ddp/stall.c s/ \&\& sizes\[i\] >= least//
 * Mutation: sctp_ddp/stall.c s/min_t(u32, paths, SDDP_ADDRESSES_MAX)/paths/
 */
#include "../../../drivers/sctp_ddp/stall.h"
#include "proof.h"

#define MINUTE	(60 / SDDP_STALL_INTERVAL)	/* number of checks */

/*
 * Check the invariant that holds between two checks. Steps: 0: no heartbeat requested;
 * 1: heartbeat requested and not acknowledged; 2: packet size reduced at the last check;
 * 3: one check after step 2.
 */
static bool is_sound(const struct sddp_stall *s)
{
	return s->checks < MINUTE && s->step <= 3 && s->step <= s->checks;
}

static bool is_ack_missing(const struct sddp_stall *s, const struct sddp_stall_view *v)
{
	return v->ack_expected && v->acked == s->acked;
}

void prove_chosen_action(void)
{
	struct sddp_stall s, was;
	struct sddp_stall_view v;
	enum sddp_stall_do does;

	v.ack_expected = any_bool();
	GIVEN(is_sound(&s));
	was = s;
	does = sddp_stall_choose_action(&s, &v);
	MUST("progress resets the state and requests nothing", is_ack_missing(&was, &v) ||
	     (does == SDDP_STALL_NOTHING && !s.checks && !s.step &&
	      s.acked == v.acked));
	if (!is_ack_missing(&was, &v)) {
		REACHED("progress");
		return;
	}
	MUST("the association ends exactly after a minute without progress",
	     (does == SDDP_STALL_END) == (was.checks == MINUTE - 1));
	MUST("each check is counted", s.checks == was.checks + 1 &&
	     s.acked == was.acked);
	if (does == SDDP_STALL_END) {
		REACHED("end");
		return;
	}
	MUST("the invariant holds again", is_sound(&s));
	MUST("the first step requests a heartbeat and records the time",
	     (does == SDDP_STALL_PROBE) ==
	     !was.step && (was.step || s.since == v.now));
	MUST("packets shrink only if a packet of the peer has arrived since the request", does !=
	     SDDP_STALL_SHRINK || (was.step == 1 && v.last_heard > was.since));
	MUST("until a packet of the peer arrives, nothing is done", was.step != 1 ||
	     v.last_heard > was.since || (does == SDDP_STALL_NOTHING && s.step == 1));
	MUST("packets shrink at the first check after a packet of the peer has arrived",
	     was.step != 1 || v.last_heard <= was.since ||
	     does == SDDP_STALL_SHRINK);
	MUST("the recorded time is kept until the next request", !was.step ||
	     s.since == was.since);
	MUST("after shrinking, two checks pass, then a heartbeat is requested",
	     was.step < 2 || (does == SDDP_STALL_NOTHING &&
			      s.step == (was.step == 2 ? 3 : 0)));
	if (does == SDDP_STALL_SHRINK)
		REACHED("packets shrink");
	if (was.step == 1 && s.step == 1)
		REACHED("no packet of the peer has arrived");
}

/* The initial state satisfies the invariant */
void prove_initial_state(void)
{
	struct sddp_stall s = {};

	MUST("the invariant holds at the beginning", is_sound(&s));
	REACHED("end");
}

/* Each packet size is smaller than the previous one, so the attempts end */
void prove_pmtu_shrinks(void)
{
	u32 pmtu = ANY(u32), least = ANY(u32);
	u32 size = sddp_stall_choose_pmtu(pmtu, least);

	MUST("the size is smaller than the MTU and not below the minimum",
	     !size || (size < pmtu && size >= least));
	MUST("SCTPDDP-60: the size can carry 516 bytes", !size || size >= 576);
	MUST("the size is the largest possible one", size ==
	     (pmtu > 1500 && least <= 1500 ? 1500 :
	      pmtu > 1280 && least <= 1280 ? 1280 :
	      pmtu > 576 && least <= 576 ? 576 : 0));
	if (size == 576)
		REACHED("the smallest size");
	if (!size && pmtu > 1500)
		REACHED("no possible size");
}

/* The number of timeouts after which SCTP gives up is bounded for any number of paths */
void prove_max_timeouts_are_bounded(void)
{
	u32 paths = ANY(u32), all = sddp_compute_max_timeouts(paths);

	MUST("2 to 16 paths may have 5 timeouts each",
	     paths < 2 || paths > 16 || all == 5 * paths);
	MUST("a single path may have 8 timeouts", paths > 1 || all == 8);
	MUST("at most 80 timeouts", all <= 80);
	if (paths > 16)
		REACHED("more than 16 paths");
}
