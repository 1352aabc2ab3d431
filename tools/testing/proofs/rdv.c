// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous messages of a peer that sends any Private Data, the choice of the side that connects,
 * time limits and pauses, and LIDs.
 *
 * Files: rnic_sw/rdv_msg.c rnic_sw/rdv_time.c rnic_sw/rdv_lid.c
 * Bound: 20, memcmp() of a GID has 16 steps
 * Mutation: rnic_sw/rdv_msg.c s/len < RDV_MSG_LEN/len < 4/
 * Mutation: rnic_sw/rdv_msg.c s/pd\[4\] != RDV_VERSION/0/
 * Mutation: rnic_sw/rdv_msg.c s/peer->qpn == mine->dest_qpn \&\& //
 * Mutation: rnic_sw/rdv_msg.c s/qpn < dest_qpn ? -1/qpn <= dest_qpn ? -1/
 * Mutation: rnic_sw/rdv_time.c s/ms < LIMIT_MIN ? LIMIT_MIN/0 ? LIMIT_MIN/
 * Mutation: rnic_sw/rdv_time.c s/2 \* before < PAUSE_MAX/before < PAUSE_MAX/
 * Mutation: rnic_sw/rdv_lid.c s/lid <= LID_UNICAST_MAX/lid < 0xffff/
 * Mutation: rnic_sw/rdv_lid.c s/(addr \& HIGH_HALF) | lid/addr | lid/
 */
#include "../../../drivers/rnic_sw/rdv_lid.h"
#include "../../../drivers/rnic_sw/rdv_msg.h"
#include "../../../drivers/rnic_sw/rdv_time.h"
#include "proof.h"

#define BITS24	0xffffffu

static struct rdv_msg any_msg(void)
{
	struct rdv_msg m;

	m.has_sq_psn = any_bool();
	GIVEN(!((m.qpn | m.dest_qpn | m.rq_psn | m.sq_psn) & ~BITS24));
	return m;
}

void prove_decode(void)
{
	u16 len = ANY(u16);
	struct rdv_msg m;
	u8 *pd;
	bool ok;

	GIVEN(len <= RDV_MSG_LEN + 1);
	pd = any_bytes(len);
	ok = rdv_msg_decode(&m, pd, len);
	MUST("a message is complete, of version 1, and has numbers of 24 bits", !ok ||
	     (len >= RDV_MSG_LEN && pd[4] == 1 && m.rnr_retry <= 7 &&
	      !((m.qpn | m.dest_qpn | m.rq_psn | m.sq_psn) & ~BITS24)));
	if (ok)
		REACHED("a message");
	if (!ok && len >= RDV_MSG_LEN)
		REACHED("other Private Data");
}

void prove_message_match(void)
{
	struct rdv_msg peer = any_msg(), mine = any_msg();
	bool ok = rdv_msg_matches(&peer, &mine);

	MUST("both queue pair numbers match", !ok ||
	     (peer.qpn == mine.dest_qpn && peer.dest_qpn == mine.qpn));
	MUST("the PSNs that a side knows match", !ok ||
	     ((!peer.has_sq_psn || peer.sq_psn == mine.rq_psn) &&
	      (!mine.has_sq_psn || peer.rq_psn == mine.sq_psn)));
	MUST("each side comes to the same result", ok == rdv_msg_matches(&mine, &peer));
	if (ok)
		REACHED("a match");
}

void prove_role_choice(void)
{
	u32 qpn = ANY(u32), dest_qpn = ANY(u32);
	u8 *gid = any_bytes(RDV_GID_LEN), *dgid = any_bytes(RDV_GID_LEN);
	enum rdv_role us = rdv_choose_role(qpn, gid, dest_qpn, dgid);
	enum rdv_role them = rdv_choose_role(dest_qpn, dgid, qpn, gid);

	MUST("exactly one side connects, or the queue pair is its own peer",
	     (us == RDV_ACTIVE && them == RDV_PASSIVE) ||
	     (us == RDV_PASSIVE && them == RDV_ACTIVE) ||
	     (us == RDV_SELF && them == RDV_SELF && qpn == dest_qpn));
	if (us == RDV_ACTIVE)
		REACHED("active");
	if (us == RDV_SELF)
		REACHED("self");
}

void prove_time_limits(void)
{
	u8 timeout = ANY(u8), retry_cnt = ANY(u8), timer = ANY(u8);
	u32 before = ANY(u32), limit = rdv_compute_wait_limit_ms(timeout, retry_cnt);

	MUST("the limit is at least a second", limit >= 1000);
	MUST("only timeout 0 means no limit", (limit == RDV_FOREVER) == !(timeout & 31));
	MUST("only the RNR retry count 7 means no limit",
	     (rdv_compute_rnr_limit_ms(timer, retry_cnt) == RDV_FOREVER) == ((retry_cnt & 7) == 7));
	GIVEN(before <= 250);
	MUST("a pause is at most 250 ms, and not shorter than the one before",
	     rdv_compute_pause_ms(before) <= 250 && rdv_compute_pause_ms(before) >= before &&
	     rdv_compute_pause_ms(before));
	if (limit > 1000 && limit != RDV_FOREVER)
		REACHED("a limit that follows the attributes");
}

void prove_lid_addr_conversion(void)
{
	u32 own = ANY(u32), peer = ANY(u32), mask = ANY(u32);
	u16 lid = rdv_addr_to_lid(peer, mask), any = ANY(u16);
	u32 addr = rdv_lid_to_addr(any, own, mask);

	MUST("a LID is a unicast LID", lid <= 0xbfff);
	MUST("only a unicast LID stands for an address", !addr || (any && any <= 0xbfff));
	MUST("the address for a LID has the high half of the own address",
	     !addr || !((addr ^ own) >> 16));
	/* a netmask, and two hosts of one subnet */
	GIVEN(!(~mask & (~mask + 1)) && own && !((own ^ peer) & mask));
	MUST("the LID of a host of the subnet stands for this host",
	     !lid || rdv_lid_to_addr(lid, own, mask) == peer);
	if (lid)
		REACHED("a LID");
	if (addr)
		REACHED("an address");
}
