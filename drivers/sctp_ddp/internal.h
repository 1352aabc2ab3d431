/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the rooms of iw_sctp_ddp know of each other. */
#ifndef _SDDP_INTERNAL_H
#define _SDDP_INTERNAL_H

#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_trackers.h>
#include <ddp/lines.h>
#include <ddp/llp.h>
#include <ddp/port.h>
#include <ddp/session.h>
#include <ddp/sock.h>

#include "chunk.h"
#include "session.h"
#include "ssn.h"
#include "stall.h"

struct sctp_association;
struct sk_buff;
struct socket;

#define SDDP_STREAMS	256		/* each way, unless somebody says more */
#define SDDP_SEGMENT_MAX 65000		/* octets of a DDP Segment of ours */
#define SDDP_OUT_SIZE	(SDDP_SEGMENT + SDDP_SEGMENT_MAX)

/* Where an association stands */
enum sddp_phase {
	SDDP_NEW,		/* active side: no socket yet */
	SDDP_CONNECTING,	/* SCTP handshake, active side */
	SDDP_UP,
	SDDP_ENDED,		/* no socket any more */
};

/**
 * struct sddp_in - a DATA chunk that has arrived
 * @id: its stream
 * @ppid: Payload Protocol Identifier
 * @legal: unordered, and here as a whole
 * @len: octets of user data
 */
struct sddp_in {
	u16	id;
	u32	ppid;
	bool	legal;
	u32	len;
};

/* What decides over a chunk: its DDP-SSN and the longest DDP header */
#define SDDP_HEAD	(SDDP_SEGMENT + IW_DDP_HDR_MAX)

/**
 * struct sddp_head - what a chunk's first octets say
 * @sane: it is one of DDP's, as RFC 5043 wants them
 * @numbered: it is long enough for a DDP-SSN
 * @ssn: that
 * @function: of a Session Control chunk, its Function Code; else 0
 */
struct sddp_head {
	bool	sane;
	bool	numbered;
	u16	ssn;
	u16	function;
};

/**
 * struct sddp_kept - a chunk that came before its turn
 * @node: its place among the stream's
 * @ssn: its DDP-SSN
 * @control: it is a Session Control chunk
 * @placed: its octets are where they belong, as @p says
 * @p: what is left to be delivered
 * @len: octets in @data
 * @data: the chunk, unless it has been placed or nobody wants it
 */
struct sddp_kept {
	struct rb_node		node;
	u16			ssn;
	bool			control;
	bool			placed;
	struct ddp_placed	p;
	u32			len;
	u8			data[];
};

/**
 * struct sddp_room - what may be sent now
 * @fragment: the longest chunk, octets of user data; SDDP_CHUNK_LEAST at least
 * @octets: how many before others are to have their turn; 0: none now
 */
struct sddp_room {
	u32	fragment;
	u32	octets;
};

/**
 * struct sddp_src - where the octets of a chunk are read from
 * @arrived: a chunk that SCTP still has
 * @flat: otherwise: one that was kept
 * @len: its octets
 * @off: the next octet
 * @bad: octets could not be read
 * @head_len: octets in @head
 * @head: the first of @arrived, fetched once: however often they are asked
 *	for, these are the answer
 */
struct sddp_src {
	const struct sk_buff	*arrived;
	const u8		*flat;
	u32			len;
	u32			off;
	bool			bad;
	u8			head_len;
	u8			head[SDDP_HEAD];
};

struct sddp_assoc {
	/* fixed after creation */
	bool			active;
	struct net		*net;		/* held */
	netns_tracker		net_tracker;
	int			ifindex;	/* where we called from */
	int			domain;		/* the VRF it was in, or 0 */
	u8			tos;
	u16			asked;		/* streams */
	int			paths[DDP_PATHS_MAX];
	struct sockaddr_storage	to;		/* what was called */
	struct sockaddr_storage	from;		/* the first of our addresses */

	/* the table's lock */
	struct list_head	list;		/* of all */
	struct hlist_node	way;		/* of those that take sessions */

	/* the lock of the strangers */
	struct list_head	crowd;
	u32			source;		/* fixed: where the peer is */
	bool			evicted;

	/* worker and mutex */
	struct mutex		mutex;
	enum sddp_phase		phase;
	enum iw_reason		why;		/* it ended */
	struct socket		*sock;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			limit;		/* usable streams */
	u32			peer_tag;	/* a restart changes it */
	struct sddp_src		src;
	u32			kept;		/* what early chunks cost, octets */
	u32			put_off;	/* streams that wait for memory */
	u32			guests;		/* sessions that a program has accepted */
	bool			used;		/* the peer's: has any, or had of late */
	unsigned long		until;		/* jiffies: it may be without one */
	u32			strays;		/* of a stranger */
	enum iw_reason		unwanted;	/* it is to end; or IW_OK */
	int			lost;		/* why SCTP's has, if a sender was told */
	u32			delay;		/* memory was short, milliseconds */
	unsigned long		retry_at;	/* jiffies, if the timer runs */
	u8			*out;		/* has a chunk to be sent ... */
	u32			out_size;
	u32			out_at;		/* ... from there on ... */
	u32			out_len;	/* ... that SCTP has not taken */
	bool			out_more;	/* its message goes on behind it */
	u32			corked;		/* octets that SCTP holds back */
	struct sddp_stream	*out_of;
	struct list_head	saying;		/* streams with a word to say */
	struct list_head	sending;	/* streams with segments to send */
	struct list_head	doubts;		/* streams that wait for a SACK */
	u32			acked;		/* TSN; looked at for them alone */
	bool			watch;		/* there are any, or may soon be */
	struct list_head	late;		/* streams whose timer ran out */
	unsigned long		looked;		/* jiffies, before the socket was */
	struct sddp_stall	stall;

	struct xarray		streams;	/* by number; also reserved ones */
	atomic_t		live;		/* sessions, and reservations */

	/* leaf; also of who looks at the socket */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	struct list_head	ready;		/* streams with events */

	bool			full;		/* SCTP took no more */
	bool			deep;		/* it has segments enough */
	bool			stop;		/* the module goes */
	bool			left;		/* by a session that never began */
	bool			idle_due;
	bool			look_due;
	struct work_struct	work;
	struct delayed_work	idle;
	struct delayed_work	look;
	struct delayed_work	retry;
	struct kref		ref;
	struct rcu_head		rcu;

	struct ddp_sock_calls	before;		/* the socket's own */
	struct wait_queue_entry	space;		/* on its wait queue */
};

/* What the worker is asked to look at */
enum sddp_event {
	SDDP_EV_TX,		/* something to send */
	SDDP_EV_RX,		/* what was put off can be handed up */
	SDDP_EV_CLOSE,		/* the ULP wants a graceful end */
	SDDP_EV_ABORT,		/* the ULP wants an end */
	SDDP_EV_TIMEOUT,	/* the current step may have taken too long */
};

/* A pair of streams and the session on it */
struct sddp_stream {
	struct rcu_head		rcu;	/* must not be far from the front */

	/* fixed after creation */
	struct ddp_llp		llp;
	struct ddp_session	ss;

	/*
	 * Change before the Initiate only: by the worker, with the lock of the
	 * association that it leaves
	 */
	struct sddp_assoc	*a;		/* held */
	u16			id;

	/* its lock: what a program leaves for the worker */
	spinlock_t		lock;		/* leaf */
	struct sddp_control	*answer;
	struct ddp_stream	*answer_for;	/* the DDP stream, if it is a yes */
	bool			answered;
	bool			ended;		/* the user has been told */

	/* the association's worker and mutex */
	struct sddp_session	s;
	u16			rx_next;	/* the DDP-SSN whose turn it is */
	struct rb_root		early;		/* chunks behind it, by DDP-SSN */
	u32			early_count;
	u32			early_cost;	/* octets */
	bool			put_off;	/* what is due: the first, or with SCTP */
	struct sddp_stream	*next;		/* begins when this one leaves; held */
	struct sddp_tally	tally;		/* what came after the end */
	bool			counting;
	u16			tx_ssn;
	struct ddp_stream	*stream;	/* set before it is bound */
	struct sddp_control	*say;		/* Initiate, or the answer to one */
	struct ddp_caller	caller;		/* while the ULP decides */
	bool			told;		/* the user has been given us */
	bool			up;		/* ... and that it is accepted: a guest */
	bool			rx_stopped;	/* failed: discard */
	bool			peer_closed;
	bool			peer_first;	/* before we did */
	bool			drained;	/* nothing left to send, in this turn */
	u32			mark;		/* TSN of our last control chunk */
	struct list_head	doubt;
	struct list_head	turn;		/* to send */
	struct list_head	late;
	u64			step;		/* of a graceful end */
	unsigned int		timed;		/* seconds, or 0 */
	unsigned long		deadline;	/* jiffies */

	/* whoever has something to say; the association's lock */
	struct list_head	ready ____cacheline_aligned_in_smp;

	bool			closing;	/* graceful end asked for */
	enum iw_reason		why;		/* of an end asked for */
	unsigned long		events;		/* enum sddp_event */
	unsigned long		unbind;		/* bit 0: let go of the stream */
	struct delayed_work	timer;
};

#ifdef CONFIG_SMP
static_assert(DDP_LINE_OF(struct sddp_assoc, lock) > DDP_LINE_OF(struct sddp_assoc, live));
static_assert(DDP_LINE_OF(struct sddp_stream, ready) > DDP_LINE_OF(struct sddp_stream, deadline));
#endif

static inline struct sddp_stream *ss_to_stream(struct ddp_session *ss)
{
	return container_of(ss, struct sddp_stream, ss);
}

static inline struct sddp_stream *llp_to_stream(struct ddp_llp *llp)
{
	return container_of(llp, struct sddp_stream, llp);
}

extern struct workqueue_struct *sddp_wq;

/* reserve.c: the table of associations, and a place on one of them */
void sddp_table_add(struct sddp_assoc *a);
void sddp_table_close(struct sddp_assoc *a);
void sddp_table_leave_way(struct sddp_assoc *a);
bool sddp_table_close_idle(struct sddp_assoc *a);
struct sddp_assoc *sddp_table_take(void);
struct sddp_assoc *sddp_assoc_reserve(const struct ddp_connect *args, u16 *id);
struct sddp_assoc *sddp_assoc_another(const struct sddp_assoc *a,
				      const struct ddp_session *ss, u16 *id);
void sddp_assoc_unreserve(struct sddp_assoc *a, u16 id);

/* assoc.c: life of an association */
struct sddp_assoc *sddp_assoc_new(struct net *net, bool active);
int sddp_assoc_accepted(struct sddp_assoc *a);
void sddp_assoc_kick(struct sddp_assoc *a);
void sddp_assoc_get(struct sddp_assoc *a);
void sddp_assoc_put(struct sddp_assoc *a);
void sddp_assoc_left(struct sddp_assoc *a, const struct sddp_stream *st);
void sddp_assoc_evict(struct sddp_assoc *a);
void sddp_assoc_stop_all(void);

/* retry.c: what could not be sent, or taken, is tried again */
void sddp_assoc_retry(struct sddp_assoc *a);
void sddp_assoc_backoff(struct sddp_assoc *a);
void sddp_assoc_retry_expired(struct work_struct *w);

/* crowd.c: strangers */
struct sddp_assoc *sddp_crowd_join(struct sddp_assoc *a);
bool sddp_crowd_rejoin(struct sddp_assoc *a);
void sddp_crowd_leave(struct sddp_assoc *a);
void sddp_crowd_guest(struct sddp_assoc *a);
bool sddp_crowd_spare(struct sddp_assoc *a);

/* stream.c: life of a pair of streams and its session */
struct sddp_stream *sddp_stream_new(const struct ddp_session_user *user,
				    void *ctx, bool active);
void sddp_stream_release(struct kref *ref);
void sddp_stream_event(struct sddp_stream *st, enum sddp_event ev);
void sddp_stream_deadline(struct sddp_stream *st, unsigned int seconds);
void sddp_stream_late(struct sddp_stream *st, bool more);
int sddp_stream_begin(struct sddp_stream *st, struct ddp_stream *s);
int sddp_stream_answer(struct sddp_stream *st, struct sddp_control *c,
		       struct ddp_stream *s);
void sddp_stream_quiesce(struct sddp_stream *st);
void sddp_stream_stop(struct sddp_stream *st, enum iw_reason why);
void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o);
void sddp_stream_drop(struct sddp_stream *st);
void sddp_stream_forget(struct sddp_stream *st);
void sddp_stream_close(struct sddp_stream *st);
void sddp_stream_leave(struct sddp_stream *st);
void sddp_stream_serve(struct sddp_stream *st);
void sddp_stream_peer_done(struct sddp_stream *st);
enum iw_reason sddp_stream_shut(const struct sddp_stream *st);

/* rx.c: chunks that arrive */
bool sddp_rx_chunk(struct sddp_assoc *a, const struct sddp_in *in);
void sddp_rx_settle(struct sddp_stream *st);
void sddp_rx_resume(struct sddp_stream *st);
void sddp_rx_forget(struct sddp_stream *st);
void sddp_rx_begin(struct sddp_stream *st);

/* src.c: the octets of a chunk */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len);
void sddp_src_head(struct sddp_assoc *a, const struct sddp_in *in,
		   struct sddp_head *h);
bool sddp_src_next(struct sddp_assoc *a, void *dst, u32 len);

/* early.c: chunks that came before their turn */
bool sddp_early_may_wait(const struct sddp_stream *st);
struct sddp_kept *sddp_early_new(struct sddp_stream *st, u16 ssn, u32 len);
void sddp_early_add(struct sddp_stream *st, struct sddp_kept *k);
bool sddp_early_here(const struct sddp_stream *st, u16 ssn);
struct sddp_tally sddp_early_tally(const struct sddp_stream *st);
struct sddp_kept *sddp_early_take(struct sddp_stream *st);
void sddp_early_free(struct sddp_stream *st, struct sddp_kept *k);
void sddp_early_forget(struct sddp_stream *st);

/* stray.c: streams that no program knows of */
void sddp_stray_count(struct sddp_tally *t, const struct sddp_head *h);
int sddp_stray_first(struct sddp_assoc *a, const struct sddp_in *in,
		     const struct sddp_head *h);
void sddp_stray_more(struct sddp_assoc *a, u16 id, unsigned long value,
		     const struct sddp_head *h);
void sddp_stray_leave(struct sddp_stream *st, bool owed);
int sddp_stray_answer(struct sddp_assoc *a);
void sddp_stray_note(struct sddp_assoc *a);

/* tx.c: chunks that leave */
void sddp_tx_queue(struct sddp_stream *st);
bool sddp_tx_run(struct sddp_assoc *a);
void sddp_tx_rest(struct sddp_assoc *a);
void sddp_tx_forget(struct sddp_stream *st);
void sddp_tx_acks(struct sddp_assoc *a);

/* How a connected socket fares */
enum sddp_fate {
	SDDP_SOCK_COMING,	/* handshake */
	SDDP_SOCK_OPEN,
	SDDP_SOCK_PEER_DONE,	/* the peer shuts the association down */
	SDDP_SOCK_LOST,		/* aborted, restarted, timed out, refused */
};

/* sock.c: the only talk with a connected socket */
int sddp_sock_probe(void);
int sddp_sock_set(struct socket *sock, int name, void *value, int len);
int sddp_sock_prepare(struct socket *sock, u16 streams, bool listens);
void sddp_sock_adopt(struct socket *child, const struct socket *listener);
int sddp_sock_connect(struct sddp_assoc *a);
void sddp_sock_attach(struct sddp_assoc *a);
void sddp_sock_release(struct sddp_assoc *a, bool abort);
enum sddp_fate sddp_sock_fate(struct sddp_assoc *a, int *err);
bool sddp_sock_anew(const struct sddp_assoc *a,
		    const struct sctp_association *asoc);
enum iw_reason sddp_sock_up(struct sddp_assoc *a);
int sddp_sock_send(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
		   u32 len);
u32 sddp_sock_mark(struct sddp_assoc *a);
u32 sddp_sock_acked(struct sddp_assoc *a);

/* room.c: how much a connected socket may hold */
void sddp_sock_narrow(struct socket *sock, bool stranger);
void __sddp_sock_learn(struct sddp_assoc *a, struct sock *sk);
void sddp_sock_widen(struct sddp_assoc *a);
bool sddp_sock_shrink(struct sddp_assoc *a);
void sddp_sock_room(struct sddp_assoc *a, struct sddp_room *room);
bool sddp_sock_cork(struct sddp_assoc *a, u32 len);
void sddp_sock_uncork(struct sddp_assoc *a);
void sddp_sock_query(struct sddp_assoc *a, struct ddp_query *q);

/* recv.c: what has arrived */
int sddp_recv(struct sddp_assoc *a);
bool sddp_recv_read(const struct sk_buff *skb, u32 off, void *dst, u32 len);

/* path.c: does it arrive? */
void __sddp_path_allow(struct sctp_association *asoc);
void sddp_path_watch(struct sddp_assoc *a);
bool sddp_path_look(struct sddp_assoc *a);

/* bind.c: which addresses a socket has */
int sddp_bind(struct socket *sock, const struct sockaddr_storage *at,
	      const int *paths);

/* places.c: at which addresses a listener is */
int sddp_places_init(void);
void sddp_places_exit(void);
struct ddp_listener *sddp_listen(const struct ddp_listen *l,
				 const struct ddp_session_user *user,
				 void *ctx);
void sddp_unlisten(struct ddp_listener *l);

/* listen.c: listening at one address */
extern const struct ddp_port_ops sddp_port_ops;
/* Hand a peer's Initiate up; nonzero: nobody could be asked */
int sddp_listen_request(struct sddp_stream *st, const struct ddp_offer *o);
/* A peer's association or session is ended before a program hears of it */
void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why);

/* llp.c */
extern const struct ddp_llp_ops sddp_llp_ops;
extern struct ddp_session_type sddp_session_type;

#endif
