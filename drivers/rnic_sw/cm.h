/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Endpoints, listeners and iw_cm events, as the cm*.c files share them. */
#ifndef _RNIC_SW_CM_H
#define _RNIC_SW_CM_H

#include <rdma/iw_cm.h>

#include <ddp/owner.h>
#include <ddp/session.h>

#include "neg.h"
#include "rnic.h"

struct net;

/* Number of lower layers, indexed by enum rnic_sw_llp */
#define RNIC_LLPS	(RNIC_SW_LLP_SCTP + 1)

/* Lower layers and listeners of a device */
struct rnic_llps {
	/* LLPs, referenced from their first use until the device is removed; may be NULL */
	const struct ddp_session_type	*type[RNIC_LLPS];
	/* serializes changes of the device's "listen" setting */
	struct mutex			setting_lock;
	spinlock_t			lock;	/* leaf; protects the members below */
	struct list_head		listeners;	/* struct rnic_listener.list */
	u32				round;	/* number of the last pass over @listeners */
};

/* A listener of iw_cm, and its listeners in the lower layers */
struct rnic_listener {
	/* fixed after creation, except @ref; @id is valid until @stopped is set */
	struct rnic_dev		*dev;
	struct iw_cm_id		*id;
	int			backlog;
	struct ddp_sock_owner	owner;	/* task that has started the listener */
	struct kref		ref;

	struct list_head	list;	/* in rnic_llps.listeners; protected by rnic_llps.lock */
	u32			round;	/* last pass that visited it; protected by rnic_llps.lock */

	struct mutex		lock;	/* protects the members below */
	bool			stopped;
	struct ddp_listener	*l[RNIC_LLPS];	/* listener of each LLP; NULL if not in use */
};

enum ep_state {
	EP_CONNECTING,		/* active side: no CONNECT_REPLY event reported yet */
	EP_REQUESTED,		/* passive side: request received, not accepted yet */
	EP_ACCEPTED,		/* passive side: accepted, no ESTABLISHED event reported yet */
	EP_ESTABLISHED,		/* an event has reported the connection to iw_cm */
	EP_REFUSED,		/* active side: a CONNECT_REPLY event has reported the error */
};

struct rnic_ep {
	/* fixed after creation, except @ref */
	struct rnic_dev		*dev;
	struct kref		ref;
	u32			number;	/* passive side: number of the pending request */

	/* written by session upcalls, and by iw_cm operations before the first upcall */
	enum ep_state		state;
	struct iw_cm_id		*id;	/* ID of iw_cm, referenced; may be NULL */
	struct rnic_qp		*qp;	/* QP of the connection, referenced; may be NULL */
	struct ddp_session	*ss;	/* session in the LLP, referenced; may be NULL */
	struct neg_side		request;	/* offer in the Request */
	struct neg_local	me;	/* wishes and limits of the local side */
	struct neg_result	result;	/* outcome of the negotiation */
};

extern const struct ddp_session_user rnic_session_user;

/* cm_llp.c */
int rnic_llps_init(struct rnic_dev *dev);
void rnic_llps_exit(struct rnic_dev *dev);
void rnic_fill_policy(const struct rnic_dev *dev, struct ddp_policy *p);
const struct ddp_session_type *rnic_llp(const struct rnic_dev *dev, u8 llp);

/* cm_listen.c */
u8 rnic_tos(const struct iw_cm_id *id);
bool rnic_same_netns(const struct net *net, const struct iw_cm_id *id);

/* cm_ep.c */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev);
void rnic_ep_get(struct rnic_ep *ep);
void rnic_ep_put(struct rnic_ep *ep);
void rnic_ep_abort(struct rnic_ep *ep);
void rnic_ep_attach(struct rnic_ep *ep, struct iw_cm_id *id, struct rnic_qp *qp);
void rnic_ep_detach(struct rnic_ep *ep);
void rnic_pending_init(struct rnic_dev *dev);
int rnic_pending_add(struct rnic_dev *dev, struct rnic_ep *ep, u32 *number);
struct rnic_ep *rnic_pending_remove(struct rnic_dev *dev, u32 number);
struct rnic_ep *rnic_pending_get(struct rnic_dev *dev, u32 number);

/* cm_event.c */
int rnic_ep_report_request(struct rnic_ep *ep, struct iw_cm_id *listener,
			   const struct ddp_offer *o);
int rnic_ep_report_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
			 const struct ddp_offer *o);
void rnic_ep_report_failure(struct rnic_ep *ep, int status, const struct ddp_offer *o);
int rnic_reason_to_status(enum iw_reason why);
void rnic_cm_report_peer_gone(struct iw_cm_id *id);

#endif
