/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Structures of iw_sctp_ddp, and the functions that its files share.
 *
 * Each association has one worker, the work item in assoc_work.c, which holds the
 * association's mutex while it runs. The work item of a listening socket takes the same
 * mutex in sddp_assoc_set_up_passive() and sddp_assoc_evict_if_unaccepted(), which call
 * some of the worker's functions. The ULP is rnic_sw, which uses the interfaces in
 * ddp/session.h and ddp/ulp.h.
 */
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
#define SDDP_IDLE_UNACCEPTED	10	/* idle timeout for an unaccepted peer, seconds */

/*
 * Time limit, in seconds, for SCTP to accept the first control chunk that this side sends
 * in a session. For an Initiate, the time includes the SCTP handshake.
 */
#define SDDP_DEADLINE_SEND	30

/* Time limit, in seconds, for the peer to reply to the SHUTDOWN of an association */
#define SDDP_DEADLINE_SHUTDOWN	10

/* Phases of an association */
enum sddp_phase {
	SDDP_NEW,		/* active side: the socket is not connected yet */
	SDDP_CONNECTING,	/* active side: SCTP handshake */
	SDDP_UP,		/* established */
	SDDP_ENDED,		/* all sessions have ended; see sddp_assoc.closing */
};

/**
 * struct sddp_chunk_desc - description of a received DATA chunk
 * @id: number of the SCTP stream that carried the chunk
 * @ppid: Payload Protocol Identifier
 * @legal: true if the chunk is unordered, as RFC 5043 10 requires, and the receive queue
 *	has all of its user data
 * @len: length of the user data, bytes
 */
struct sddp_chunk_desc {
	u16	id;
	u32	ppid;
	bool	legal;
	u32	len;
};

/*
 * Number of bytes at the beginning of a chunk that are copied out of SCTP's queue before
 * the chunk is processed: the DDP-SSN and the longest DDP header
 */
#define SDDP_HEAD	(SDDP_SEGMENT + IW_DDP_HDR_MAX)

/**
 * struct sddp_head - the decoded first bytes of a chunk
 * @well_formed: true if the chunk has a DDP-SSN, is unordered and complete, has one of DDP's
 *	Payload Protocol Identifiers, and is not too long for a segment
 * @has_ssn: true if the chunk is long enough for a DDP-SSN
 * @ssn: DDP-SSN, valid if @has_ssn
 * @function: Function Code of a Session Control chunk; 0 if the chunk is not well formed, is too
 *	short for a Function Code, or is not a Session Control chunk
 */
struct sddp_head {
	bool	well_formed;
	bool	has_ssn;
	u16	ssn;
	u16	function;
};

/**
 * struct sddp_kept - copy of an out-of-order or deferred chunk
 * @node: node of the stream's tree of kept chunks
 * @ssn: DDP-SSN
 * @control: true for a Session Control chunk, false for a DDP Segment
 * @placed: true if DDP has placed the payload and only the delivery remains
 * @p: record for ddp_rx_deliver_placed_segment(), valid if @placed
 * @len: length of @data, bytes
 * @data: copy of the chunk; empty if DDP has placed the payload, or if the session discards
 *	received segments. At most SDDP_CONTROL_MAX + 1 bytes of a Session Control chunk are
 *	copied, which is enough to detect that the chunk is too long.
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

/* Limits for the segments that a stream may pass to SCTP in its transmit slot, see tx.c */
struct sddp_tx_budget {
	u32	fragment;		/* maximum length of the user data of a chunk, bytes */
	u32	bytes;			/* number of bytes that may be passed to SCTP now */
};

/**
 * struct sddp_src - the chunk that the receive path is processing
 * @arrived: socket buffer of the chunk in SCTP's receive queue; NULL if the chunk is a
 *	kept chunk
 * @flat: the data of the kept chunk; NULL if the chunk is in SCTP's queue
 * @len: length of the chunk, bytes
 * @off: offset of the next byte to read
 * @bad: true if a read of the chunk has failed
 * @head_len: length of @head, bytes
 * @head: copy of the first bytes of @arrived; all later reads of these bytes return the
 *	copy
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
	bool			active;	/* this side has created the association */
	struct net		*net;	/* referenced */
	netns_tracker		net_tracker;
	/* active side: interface that has the local address */
	int			ifindex;
	int			vrf;	/* interface index of the VRF, or 0 */
	u8			tos;
	u16			streams_requested;	/* active side: streams to request */
	/* active side: indexes of further interfaces that SCTP may use; 0 after the last one */
	int			paths[DDP_PATHS_MAX];
	struct sockaddr_storage	to;	/* active side: remote address */
	struct sockaddr_storage	from;	/* first local address */
	/*
	 * active side: task whose connect has created the association; passive side, if claimed is
	 * set: task that listens
	 */
	struct ddp_sock_owner	owner;

	/* protected by assocs_lock */
	struct list_head	list;	/* entry in the list of all associations, assoc_table.c */
	struct hlist_node	dest_node;	/* entry in the hash table dests */

	/*
	 * protected by unaccepted_lock; source is set before the association is added to
	 * the list
	 */
	struct list_head	unaccepted;	/* entry in the list of unaccepted associations */
	u32			source;	/* hash of the peer's address, without the port */
	bool			evicted;	/* chosen for eviction */

	/*
	 * written with the mutex held; phase, limit, peer_tag and watch_acks are also read
	 * without the mutex; sock may be read with either mutex or lock held
	 */
	struct mutex		mutex;
	enum sddp_phase		phase;
	enum iw_reason		why;	/* reason of the end; valid in phase SDDP_ENDED */
	struct socket		*sock;
	struct sockaddr_storage	local;
	struct sockaddr_storage	remote;
	u32			limit;	/* number of usable streams in each direction */
	/*
	 * Verification Tag that the peer used when the association was established. A
	 * different tag in SCTP's association shows that the peer has restarted.
	 */
	u32			peer_tag;
	struct sddp_src		src;
	/* memory of the kept chunks (struct sddp_kept) of all streams, bytes */
	u32			kept;
	u32			deferred;	/* number of streams with a deferred segment */
	u32			accepted_sessions;	/* accepted sessions that have not ended */
	/*
	 * passive side: true while an accepted session exists, and for SDDP_IDLE_UNACCEPTED
	 * seconds after the last one has ended
	 */
	bool			peer_accepted;
	/* time at which the worker ends the association if it has no session, jiffies */
	unsigned long		idle_until;
	/* passive side: sddp_assoc_set_owner() was called */
	bool			claimed;
	/*
	 * phase SDDP_ENDED: the socket is not released yet, because SCTP's association has not
	 * ended after a SHUTDOWN
	 */
	bool			closing;
	u32			violations;	/* protocol violations of an unaccepted peer */
	/* reason why the worker must end the association, or IW_OK */
	enum iw_reason		end_reason;
	/* errno of a send that found the association ended, or 0 */
	int			send_err;
	/* delay before the last retry to send or receive, milliseconds; 0 after a success */
	u32			retry_delay;
	unsigned long		retry_at;	/* expiry time of the timer retry, jiffies */
	/* transmit buffer for the pending segment, which SCTP has not accepted yet; or NULL */
	u8			*out;
	u32			out_size;	/* size of the transmit buffer, bytes */
	u32			out_at;	/* offset of the pending segment's chunk in out, bytes */
	/* length of the pending segment's chunk, bytes; 0 if no segment is pending */
	u32			out_len;
	bool			out_more;	/* segments of the same message follow */
	u32			corked;	/* bytes that SCTP holds back, see cork_or_uncork() */
	struct sddp_stream	*out_stream;	/* stream of the pending segment, or NULL */
	struct list_head	control_queue;	/* streams that have a control chunk to send */
	struct list_head	segment_queue;	/* streams that may have segments to send */
	struct list_head	unacked;	/* streams with an unacknowledged control chunk */
	/*
	 * last TSN that the peer has acknowledged cumulatively; updated only while
	 * unacked has entries
	 */
	u32			acked;
	bool			watch_acks;	/* acknowledgments must schedule the worker */
	struct list_head	late;	/* streams with expired timer, for end_late_streams() */
	unsigned long		polled_at;	/* start of the worker's present run, jiffies */
	struct sddp_stall	stall;

	/*
	 * table of streams by number. An entry is a struct sddp_stream, or NULL if the
	 * number is reserved for a session, or a value (xa_mk_value()) if the session is
	 * orphaned, see orphan.c.
	 */
	struct xarray		streams;
	atomic_t		live;	/* sessions that have not ended, plus reserved numbers */

	/*
	 * leaf lock; protects ready. sock is changed with this lock held, because
	 * sddp_sock_query() reads it without the mutex.
	 */
	spinlock_t		lock ____cacheline_aligned_in_smp;
	struct list_head	ready;	/* streams with events */

	bool			sndbuf_full;	/* SCTP's send buffer has no space for a chunk */
	/* SCTP has UNSENT_MAX unsent bytes: the worker passes no segment to SCTP */
	bool			unsent_full;
	bool			stop;	/* the module is being unloaded */
	/* the last reservation was cancelled: the worker must check the idle timeout */
	bool			unreserved;
	bool			idle_due;	/* the idle timer has expired */
	bool			stall_due;	/* stall_timer has expired */
	struct work_struct	work;	/* the worker */
	struct delayed_work	idle;	/* idle timer */
	struct delayed_work	stall_timer;	/* timer of the next check for a stall, path.c */
	struct delayed_work	retry;	/* timer of the next retry to send or receive */
	struct kref		ref;
	struct rcu_head		rcu;

	struct ddp_sock_callbacks	orig_callbacks;	/* the socket's original callbacks */
	/* entry in the socket's wait queue; calls sddp_sock_wakeup() */
	struct wait_queue_entry	wait_entry;
};

/* Events of a stream, which sddp_stream_set_event() sets and the worker handles */
enum sddp_event {
	SDDP_EV_TX,		/* the stream may have chunks to send, or its state has changed */
	SDDP_EV_RX,		/* a page fault has been resolved or has failed */
	SDDP_EV_CLOSE,		/* the ULP requests a graceful end */
	SDDP_EV_ABORT,		/* the ULP requests an abortive end */
	SDDP_EV_TIMEOUT,	/* the stream's timer has expired: check the deadline */
};

/* A pair of SCTP streams and the DDP Stream Session on it */
struct sddp_stream {
	struct rcu_head		rcu;	/* first, because kfree_rcu() needs an offset below 4096 */

	/* constant after creation */
	struct ddp_llp		llp;
	struct ddp_session	ss;

	/*
	 * Association and stream number. Before the Initiate is sent, the worker may
	 * move the session to another association. It changes both fields with the lock
	 * of the old association held.
	 */
	struct sddp_assoc	*a;	/* referenced */
	u16			id;

	/* protected by lock: the ULP's reply to an Initiate, and the end of the session */
	spinlock_t		lock;	/* leaf lock */
	struct sddp_control	*reply;	/* Accept or Reject, or NULL */
	struct ddp_stream	*reply_stream;	/* DDP stream of an Accept, or NULL */
	bool			has_replied;	/* the ULP has accepted or rejected the session */
	bool			ended;	/* the session has ended for the ULP */

	/* protected by the association's mutex */
	struct sddp_session	s;
	u16			rx_next;	/* next expected DDP-SSN */
	struct rb_root		early;	/* kept chunks by DDP-SSN */
	u32			early_count;	/* number of kept chunks */
	u32			early_cost;	/* memory of kept chunks, bytes */
	bool			deferred;	/* the segment with DDP-SSN rx_next is deferred */
	/*
	 * stream of the next session with this number, if that session has begun before
	 * this stream was removed; referenced
	 */
	struct sddp_stream	*next;
	struct sddp_tally	tally;	/* count of received chunks; valid if counting is set */
	/* the session has ended: received chunks are only counted, and not processed */
	bool			counting;
	u16			tx_ssn;	/* DDP-SSN of the next chunk to send */
	struct ddp_stream	*stream;	/* bound DDP stream, or NULL */
	/* Initiate, Accept or Reject to send, or NULL */
	struct sddp_control	*pending_control;
	struct ddp_conn_req	conn_req;	/* request that waits for the ULP's reply */
	/* the ULP has requested the session or was notified of it */
	bool			reported;
	/* the session is accepted, and counted in accepted_sessions */
	bool			accepted;
	/* a chunk or segment was in error: discard later segments */
	bool			rx_stopped;
	/* the ULP has been notified of the peer's Terminate */
	bool			peer_closed;
	/* peer_closed was set before closing was set */
	bool			peer_closed_first;
	/* SCTP has accepted all segments that must precede our Terminate */
	bool			drained;
	u32			control_tsn;	/* TSN of our last control chunk */
	struct list_head	await_ack;	/* entry in the association's list unacked */
	struct list_head	queue_entry;	/* entry in control_queue or segment_queue */
	struct list_head	late;	/* entry in the association's list late */
	/* last result of get_close_progress(), to detect progress of a graceful end */
	u64			close_progress;
	/* time limit from which the deadline was computed, seconds; 0 if there is no deadline */
	unsigned int		deadline_seconds;
	/* time at which the worker ends the session, jiffies */
	unsigned long		deadline;

	/*
	 * Fields that are written in any context. ready is the entry in the association's
	 * list ready, and is protected by the association's lock.
	 */
	struct list_head	ready ____cacheline_aligned_in_smp;

	bool			closing;	/* the ULP has requested a graceful end */
	enum iw_reason		why;	/* reason of an abortive end that the ULP has requested */
	unsigned long		events;	/* pending events, bits of enum sddp_event */
	/* bit 0: the ULP waits until the worker has unbound the DDP stream */
	unsigned long		unbind;
	struct delayed_work	timer;	/* timer that expires at the deadline or later */
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
void sddp_assoc_table_add_unshared(struct sddp_assoc *a);
void sddp_assoc_table_del(struct sddp_assoc *a);
void sddp_assoc_table_unhash(struct sddp_assoc *a);
bool sddp_assoc_table_unhash_if_idle(struct sddp_assoc *a);
struct sddp_assoc *sddp_assoc_table_pop(void);
struct sddp_assoc *sddp_reserve_stream_pair(const struct ddp_connect *args,
					    work_func_t work, u16 *id);
struct sddp_assoc *sddp_reserve_other_stream_pair(const struct sddp_assoc *a,
						  const struct ddp_session *ss, u16 *id);
void sddp_unreserve_stream_pair(struct sddp_assoc *a, u16 id);

/* assoc.c: lifetime of an association */
void sddp_assoc_set_owner(struct sddp_assoc *a, const struct ddp_sock_owner *owner);
struct sddp_assoc *sddp_assoc_new(struct net *net, const struct ddp_sock_owner *owner,
				  work_func_t work);
void sddp_assoc_kick(struct sddp_assoc *a);
void sddp_assoc_get(struct sddp_assoc *a);
void sddp_assoc_put(struct sddp_assoc *a);
void sddp_assoc_wait_all_freed(void);

/* assoc_idle.c: the idle timeout of an association */
void sddp_assoc_start_idle_timer_if_unused(struct sddp_assoc *a);
void sddp_assoc_account_session_end(struct sddp_assoc *a, const struct sddp_stream *st);
bool sddp_assoc_handle_idle_timer(struct sddp_assoc *a);

/* assoc_work.c: the worker, and setup of associations that peers create */
void sddp_assoc_work(struct work_struct *w);
int sddp_assoc_set_up_passive(struct sddp_assoc *a);
void sddp_assoc_stop_all(void);

/* unaccepted.c: associations without an accepted session */
struct sddp_assoc *sddp_unaccepted_add_assoc(struct sddp_assoc *a);
bool sddp_unaccepted_try_add_again(struct sddp_assoc *a);
void sddp_unaccepted_remove(struct sddp_assoc *a);
void sddp_assoc_record_accepted_session(struct sddp_assoc *a);
bool sddp_unaccepted_try_cancel_evict(struct sddp_assoc *a);

/* stream.c: lifetime of a pair of streams, and requests of the ULP to its session */
struct sddp_stream *sddp_stream_new(const struct ddp_session_user *user,
				    void *ctx, bool active);
void sddp_stream_release(struct kref *ref);
void sddp_stream_set_event(struct sddp_stream *st, enum sddp_event ev);
void sddp_stream_set_deadline(struct sddp_stream *st, unsigned int seconds);
void sddp_stream_end_if_late(struct sddp_stream *st, bool more);
int sddp_stream_bind(struct sddp_stream *st, struct ddp_stream *s);
int sddp_stream_begin(struct sddp_stream *st, struct ddp_stream *s);
int sddp_stream_set_reply(struct sddp_stream *st, struct sddp_control *c,
			  struct ddp_stream *s);
void sddp_stream_unbind(struct sddp_stream *st);
void sddp_stream_request_end(struct sddp_stream *st, enum iw_reason why);
void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o);
void sddp_stream_remove(struct sddp_stream *st);
void sddp_stream_discard(struct sddp_stream *st);
void sddp_stream_advance_close(struct sddp_stream *st);
void sddp_stream_report_peer_done(struct sddp_stream *st);
enum iw_reason sddp_stream_get_shutdown_reason(const struct sddp_stream *st);
void __sddp_stream_set_pending_reply(struct sddp_stream *st);

/* stream_work.c: how the worker handles events of a stream */
void sddp_stream_release_if_ended(struct sddp_stream *st);
void sddp_stream_handle_events(struct sddp_stream *st);

/* rx.c: processing of received chunks */
bool sddp_rx_process_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in);
void sddp_rx_start_counting_if_ended(struct sddp_stream *st);
void sddp_rx_resume(struct sddp_stream *st);
void sddp_rx_begin_session(struct sddp_stream *st);

/* src.c: reading the bytes of a chunk */
bool sddp_src_read(struct sddp_assoc *a, u32 off, void *dst, u32 len);
void sddp_src_decode_head(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
			  struct sddp_head *h);
bool sddp_src_read_next(struct sddp_assoc *a, void *dst, u32 len);

/* early.c: storage of out-of-order and deferred chunks */
bool sddp_stream_may_keep_deferred_chunk(const struct sddp_stream *st);
struct sddp_kept *sddp_kept_chunk_new(struct sddp_stream *st, u16 ssn, u32 len);
void sddp_kept_chunk_add(struct sddp_stream *st, struct sddp_kept *k);
bool sddp_kept_chunks_have_ssn(const struct sddp_stream *st, u16 ssn);
struct sddp_tally sddp_count_received_chunks(const struct sddp_stream *st);
struct sddp_kept *sddp_kept_chunk_pop_next(struct sddp_stream *st);
void sddp_kept_chunk_free(struct sddp_stream *st, struct sddp_kept *k);
void sddp_stream_set_deferred(struct sddp_stream *st, bool deferred);
void sddp_kept_chunks_free(struct sddp_stream *st);

/* orphan.c: sessions of peers that no local program uses */
void sddp_tally_count_chunk(struct sddp_tally *t, const struct sddp_head *h);
int sddp_orphan_process_first_chunk(struct sddp_assoc *a, const struct sddp_chunk_desc *in,
				    const struct sddp_head *h);
void sddp_orphan_process_next_chunk(struct sddp_assoc *a, u16 id, unsigned long value,
				    const struct sddp_head *h);
void sddp_stream_make_orphan(struct sddp_stream *st, bool owed);
int sddp_orphan_send_all_terminates(struct sddp_assoc *a);
void sddp_assoc_count_violation(struct sddp_assoc *a);

/* tx.c: transmission of chunks */
void sddp_tx_enqueue_stream(struct sddp_stream *st);
int sddp_tx_send_chunks(struct sddp_assoc *a);
void sddp_tx_process_acks(struct sddp_assoc *a);

/* tx_buf.c: the transmit buffer of an association */
void sddp_tx_free_buf(struct sddp_assoc *a);
void sddp_tx_drop_pending_segment(struct sddp_stream *st);

/* States of a connected socket */
enum sddp_sock_state {
	SDDP_SOCK_CONNECTING,	/* handshake in progress */
	SDDP_SOCK_OPEN,
	SDDP_SOCK_PEER_DONE,	/* the peer has sent SHUTDOWN */
	SDDP_SOCK_LOST,		/* SCTP aborted or timed out, or the peer has restarted */
};

/* sock.c: operations on a connected socket */
int sddp_sock_check_support(void);
int sddp_sock_set_opt(struct socket *sock, int name, void *value, int len);
int sddp_sock_set_options(struct socket *sock, u16 streams, bool listens);
void sddp_sock_copy_cookie_key(struct socket *child, const struct socket *listener);
int sddp_sock_create(struct sddp_assoc *a);
int sddp_sock_connect(struct sddp_assoc *a);
void sddp_sock_install_callbacks(struct sddp_assoc *a);
enum sddp_sock_state sddp_sock_get_state_and_adjust_limits(struct sddp_assoc *a, int *err);
bool sddp_sock_has_peer_restarted(const struct sddp_assoc *a,
				  const struct sctp_association *asoc);
enum iw_reason sddp_sock_check_and_read_assoc(struct sddp_assoc *a);
int sddp_sock_send_chunk(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
			 u32 len);
u32 sddp_sock_get_last_tsn(struct sddp_assoc *a);
u32 sddp_sock_get_acked_tsn(struct sddp_assoc *a);

/* sock_end.c: the end of a connected socket */
void sddp_sock_shutdown(struct sddp_assoc *a);
bool sddp_sock_has_assoc_ended(struct sddp_assoc *a);
void sddp_sock_release(struct sddp_assoc *a);

/* sock_buf.c: buffer limits of a connected socket */
void sddp_sock_init_buffers(struct socket *sock, bool unaccepted);
void __sddp_sock_grow_sndbuf(struct sddp_assoc *a, struct sock *sk);
void sddp_sock_grow_buffers(struct sddp_assoc *a);
bool sddp_sock_try_shrink_buffers(struct sddp_assoc *a);
void sddp_sock_prepare_tx_budget(struct sddp_assoc *a, struct sddp_tx_budget *budget);
bool sddp_sock_try_cork(struct sddp_assoc *a, u32 len);
void sddp_sock_uncork(struct sddp_assoc *a);
void sddp_sock_query(struct sddp_assoc *a, struct ddp_query *q);

/* recv.c: receiving chunks from SCTP's receive queue */
int sddp_recv_chunks(struct sddp_assoc *a);

/* Result of a check whether the peer acknowledges data */
enum sddp_path_state {
	SDDP_PATH_IDLE,		/* all data is acknowledged; no check is scheduled */
	SDDP_PATH_BUSY,		/* data is in flight */
	SDDP_PATH_DEAD,		/* no data was acknowledged for a minute: end the association */
};

/* path.c: path MTU and path failure */
void __sddp_path_limit_timeouts(struct sctp_association *asoc);
void sddp_path_schedule_check(struct sddp_assoc *a);
enum sddp_path_state sddp_path_act_on_stall(struct sddp_assoc *a);

/* bind.c: binding a socket to addresses */
int sddp_bind(struct socket *sock, const struct sockaddr_storage *at,
	      const int *paths);
int sddp_bind_as_owner(const struct ddp_sock_owner *owner, struct socket *sock,
		       const struct sockaddr_storage *at, const int *paths);

/* addr_event.c: notifications about addresses and VRFs of interfaces */
int sddp_addr_events_init(void);
void sddp_addr_events_exit(void);

/* listen_addrs.c: listeners of the ULP, and a socket for each of their addresses */
struct net_device;
struct sddp_listener;
void sddp_laddrs_queue_updates(const struct net *net, const struct net_device *dev,
			       const struct sddp_listener *by);
struct ddp_listener *sddp_listen(const struct ddp_listen *l,
				 const struct ddp_session_user *user,
				 void *ctx);
void sddp_unlisten(struct ddp_listener *l);

/* listen.c: listening sockets, each on one address */
extern const struct ddp_port_ops sddp_port_ops;

/* request.c: passing Initiates of peers to the ULP */
int sddp_listen_pass_initiate(struct sddp_stream *st, const struct ddp_offer *o);
void sddp_listen_report_refused(struct sddp_assoc *a, enum iw_reason why);

/* llp.c: operations in ddp/llp.h and ddp/session.h */
extern const struct ddp_llp_ops sddp_llp_ops;
extern struct ddp_session_type sddp_session_type;

#endif
