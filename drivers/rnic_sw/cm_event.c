// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Build iw_cm events of connections and report them to iw_cm. */
#include "cm.h"

/*
 * Reference a symbol of iw_cm, so that iw_cm cannot be unloaded while this module is loaded.
 * Session upcalls call functions of iw_cm through the function pointers in iw_cm IDs, and
 * unloading iw_cm would not wait for the end of all sessions.
 */
static const char *(*const iw_cm_pin)(int) __used = iwcm_reject_msg;

/* Limit @n to the 8 bits that an event has for IRD, ORD and Private Data length */
static u8 clamp_to_u8(u16 n)
{
	return min_t(u16, n, U8_MAX);
}

/*
 * Fill in addresses, IRD, ORD and Private Data.  ev->ird and ev->ord are the values that the
 * peer sent, because the peer's IRD limits the local ORD, and the peer's ORD limits the local
 * IRD (RFC 6581 9.1).  If the peer sent none, use @ird and @ord.  Cut off Private Data after
 * 255 bytes.
 */
static void fill_event(struct iw_cm_event *ev, const struct rnic_ep *ep,
		       const struct ddp_offer *o, u16 ird, u16 ord)
{
	bool has_depths = o && o->enhanced;

	ev->local_addr = ep->ss->local;
	ev->remote_addr = ep->ss->remote;
	ev->ird = clamp_to_u8(has_depths ? o->ird : ird);
	ev->ord = clamp_to_u8(has_depths ? o->ord : ord);
	if (!o)
		return;
	ev->private_data = (void *)o->pd;
	ev->private_data_len = clamp_to_u8(o->pd_len);
}

/**
 * rnic_ep_report_request - report a connection request to iw_cm
 * @ep: the endpoint, already added to the table of pending requests
 * @listener: the ID of the listener
 * @o: IRD, ORD and Private Data that the peer sent
 *
 * Return: 0, or -ENOMEM if iw_cm has no memory or its backlog of requests is full.
 */
int rnic_ep_report_request(struct rnic_ep *ep, struct iw_cm_id *listener,
			   const struct ddp_offer *o)
{
	struct iw_cm_event ev = { .event = IW_CM_EVENT_CONNECT_REQUEST };

	fill_event(&ev, ep, o, RDMAP_DEPTH_MAX, RDMAP_DEPTH_MAX);
	ev.provider_data = xa_mk_value(ep->number);
	return listener->event_handler(listener, &ev);
}

/**
 * rnic_ep_report_event - report an event of a connection to iw_cm
 * @ep: the endpoint, with its ID attached
 * @type: the event
 * @status: 0 or a negative errno
 * @o: IRD, ORD and Private Data that the peer sent; may be NULL
 *
 * Return: 0, or -ENOMEM if iw_cm could not copy the Private Data.
 */
int rnic_ep_report_event(struct rnic_ep *ep, enum iw_cm_event_type type, int status,
			 const struct ddp_offer *o)
{
	struct iw_cm_event ev = { .event = type, .status = status };

	fill_event(&ev, ep, o, ep->result.ord, ep->result.ird);
	return ep->id->event_handler(ep->id, &ev);
}

/**
 * rnic_ep_report_connect_failure - report that a connect has failed
 * @ep: the endpoint, with its ID attached
 * @status: a negative errno
 * @o: IRD, ORD and Private Data that the peer sent; may be NULL
 *
 * If iw_cm has no memory to copy the Private Data, reports the event without Private Data.
 * Without any event the program would wait for ever.
 */
void rnic_ep_report_connect_failure(struct rnic_ep *ep, int status, const struct ddp_offer *o)
{
	if (rnic_ep_report_event(ep, IW_CM_EVENT_CONNECT_REPLY, status, o))
		rnic_ep_report_event(ep, IW_CM_EVENT_CONNECT_REPLY, status, NULL);
}

/**
 * rnic_reason_to_status - convert a reason to the status of a CONNECT_REPLY event
 * @why: reason why the connection could not be set up
 *
 * rdma_cm reports -ECONNREFUSED and -ECONNRESET to the program as REJECTED.  Only with
 * -ECONNREFUSED can a kernel consumer get the Private Data of the peer's reject, because
 * rdma_consumer_reject_data() checks the status.
 * See Documentation/troubleshooting.rst for the errors that programs get.
 *
 * Return: a negative errno.
 */
int rnic_reason_to_status(enum iw_reason why)
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
 * rnic_cm_report_established_and_close - report a connection that the peer has closed already
 * @id: the ID whose request the program has just accepted
 *
 * Reports ESTABLISHED and then CLOSE instead of failing the accept.  All programs can handle a
 * peer that closes directly after ESTABLISHED, but some cannot handle an accept that fails.
 */
void rnic_cm_report_established_and_close(struct iw_cm_id *id)
{
	struct iw_cm_event ev = {
		.event = IW_CM_EVENT_ESTABLISHED,
		.local_addr = id->m_local_addr,
		.remote_addr = id->m_remote_addr,
	};

	/* hold a reference, because the program may destroy the ID after the first event */
	id->add_ref(id);
	id->event_handler(id, &ev);
	ev.event = IW_CM_EVENT_CLOSE;
	id->event_handler(id, &ev);
	id->rem_ref(id);
}
