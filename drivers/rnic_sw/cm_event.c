// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What iw_cm is told. */
#include "cm.h"

/*
 * iw_cm's ends are used until a session ends, by what iw_cm has put into them; it does
 * not wait for that when it goes.  So it does not go while this module is here.
 */
static const char *(*const stays)(int) __used = iwcm_reject_msg;

/* The event has 8 bits of each depth and of the length of Private Data */
static u8 told(u16 n)
{
	return min_t(u16, n, U8_MAX);
}

/*
 * An event's depths are the peer's as it said them, seen from here: its IRD is
 * what we may have under way (RFC 6581 9.1).  Where it said none, @ird and @ord
 * hold.  Data beyond what the event can count is not handed up (N-22).
 */
static void fill_event(struct iw_cm_event *ev, const struct rnic_ep *ep,
		       const struct ddp_offer *o, u16 ird, u16 ord)
{
	bool says = o && o->enhanced;

	ev->local_addr = ep->ss->local;
	ev->remote_addr = ep->ss->remote;
	ev->ird = told(says ? o->ird : ird);
	ev->ord = told(says ? o->ord : ord);
	if (!o)
		return;
	ev->private_data = (void *)o->pd;
	ev->private_data_len = told(o->pd_len);
}

/**
 * rnic_ep_request - tell iw_cm that somebody asks
 * @ep: the endpoint, in the table of those who do
 * @listener: iw_cm's end of the listener
 * @o: what the peer says
 *
 * Return: 0, or -ENOMEM: iw_cm has too many already, or no memory.
 */
int rnic_ep_request(struct rnic_ep *ep, struct iw_cm_id *listener,
		    const struct ddp_offer *o)
{
	struct iw_cm_event ev = { .event = IW_CM_EVENT_CONNECT_REQUEST };

	fill_event(&ev, ep, o, RDMAP_DEPTH_MAX, RDMAP_DEPTH_MAX);
	ev.provider_data = xa_mk_value(ep->asked);
	return listener->event_handler(listener, &ev);
}

/**
 * rnic_ep_event - tell iw_cm of a connection
 * @ep: the endpoint, tied
 * @type: what
 * @status: 0 or a negative errno
 * @o: what the peer says, or NULL
 *
 * Return: 0, or -ENOMEM: there was none for a copy of the Private Data.
 */
int rnic_ep_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
		  const struct ddp_offer *o)
{
	struct iw_cm_event ev = { .event = type, .status = status };

	fill_event(&ev, ep, o, ep->result.ord, ep->result.ird);
	return ep->id->event_handler(ep->id, &ev);
}

/**
 * rnic_ep_refusal - the answer to a connect is no
 * @ep: the endpoint, tied
 * @status: a negative errno
 * @o: what the peer says, or NULL
 *
 * Who waits for the answer gets one, if need be without Private Data.
 */
void rnic_ep_refusal(struct rnic_ep *ep, int status, const struct ddp_offer *o)
{
	if (rnic_ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, status, o))
		rnic_ep_event(ep, IW_CM_EVENT_CONNECT_REPLY, status, NULL);
}

/**
 * rnic_ep_status - why a connection came to nothing
 * @why: the reason
 *
 * The core takes -ECONNREFUSED for the peer's program's own answer, and calls
 * that and -ECONNRESET rejected; see Documentation/connections.rst.
 *
 * Return: as iw_cm's status.
 */
int rnic_ep_status(enum iw_reason why)
{
	switch (why) {
	case IW_PEER_REJECT:
		return -ECONNREFUSED;
	case IW_PEER_REFUSED:
	case IW_PEER_RESET:
	case IW_PEER_CLOSED:
	case IW_MPA_LOST:
		return -ECONNRESET;
	case IW_UNREACHABLE:
		return -EHOSTUNREACH;
	case IW_TIMEOUT:
		return -ETIMEDOUT;
	case IW_LOCAL_CLOSE:
	case IW_LOCAL_ABORT:
		return -ECONNABORTED;
	case IW_NO_MEMORY:
	case IW_MPA_LOCAL:
		return -ENOMEM;
	default:
		return -EPROTO;
	}
}

/**
 * rnic_id_gone - an accept comes when nobody is there any more
 * @id: iw_cm's end
 *
 * Programs know the peer that ends right behind the beginning; not all of them
 * know an accept that fails.
 */
void rnic_id_gone(struct iw_cm_id *id)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.local_addr = id->m_local_addr,
		.remote_addr = id->m_remote_addr,
	};

	/* the first of them may bring the end of it */
	id->add_ref(id);
	id->event_handler(id, &ev);
	ev.event = IW_CM_EVENT_CLOSE;
	id->event_handler(id, &ev);
	id->rem_ref(id);
}
