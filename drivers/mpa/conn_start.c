// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Start up a connection, from the TCP handshake to Full Operation: send and
 * receive the start-up frames, and report Requests and results to the ULP.
 *
 * startup.c evaluates the frames and decides the next step; conn.c tears down
 * connections. All functions of this file require that the caller holds the
 * connection's mutex. The start-up state machine @c->su exists until Full Operation.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include <ddp/owner.h>

#include "internal.h"
#include "trace.h"

#define DEADLINE_CONNECT	30	/* initiator's time limit of the TCP handshake, in s */
#define DEADLINE_REQUEST	10	/* responder's time limit to receive a Request, in s */
#define DEADLINE_REPLY		60	/* initiator's time limit to receive a Reply, in s */

static enum iw_reason mpa_err_to_reason(int err)
{
	return ddp_sock_err_to_reason(err, IW_MPA_LOST);
}

/*
 * Enter Full Operation with the parameters that start-up has negotiated. If no stream is
 * bound by then, tear down the connection instead.
 */
static void enter_full_operation(struct mpa_conn *c)
{
	struct mpa_startup *su = c->su;

	trace_mpa_startup_agreed(c, su);
	WRITE_ONCE(c->revision, su->revision);
	WRITE_ONCE(c->crc, su->crc);
	WRITE_ONCE(c->tx_markers, su->tx_markers);
	WRITE_ONCE(c->rx_markers, su->rx_markers);
	/* the stream starts even if the ULP refuses the Reply, see struct ddp_session_user */
	if (su->initiator)
		ddp_session_report_established(&c->ss, &su->peer);
	if (!c->bound_stream) {
		/* ddp_connect.stream was NULL, and the ULP has bound no stream in the upcall */
		mpa_conn_tear_down(c, IW_LOCAL_ABORT, NULL);
		return;
	}
	mpa_conn_set_deadline(c, 0);
	mpa_conn_set_phase(c, MPA_FULL);
	c->stream = c->bound_stream;
	/*
	 * Set tx_permitted before tx_stream. If the ULP has refused the Reply, the stream has
	 * failed already, but must still send a Terminate. If the transmit routine found
	 * tx_stream set and tx_permitted false, is_tx_never_permitted() would return true, and
	 * a graceful close would not wait for the Terminate.
	 */
	if (su->initiator)
		WRITE_ONCE(c->tx_permitted, true);
	/*
	 * The fields that the transmit routine reads are set before tx_stream.
	 * Pairs with build_batch(), which otherwise could build FPDUs with wrong
	 * settings of CRC or markers; litmus: publish
	 */
	smp_store_release(&c->tx_stream, c->bound_stream);
	c->su = NULL;
	kfree(su);
	mpa_sock_enable_rx(c);
	/* the worker must receive data that arrived before the callback could receive it */
	mpa_conn_set_event(c, MPA_EV_RX);
	mpa_tx_kick(c, true);
}

/* Check whether the peer's TCP has acknowledged our whole frame; works even after a reset */
static bool is_frame_acked(struct mpa_conn *c)
{
	bool all;

	mpa_sock_lock(c);
	__mpa_sock_get_acked_seq(c, &all);
	mpa_sock_unlock(c);
	return all;
}

/*
 * Read bytes of the peer's start-up frame and pass them to the state machine. Return:
 * -EAGAIN if no bytes have arrived yet; 0 if bytes were processed, or the peer has
 * closed or reset the connection.
 */
static int read_frame_bytes(struct mpa_conn *c)
{
	u8 buf[64];
	size_t need = min(mpa_startup_get_missing_len(c->su), sizeof(buf));
	int n = mpa_sock_read(c, buf, need);

	if (n == -EAGAIN)
		return n;
	if (n > 0)
		mpa_startup_process_input(c->su, buf, n);
	else
		mpa_startup_record_eof(c->su, is_frame_acked(c));
	return 0;
}

/*
 * Report a responder's connection to the ULP as established before the Reply is
 * sent. The peer may send FPDUs as soon as it has received the Reply, and the ULP
 * must be ready for these FPDUs.
 */
static void report_responder_established(struct mpa_conn *c)
{
	if (c->established || c->su->initiator || c->su->state != MPA_SU_SEND)
		return;
	c->established = true;
	ddp_session_report_established(&c->ss, NULL);
}

/*
 * Send the part of our start-up frame that TCP has not accepted yet. A responder that
 * accepts the Request makes the established upcall first. Return: 0 if TCP has accepted
 * the whole frame now; -EAGAIN if a part of the frame remains to be sent; or another
 * negative errno.
 */
static int report_established_and_write_frame(struct mpa_conn *c)
{
	struct page *page = alloc_page(GFP_KERNEL);
	size_t len;
	int n;

	if (!page)
		return -ENOMEM;
	len = mpa_startup_encode_frame(c->su, page_address(page), MPA_FRAME_MAX);
	report_responder_established(c);
	n = mpa_sock_write(c, page, c->startup_written, len - c->startup_written);
	put_page(page);
	if (n < 0)
		return n;
	c->startup_written += n;
	return c->startup_written < len ? -EAGAIN : 0;
}

/*
 * Set the timer to retry sending our start-up frame. A new socket has buffer space for
 * the frame, so TCP accepts less than the whole frame only if an allocation failed.
 * No callback reports when memory is free again, so retry with growing delays.
 */
static void schedule_write_retry(struct mpa_conn *c)
{
	if (!c->has_deadline)
		mpa_conn_set_deadline(c, MPA_DEADLINE_MEMORY);
	c->retry_ms = mpa_compute_retry_delay(c->retry_ms);
	mpa_conn_arm_timer_if_earlier(c, msecs_to_jiffies(c->retry_ms));
}

/*
 * Send our start-up frame. Return: true if TCP has accepted the whole frame; false
 * if a retry is scheduled, or sending failed and the connection was torn down.
 */
static bool try_write_frame(struct mpa_conn *c)
{
	int err = report_established_and_write_frame(c);

	if (ddp_sock_is_transient_error(err)) {
		schedule_write_retry(c);
		return false;
	}
	if (err) {
		mpa_conn_tear_down(c, mpa_err_to_reason(err), NULL);
		return false;
	}
	c->startup_written = 0;
	c->retry_ms = 0;
	mpa_startup_record_frame_sent(c->su);
	if (c->su->initiator)
		mpa_conn_set_deadline(c, DEADLINE_REPLY);
	return true;
}

/* Report the Request to the ULP; tear down the connection if the ULP refuses it */
static void report_request_to_ulp(struct mpa_conn *c)
{
	mpa_conn_set_deadline(c, DDP_ANSWER_TIMEOUT);
	ddp_sock_get_addrs(c->sock, &c->ss.local, &c->ss.remote);
	c->reported = !ddp_port_report_request(&c->conn_req, &c->ss, &c->su->peer);
	if (c->reported)
		ddp_port_detach_request(&c->conn_req);
	else
		mpa_conn_tear_down(c, IW_LOCAL_ABORT, NULL);
}

/*
 * Check whether the peer has sent data between its Request and our Reply, which is a
 * protocol error that ends start-up. Return: true if so, false otherwise.
 */
static bool refuse_if_early_data(struct mpa_conn *c)
{
	u8 byte;

	return mpa_sock_read(c, &byte, 1) > 0 &&
	       mpa_startup_process_input(c->su, &byte, 1) < 0;
}

/*
 * Report a complete Request to the ULP, unless it was reported already. Start-up then
 * waits for mpa_accept() or mpa_reject(). If the peer has closed or reset the connection
 * meanwhile, tear it down. TCP reports a close or reset only once, and may have done so
 * before the Request was complete, so each call checks the state of the socket.
 *
 * Return: true if start-up has to wait, or the connection was torn down; false if
 * start-up has failed, because the peer has sent more than its Request.
 */
static bool report_request_unless_early_data(struct mpa_conn *c)
{
	int err;
	/* get the error first, because mpa_sock_read() clears the error of the socket */
	enum mpa_sock_state state = mpa_sock_get_state(c, &err);

	if (refuse_if_early_data(c))
		return false;
	/*
	 * The Request has arrived with the SYN (TCP Fast Open). Wait for the end
	 * of the handshake, which TCP reports as a change of state.
	 */
	if (state == MPA_SOCK_CONNECTING)
		return true;
	if (state != MPA_SOCK_OPEN)
		mpa_conn_tear_down(c, state == MPA_SOCK_LOST ?
					mpa_err_to_reason(err) : IW_PEER_CLOSED,
				   NULL);
	else if (!c->reported)
		report_request_to_ulp(c);
	return true;
}

/*
 * Connect again, because the peer may not support MPA revision 2, or may not have
 * received our Request; mpa_startup_retry() chooses the revision. If the device is
 * configured for one revision only, tear down the connection.
 */
static void retry_startup(struct mpa_conn *c)
{
	struct sockaddr_storage local = c->ss.local;
	struct ddp_sock_owner owner;
	int err;

	if (c->policy.revision) {
		mpa_conn_tear_down(c, c->su->why, NULL);
		return;
	}
	ddp_sock_owner_init_from_sock(&owner, c->sock);
	mpa_sock_release(c, true);
	trace_mpa_startup_retry(c, c->su);
	mpa_startup_retry(c->su);
	mpa_conn_set_phase(c, MPA_CONNECTING);
	mpa_conn_set_deadline(c, DEADLINE_CONNECT);
	err = mpa_sock_connect(c, &local, &owner);
	ddp_sock_owner_exit(&owner);
	if (err)
		mpa_conn_tear_down(c, err == -ENOMEM ? IW_NO_MEMORY : IW_UNREACHABLE,
				   NULL);
}

/* Do the steps that the state machine requests, until a step has to wait or start-up ends */
static void advance_startup(struct mpa_conn *c)
{
	struct mpa_startup *su = c->su;

	for (;;) {
		switch (mpa_startup_get_next_step(su)) {
		case MPA_WANT_READ:
			if (read_frame_bytes(c))
				return;
			break;
		case MPA_WANT_WRITE:
			if (!try_write_frame(c))
				return;
			break;
		case MPA_WANT_OFFER:
			if (report_request_unless_early_data(c))
				return;
			break;
		case MPA_WANT_ENTER:
			enter_full_operation(c);
			return;
		case MPA_WANT_RETRY:
			retry_startup(c);
			return;
		case MPA_WANT_CLOSE:
			mpa_conn_tear_down(c, su->why,
					   su->why == IW_PEER_REJECT ? &su->peer
								  : NULL);
			return;
		}
	}
}

/*
 * Begin to exchange start-up frames if the TCP handshake is complete; tear down the
 * connection if the handshake has failed
 */
static void begin_startup_if_connected(struct mpa_conn *c)
{
	int err;

	switch (mpa_sock_get_state(c, &err)) {
	case MPA_SOCK_CONNECTING:
		return;
	case MPA_SOCK_OPEN:
	case MPA_SOCK_PEER_DONE:
		mpa_sock_limit_rcvbuf(c);
		ddp_sock_get_addrs(c->sock, &c->ss.local, &c->ss.remote);
		mpa_conn_set_phase(c, MPA_STARTUP);
		advance_startup(c);
		return;
	default:
		mpa_conn_tear_down(c, mpa_err_to_reason(err), NULL);
	}
}

/**
 * mpa_conn_advance_startup - advance start-up until it has to wait
 * @c: the connection, in phase MPA_CONNECTING or MPA_STARTUP
 *
 * Context: worker, with the mutex held.
 */
void mpa_conn_advance_startup(struct mpa_conn *c)
{
	if (c->phase == MPA_CONNECTING)
		begin_startup_if_connected(c);
	else
		advance_startup(c);
}

/**
 * mpa_conn_enter_first_phase - set the first phase and the time limit of a new connection
 * @c: the connection, with its socket; the caller must hold the mutex
 *
 * The worker handles no event before the caller has called mpa_conn_unlock().
 */
void mpa_conn_enter_first_phase(struct mpa_conn *c)
{
	bool active = c->su->initiator;

	lockdep_assert_held(&c->mutex);
	mpa_conn_set_phase(c, active ? MPA_CONNECTING : MPA_STARTUP);
	mpa_conn_set_deadline(c, active ? DEADLINE_CONNECT : DEADLINE_REQUEST);
}
