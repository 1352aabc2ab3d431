/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the files of the connection manager's side know of each other. */
#ifndef _RNIC_SW_CM_H
#define _RNIC_SW_CM_H

#include <rdma/iw_cm.h>

#include <ddp/session.h>

#include "neg.h"
#include "rnic.h"

struct net;

/* The lower layers of a device, by enum rnic_sw_llp */
#define RNIC_LLPS	(RNIC_SW_LLP_SCTP + 1)

/* Each is found when it is first asked for, and held until the device goes */
struct rnic_llps {
	const struct ddp_session_type	*type[RNIC_LLPS];	/* or NULL */
	struct mutex			setting;	/* where listeners are: one at a time */
	spinlock_t			lock;	/* a leaf: the rest */
	struct list_head		leps;
	u32				round;	/* ... of the setting that goes through them */
};

/* A listener of iw_cm's, and those below it */
struct rnic_lep {
	/* fixed after creation; @id is there while it is not gone */
	struct rnic_dev		*dev;
	struct iw_cm_id		*id;
	int			backlog;
	struct kref		ref;

	struct list_head	list;	/* of all; the device's lock */
	u32			round;	/* which has come to it; likewise */

	struct mutex		lock;	/* the rest: whose it is, or who sets the device */
	bool			gone;
	struct ddp_listener	*l[RNIC_LLPS];	/* or NULL */
};

enum ep_state {
	EP_CONNECTING,		/* active: no reply told yet */
	EP_REQUESTED,		/* passive: told, no answer yet */
	EP_ACCEPTED,		/* passive: answered, not yet established */
	EP_ESTABLISHED,
	EP_REFUSED,		/* active: refused by us, iw_cm has been told */
};

struct rnic_ep {
	/* fixed after creation */
	struct rnic_dev		*dev;
	struct kref		ref;
	u32			asked;	/* passive: what iw_cm knows it by */

	/* the session's upcalls, and iw_cm before the first of them */
	enum ep_state		state;
	struct iw_cm_id		*id;
	struct rnic_qp		*qp;
	struct ddp_session	*ss;	/* a reference */
	struct neg_side		request;
	struct neg_local	me;
	struct neg_result	result;
};

extern const struct ddp_session_user rnic_session_user;

/* cm_llp.c */
void rnic_fill_policy(const struct rnic_dev *dev, struct ddp_policy *p);
const struct ddp_session_type *rnic_llp(const struct rnic_dev *dev, u8 llp);

/* cm_listen.c */
u8 rnic_tos(const struct iw_cm_id *id);
bool rnic_serves(const struct net *net, const struct iw_cm_id *id);
int rnic_lep_listen(struct rnic_lep *lep, u8 which);
int rnic_lep_leave(struct rnic_lep *lep, u8 which);
void rnic_lep_put(struct rnic_lep *lep);

/* cm.c */
void rnic_ep_get(struct rnic_ep *ep);
void rnic_ep_put(struct rnic_ep *ep);
void rnic_ep_stop(struct rnic_ep *ep);

/* cm_event.c: to iw_cm; 0, or -ENOMEM: there was none for the Private Data */
int rnic_ep_request(struct rnic_ep *ep, struct iw_cm_id *listener,
		    const struct ddp_offer *o);
int rnic_ep_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
		  const struct ddp_offer *o);
void rnic_ep_refusal(struct rnic_ep *ep, int status, const struct ddp_offer *o);
int rnic_ep_status(enum iw_reason why);
void rnic_id_gone(struct iw_cm_id *id);

/* cm_asked.c */
void rnic_asked_init(struct rnic_dev *dev);
int rnic_asked_add(struct rnic_dev *dev, struct rnic_ep *ep, u32 *number);
struct rnic_ep *rnic_asked_take(struct rnic_dev *dev, u32 number);
struct rnic_ep *rnic_asked_get(struct rnic_dev *dev, u32 number);

#endif
