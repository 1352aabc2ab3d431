/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Rendezvous message: the data that two queue pairs, connected with ibv_modify_qp(),
 * exchange in the Private Data of the Request and of the Reply. See
 * Documentation/rendezvous.rst.
 */
#ifndef _RNIC_SW_RDV_MSG_H
#define _RNIC_SW_RDV_MSG_H

#include <ddp/pure.h>

#define RDV_MSG_LEN	24	/* bytes */
#define RDV_GID_LEN	16	/* bytes */

/**
 * struct rdv_msg - contents of a rendezvous message
 * @qpn: QP number of the sender
 * @dest_qpn: QP number of the receiver
 * @rq_psn: first PSN that the sender expects
 * @sq_psn: first PSN that the sender sends; valid if @has_sq_psn is set
 * @rnr_retry: how often the sender repeats a message for which no receive is posted, 0 to 7;
 *	valid if @has_sq_psn is set
 * @has_sq_psn: true if the sender is in RTS, so that it knows @sq_psn and @rnr_retry
 */
struct rdv_msg {
	u32	qpn;
	u32	dest_qpn;
	u32	rq_psn;
	u32	sq_psn;
	u8	rnr_retry;
	bool	has_sq_psn;
};

/**
 * enum rdv_role - role of a queue pair in the set-up of the stream
 * @RDV_ACTIVE: the queue pair connects
 * @RDV_PASSIVE: the queue pair waits for the peer's Request
 * @RDV_SELF: the peer is the queue pair itself
 */
enum rdv_role {
	RDV_ACTIVE,
	RDV_PASSIVE,
	RDV_SELF,
};

void rdv_msg_encode(const struct rdv_msg *m, u8 *pd);
bool rdv_msg_decode(struct rdv_msg *m, const u8 *pd, u16 len);
bool rdv_msg_matches(const struct rdv_msg *peer, const struct rdv_msg *mine);
enum rdv_role rdv_choose_role(u32 qpn, const u8 *gid, u32 dest_qpn, const u8 *dgid);

#endif
