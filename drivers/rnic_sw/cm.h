/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Interfaces between the cm_*.c files: endpoints, listeners, events for iw_cm. */
#ifndef _RNIC_SW_CM_H
#define _RNIC_SW_CM_H

#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "neg.h"
#include "rnic.h"

struct net;

/* Number of lower layers, indexed by enum rnic_sw_llp */
#define RNIC_LLPS	(RNIC_SW_LLP_SCTP + 1)

/* Lower layers and listeners of a device; a type is held from its first use */
struct rnic_llps {
	const struct ddp_session_type	*type[RNIC_LLPS];	/* or NULL */
	struct mutex			setting_lock;	/* serializes changes of the listen setting */
	spinlock_t			lock;	/* leaf; protects the members below */
	struct list_head		listeners;
	u32				round;	/* number of the last change of the listen setting */
};

/* A listener of iw_cm, and its listeners in the lower layers */
struct rnic_listener {
	/* fixed after creation; @id is valid until @stopped is set */
	struct rnic_dev		*dev;
	struct iw_cm_id		*id;
	int			backlog;
	struct kref		ref;

	struct list_head	list;	/* in rnic_llps.listeners; rnic_llps.lock */
	u32			round;	/* last change applied to it; rnic_llps.lock */

	struct mutex		lock;	/* protects the members below */
	bool			stopped;
	struct ddp_listener	*l[RNIC_LLPS];	/* or NULL */
};

enum ep_state {
	EP_CONNECTING,		/* active: no CONNECT_REPLY event yet */
	EP_REQUESTED,		/* passive: reported to iw_cm, not accepted */
	EP_ACCEPTED,		/* passive: no ESTABLISHED event yet */
	EP_ESTABLISHED,
	EP_REFUSED,		/* active: refused here, iw_cm got the error */
};

struct rnic_ep {
	/* fixed after creation */
	struct rnic_dev		*dev;
	struct kref		ref;
	u32			number;	/* passive: of the pending request */

	/* written by session upcalls, and by iw_cm operations before the first upcall */
	enum ep_state		state;
	struct iw_cm_id		*id;
	struct rnic_qp		*qp;
	struct ddp_session	*ss;	/* referenced */
	struct neg_side		request;
	struct neg_local	me;
	struct neg_result	result;
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
struct rnic_ep *rnic_pending_take(struct rnic_dev *dev, u32 number);
struct rnic_ep *rnic_pending_get(struct rnic_dev *dev, u32 number);

/* cm_event.c */
int rnic_ep_report_request(struct rnic_ep *ep, struct iw_cm_id *listener,
			   const struct ddp_offer *o);
int rnic_ep_report_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
			 const struct ddp_offer *o);
void rnic_ep_report_failure(struct rnic_ep *ep, int status, const struct ddp_offer *o);
int rnic_reason_to_status(enum iw_reason why);
void rnic_cm_report_lost(struct iw_cm_id *id);

#endif
