/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Stubs of the unit tests of drivers/sctp_ddp/rx.c. Included by one file only. */
#ifndef _HOST_UNIT_SDDP_RX_H
#define _HOST_UNIT_SDDP_RX_H

#include <kunit/test.h>
#include <linux/err.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"
#include "../../../../drivers/sctp_ddp/admission.h"

static struct {
	struct sddp_assoc	a;
	struct ddp_stream	stream;		/* the program's stream */
	u8			chunk[64];
	u32			len;
	bool			waits;		/* the program's memory is not present */
	u32			delivered;	/* number of segments delivered */
	u32			kicks, requests, refused;
	u32			closed, peer_closed;
	enum iw_reason		why;
	int			held;		/* number of references to the association */
	int			request_err;		/* error of reporting a request; 0: none */
	bool			request_reported, accepted;	/* of the session that ended last */
	bool			binds;		/* the ULP binds the stream in its upcall */
} stubs;

unsigned long jiffies;
u32 host_rescheds;
struct workqueue_struct *sddp_wq;
const struct ddp_llp_ops sddp_llp_ops;
struct ddp_session_type sddp_session_type = { .release = sddp_stream_release };

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	return true;
}

void host_cancel_delayed(struct delayed_work *d) {}

/* Stubs of DDP and of the ULP --------------------------------------- */

enum iw_reason ddp_rx_segment(struct ddp_stream *s, struct ddp_llp *llp,
			      const u8 *head, u32 len)
{
	if (stubs.waits)
		return IW_AGAIN;
	stubs.delivered++;
	return IW_OK;
}

enum iw_reason ddp_rx_deliver_placed_segment(struct ddp_stream *s, const struct ddp_placed *p)
{
	return IW_OK;
}

bool ddp_rx_try_place_early_segment(struct ddp_stream *s, struct ddp_llp *llp, const u8 *head,
				    u32 len, struct ddp_placed *p)
{
	return false;
}

bool ddp_rx_has_pending_fault(const struct ddp_stream *s)
{
	return stubs.waits;
}

void ddp_llp_report_error(struct ddp_stream *s, enum iw_reason why) {}
void ddp_llp_report_down(struct ddp_stream *s, enum iw_reason why) {}

int ddp_stream_bind(struct ddp_stream *s, struct ddp_llp *llp)
{
	return 0;
}

enum iw_reason ddp_session_report_established(struct ddp_session *ss,
					      const struct ddp_offer *o)
{
	if (stubs.binds)
		sddp_stream_bind(container_of(ss, struct sddp_stream, ss), &stubs.stream);
	return IW_OK;
}

void ddp_session_report_closed(struct ddp_session *ss, enum iw_reason why,
			       const struct ddp_offer *o)
{
	stubs.closed++;
	stubs.why = why;
}

void ddp_session_report_peer_closed(struct ddp_session *ss)
{
	stubs.peer_closed++;
}

void ddp_port_detach_request(struct ddp_conn_req *c) {}

enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise)
{
	return otherwise;
}

/* Other functions of iw_sctp_ddp ----------------------------------------------- */

int skb_copy_bits(const struct sk_buff *skb, int off, void *dst, int len)
{
	if (off + len > stubs.len)
		return -EFAULT;
	memcpy(dst, stubs.chunk + off, len);
	return 0;
}

void sddp_assoc_get(struct sddp_assoc *a)
{
	stubs.held++;
}

void sddp_assoc_put(struct sddp_assoc *a)
{
	stubs.held--;
}

void sddp_assoc_kick(struct sddp_assoc *a)
{
	stubs.kicks++;
}

struct sddp_assoc *sddp_reserve_other_stream_pair(const struct sddp_assoc *a,
						  const struct ddp_session *ss, u16 *id)
{
	return ERR_PTR(-ENOMEM);
}

void sddp_assoc_account_session_end(struct sddp_assoc *a, const struct sddp_stream *st)
{
	atomic_dec(&a->live);
	stubs.request_reported = st->reported;
	stubs.accepted = st->accepted;
}

int sddp_listen_pass_initiate(struct sddp_stream *st, const struct ddp_offer *o)
{
	stubs.requests++;
	return stubs.request_err;
}

void sddp_listen_report_refused(struct sddp_assoc *a, enum iw_reason why)
{
	stubs.refused++;
}

int sddp_sock_send_chunk(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
			 u32 len)
{
	return 0;
}

void sddp_unaccepted_remove(struct sddp_assoc *a) {}
void sddp_assoc_record_accepted_session(struct sddp_assoc *a) {}
void sddp_tx_enqueue_stream(struct sddp_stream *st) {}
void sddp_tx_drop_pending_segment(struct sddp_stream *st) {}

/* Run the worker for all sessions with events */
static void run_worker(void)
{
	struct sddp_stream *st;

	while (!list_empty(&stubs.a.ready)) {
		st = list_first_entry(&stubs.a.ready, struct sddp_stream, ready);
		list_del_init(&st->ready);
		sddp_stream_handle_events(st);
		ddp_session_put(&st->ss);
	}
}

#endif
