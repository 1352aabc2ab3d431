/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Structures and functions that the files of iw_mpa (MPA over TCP) share. */
#ifndef _MPA_INTERNAL_H
#define _MPA_INTERNAL_H

#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_trackers.h>
#include <ddp/copy.h>
#include <ddp/lines.h>
#include <ddp/llp.h>
#include <ddp/port.h>
#include <ddp/session.h>
#include <ddp/sock.h>

#include "startup.h"

struct page;
struct sk_buff;
struct sk_buff_head;
struct socket;

/* Phase of a connection; changed only with the connection's mutex held */
enum mpa_phase {
	MPA_NEW,		/* not set up yet; events are stored, but not handled */
	MPA_CONNECTING,		/* TCP handshake in progress; active side only */
	MPA_STARTUP,		/* exchange of the MPA Request and Reply frames */
	MPA_FULL,		/* Full Operation (RFC 5044 section 7): exchange of FPDUs */
	MPA_ENDED,		/* torn down: no socket, and all later events are ignored */
};

/* Events for the worker; bit numbers in mpa_conn.events */
enum mpa_event {
	MPA_EV_STATE,		/* the state of the socket or of the connection has changed */
	MPA_EV_RX,		/* the socket may have data that the worker must receive */
	MPA_EV_TX,		/* the worker must run the transmit routine */
	MPA_EV_CLOSE,		/* a graceful close is requested, or can continue */
	MPA_EV_ABORT,		/* an abortive close is requested, see mpa_conn.abort_reason */
	MPA_EV_TIMEOUT,		/* the timer has expired; the worker must check the deadline */
};

#define MPA_OUT_VECS	40

/**
 * struct mpa_out - batch of FPDUs to be passed to TCP
 * @vec: memory for the FPDUs; each entry in use holds a reference on its page
 * @n: number of entries of @vec in use
 * @len: number of bytes of @vec that contain FPDUs
 * @reserved: number of bytes of @vec, after the first @len bytes, that are reserved
 *	for more FPDUs
 * @sent: number of bytes of the FPDUs that TCP has accepted
 * @last: true if DDP had no more segments to send after the batch was built
 * @emss: EMSS for which @most was computed
 * @most: maximum length of a batch in bytes
 */
struct mpa_out {
	struct bio_vec	vec[MPA_OUT_VECS];
	u8		n;
	u32		len;
	u32		reserved;
	u32		sent;
	bool		last;
	u32		emss;
	u32		most;
};

/**
 * struct mpa_cursor - position in TCP's receive queue
 * @at: address of the next byte; NULL if this byte is in device memory that no CPU
 *	can read
 * @extent_left: number of bytes from @at to the end of the current extent
 * @left: number of bytes after the current extent that may still be consumed
 * @seq: TCP sequence number of the first byte after the current extent
 * @frag: index of the fragment of @part in which the current extent ends; -1 if
 *	the extent ends in the linear part
 * @part: skb in which the current extent ends: @skb or a member of its frag_list
 * @skb: skb of @queue that contains @part
 * @queue: TCP's receive queue
 * @ended: true if the queue has no bytes after the current extent, even if @left
 *	is not 0
 *
 * The current extent is the range of contiguous memory that the cursor reads now.
 */
struct mpa_cursor {
	const u8		*at;
	u32			extent_left;
	u32			left;
	u32			seq;
	int			frag;
	const struct sk_buff	*part;
	const struct sk_buff	*skb;
	const struct sk_buff_head *queue;
	bool			ended;
};

/*
 * Start-up queue: until Full Operation, the connections that one process opens, or
 * that one listener accepts, are served in the order of their events.
 */
struct mpa_connq {
	/* constant after creation */
	const void		*listener;	/* NULL if @process opens the connections */
	pid_t			process;	/* tgid; 0 if @listener accepts the connections */

	/* each connection that uses the queue has a reference, and so has a queued @work */
	refcount_t		ref;
	struct hlist_node	node;		/* entry in connqs; protected by connqs_lock */

	spinlock_t		lock;		/* leaf lock; protects @pending_conns */
	struct list_head	pending_conns;	/* connections with pending events, in FIFO order */

	struct work_struct	work;		/* mpa_connq_work() */
};

struct mpa_conn {
	/* constant after the connection is set up, except for fields of @ss */
	struct ddp_llp		llp;
	struct ddp_session	ss;
	struct ddp_policy	policy;
	struct net		*net;	/* netns (reference held); NULL on the passive side */
	netns_tracker		net_tracker;
	int			ifindex;
	u8			tos;
	struct mpa_connq		*connq;	/* start-up queue; used until Full Operation */

	/*
	 * The fields up to @close_limit are changed only with the mutex held. There are
	 * two exceptions: the receive path also sets @tx_permitted, and a connection is
	 * set up without the mutex in phase MPA_NEW. A worker that finds the mutex held
	 * returns without waiting; mpa_conn_unlock() then queues the worker again.
	 */
	struct mutex		mutex;
	enum mpa_phase		phase;
	struct socket		*sock;
	struct mpa_startup	*su;	/* start-up state machine; NULL from Full Operation on */
	struct ddp_stream	*bound_stream;	/* stream that starts in Full Operation, or NULL */
	u8			revision;	/* MPA revision; valid from Full Operation on */
	bool			crc;		/* CRC in use; valid from Full Operation on */
	bool			tx_permitted;	/* see may_send_fpdus() */
	bool			reported;	/* ULP knows the session; closed upcall is due */
	bool			established;	/* responder only: established upcall was made */
	u16			startup_written; /* bytes of our start-up frame accepted by TCP */
	bool			peer_closed;	/* the peer's data and FIN were processed */
	bool			peer_closed_first;	/* @peer_closed was set before @closing */
	bool			fin_sent;	/* TCP has accepted our FIN */
	bool			all_acked;	/* FIN sent, and all our data acknowledged */
	bool			has_deadline;	/* a time limit is set: @deadline is valid */
	bool			timer_armed;	/* the timer is armed: @timer_expires is valid */
	unsigned long		deadline;	/* time limit of the current step, in jiffies */
	unsigned long		timer_expires;	/* expiry of the timer, in jiffies */
	u64			close_step;	/* last result of mpa_get_close_progress() */
	unsigned long		close_limit;	/* graceful close: latest @deadline, in jiffies */

	/* entry in the listener's backlog until the Request is reported to the ULP */
	struct ddp_conn_req	conn_req;

	/*
	 * The fields up to @rx_deferred are protected by the socket lock. @stream is
	 * the stream to which received segments are passed, or NULL if no segment
	 * may be passed to DDP.
	 */
	struct ddp_stream	*stream ____cacheline_aligned_in_smp;
	struct mpa_cursor	cur;
	u32			rx_pos;		/* position of the next FPDU, see fpdu.h */
	const u8		*rx_copy;	/* source of mpa_rx_read(); NULL to read at @cur */
	u32			rx_left;	/* bytes of the segment that DDP has not read yet */
	bool			rx_markers;	/* the peer inserts markers */
	bool			rx_in_callback;	/* mpa_data_ready() may receive FPDUs */
	bool			rx_stopped;	/* all data received from now on is discarded */
	bool			rx_deferred;	/* a page fault keeps the next FPDU in the queue */

	/*
	 * Delay before the last retry after a failed allocation, in ms. Accessed
	 * only by the worker before Full Operation, and only by the owner of the
	 * transmit side from then on.
	 */
	u16			retry_ms ____cacheline_aligned_in_smp;

	/*
	 * The fields up to @send_err are accessed only by the owner of the transmit side
	 * (the context that has set MPA_TX_OWNED, see tx_owner.h), with three exceptions:
	 * enter_full_operation() sets @tx_stream and @tx_markers before transmission starts,
	 * @send_err is protected by the socket lock, and mpa_conn_tear_down() accesses
	 * the fields after mpa_tx_stop().
	 */
	struct ddp_stream	*tx_stream;	/* segments to send are pulled from this stream */
	struct mpa_out		out;
	bool			tx_markers;	/* our side inserts markers */
	u32			tx_pos;		/* position of the next FPDU, see fpdu.h */
	int			send_err;	/* negative errno of a fatal send error, or 0 */

	/* accessed by any context */
	atomic_t		tx ____cacheline_aligned_in_smp;	/* MPA_TX_* */
	unsigned long		events;	/* bit mask of pending events, enum mpa_event */
	bool			holder_polls;	/* mutex is held, and its holder checks @events */

	bool			closing;	/* a graceful close is requested */
	bool			drained;	/* graceful close: no FPDU remains to be sent */
	enum iw_reason		abort_reason;	/* reason of the requested abortive close */

	struct list_head	connq_entry;	/* in @connq->pending_conns, under @connq->lock */
	struct work_struct	work;	/* mpa_conn_work(); the worker from Full Operation on */
	struct delayed_work	timer;	/* sets MPA_EV_TIMEOUT */
	struct delayed_work	tx_retry;	/* retry timer; holds a reference while queued */
	struct llist_node	txq;	/* entry in a CPU's txqs, which holds a reference */
	struct rcu_head		rcu;

	/*
	 * Leaf lock. Protects @retransmits, and keeps @sock from being released
	 * while a context that does not hold the mutex uses @sock. The owner of the
	 * transmit side needs no lock: @sock is released only after mpa_tx_stop().
	 */
	spinlock_t		query_lock;
	u32			retransmits;	/* retransmitted packets of released sockets */

	struct ddp_sock_callbacks	orig_callbacks;	/* the socket's original callbacks */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct mpa_conn, stream) >
	      DDP_CACHELINE_OF(struct mpa_conn, conn_req));
static_assert(DDP_CACHELINE_OF(struct mpa_conn, retry_ms) >
	      DDP_CACHELINE_OF(struct mpa_conn, rx_deferred));
static_assert(DDP_CACHELINE_OF(struct mpa_conn, tx) > DDP_CACHELINE_OF(struct mpa_conn, send_err));
#endif

static inline struct mpa_conn *ss_to_conn(struct ddp_session *ss)
{
	return container_of(ss, struct mpa_conn, ss);
}

static inline struct mpa_conn *llp_to_conn(struct ddp_llp *llp)
{
	return container_of(llp, struct mpa_conn, llp);
}

/* Time limit for sending a start-up frame after a failed allocation, in seconds */
#define MPA_DEADLINE_MEMORY	10
/*
 * Graceful close: time limit for sending our FIN and receiving the peer's FIN, after
 * the peer has acknowledged all our data, in seconds
 */
#define MPA_DEADLINE_CLOSE	10

#define MPA_RETRY_MIN	1	/* minimum delay of a retry after a failed allocation, in ms */
#define MPA_RETRY_MAX	1000	/* maximum delay of a retry after a failed allocation, in ms */

/* Compute the next retry delay in ms: twice the last delay @ms, within the limits */
static inline u16 mpa_compute_retry_delay(u16 ms)
{
	return clamp(2 * ms, MPA_RETRY_MIN, MPA_RETRY_MAX);
}

extern struct workqueue_struct *mpa_wq;
int mpa_init(struct module *owner);
void mpa_exit(void);

/* alloc.c: allocate and free connections */
int mpa_alloc_init(void);
void mpa_alloc_exit(void);
struct mpa_conn *mpa_conn_new(const struct ddp_session_user *user, void *ctx,
			      const struct ddp_policy *policy,
			      const void *listener);
int mpa_conn_alloc_startup(struct mpa_conn *c, bool initiator);
void mpa_conn_abandon(struct mpa_conn *c);
void mpa_conn_release(struct kref *ref);
void mpa_conn_wait_all_released(void);

/* conn_work.c: workers of connections */
void mpa_conn_init(struct mpa_conn *c);
void mpa_connq_work(struct work_struct *work);

/* conn_event.c: events, mutex and timer of a connection */
void mpa_conn_set_event(struct mpa_conn *c, enum mpa_event ev);
bool mpa_conn_has_events(const struct mpa_conn *c);
void mpa_conn_lock(struct mpa_conn *c);
bool mpa_conn_trylock(struct mpa_conn *c);
void mpa_conn_unlock(struct mpa_conn *c);
void mpa_conn_arm_timer_if_earlier(struct mpa_conn *c, unsigned long delay);
void mpa_conn_set_deadline(struct mpa_conn *c, unsigned int seconds);

/* conn.c: state machine of a connection */
void mpa_conn_set_phase(struct mpa_conn *c, enum mpa_phase phase);
bool mpa_conn_handle_events(struct mpa_conn *c, unsigned long events);
void mpa_conn_tear_down(struct mpa_conn *c, enum iw_reason why,
			const struct ddp_offer *o);
int mpa_conn_bind(struct mpa_conn *c, struct ddp_stream *s);
void mpa_conn_unbind(struct mpa_conn *c);
void mpa_conn_request_close(struct mpa_conn *c, enum iw_reason why);

/* conn_start.c: TCP handshake and start-up */
void mpa_conn_enter_first_phase(struct mpa_conn *c);
void mpa_conn_advance_startup(struct mpa_conn *c);

/* conn_queue.c: start-up queues */
struct mpa_connq *mpa_connq_get(const void *listener, work_func_t work);
void mpa_connq_put(struct mpa_connq *connq);
bool mpa_connq_add(struct mpa_conn *c);
struct mpa_conn *mpa_connq_pop(struct mpa_connq *connq);
void mpa_connq_queue_work(struct mpa_connq *connq);
bool mpa_connq_has_pending_conn(const struct mpa_connq *connq);

/* tx.c: transmit routine, and per-CPU queues of connections that transmit in softirq */
void mpa_tx_init(struct mpa_conn *c);
void mpa_tx_kick(struct mpa_conn *c, bool bulk);
void mpa_tx_push(struct mpa_conn *c);
void mpa_tx_work(struct mpa_conn *c);
void mpa_tx_stop(struct mpa_conn *c);
void mpa_txq_init(void);
void mpa_txq_exit(void);

/* frame.c: build batches of FPDUs */
bool mpa_frame_build_batch(struct mpa_conn *c, u32 emss, u32 most);
void mpa_frame_drop_batch(struct mpa_conn *c);
void mpa_frame_exit(void);

/* rx.c: receive path, FPDUs from TCP's receive queue to DDP */
int mpa_rx_init(void);
void mpa_rx_exit(void);
bool mpa_rx_receive_or_discard(struct mpa_conn *c, struct sock *sk);
bool mpa_rx_read(struct mpa_conn *c, void *dst, u32 len);

/* cursor.c: read TCP's receive queue */
void mpa_cursor_seek(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		     const struct sk_buff *skb, u32 off, u32 left);
void mpa_cursor_refill(struct mpa_cursor *cur);
bool mpa_cursor_copy_extents(struct mpa_cursor *cur, void *dst, u32 len);
bool mpa_cursor_skip_extents(struct mpa_cursor *cur, u32 len);

/* Consume @len bytes of the current extent, which must have that many bytes left */
static inline void mpa_cursor_advance(struct mpa_cursor *cur, u32 len)
{
	if (cur->at)
		cur->at += len;
	cur->extent_left -= len;
}

/*
 * Copy @len bytes of the current extent without consuming them. If the sender is on
 * this machine, it may still write to these bytes, so a second copy may differ.
 */
static inline void mpa_cursor_peek(const struct mpa_cursor *cur, void *dst, u32 len)
{
	memcpy(dst, cur->at, len);
	/* prevent the compiler from reading the source again instead of the copy */
	barrier();
}

/* Copy @len bytes of the current extent and consume them */
static inline void mpa_cursor_copy_contiguous(struct mpa_cursor *cur, void *dst, u32 len)
{
	ddp_copy(dst, cur->at, len);
	/* prevent the compiler from reading the source again instead of the copy */
	barrier();
	mpa_cursor_advance(cur, len);
}

/**
 * mpa_cursor_copy - copy bytes and consume them
 * @cur: the cursor
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if @len bytes were copied. False if fewer bytes are left or a byte is in
 * device memory, which no CPU can read; @dst then has zeros for the missing bytes.
 */
static inline bool mpa_cursor_copy(struct mpa_cursor *cur, void *dst, u32 len)
{
	if (len > cur->extent_left || !cur->at)
		return mpa_cursor_copy_extents(cur, dst, len);
	mpa_cursor_copy_contiguous(cur, dst, len);
	return true;
}

/**
 * mpa_cursor_has_contiguous_bytes - check whether the next bytes are contiguous and readable
 * @cur: the cursor; advanced to the next extent if the current extent is consumed
 * @len: number of bytes
 *
 * Return: true if @len bytes can be read at @cur->at, false otherwise.
 */
static inline bool mpa_cursor_has_contiguous_bytes(struct mpa_cursor *cur, u32 len)
{
	if (!cur->extent_left)
		mpa_cursor_refill(cur);
	return len <= cur->extent_left && cur->at;
}

/**
 * mpa_cursor_skip - consume bytes without reading them
 * @cur: the cursor
 * @len: number of bytes, which need not be readable
 *
 * Return: true if @len bytes were consumed, false if fewer bytes are left.
 */
static inline bool mpa_cursor_skip(struct mpa_cursor *cur, u32 len)
{
	if (len > cur->extent_left)
		return mpa_cursor_skip_extents(cur, len);
	mpa_cursor_advance(cur, len);
	return true;
}

/* Get the number of bytes that may still be consumed */
static inline u32 mpa_cursor_bytes_left(const struct mpa_cursor *cur)
{
	return cur->extent_left + cur->left;
}

/* State of a connection's socket */
enum mpa_sock_state {
	MPA_SOCK_CONNECTING,	/* TCP handshake in progress */
	MPA_SOCK_OPEN,		/* established; TCP has not received the peer's FIN */
	MPA_SOCK_PEER_DONE,	/* TCP has received the peer's FIN and all data before the FIN */
	MPA_SOCK_CLOSED,	/* closed by both sides */
	MPA_SOCK_LOST,		/* reset, timed out or refused */
};

/* sock_buf.c: the receive buffer */
void mpa_sock_limit_rcvbuf(struct mpa_conn *c);
void __mpa_sock_set_full_rcvbuf(struct sock *sk);
void mpa_sock_grow_rcvbuf(struct sock *sk, const struct sk_buff *skb);

/* sock_end.c: closing the socket */
bool __mpa_sock_try_send_fin(struct mpa_conn *c);
u32 __mpa_sock_get_acked_seq(struct mpa_conn *c, bool *all);
void mpa_sock_release(struct mpa_conn *c, bool abort);

/* sock.c: operations on the connected socket */
int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local,
		     const struct ddp_sock_owner *owner);
void mpa_sock_set_options(struct socket *sock);
void mpa_sock_install_callbacks(struct mpa_conn *c);
enum mpa_sock_state mpa_sock_get_state(struct mpa_conn *c, int *err);
bool mpa_sock_has_partial_fpdu(struct mpa_conn *c);
bool mpa_sock_is_established_and_empty(struct mpa_conn *c);
int mpa_sock_read(struct mpa_conn *c, void *buf, size_t len);
int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len);
void mpa_sock_lock(struct mpa_conn *c);
bool mpa_sock_trylock(struct mpa_conn *c);
void mpa_sock_unlock(struct mpa_conn *c);
void mpa_sock_enable_rx(struct mpa_conn *c);
void mpa_sock_stop_rx(struct mpa_conn *c);
bool mpa_sock_receive_fpdus(struct mpa_conn *c);
u32 mpa_sock_get_emss(const struct mpa_conn *c);
u32 mpa_sock_get_tso_max(const struct mpa_conn *c);
void mpa_sock_record_flow(const struct mpa_conn *c);
int mpa_sock_send_batch(struct mpa_conn *c);
void mpa_sock_wait_unowned(struct mpa_conn *c);

/* listen.c: listeners */
struct ddp_listener *mpa_listen(const struct ddp_listen *l,
				const struct ddp_session_user *user, void *ctx);

/* llp.c: implementation of ddp/llp.h and ddp/session.h */
extern const struct ddp_llp_ops mpa_llp_ops;
extern struct ddp_session_type mpa_session_type;

#endif
