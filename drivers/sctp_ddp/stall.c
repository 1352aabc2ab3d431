// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* When nothing gets through: see stall.h. */
#include "share.h"
#include "stall.h"

/* In looks: a retransmission of the smaller packets takes up to two */
#define ASK_AT		1
#define SHRINK_AT	2
#define WAIT_UNTIL	4
#define END_AT		15

/**
 * sddp_stall_look - another SDDP_STALL_LOOK seconds have passed
 * @s: what is known; changed
 * @v: what is to be seen now
 *
 * Return: what is to be done.
 */
enum sddp_stall_do sddp_stall_look(struct sddp_stall *s,
				   const struct sddp_stall_view *v)
{
	if (!v->waits || v->acked != s->acked) {
		*s = (struct sddp_stall){ .acked = v->acked };
		return SDDP_STALL_NOTHING;
	}
	if (++s->looks >= END_AT)
		return SDDP_STALL_END;
	s->step++;
	if (s->step == ASK_AT) {
		s->since = v->now;
		return SDDP_STALL_ASK;
	}
	/* a peer that is gone is SCTP's to find out */
	if (s->step == SHRINK_AT) {
		if (v->heard > s->since)
			return SDDP_STALL_SHRINK;
		s->step = ASK_AT;
	}
	if (s->step == WAIT_UNTIL)
		s->step = 0;
	return SDDP_STALL_NOTHING;
}

/**
 * sddp_stall_smaller - the next smaller size of packets that is worth a try
 * @pmtu: the path's MTU as it is taken to be, octets
 * @least: what any path has to carry
 *
 * What Ethernet carries, what IPv6 always does, what IPv4 hosts always take
 * (which holds RFC 5043 section 9's 516 octets).
 *
 * Return: octets; 0 if there is none.
 */
u32 sddp_stall_smaller(u32 pmtu, u32 least)
{
	static const u32 sizes[] = { 1500, 1280, 576 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		if (pmtu > sizes[i] && sizes[i] >= least)
			return sizes[i];
	return 0;
}

/**
 * sddp_stall_timeouts - after how many in a row nobody is there any more
 * @paths: addresses of the peer's that have answered once
 *
 * Some of them may be dead for long, and all is well: that is not to end it.
 *
 * Return: timeouts, of all paths together.
 */
u32 sddp_stall_timeouts(u32 paths)
{
	if (paths < 2)
		return SDDP_PEER_TIMEOUTS;
	return min_t(u32, paths, SDDP_ADDRESSES_MOST) * SDDP_PATH_TIMEOUTS;
}
