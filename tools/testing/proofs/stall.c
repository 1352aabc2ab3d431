// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Detection of a path MTU black hole. Proved for one check in any state that satisfies the
 * invariant sound(). Each check keeps the invariant, so this holds for any sequence.
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

#define MINUTE	(60 / SDDP_STALL_LOOK)	/* number of checks */

/*
 * Check the invariant between two checks. Step 1: a heartbeat was requested and not yet
 * acknowledged; step 2: packets were made smaller; step 3: one check later.
 */
static bool sound(const struct sddp_stall *s)
{
	return s->checks < MINUTE && s->step <= 3 && s->step <= s->checks;
}

static bool shut(const struct sddp_stall *s, const struct sddp_stall_view *v)
{
	return v->ack_expected && v->acked == s->acked;
}

void prove_look(void)
{
	struct sddp_stall s, was;
	struct sddp_stall_view v;
	enum sddp_stall_do does;

	v.ack_expected = any_bool();
	GIVEN(sound(&s));
	was = s;
	does = sddp_stall_check(&s, &v);
	MUST("what gets on begins anew", shut(&was, &v) ||
	     (does == SDDP_STALL_NOTHING && !s.checks && !s.step &&
	      s.acked == v.acked));
	if (!shut(&was, &v)) {
		REACHED("gets on");
		return;
	}
	MUST("it ends after a minute, not before",
	     (does == SDDP_STALL_END) == (was.checks == MINUTE - 1));
	MUST("one look more, each time", s.checks == was.checks + 1 &&
	     s.acked == was.acked);
	if (does == SDDP_STALL_END) {
		REACHED("end");
		return;
	}
	MUST("sound still", sound(&s));
	MUST("asked first, and when is known", (does == SDDP_STALL_ASK) ==
	     !was.step && (was.step || s.since == v.now));
	MUST("smaller packets if it was heard of since", does !=
	     SDDP_STALL_SHRINK || (was.step == 1 && v.last_heard > was.since));
	MUST("SCTP finds out about who is gone", was.step != 1 ||
	     v.last_heard > was.since || (does == SDDP_STALL_NOTHING && s.step == 1));
	MUST("and if it was, at once", was.step != 1 || v.last_heard <= was.since ||
	     does == SDDP_STALL_SHRINK);
	MUST("since is kept until it is asked again", !was.step ||
	     s.since == was.since);
	MUST("two looks for what is sent again, then it is asked again",
	     was.step < 2 || (does == SDDP_STALL_NOTHING &&
			      s.step == (was.step == 2 ? 3 : 0)));
	if (does == SDDP_STALL_SHRINK)
		REACHED("smaller");
	if (was.step == 1 && s.step == 1)
		REACHED("silent");
}

/* The initial state satisfies the invariant */
void prove_begin(void)
{
	struct sddp_stall s = {};

	MUST("sound to begin with", sound(&s));
	REACHED("end");
}

/* Each packet size is smaller than the previous one, so the attempts end */
void prove_smaller(void)
{
	u32 pmtu = ANY(u32), least = ANY(u32);
	u32 size = sddp_stall_lower_pmtu(pmtu, least);

	MUST("smaller, and not too small",
	     !size || (size < pmtu && size >= least));
	MUST("SCTPDDP-60: what carries 516 octets", !size || size >= 576);
	MUST("the largest of them", size ==
	     (pmtu > 1500 && least <= 1500 ? 1500 :
	      pmtu > 1280 && least <= 1280 ? 1280 :
	      pmtu > 576 && least <= 576 ? 576 : 0));
	if (size == 576)
		REACHED("the smallest");
	if (!size && pmtu > 1500)
		REACHED("none is worth a try");
}

/* The number of timeouts is bounded for any number of paths */
void prove_timeouts(void)
{
	u32 paths = ANY(u32), all = sddp_stall_timeouts(paths);

	MUST("as many as each of them may have",
	     paths < 2 || paths > 16 || all == 5 * paths);
	MUST("one is given more", paths > 1 || all == 8);
	MUST("and no more than 16 count", all <= 80);
	if (paths > 16)
		REACHED("more");
}
