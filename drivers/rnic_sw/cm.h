/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Structures and functions that the cm*.c files share: endpoints, listeners, iw_cm events. */
#ifndef _RNIC_SW_CM_H
#define _RNIC_SW_CM_H

#include <rdma/iw_cm.h>

#include <ddp/owner.h>
#include <ddp/session.h>

#include "neg.h"
#include "rnic.h"

struct net;

/* Size of an array that is indexed by enum rnic_sw_llp */
#define RNIC_LLPS	(RNIC_SW_LLP_SCTP + 1)

/* Lower layers (LLPs) and listeners of a device */
struct rnic_llps {
	/* session type of each LLP in use, with a module reference; NULL if not in use yet */
	const struct ddp_session_type	*type[RNIC_LLPS];
	/* serializes changes of the device's "listen" setting */
	struct mutex			setting_lock;
	spinlock_t			lock;	/* leaf lock; protects the members below */
	struct list_head		listeners;	/* struct rnic_listener.list */
	u32				pass;	/* number of the latest pass over the listeners */
	struct list_head		connects;	/* struct rnic_ep.connector.list */
	u32				n_connects;	/* length of @connects */

	struct delayed_work		watch;		/* checks @connects, see cm_watch.c */
};

/* Listener that iw_cm has started on a device, and its listeners in the lower layers */
struct rnic_listener {
	/* constant after creation, except @ref; iw_cm may free @id after @stopped is set */
	struct rnic_dev		*dev;
	struct iw_cm_id		*id;
	int			backlog;
	u64			order;	/* see ddp_listen.order */
	struct ddp_sock_owner	owner;	/* task that has started the listener */
	struct kref		ref;

	/* protected by rnic_llps.lock */
	struct list_head	list;	/* entry in rnic_llps.listeners */
	u32			pass;	/* number of the last pass that visited this listener */

	struct mutex		lock;	/* protects the members below */
	bool			stopped;
	struct ddp_listener	*l[RNIC_LLPS];	/* listener in each LLP; NULL if not used */
};

enum ep_state {
	EP_CONNECTING,		/* active side: no CONNECT_REPLY event reported yet */
	EP_REQUESTED,		/* passive side: request received, not accepted yet */
	EP_ACCEPTED,		/* passive side: accepted, no ESTABLISHED event reported yet */
	EP_ESTABLISHED,		/* CONNECT_REPLY or ESTABLISHED event reported to iw_cm */
	EP_REFUSED,		/* active side: CONNECT_REPLY event with an error reported */
};

/* Endpoint: state of one connection or connection request, see cm_ep.c */
struct rnic_ep {
	/* constant after set-up, except @ref */
	struct rnic_dev		*dev;
	struct kref		ref;
	u32			number;	/* passive side: number in rnic_dev.pending */

	/*
	 * Written by session upcalls.  iw_cm operations write these members before they call
	 * connect or accept of the LLP, and again if that call fails.
	 */
	enum ep_state		state;
	struct iw_cm_id		*id;	/* iw_cm ID with a reference, or NULL */
	struct rnic_qp		*qp;	/* QP with a reference, or NULL */
	/* session in the LLP with a reference; NULL before the first upcall */
	struct ddp_session	*ss;
	/* the peer's start-up message, until @qp gets a copy; NULL before and after */
	struct rnic_peer_msg	*peer_msg;
	struct negotiation_side	request;	/* values in the initiator's Request */
	struct negotiation_local	me;	/* values that the local side wants */
	struct negotiation_result	result;	/* outcome of the negotiation */

	/* active side: program that connects; see cm_watch.c */
	struct {
		/* entry in rnic_llps.connects, protected by rnic_llps.lock */
		struct list_head	list;
		struct pid		*pid;	/* thread group, referenced */
		/* address space, with an mmgrab() reference; NULL if the program is not watched */
		struct mm_struct	*mm;
	} connector;
};

extern const struct ddp_session_user rnic_session_user;

/* cm_llp.c */
int rnic_llps_init(struct rnic_dev *dev);
void rnic_llps_exit(struct rnic_dev *dev);
void rnic_fill_llp_policy(const struct rnic_dev *dev, struct ddp_policy *p);
const struct ddp_session_type *rnic_get_llp(const struct rnic_dev *dev, u8 llp);

/* cm_watch.c */
void rnic_connect_watch_init(struct rnic_llps *llps);
void rnic_connect_watch_exit(struct rnic_llps *llps);
void rnic_ep_watch_program(struct rnic_ep *ep);
void rnic_ep_unwatch_program(struct rnic_ep *ep);

/* cm_listen.c */
u8 rnic_get_tos(const struct iw_cm_id *id);
bool rnic_cm_id_is_in_netns(const struct net *net, const struct iw_cm_id *id);

/* cm_ep.c */
struct rnic_ep *rnic_ep_new(struct rnic_dev *dev);
void rnic_ep_put(struct rnic_ep *ep);
void rnic_ep_reject(struct rnic_ep *ep, const void *pd, u8 len);
void rnic_ep_attach_id_and_qp(struct rnic_ep *ep, struct iw_cm_id *id, struct rnic_qp *qp);
void rnic_ep_detach_id_and_qp(struct rnic_ep *ep);
int rnic_ep_save_peer_msg(struct rnic_ep *ep, const struct ddp_offer *o, u8 flags);
int rnic_ep_pass_peer_msg_to_qp(struct rnic_ep *ep);
void rnic_pending_reqs_init(struct rnic_dev *dev);
int rnic_pending_req_add(struct rnic_dev *dev, struct rnic_ep *ep, u32 *number);
bool rnic_pending_req_remove(struct rnic_ep *ep);
struct rnic_ep *rnic_pending_req_get(struct rnic_dev *dev, u32 number);

/* cm_event.c */
int rnic_ep_report_request(struct rnic_ep *ep, struct iw_cm_id *listener,
			   const struct ddp_offer *o);
int rnic_ep_report_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
			 const struct ddp_offer *o);
void rnic_ep_report_connect_failure(struct rnic_ep *ep, int status, const struct ddp_offer *o);
int rnic_reason_to_status(enum iw_reason why);
void rnic_cm_report_established_and_close(struct iw_cm_id *id);

#endif
