/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the rooms of iw_mpa know of each other. */
#ifndef _MPA_INTERNAL_H
#define _MPA_INTERNAL_H

#include <linux/bvec.h>
#include <linux/compiler.h>
#include <linux/llist.h>
#include <linux/mutex.h>
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

/* Where a connection stands */
enum mpa_phase {
	MPA_NEW,		/* being made: nobody else touches it */
	MPA_CONNECTING,		/* TCP handshake, active side */
	MPA_STARTUP,		/* Request and Reply frames */
	MPA_FULL,		/* Full Operation */
	MPA_ENDED,		/* no socket any more */
};

/* What the worker is asked to look at */
enum mpa_event {
	MPA_EV_STATE,		/* TCP's state changed */
	MPA_EV_RX,		/* octets arrived that the callback left */
	MPA_EV_TX,		/* transmit: it was left to the worker */
	MPA_EV_CLOSE,		/* the ULP wants a graceful end */
	MPA_EV_ABORT,		/* the ULP wants an end */
	MPA_EV_TIMEOUT,		/* the current step may have taken too long */
};

/*
 * The transmit routine's owner word.  OWNED: somebody is at it, BH off.
 * PENDING alone: something is due, and one runner has been seen to, in the
 * CPU's queue, the worker's or the timer's.  Both: the owner looks again before
 * it leaves.  DEAD: nobody may own it any more.
 */
#define MPA_TX_OWNED	0x1
#define MPA_TX_PENDING	0x2
#define MPA_TX_DEAD	0x4

#define MPA_BATCH	65536	/* octets handed to TCP at once, about */
#define MPA_OUT_VECS	40

/**
 * struct mpa_out - a batch of FPDUs on its way to TCP
 * @vec: the pages it lies in; each holds a page reference
 * @n: how many of @vec
 * @len: octets written
 * @room: octets reserved behind them
 * @sent: octets that TCP has taken
 * @last: nothing was due behind it when it was built
 */
struct mpa_out {
	struct bio_vec	vec[MPA_OUT_VECS];
	u8		n;
	u32		len;
	u32		room;
	u32		sent;
	bool		last;
};

/**
 * struct mpa_cursor - a place in TCP's receive queue, and where the walk ends
 * @at: the next octet; NULL: no CPU can read it
 * @run: octets that lie together from there on, and may be walked
 * @left: octets that may be walked behind them
 * @seq: TCP sequence number of the first of those
 * @frag: fragment of @part that the run ends in, -1: its linear part
 * @part: @skb, or the piece of its frag_list
 * @skb: in the queue
 * @queue: the receive queue
 * @ended: the queue has no more than the run, whatever @left says
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

struct mpa_line;

struct mpa_conn {
	/* fixed after creation */
	struct ddp_llp		llp;
	struct ddp_session	ss;
	struct ddp_policy	policy;
	struct net		*net;	/* active side only; held */
	netns_tracker		net_tracker;
	int			ifindex;
	u8			tos;
	struct mpa_line		*line;	/* before Full Operation */

	/*
	 * Worker and mutex.  A worker only tries the mutex: whoever has had it
	 * sees to what was asked meanwhile, mpa_conn_unlock().
	 */
	struct mutex		mutex;
	enum mpa_phase		phase;
	struct socket		*sock;
	struct mpa_startup	*su;	/* until Full Operation */
	struct ddp_stream	*next_stream;	/* to start then */
	u8			revision;	/* from then on */
	bool			crc;		/* the same */
	bool			tx_open;	/* set once by rx or at start */
	bool			told;	/* the user has been given us */
	bool			up;	/* responder: ... and that it is accepted */
	u16			written;	/* octets of our frame with TCP */
	bool			peer_closed;
	bool			peer_first;	/* before we did */
	bool			shut;	/* our FIN is with TCP */
	bool			heard;	/* ... and what is in front of it with the peer */
	bool			timed;	/* there is a deadline: */
	bool			armed;	/* so is the timer: */
	unsigned long		deadline;	/* jiffies */
	unsigned long		wake;	/* the same */
	u64			step;	/* of a graceful end, then */
	unsigned long		last;	/* jiffies: no more time for steps */

	/* at the listener it came to, until the request is handed up */
	struct ddp_caller	caller;

	/* socket lock */
	struct ddp_stream	*stream ____cacheline_aligned_in_smp;	/* rx's */
	struct mpa_cursor	cur;
	u32			rx_pos;
	/* of the segment being handed up */
	const u8		*rx_copy;	/* its next octets; NULL: at @cur */
	u32			rx_left;	/* octets of it not read yet */
	bool			rx_markers;
	bool			rx_full;	/* Full Operation: data_ready runs */
	bool			rx_stopped;	/* failed: discard */
	bool			rx_waits;	/* for memory, with an FPDU unread */

	/* tx owner; before Full Operation the worker and mutex */
	u16			retry_ms ____cacheline_aligned_in_smp;	/* of the last wait */

	/* tx owner */
	struct ddp_stream	*tx_stream;
	struct mpa_out		out;
	bool			tx_markers;
	u32			tx_pos;
	int			lost;	/* why, if sending was told; socket lock */

	/* whoever has something to say */
	atomic_t		tx ____cacheline_aligned_in_smp;	/* MPA_TX_* */
	unsigned long		events;	/* enum mpa_event */
	bool			seen_to;	/* ... by who has the mutex */

	bool			closing;	/* graceful end asked for */
	bool			drained;	/* ... and nothing left to send */
	enum iw_reason		why;	/* of an end asked for */

	struct list_head	turn;	/* in its line; the line's lock */
	struct work_struct	work;	/* from Full Operation on */
	struct delayed_work	timer;
	struct delayed_work	tx_retry;	/* holds a reference */
	struct llist_node	due;		/* the same */
	struct rcu_head		rcu;

	/* who looks has the socket for as long as it is held */
	spinlock_t		look_lock;	/* leaf */
	u32			retransmits;	/* of sockets that are gone */

	struct ddp_sock_calls	before;	/* the socket's own, put back at the end */
};

#ifdef CONFIG_SMP
static_assert(DDP_LINE_OF(struct mpa_conn, stream) > DDP_LINE_OF(struct mpa_conn, caller));
static_assert(DDP_LINE_OF(struct mpa_conn, retry_ms) > DDP_LINE_OF(struct mpa_conn, rx_waits));
static_assert(DDP_LINE_OF(struct mpa_conn, tx) > DDP_LINE_OF(struct mpa_conn, lost));
#endif

static inline struct mpa_conn *ss_to_conn(struct ddp_session *ss)
{
	return container_of(ss, struct mpa_conn, ss);
}

static inline struct mpa_conn *llp_to_conn(struct ddp_llp *llp)
{
	return container_of(llp, struct mpa_conn, llp);
}

#define MPA_DEADLINE_MEMORY	10	/* seconds: for our Reply */
#define MPA_DEADLINE_CLOSE	10	/* for our FIN; the peer's when it has ours */

#define MPA_RETRY_LEAST	1	/* ms until memory is asked for again */
#define MPA_RETRY_MOST	1000

/* Twice as long each time */
static inline u16 mpa_backoff(u16 ms)
{
	return clamp(2 * ms, MPA_RETRY_LEAST, MPA_RETRY_MOST);
}

extern struct workqueue_struct *mpa_wq;
int mpa_init(struct module *owner);
void mpa_exit(void);

/* alloc.c: from nothing to a connection, and back */
int mpa_alloc_init(void);
void mpa_alloc_exit(void);
struct mpa_conn *mpa_conn_new(const struct ddp_session_user *user, void *ctx,
			      const struct ddp_policy *policy,
			      const void *listener);
int mpa_conn_startup(struct mpa_conn *c, bool initiator);
void mpa_conn_give_up(struct mpa_conn *c);
void mpa_conn_release(struct kref *ref);
void mpa_conn_wait_all(void);

/* turn.c: whose turn it is to look at a connection */
void mpa_conn_init(struct mpa_conn *c);
void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev);
void mpa_conn_lock(struct mpa_conn *c);
void mpa_conn_unlock(struct mpa_conn *c);
void mpa_conn_turn(struct mpa_conn *c, bool in_line);
void mpa_conn_wake(struct mpa_conn *c, unsigned long delay);
void mpa_conn_deadline(struct mpa_conn *c, unsigned int seconds);

/* conn.c: life of a connection */
void mpa_conn_begin(struct mpa_conn *c);
bool mpa_conn_step(struct mpa_conn *c, unsigned long events);
void mpa_conn_finish(struct mpa_conn *c, enum iw_reason why,
		     const struct ddp_offer *o);
int mpa_conn_bind(struct mpa_conn *c, struct ddp_stream *s);
void mpa_conn_quiesce(struct mpa_conn *c);
void mpa_conn_stop(struct mpa_conn *c, enum iw_reason why);

/* end.c: how Full Operation ends */
void mpa_end_send(struct mpa_conn *c);
void mpa_end_look(struct mpa_conn *c);

/* line.c: whose turn it is before Full Operation */
struct mpa_line *mpa_line_get(const void *listener);
void mpa_line_put(struct mpa_line *line);
bool mpa_line_add(struct mpa_conn *c);
bool mpa_line_waits(const struct mpa_line *line);

/* tx.c: the transmit routine */
void mpa_tx_init(struct mpa_conn *c);
void mpa_tx_kick(struct mpa_conn *c, bool bulk);
void mpa_tx_push(struct mpa_conn *c);
void mpa_tx_due(struct mpa_conn *c);
void mpa_tx_work(struct mpa_conn *c);
void mpa_tx_stop(struct mpa_conn *c);

/* due.c: whose turn it is to transmit */
void mpa_due_init(void);
void mpa_due_exit(void);
void mpa_due_add(struct mpa_conn *c);

/* frame.c: segments to a batch */
bool mpa_frame_batch(struct mpa_conn *c, u32 emss);
void mpa_frame_drop(struct mpa_conn *c);
void mpa_frame_exit(void);

/* gather.c: FPDUs from the receive queue to segments */
int mpa_gather_init(void);
void mpa_gather_exit(void);
u32 mpa_gather(struct mpa_conn *c, int *budget);
bool mpa_gather_read(struct mpa_conn *c, void *dst, u32 len);

/* cursor.c: octets of the receive queue */
void mpa_cursor_set(struct mpa_cursor *cur, const struct sk_buff_head *queue,
		    const struct sk_buff *skb, u32 off, u32 left);
void mpa_cursor_next(struct mpa_cursor *cur);
bool mpa_cursor_copy_runs(struct mpa_cursor *cur, void *dst, u32 len);
bool mpa_cursor_skip_runs(struct mpa_cursor *cur, u32 len);

/* @len of the run's octets are behind us */
static inline void mpa_cursor_advance(struct mpa_cursor *cur, u32 len)
{
	if (cur->at)
		cur->at += len;
	cur->run -= len;
}

/* Copy octets of the run and stay: who comes back for them may find others */
static inline void mpa_cursor_look(const struct mpa_cursor *cur, void *dst, u32 len)
{
	memcpy(dst, cur->at, len);
	/* what is decided by is the copy, also to the compiler */
	barrier();
}

static inline void mpa_cursor_take(struct mpa_cursor *cur, void *dst, u32 len)
{
	ddp_copy(dst, cur->at, len);
	/* as in mpa_cursor_look() */
	barrier();
	mpa_cursor_advance(cur, len);
}

/**
 * mpa_cursor_copy - copy octets and move past them
 * @cur: the cursor
 * @dst: where to
 * @len: how many
 *
 * Return: false if not all can be read, or there are not so many: zeros are in
 * their place.
 */
static inline bool mpa_cursor_copy(struct mpa_cursor *cur, void *dst, u32 len)
{
	if (len > cur->run || !cur->at)
		return mpa_cursor_copy_runs(cur, dst, len);
	mpa_cursor_take(cur, dst, len);
	return true;
}

/**
 * mpa_cursor_together - do the next octets lie together, and can be read?
 * @cur: the cursor
 * @len: how many
 *
 * Return: whether all of them do, from @cur->at on.
 */
static inline bool mpa_cursor_together(struct mpa_cursor *cur, u32 len)
{
	if (!cur->run)
		mpa_cursor_next(cur);
	return len <= cur->run && cur->at;
}

/**
 * mpa_cursor_skip - move past octets, which nobody need be able to read
 * @cur: the cursor
 * @len: how many
 *
 * Return: false if there are not so many.
 */
static inline bool mpa_cursor_skip(struct mpa_cursor *cur, u32 len)
{
	if (len > cur->run)
		return mpa_cursor_skip_runs(cur, len);
	mpa_cursor_advance(cur, len);
	return true;
}

/* Octets that may still be walked */
static inline u32 mpa_cursor_left(const struct mpa_cursor *cur)
{
	return cur->run + cur->left;
}

/* How a connected socket fares */
enum mpa_fate {
	MPA_SOCK_COMING,	/* handshake */
	MPA_SOCK_OPEN,
	MPA_SOCK_PEER_DONE,	/* the peer's FIN, and all before it, is read */
	MPA_SOCK_CLOSED,	/* both sides done */
	MPA_SOCK_LOST,		/* reset, timed out, refused; see err */
};

/* rx.c: TCP's receive queue */
bool mpa_rx(struct mpa_conn *c, struct sock *sk);

/* A whole FPDU has to fit into TCP's receive buffer, however it is cut */
#define MPA_RCVBUF_LEAST	(512 * 1024)

/* sock.c: the only talk with a connected socket */
int mpa_sock_connect(struct mpa_conn *c, const struct sockaddr_storage *local);
void mpa_sock_prepare(struct socket *sock);
void mpa_sock_attach(struct mpa_conn *c);
void mpa_sock_release(struct mpa_conn *c, bool abort);
enum mpa_fate mpa_sock_fate(struct mpa_conn *c, int *err);
bool mpa_sock_cut(struct mpa_conn *c);
bool mpa_sock_quiet(struct mpa_conn *c);
int mpa_sock_read(struct mpa_conn *c, void *buf, size_t len);
int mpa_sock_write(struct mpa_conn *c, struct page *page, u32 from, u32 len);
bool mpa_sock_shutdown(struct mpa_conn *c);
u32 mpa_sock_acked(struct mpa_conn *c, bool *all);
void mpa_sock_full(struct mpa_conn *c);
void mpa_sock_forget(struct mpa_conn *c);
bool mpa_sock_receive(struct mpa_conn *c);
u32 mpa_sock_emss(const struct mpa_conn *c);
void mpa_sock_note_cpu(const struct mpa_conn *c);
int mpa_sock_send(struct mpa_conn *c);
void mpa_sock_wait(struct mpa_conn *c);

/* query.c: what anybody may ask of it */
void mpa_sock_query(struct mpa_conn *c, struct ddp_query *q);
void mpa_sock_pace(struct mpa_conn *c, u64 rate);

/* listen.c */
struct ddp_listener *mpa_listen(const struct ddp_listen *l,
				const struct ddp_session_user *user, void *ctx);

/* llp.c */
extern const struct ddp_llp_ops mpa_llp_ops;
extern struct ddp_session_type mpa_session_type;

#endif
