/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Structures and functions that the files of iw_mpa share. */
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

/* Phase of a connection; written under its mutex */
enum mpa_phase {
	MPA_NEW,		/* being set up; the worker does nothing */
	MPA_CONNECTING,		/* TCP handshake, active side */
	MPA_STARTUP,		/* exchange of Request and Reply frames */
	MPA_FULL,		/* Full Operation */
	MPA_ENDED,		/* ended: no socket any more */
};

/* Events for the worker; bit numbers in mpa_conn.events */
enum mpa_event {
	MPA_EV_STATE,		/* TCP or the connection has changed state */
	MPA_EV_RX,		/* data that the callback did not take */
	MPA_EV_TX,		/* the worker must run the transmit routine */
	MPA_EV_CLOSE,		/* the ULP requests a graceful end */
	MPA_EV_ABORT,		/* the ULP requests an abortive end */
	MPA_EV_TIMEOUT,		/* the timer expired: check the deadline */
};

/*
 * Bits of mpa_conn.tx, the ownership state of the transmit side; tx.c has a
 * diagram. OWNED: a context runs the transmit routine, with BH off. PENDING
 * alone: work is pending and exactly one runner is scheduled: the CPU's queue,
 * the worker or the retry timer. Both: the owner looks for more work before it
 * leaves. DEAD: no context becomes the owner any more.
 */
#define MPA_TX_OWNED	0x1
#define MPA_TX_PENDING	0x2
#define MPA_TX_DEAD	0x4

#define MPA_BATCH	65536	/* bytes handed to TCP at once, about */
#define MPA_OUT_VECS	40

/**
 * struct mpa_out - batch of FPDUs to be handed to TCP
 * @vec: pages that hold the batch; each entry holds a page reference
 * @n: number of entries used in @vec
 * @len: bytes written
 * @reserved: bytes reserved after the written ones
 * @sent: bytes of @len that TCP has accepted
 * @last: no more segments were pending when the batch was built
 */
struct mpa_out {
	struct bio_vec	vec[MPA_OUT_VECS];
	u8		n;
	u32		len;
	u32		reserved;
	u32		sent;
	bool		last;
};

/**
 * struct mpa_cursor - position in TCP's receive queue, and the end of the walk
 * @at: next byte; NULL if no CPU can read it
 * @run: contiguous bytes from @at on that may be consumed
 * @left: bytes after those of @run that may be consumed
 * @seq: TCP sequence number of the first byte after the run
 * @frag: fragment of @part in which the run ends, -1 for the linear part
 * @part: @skb, or the member of its frag_list that has the end of the run
 * @skb: current skb of @queue
 * @queue: the receive queue
 * @ended: the queue has no bytes after the run, whatever @left is
 */
struct mpa_cursor {
	const u8		*at;
	u32			run;
	u32			left;
	u32			seq;
	int			frag;
	const struct sk_buff	*part;
	const struct sk_buff	*skb;
	const struct sk_buff_head *queue;
	bool			ended;
};

/* Queue of connections in start-up: those of one process or of one listener */
struct mpa_connq {
	/* fixed after creation */
	const void		*listener;	/* NULL: a process connects */
	pid_t			process;	/* its tgid, else 0 */

	/* held by each connection made in the line and by a queued worker */
	refcount_t		ref;
	struct hlist_node	node;		/* entry of lines; connqs_lock */

	spinlock_t		lock;		/* leaf lock */
	struct list_head	due;

	struct work_struct	work;
};

struct mpa_conn {
	/* fixed after creation */
	struct ddp_llp		llp;
	struct ddp_session	ss;
	struct ddp_policy	policy;
	struct net		*net;	/* active side only; reference held */
	netns_tracker		net_tracker;
	int			ifindex;
	u8			tos;
	struct mpa_connq		*connq;	/* until Full Operation */

	/*
	 * Protected by the mutex. The worker only tries to take it:
	 * mpa_conn_unlock() queues the worker again for events that were set
	 * meanwhile.
	 */
	struct mutex		mutex;
	enum mpa_phase		phase;
	struct socket		*sock;
	struct mpa_startup	*su;	/* until Full Operation */
	struct ddp_stream	*next_stream;	/* started in Full Operation */
	u8			revision;	/* from Full Operation on */
	bool			crc;		/* from Full Operation on */
	bool			tx_open;	/* may send; set once */
	bool			reported;	/* session reported to the user */
	bool			established;	/* responder: established() called */
	u16			written;	/* bytes of our frame TCP has */
	bool			peer_closed;
	bool			peer_closed_first;	/* closed before the ULP */
	bool			fin_sent;	/* our FIN is with TCP */
	bool			all_acked;	/* peer has all data before our FIN */
	bool			timed;	/* @deadline is valid */
	bool			armed;	/* the timer is set to @timer_expires */
	unsigned long		deadline;	/* of this step, in jiffies */
	unsigned long		timer_expires;	/* expiry of the timer, jiffies */
	u64			step;	/* graceful end: STEP_* of conn.c */
	unsigned long		last;	/* graceful end: time limit, jiffies */

	/* entry in the listener's backlog, until the request is reported */
	struct ddp_conn_req	conn_req;

	/* protected by the socket lock; @stream is that of the receive path */
	struct ddp_stream	*stream ____cacheline_aligned_in_smp;
	struct mpa_cursor	cur;
	u32			rx_pos;
	/* segment that is being passed to DDP */
	const u8		*rx_copy;	/* next byte; NULL: at @cur */
	u32			rx_left;	/* bytes not read yet */
	bool			rx_markers;
	bool			rx_enabled;	/* callback receives FPDUs */
	bool			rx_stopped;	/* discard what arrives */
	bool			rx_deferred;	/* deferred by a page fault */

	/* last retry delay; transmit owner, before Full Operation the worker */
	u16			retry_ms ____cacheline_aligned_in_smp;

	/* transmit owner */
	struct ddp_stream	*tx_stream;
	struct mpa_out		out;
	bool			tx_markers;
	u32			tx_pos;
	int			send_err;	/* errno of a failed send */

	/* any context */
	atomic_t		tx ____cacheline_aligned_in_smp;	/* MPA_TX_* */
	unsigned long		events;	/* bits of enum mpa_event */
	bool			holder_polls;	/* mutex holder checks events */

	bool			closing;	/* graceful end requested */
	bool			drained;	/* closing, and all sent */
	enum iw_reason		why;	/* reason of a requested abort */

	struct list_head	connq_entry;	/* entry in @connq; lock of the line */
	struct work_struct	work;	/* worker, from Full Operation on */
	struct delayed_work	timer;
	struct delayed_work	tx_retry;	/* holds a ref while queued */
	struct llist_node	txq;		/* holds a ref while queued */
	struct rcu_head		rcu;

	/* keeps the socket for readers that do not hold the mutex */
	spinlock_t		query_lock;	/* leaf lock */
	u32			retransmits;	/* of released sockets */

	struct ddp_sock_calls	orig_calls;	/* the socket's original callbacks */
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

#define MPA_DEADLINE_MEMORY	10	/* seconds: memory for our Reply */
#define MPA_DEADLINE_CLOSE	10	/* seconds: our FIN, then the peer's */

#define MPA_RETRY_MIN	1	/* ms between retries after a memory shortage */
#define MPA_RETRY_MAX	1000

/* Delay of the next retry in ms: twice the last one, within the limits */
static inline u16 mpa_backoff(u16 ms)
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
void mpa_conn_wait_all(void);

/* conn_work.c: workers of connections */
void mpa_conn_init(struct mpa_conn *c);
void mpa_connq_work(struct work_struct *work);

/* conn_event.c: events, mutex and timer of a connection */
void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev);
bool mpa_conn_has_events(const struct mpa_conn *c);
void mpa_conn_lock(struct mpa_conn *c);
void mpa_conn_unlock(struct mpa_conn *c);
void mpa_conn_arm_timer(struct mpa_conn *c, unsigned long delay);
void mpa_conn_set_deadline(struct mpa_conn *c, unsigned int seconds);

/* conn.c: state machine of a connection */
void mpa_conn_set_phase(struct mpa_conn *c, enum mpa_phase phase);
bool mpa_conn_step(struct mpa_conn *c, unsigned long events);
void mpa_conn_finish(struct mpa_conn *c, enum iw_reason why,
		     const struct ddp_offer *o);
int mpa_conn_bind(struct mpa_conn *c, struct ddp_stream *s);
void mpa_conn_quiesce(struct mpa_conn *c);
void mpa_conn_stop(struct mpa_conn *c, enum iw_reason why);

/* conn_start.c: TCP handshake and start-up */
void mpa_conn_begin(struct mpa_conn *c);
void mpa_conn_advance_start(struct mpa_conn *c);

/* conn_queue.c: order of connections in start-up */
struct mpa_connq *mpa_connq_get(const void *listener, work_func_t work);
void mpa_connq_put(struct mpa_connq *connq);
bool mpa_connq_add(struct mpa_conn *c);
struct mpa_conn *mpa_line_take_first(struct mpa_connq *connq);
void mpa_line_kick(struct mpa_connq *connq);
bool mpa_connq_has_waiting(const struct mpa_connq *connq);

/* tx.c: transmit routine, and per-CPU queues of connections that transmit in softirq */
void mpa_tx_init(struct mpa_conn *c);
void mpa_tx_kick(struct mpa_conn *c, bool bulk);
void mpa_tx_push(struct mpa_conn *c);
void mpa_tx_work(struct mpa_conn *c);
void mpa_tx_stop(struct mpa_conn *c);
void mpa_txq_init(void);
void mpa_txq_exit(void);

/* frame.c: build batches of FPDUs */
bool mpa_frame_build(struct mpa_conn *c, u32 emss);
void mpa_frame_drop(struct mpa_conn *c);
void mpa_frame_exit(void);

/* rx.c: receive path, FPDUs from TCP's receive queue to DDP */
int mpa_rx_init(void);
void mpa_rx_exit(void);
bool mpa_rx(struct mpa_conn *c, struct sock *sk);
bool mpa_rx_read(struct mpa_conn *c, void *dst, u32 len);

/* cursor.c: read TCP's receive queue */
void mpa_cursor_set(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		    const struct sk_buff *skb, u32 off, u32 left);
void mpa_cursor_next(struct mpa_cursor *cur);
bool mpa_cursor_copy_runs(struct mpa_cursor *cur, void *dst, u32 len);
bool mpa_cursor_skip_runs(struct mpa_cursor *cur, u32 len);

/* Consume @len bytes of the current run */
static inline void mpa_cursor_advance(struct mpa_cursor *cur, u32 len)
{
	if (cur->at)
		cur->at += len;
	cur->run -= len;
}

/*
 * Copy bytes of the current run without consuming them. A sender on this
 * machine may still write them, so a second copy may differ.
 */
static inline void mpa_cursor_peek(const struct mpa_cursor *cur, void *dst, u32 len)
{
	memcpy(dst, cur->at, len);
	/* decisions use the copy: the compiler must not read again */
	barrier();
}

static inline void mpa_cursor_take(struct mpa_cursor *cur, void *dst, u32 len)
{
	ddp_copy(dst, cur->at, len);
	/* as in mpa_cursor_peek() */
	barrier();
	mpa_cursor_advance(cur, len);
}

/**
 * mpa_cursor_copy - copy bytes and consume them
 * @cur: the cursor
 * @dst: destination
 * @len: number of bytes
 *
 * Return: true if all bytes were copied; false if fewer are left or no CPU can
 * read them: the missing ones are zeros in @dst.
 */
static inline bool mpa_cursor_copy(struct mpa_cursor *cur, void *dst, u32 len)
{
	if (len > cur->run || !cur->at)
		return mpa_cursor_copy_runs(cur, dst, len);
	mpa_cursor_take(cur, dst, len);
	return true;
}

/**
 * mpa_cursor_may_read - check whether the next bytes are one readable run
 * @cur: the cursor
 * @len: number of bytes
 *
 * Return: true if @len bytes can be read at @cur->at, false otherwise.
 */
static inline bool mpa_cursor_may_read(struct mpa_cursor *cur, u32 len)
{
	if (!cur->run)
		mpa_cursor_next(cur);
	return len <= cur->run && cur->at;
}

/**
 * mpa_cursor_skip - consume bytes without reading them
 * @cur: the cursor
 * @len: number of bytes, which need not be readable
 *
 * Return: true if all were consumed, false if fewer are left.
 */
static inline bool mpa_cursor_skip(struct mpa_cursor *cur, u32 len)
{
	if (len > cur->run)
		return mpa_cursor_skip_runs(cur, len);
	mpa_cursor_advance(cur, len);
	return true;
}

/* Bytes that may still be consumed */
static inline u32 mpa_cursor_left(const struct mpa_cursor *cur)
{
	return cur->run + cur->left;
}

/* State of a connected socket */
enum mpa_sock_state {
	MPA_SOCK_CONNECTING,	/* TCP handshake in progress */
	MPA_SOCK_OPEN,
	MPA_SOCK_PEER_DONE,	/* FIN received, and all data before it */
	MPA_SOCK_CLOSED,	/* closed by both sides */
	MPA_SOCK_LOST,		/* reset, timed out, refused; see err */
};

/*
 * Receive buffer in bytes, at least: TCP must be able to hold a complete FPDU,
 * whatever segments it comes in
 */
#define MPA_RCVBUF_MIN	(512 * 1024)

/* sock.c: operations on the connected socket */
int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local);
void mpa_sock_prepare(struct socket *sock);
void mpa_sock_attach(struct mpa_conn *c);
void mpa_sock_release(struct mpa_conn *c, bool abort);
enum mpa_sock_state mpa_sock_get_state(struct mpa_conn *c, int *err);
bool mpa_sock_has_partial_fpdu(struct mpa_conn *c);
bool mpa_sock_is_quiet(struct mpa_conn *c);
int mpa_sock_read(struct mpa_conn *c, void *buf, size_t len);
int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len);
bool mpa_sock_shutdown(struct mpa_conn *c);
u32 mpa_sock_get_acked(struct mpa_conn *c, bool *all);
void mpa_sock_enable_rx(struct mpa_conn *c);
void mpa_sock_stop_rx(struct mpa_conn *c);
bool mpa_sock_receive(struct mpa_conn *c);
u32 mpa_sock_emss(const struct mpa_conn *c);
void mpa_sock_record_flow(const struct mpa_conn *c);
int mpa_sock_send(struct mpa_conn *c);
void mpa_sock_wait_unowned(struct mpa_conn *c);

/* listen.c */
struct ddp_listener *mpa_listen(const struct ddp_listen *l,
				const struct ddp_session_user *user, void *ctx);

/* llp.c */
extern const struct ddp_llp_ops mpa_llp_ops;
extern struct ddp_session_type mpa_session_type;

#endif
