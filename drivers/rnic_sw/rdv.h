/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Rendezvous: set up the stream of a queue pair that a program connects with ibv_modify_qp()
 * instead of rdma_cm. See Documentation/rendezvous.rst.
 */
#ifndef _RNIC_SW_RDV_H
#define _RNIC_SW_RDV_H

#include <linux/err.h>
#include <linux/kref.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <ddp/owner.h>
#include <ddp/session.h>

#include "neg.h"
#include "rdv_msg.h"
#include "rdv_qp.h"
#include "rnic.h"

struct rdv_port;

/**
 * enum rdv_state - state of a rendezvous
 * @RDV_WAITING: no session exists; an active side tries again later, a passive side waits for a
 *	Request
 * @RDV_CONNECTING: active side: a session is being set up
 * @RDV_REQUESTED: passive side: a Request has arrived, and the driver has accepted it or will do so
 * @RDV_CONNECTED: the stream has started
 * @RDV_LOST: the stream has ended because the peer has disappeared, but the program is not notified
 *	yet
 * @RDV_ENDED: the queue pair has failed or is being destroyed
 */
enum rdv_state {
	RDV_WAITING,
	RDV_CONNECTING,
	RDV_REQUESTED,
	RDV_CONNECTED,
	RDV_LOST,
	RDV_ENDED,
};

/*
 * Rendezvous of a queue pair, from its modify to RTR until it is reset or destroyed, or until the
 * modify fails.  A context that uses the rendezvous must hold rnic_dev.rdv_lock, be an RCU reader,
 * have a reference from rdv_get(), or make an upcall of a session, which has a reference to the
 * queue pair.
 */
struct rnic_rdv {
	/* constant after the modify to RTR */
	struct rnic_qp			*qp;
	const struct ddp_session_type	*type;	/* LLP */
	struct sockaddr_storage		local;	/* own address, without port */
	struct sockaddr_storage		remote;	/* the peer's address and rendezvous port */
	struct ddp_sock_owner		owner;	/* task that has called ibv_modify_qp() */
	struct rdma_ah_attr		ah;	/* as set by the program; without sgid_attr */
	u8				path_mtu;
	bool				active;	/* this side connects */

	/*
	 * protected by rnic_dev.rdv_lock: listener on which this passive side waits, or NULL;
	 * RDV_PORT_OPENING while the modify to RTR, which holds the lock, opens it
	 */
	struct rdv_port			*port;

	spinlock_t			lock;	/* leaf lock; protects the members below */
	enum rdv_state			state;
	struct rdv_msg			msg;	/* message that this side sends */
	u8				timeout, retry_cnt;	/* valid in RTS */
	u8				min_rnr_timer;
	u64				rate;	/* limit in bytes per second; 0: none */
	struct ddp_session		*ss;	/* last session, referenced; or NULL */
	bool				accepted;	/* rdv_accept() has handled @ss */
	bool				has_peer;	/* @peer_rq_psn is valid */
	u32				peer_rq_psn;	/* PSN that the peer expects */
	bool				peer_in_rts;	/* @peer_rnr_retry is valid */
	u8				peer_rnr_retry;
	u32				pause_ms;	/* pause before the next attempt, in ms */
	unsigned long			next_try;	/* time of the next attempt, in jiffies */
	/* posted requests wait for the stream, or for a peer that has disappeared */
	bool				posted;
	/* time at which a check first found these requests, in jiffies */
	unsigned long			posted_at;
	bool				limit_over;	/* they waited too long and must fail */

	/*
	 * used by the request upcall, the work item and the established upcall, which run one after
	 * the other
	 */
	struct negotiation_side		request;	/* values in the Request */
	struct negotiation_local	me;
	struct negotiation_result	result;

	struct delayed_work		work;	/* queued only if @state is not RDV_ENDED */
	struct kref			ref;
	struct rcu_head			rcu;
};

#define RDV_PORT_OPENING	((struct rdv_port *)ERR_PTR(-EINPROGRESS))

/* rdv.c: the work item */
void __rdv_queue_work(struct rnic_rdv *rdv, u32 ms);
void __rdv_update_rnr_limit(struct rnic_rdv *rdv);

/* rdv_addr.c: addresses of an address vector */
int rdv_resolve_addrs(struct rnic_dev *dev, const struct rdma_ah_attr *ah,
		      struct sockaddr_storage *local, struct sockaddr_storage *remote);
bool rdv_addr_is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* rdv_session.c: references, sessions */
struct rnic_rdv *rdv_get(const struct rnic_qp *qp);
void rdv_put(struct rnic_rdv *rdv);
extern const struct ddp_session_user rdv_session_user;
int rdv_connect(struct rnic_rdv *rdv);
int rdv_accept(struct rnic_rdv *rdv);

/* rdv_port.c: listeners on the rendezvous port */
int rdv_port_get(struct rnic_rdv *rdv);
void rdv_port_put(struct rnic_rdv *rdv);
struct rnic_dev *rdv_port_get_dev(const struct ddp_listener *l);

#endif
