/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Structures of iw_sctp_ddp and the functions that its files share. */
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
#include <ddp/owner.h>
#include <ddp/sock.h>

#include "chunk.h"
#include "session.h"
#include "ssn.h"
#include "stall.h"

struct sctp_association;
struct sk_buff;
struct socket;

#define SDDP_STREAMS	256		/* default number of streams per direction */
#define SDDP_SEGMENT_MAX 65000		/* longest DDP Segment sent, bytes */
#define SDDP_OUT_SIZE	(SDDP_SEGMENT + SDDP_SEGMENT_MAX)

#define SDDP_IDLE_ACTIVE	5	/* idle timeout of the active side, seconds */
#define SDDP_IDLE_PASSIVE	60	/* idle timeout of the passive side, seconds */
#define SDDP_IDLE_UNUSED	10	/* idle timeout for an unaccepted peer, seconds */

/*
 * Time limit for SCTP to accept the Initiate, or the ULP's reply to an
 * Initiate, seconds
 */
#define SDDP_DEADLINE_SAY	30

/* Phases of an association */
enum sddp_phase {
	SDDP_NEW,		/* active side: no socket yet */
	SDDP_CONNECTING,	/* active side: SCTP handshake */
	SDDP_UP,
	SDDP_ENDED,		/* ended; the socket is released */
};

/**
 * struct sddp_chunk_desc - description of a received DATA chunk
 * @id: number of the SCTP stream that carried the chunk
 * @ppid: Payload Protocol Identifier
 * @legal: true if the chunk is unordered and complete, as RFC 5043 10 requires
 * @len: length of the user data, bytes
 */
struct sddp_chunk_desc {
	u16	id;
	u32	ppid;
	bool	legal;
	u32	len;
};

/*
 * Number of bytes at the beginning of a chunk that decide how the chunk is
 * processed: the DDP-SSN and the longest DDP header
 */
#define SDDP_HEAD	(SDDP_SEGMENT + IW_DDP_HDR_MAX)

/**
 * struct sddp_head - the decoded beginning of a chunk
 * @sane: true if the chunk has a DDP-SSN, is unordered and complete, has one of
 *	DDP's Payload Protocol Identifiers, and is not too long for a segment
 * @numbered: true if the chunk is long enough for a DDP-SSN
 * @ssn: DDP-SSN, if @numbered
 * @function: Function Code of a Session Control chunk, else 0
 */
struct sddp_head {
	bool	sane;
	bool	numbered;
	u16	ssn;
	u16	function;
};

/**
 * struct sddp_kept - an out-of-order or deferred chunk
 * @node: node of the stream's tree
 * @ssn: DDP-SSN
 * @control: true for a Session Control chunk, false for a DDP Segment
 * @placed: true if the payload has been placed, so only @p has to be delivered
 * @p: record for ddp_rx_deliver_early(), valid if @placed
 * @len: length of @data, bytes
 * @data: copy of the chunk; empty if the payload has been placed or is not
 *	needed
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

/* Limits for the segments that the worker passes to SCTP next */
struct sddp_tx_budget {
	u32	fragment;		/* maximum length of the user data of a chunk, bytes */
	u32	bytes;			/* number of bytes that may be passed to SCTP now */
};

/**
 * struct sddp_src - the chunk that the receive path is processing
 * @arrived: socket buffer of the chunk in SCTP's receive queue; NULL for a kept
 *	chunk
 * @flat: copy of a kept chunk, if @arrived is NULL
 * @len: length of the chunk, bytes
 * @off: offset of the next byte to read
 * @bad: true if a read of the chunk has failed
 * @head_len: length of @head, bytes
 * @head: copy of the first bytes of @arrived; all later reads of these bytes
 *	use the copy
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
	/* constant after creation */
	bool			active;
	struct net		*net;	/* referenced */
	netns_tracker		net_tracker;
	/* active side: interface that has the address from */
	int			ifindex;
	int			vrf;	/* interface index of the VRF, or 0 */
	u8			tos;
	u16			streams_requested;	/* number of streams to request */
	/* active side: further interfaces, 0 ends the list */
	int			paths[DDP_PATHS_MAX];
	struct sockaddr_storage	to;	/* active side: remote address */
	struct sockaddr_storage	from;	/* first local address */
	/* active side: task whose connect has created the association */
	struct ddp_sock_owner	owner;

	/* protected by assocs_lock */
	struct list_head	list;	/* entry in the list of all associations */
	struct hlist_node	dest_node;	/* entry in the hash table by destination */

	/* protected by unaccepted_lock; source is set before the entry is in the list */
	struct list_head	unaccepted;	/* entry in the list of unaccepted associations */
	u32			source;	/* hash of the peer's address */
	bool			evicted;	/* chosen for eviction */

	/* written with the mutex held; phase, sock, limit and peer_tag are also read without */
	struct mutex		mutex;
	enum sddp_phase		phase;
	enum iw_reason		why;	/* reason of the end, in phase SDDP_ENDED */
	struct socket		*sock;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			limit;	/* number of usable streams */
	/* the peer's Verification Tag; SCTP's differs after a restart of the peer */
	u32			peer_tag;
	struct sddp_src		src;
	u32			kept;	/* memory of kept chunks, bytes */
	u32			deferred;	/* number of streams with a deferred segment */
	u32			accepted_sessions;	/* number of accepted sessions */
	bool			peer_accepted;	/* a session is or was recently accepted */
	unsigned long		idle_until;	/* end of the idle timeout, jiffies */
	u32			violations;	/* number of an unaccepted peer's violations */
	enum iw_reason		end_reason;	/* reason for a pending end, or IW_OK */
	int			send_err;	/* negative errno of a fatal send error, or 0 */
	u32			delay;	/* last retry delay, milliseconds; 0 after a success */
	unsigned long		retry_at;	/* expiry of the retry timer, jiffies */
	u8			*out;	/* transmit buffer, or NULL */
	u32			out_size;	/* size of the transmit buffer, bytes */
	u32			out_at;	/* offset of the pending chunk in the buffer, bytes */
	u32			out_len;	/* length of the pending chunk, bytes; 0 if none */
	bool			out_more;	/* more segments of the message follow */
	u32			corked;	/* bytes that SCTP holds back, see cork() */
	struct sddp_stream	*out_stream;	/* stream of the pending chunk */
	struct list_head	control_queue;	/* streams with a control chunk to send */
	struct list_head	segment_queue;	/* streams with segments to send */
	struct list_head	unacked;	/* streams that await a SACK for a control chunk */
	/* acknowledged TSN; kept up to date while unacked is not empty */
	u32			acked;
	bool			watch_acks;	/* SACKs must schedule the worker */
	struct list_head	late;	/* streams past their deadline */
	unsigned long		polled_at;	/* last start of the worker, jiffies */
	struct sddp_stall	stall;

	/*
	 * table by stream number: a struct sddp_stream; NULL if the number is
	 * reserved; a value if the session is orphaned (orphan.c)
	 */
	struct xarray		streams;
	atomic_t		live;	/* number of sessions and of reserved stream numbers */

	/* leaf lock; protects ready, and sock for sddp_sock_query() */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	struct list_head	ready;	/* streams with events */

	bool			sndbuf_full;	/* SCTP accepts no more chunks */
	bool			unsent_full;	/* SCTP's queue of unsent segments is full */
	bool			stop;	/* the module is being unloaded */
	bool			unreserved;	/* the last reserved number was released unused */
	bool			idle_due;	/* the idle timer has expired */
	bool			stall_due;	/* a check for stalled data must be made */
	struct work_struct	work;	/* the worker */
	struct delayed_work	idle;	/* idle timer */
	struct delayed_work	look;	/* timer of the checks for stalled data */
	struct delayed_work	retry;	/* timer of retries to send or receive */
	struct kref		ref;
	struct rcu_head		rcu;

	struct ddp_sock_calls	orig_calls;	/* the socket's original callbacks */
	struct wait_queue_entry	space;	/* entry in the socket's wait queue */
};

/* Events that the worker handles */
enum sddp_event {
	SDDP_EV_TX,		/* the stream may have something to send */
	SDDP_EV_RX,		/* a page fault is resolved: process deferred segments */
	SDDP_EV_CLOSE,		/* the ULP requests a graceful end */
	SDDP_EV_ABORT,		/* the ULP requests an abortive end */
	SDDP_EV_TIMEOUT,	/* the deadline of the current step may have expired */
};

/* A pair of SCTP streams and the DDP Stream Session on it */
struct sddp_stream {
	struct rcu_head		rcu;	/* first field, because kfree_rcu() needs a small offset */

	/* constant after creation */
	struct ddp_llp		llp;
	struct ddp_session	ss;

	/*
	 * Association and stream number. The worker may change both before the
	 * Initiate is sent, with the lock of the old association held.
	 */
	struct sddp_assoc	*a;	/* referenced */
	u16			id;

	/* protected by lock: the ULP's reply to an Initiate, and the end of the session */
	spinlock_t		lock;	/* leaf lock */
	struct sddp_control	*reply;	/* Accept or Reject, or NULL */
	struct ddp_stream	*reply_stream;	/* DDP stream of an Accept, or NULL */
	bool			answered;	/* the ULP has replied */
	bool			ended;	/* the session is over for its user */

	/* protected by the association's mutex */
	struct sddp_session	s;
	u16			rx_next;	/* next expected DDP-SSN */
	struct rb_root		early;	/* kept chunks by DDP-SSN */
	u32			early_count;	/* number of kept chunks */
	u32			early_cost;	/* memory of kept chunks, bytes */
	bool			deferred;	/* the chunk with DDP-SSN rx_next is deferred */
	struct sddp_stream	*next;	/* next session on these streams, referenced; or NULL */
	struct sddp_tally	tally;	/* count of received chunks, valid if counting */
	bool			counting;	/* chunks are only counted, not processed */
	u16			tx_ssn;	/* DDP-SSN of the next chunk to send */
	struct ddp_stream	*stream;	/* DDP stream, or NULL */
	struct sddp_control	*pending_control;	/* Initiate or reply to be sent */
	struct ddp_conn_req	conn_req;	/* request that awaits the ULP's reply */
	bool			reported;	/* requested by the user or reported to the user */
	bool			up;	/* accepted; counted in accepted_sessions */
	bool			rx_stopped;	/* received segments must be discarded */
	/* the peer's Terminate has been reported to the user */
	bool			peer_closed;
	bool			peer_closed_first;	/* peer_closed was set before closing */
	bool			drained;	/* all segments before our Terminate are sent */
	u32			control_tsn;	/* TSN of the last control chunk sent */
	struct list_head	await_ack;	/* entry in the association's list unacked */
	struct list_head	queue_entry;	/* entry in control_queue or segment_queue */
	struct list_head	late;	/* entry in the association's list late */
	u64			step;	/* last result of close_progress() */
	unsigned int		timed;	/* time limit of the current step, seconds; 0: none */
	unsigned long		deadline;	/* end of the current step's time limit, jiffies */

	/*
	 * written from any context; ready, the entry in the association's list
	 * of streams with events, is protected by the association's lock
	 */
	struct list_head	ready ____cacheline_aligned_in_smp;

	bool			closing;	/* a graceful end is requested */
	enum iw_reason		why;	/* reason of a requested abortive end */
	unsigned long		events;	/* pending events, bits of enum sddp_event */
	unsigned long		unbind;	/* bit 0: request to detach the DDP stream */
	struct delayed_work	timer;	/* timer that expires at the deadline */
};

#ifdef CONFIG_SMP
static_assert(DDP_CACHELINE_OF(struct sddp_assoc, lock) >
	      DDP_CACHELINE_OF(struct sddp_assoc, live));
static_assert(DDP_CACHELINE_OF(struct sddp_stream, ready) >
	      DDP_CACHELINE_OF(struct sddp_stream, deadline));
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

/* assoc_table.c: the table of associations, and reservations of stream numbers */
void sddp_table_add(struct sddp_assoc *a);
void sddp_table_del(struct sddp_assoc *a);
void sddp_table_unhash(struct sddp_assoc *a);
bool sddp_table_del_if_idle(struct sddp_assoc *a);
struct sddp_assoc *sddp_table_pop(void);
struct sddp_assoc *sddp_assoc_reserve(const struct ddp_connect *args,
				      work_func_t work, u16 *id);
struct sddp_assoc *sddp_assoc_reserve_again(const struct sddp_assoc *a,
					    const struct ddp_session *ss, u16 *id);
void sddp_assoc_unreserve(struct sddp_assoc *a, u16 id);

/* assoc.c: lifetime of an association */
struct sddp_assoc *sddp_assoc_new(struct net *net, const struct ddp_sock_owner *owner,
				  work_func_t work);
void sddp_assoc_kick(struct sddp_assoc *a);
void sddp_assoc_get(struct sddp_assoc *a);
void sddp_assoc_put(struct sddp_assoc *a);
void sddp_assoc_wait_freed(void);

/* assoc_idle.c: the idle timeout of an association */
void sddp_assoc_check_idle(struct sddp_assoc *a);
void sddp_assoc_session_end(struct sddp_assoc *a, const struct sddp_stream *st);
bool sddp_assoc_handle_idle(struct sddp_assoc *a);

/* assoc_work.c: the worker of an association */
void sddp_assoc_work(struct work_struct *w);
int sddp_assoc_accepted(struct sddp_assoc *a);
void sddp_assoc_evict(struct sddp_assoc *a);
void sddp_assoc_stop_all(void);

/* unaccepted.c: unaccepted associations */
struct sddp_assoc *sddp_unaccepted_join(struct sddp_assoc *a);
bool sddp_unaccepted_rejoin(struct sddp_assoc *a);
void sddp_unaccepted_leave(struct sddp_assoc *a);
void sddp_assoc_accepted_session(struct sddp_assoc *a);
bool sddp_unaccepted_cancel_evict(struct sddp_assoc *a);

/* stream.c: lifetime of a pair of streams and its session */
struct sddp_stream *sddp_stream_new(const struct ddp_session_user *user,
				    void *ctx, bool active);
void sddp_stream_release(struct kref *ref);
void sddp_stream_event(struct sddp_stream *st, enum sddp_event ev);
void sddp_stream_set_deadline(struct sddp_stream *st, unsigned int seconds);
void sddp_stream_check_deadline(struct sddp_stream *st, bool more);
int sddp_stream_begin(struct sddp_stream *st, struct ddp_stream *s);
int sddp_stream_set_reply(struct sddp_stream *st, struct sddp_control *c,
			  struct ddp_stream *s);
void sddp_stream_quiesce(struct sddp_stream *st);
void sddp_stream_stop(struct sddp_stream *st, enum iw_reason why);
void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o);
void sddp_stream_drop(struct sddp_stream *st);
void sddp_stream_discard(struct sddp_stream *st);
void sddp_stream_advance_close(struct sddp_stream *st);
void sddp_stream_peer_done(struct sddp_stream *st);
enum iw_reason sddp_stream_shutdown_reason(const struct sddp_stream *st);
void __sddp_stream_take_answer(struct sddp_stream *st);

/* stream_work.c: handling of a stream's events */
void sddp_stream_cleanup(struct sddp_stream *st);
void sddp_stream_handle_events(struct sddp_stream *st);

/* rx.c: processing of received chunks */
bool sddp_rx_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in);
void sddp_rx_stop_keeping(struct sddp_stream *st);
void sddp_rx_resume(struct sddp_stream *st);
void sddp_rx_begin(struct sddp_stream *st);

/* src.c: reading the bytes of a chunk */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len);
void sddp_src_decode_head(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
			  struct sddp_head *h);
bool sddp_src_read_next(struct sddp_assoc *a, void *dst, u32 len);

/* early.c: out-of-order and deferred chunks */
bool sddp_early_may_defer(const struct sddp_stream *st);
struct sddp_kept *sddp_early_new(struct sddp_stream *st, u16 ssn, u32 len);
void sddp_early_add(struct sddp_stream *st, struct sddp_kept *k);
bool sddp_early_has(const struct sddp_stream *st, u16 ssn);
struct sddp_tally sddp_early_tally(const struct sddp_stream *st);
struct sddp_kept *sddp_early_take(struct sddp_stream *st);
void sddp_early_free(struct sddp_stream *st, struct sddp_kept *k);
void sddp_early_set_put_off(struct sddp_stream *st, bool deferred);
void sddp_early_free_all(struct sddp_stream *st);

/* orphan.c: orphaned sessions */
void sddp_tally_head(struct sddp_tally *t, const struct sddp_head *h);
int sddp_orphan_first_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
			    const struct sddp_head *h);
void sddp_orphan_next_chunk(struct sddp_assoc *a, u16 id, unsigned long value,
			    const struct sddp_head *h);
void sddp_orphan_session(struct sddp_stream *st, bool owed);
int sddp_orphan_send_terminates(struct sddp_assoc *a);
void sddp_assoc_violation(struct sddp_assoc *a);

/* tx.c: transmission of chunks */
void sddp_tx_enqueue(struct sddp_stream *st);
int sddp_tx_serve(struct sddp_assoc *a);
void sddp_tx_process_acks(struct sddp_assoc *a);

/* tx_buf.c: the transmit buffer of an association */
void sddp_tx_free_buf(struct sddp_assoc *a);
void sddp_tx_drop_pending(struct sddp_stream *st);

/* States of a connected socket */
enum sddp_sock_state {
	SDDP_SOCK_CONNECTING,	/* handshake in progress */
	SDDP_SOCK_OPEN,
	SDDP_SOCK_PEER_DONE,	/* the peer has sent SHUTDOWN */
	SDDP_SOCK_LOST,		/* aborted, timed out or refused, or the peer has restarted */
};

/* sock.c: operations on a connected socket */
int sddp_sock_probe(void);
int sddp_sock_set(struct socket *sock, int name, void *value, int len);
int sddp_sock_prepare(struct socket *sock, u16 streams, bool listens);
void sddp_sock_share_cookie(struct socket *child, const struct socket *listener);
int sddp_sock_create(struct sddp_assoc *a);
int sddp_sock_connect(struct sddp_assoc *a);
void sddp_sock_attach(struct sddp_assoc *a);
void sddp_sock_release(struct sddp_assoc *a, bool abort);
enum sddp_sock_state sddp_sock_get_state(struct sddp_assoc *a, int *err);
bool sddp_sock_peer_restarted(const struct sddp_assoc *a,
			      const struct sctp_association *asoc);
enum iw_reason sddp_sock_check_established(struct sddp_assoc *a);
int sddp_sock_send(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
		   u32 len);
u32 sddp_sock_last_tsn(struct sddp_assoc *a);
u32 sddp_sock_acked(struct sddp_assoc *a);

/* sock_buf.c: buffer limits of a connected socket */
void sddp_sock_init_buffers(struct socket *sock, bool unaccepted);
void __sddp_sock_grow_sndbuf(struct sddp_assoc *a, struct sock *sk);
void sddp_sock_grow_rcvbuf(struct sddp_assoc *a);
bool sddp_sock_shrink_buffers(struct sddp_assoc *a);
void sddp_sock_tx_budget(struct sddp_assoc *a, struct sddp_tx_budget *budget);
bool sddp_sock_cork(struct sddp_assoc *a, u32 len);
void sddp_sock_uncork(struct sddp_assoc *a);
void sddp_sock_query(struct sddp_assoc *a, struct ddp_query *q);

/* recv.c: SCTP's receive queue */
int sddp_recv(struct sddp_assoc *a);

/* Result of a check for stalled data */
enum sddp_path_state {
	SDDP_PATH_IDLE,		/* all data is acknowledged; no further check is scheduled */
	SDDP_PATH_BUSY,		/* data is in flight */
	SDDP_PATH_DEAD,		/* no data gets through: end the association */
};

/* path.c: path MTU and path failure */
void __sddp_path_set_timeouts(struct sctp_association *asoc);
void sddp_path_watch(struct sddp_assoc *a);
enum sddp_path_state sddp_path_check(struct sddp_assoc *a);

/* bind.c: addresses of a socket */
int sddp_bind(struct socket *sock, const struct sockaddr_storage *at,
	      const int *paths);

/* listen_addrs.c: listeners, and the addresses that they listen on */
int sddp_laddrs_init(void);
void sddp_laddrs_exit(void);
struct ddp_listener *sddp_listen(const struct ddp_listen *l,
				 const struct ddp_session_user *user,
				 void *ctx);
void sddp_unlisten(struct ddp_listener *l);

/* listen.c: listening on one address */
extern const struct ddp_port_ops sddp_port_ops;

/* request.c: Initiates of peers */
int sddp_listen_request(struct sddp_stream *st, const struct ddp_offer *o);
void sddp_listen_refused(struct sddp_assoc *a, enum iw_reason why);

/* llp.c: interfaces to DDP and to connection setup */
extern const struct ddp_llp_ops sddp_llp_ops;
extern struct ddp_session_type sddp_session_type;

#endif
