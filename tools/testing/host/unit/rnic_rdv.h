/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The files drivers/rnic_sw/rdv*.c and qp_modify.c for unit tests, with stubs of the lower layer,
 * the workqueue and the other files of the driver.  Time passes only in advance_ms().
 */
#ifndef _HOST_UNIT_RNIC_RDV_H
#define _HOST_UNIT_RNIC_RDV_H

#include <kunit/test.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/socket.h>

/* Leave out compat/rdma.h, and define the parts of it that the driver needs */
#define _COMPAT_RDMA_H
struct ib_device_param { const char *name; };

static inline void ipv6_addr_set_v4mapped(__be32 v4, struct in6_addr *v6)
{
	memset(v6, 0, sizeof(*v6));
	memset(&v6->s6_addr[10], 0xff, 2);
	memcpy(&v6->s6_addr[12], &v4, sizeof(v4));
}

#include "../../../../drivers/rnic_sw/rdv.c"
#include "../../../../drivers/rnic_sw/rdv_session.c"
#include "../../../../drivers/rnic_sw/rdv_port.c"
#include "../../../../drivers/rnic_sw/qp_modify.c"

#define QPS		2
#define SESSIONS	64
#define ACTIVE		100	/* QP number of stubs.qp[0]; smaller than its peers' */
#define PASSIVE		900	/* QP number of stubs.qp[1]; larger than its peers' */
#define PEER		500	/* QP number of each peer */
#define PORT		291

void rnic_qp_lock_modify(struct rnic_qp *qp) { }
void rnic_qp_unlock_modify(struct rnic_qp *qp) { }

/* A session. The lower layer holds a reference to the session until the session ends. */
struct session {
	struct ddp_session	ss;
	struct ddp_stream	*bound;
	struct ddp_offer	said;		/* our Request or Reply */
	unsigned long		at;		/* time of connect */
	const struct ddp_sock_owner *owner;
	bool			accepted, stopped, ended, freed;
};

static struct {
	struct rnic_dev		dev;
	struct rnic_qp		qp[QPS];
	struct rnic_sw_ring	ring[QPS];
	enum iw_reason		failed[QPS];	/* first reason */
	int			flushes;	/* number of times err_work was queued */
	struct net		net;
	u64			counters[RNIC_COUNTERS_ALL];
	struct session		ss[SESSIONS];
	int			sessions;	/* number of sessions created so far */
	struct ddp_listener	listener;	/* listener on the rendezvous port */
	int			listening, owners;
	int			listen_err, connect_err, accept_err, bind_err;
	void			(*at_listen)(void);	/* called when a listener has started */
	u64			rate;		/* last call of ddp_stream_set_tx_rate() */
	struct { u16 ird, ord; } start;		/* last call of rnic_qp_start() */
	bool			plain;		/* the peer's Reply has revision 1 */
	u32			sq_closed;	/* calls of rnic_sq_close() */
	u32			rnr_limit;	/* last limit that was set for messages without a receive, ms */
	enum iw_reason		terminated;	/* last call of rdmap_fail() */
	int			resets, reset_err;	/* number and result of calls of rnic_qp_reset() */
	struct { struct delayed_work *d; bool pending; } work[QPS];
} stubs;

unsigned long jiffies;
struct workqueue_struct *rnic_wq;

static int get_qp_index(const struct rnic_qp *qp)
{
	return qp - stubs.qp;
}

/* The workqueue -------------------------------------------------------------------------- */

static bool *record_work_and_get_pending_flag(const struct delayed_work *d)
{
	const struct rnic_rdv *rdv = container_of(d, struct rnic_rdv, work);
	int i = get_qp_index(rdv->qp);

	stubs.work[i].d = (struct delayed_work *)d;
	return &stubs.work[i].pending;
}

bool host_is_work_pending(const struct delayed_work *d)
{
	return *record_work_and_get_pending_flag(d);
}

bool host_mod_delayed(struct delayed_work *d, unsigned long ms)
{
	*record_work_and_get_pending_flag(d) = true;
	d->timer.expires = jiffies + ms;
	return true;
}

void host_cancel_delayed(struct delayed_work *d)
{
	*record_work_and_get_pending_flag(d) = false;
}

/* Let @ms milliseconds pass, and run all work that is due in this time */
static void advance_ms(unsigned long ms)
{
	unsigned long end = jiffies + ms;
	int i, next;

	for (;;) {
		for (i = 0, next = -1; i < QPS; i++)
			if (stubs.work[i].pending &&
			    !time_after(stubs.work[i].d->timer.expires, end) &&
			    (next < 0 || time_before(stubs.work[i].d->timer.expires,
						     stubs.work[next].d->timer.expires)))
				next = i;
		if (next < 0)
			break;
		jiffies = max(jiffies, stubs.work[next].d->timer.expires);
		stubs.work[next].pending = false;
		stubs.work[next].d->work.func(&stubs.work[next].d->work);
	}
	jiffies = end;
}

/* The lower layer ------------------------------------------------------------------------- */

static const struct ddp_session_type type, sctp_type;

static struct session *to_session(struct ddp_session *ss)
{
	return container_of(ss, struct session, ss);
}

static void set_ipv4_addr(struct sockaddr_storage *a, u32 host)
{
	struct sockaddr_in *in = (void *)a;

	memset(a, 0, sizeof(*a));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(0x0a000000 + host);
}

static struct session *create_fake_session(void)
{
	struct session *s = &stubs.ss[stubs.sessions++];

	s->ss.type = &type;
	s->ss.user = &rdv_session_user;
	kref_init(&s->ss.ref);
	s->at = jiffies;
	return s;
}

static struct ddp_session *connect_session(const struct ddp_connect *c,
					   const struct ddp_session_user *user, void *ctx)
{
	struct session *s;

	if (stubs.connect_err)
		return ERR_PTR(stubs.connect_err);
	WARN_ON(c->stream || user != &rdv_session_user || !c->policy->revision);
	s = create_fake_session();
	s->ss.ctx = ctx;
	s->said = *c->offer;
	/* the ULP's reference */
	ddp_session_get(&s->ss);
	return &s->ss;
}

static struct ddp_listener *start_listening(const struct ddp_listen *l,
					    const struct ddp_session_user *user, void *ctx)
{
	if (stubs.listen_err)
		return ERR_PTR(stubs.listen_err);
	stubs.listener = (struct ddp_listener){ .type = &type, .user = user, .ctx = ctx };
	stubs.listening++;
	WARN_ON(ddp_addr_get_port(l->local) != htons(PORT));
	if (stubs.at_listen)
		stubs.at_listen();
	return &stubs.listener;
}

static void stop_listening(struct ddp_listener *l)
{
	stubs.listening--;
}

static int record_accept(struct ddp_session *ss, struct ddp_stream *stream,
			 const struct ddp_offer *o)
{
	struct session *s = to_session(ss);

	WARN_ON(host_held > 0);
	WARN_ON(!s->owner);
	if (stubs.accept_err)
		return stubs.accept_err;
	if (s->ended)
		return -ECONNRESET;
	if (stream->llp)
		return -EISCONN;
	stream->llp = (void *)s;
	s->bound = stream;
	s->said = *o;
	s->accepted = true;
	return 0;
}

static int bind_session(struct ddp_session *ss, struct ddp_stream *stream)
{
	if (stubs.bind_err)
		return stubs.bind_err;
	WARN_ON(stream->llp);
	stream->llp = (void *)to_session(ss);
	to_session(ss)->bound = stream;
	return 0;
}

static void set_owner_stub(struct ddp_session *ss, const struct ddp_sock_owner *o)
{
	WARN_ON(host_held > 0);
	to_session(ss)->owner = o;
}

static void stop_session(struct ddp_session *ss, bool abortive)
{
	to_session(ss)->stopped = true;
}

static void release_session(struct kref *ref)
{
	to_session(container_of(ref, struct ddp_session, ref))->freed = true;
}

static const struct ddp_session_type type = {
	.connect = connect_session, .listen = start_listening, .unlisten = stop_listening,
	.accept = record_accept, .bind = bind_session, .set_owner = set_owner_stub,
	.stop = stop_session,
	.release = release_session,
};

static const struct ddp_session_type sctp_type = { .release = release_session };

static void fail_qp(struct rnic_qp *qp, enum iw_reason why)
{
	if (!stubs.failed[get_qp_index(qp)])
		stubs.failed[get_qp_index(qp)] = why;
	qp->state = QP_ERROR;
}

/* End a session as the lower layers do: fail a bound stream first, then notify the ULP */
static void end_session(struct session *s, enum iw_reason why)
{
	struct rnic_rdv *rdv = s->ss.ctx;

	if (s->ended)
		return;
	s->ended = true;
	if (s->bound)
		fail_qp(rdv->qp, why);
	rdv_session_user.closed(&s->ss, why, NULL);
	ddp_session_put(&s->ss);
}

/* The peer's Reply arrives */
static void deliver_reply(struct session *s, const struct rdv_msg *m)
{
	struct ddp_offer o = {
		.enhanced = true, .ird = 4, .ord = 3, .rtr = NEG_RTR_P2P | NEG_RTR_READ,
	};

	if (stubs.plain)
		o = (struct ddp_offer){};
	if (m) {
		rdv_msg_encode(m, o.pd);
		o.pd_len = RDV_MSG_LEN;
	}
	rdv_session_user.established(&s->ss, &o);
	if (!s->bound)
		end_session(s, IW_LOCAL_ABORT);
}

/* Get the message of stubs.qp[i]'s peer, which is in RTS and expects PSN @rq_psn */
static struct rdv_msg make_peer_msg(int i, u32 rq_psn)
{
	return (struct rdv_msg){
		.qpn = PEER, .dest_qpn = stubs.qp[i].ib.qp_num, .rq_psn = rq_psn,
		.sq_psn = 0x111, .has_sq_psn = true,
	};
}

static struct session *get_last_session(void)
{
	return &stubs.ss[stubs.sessions - 1];
}

void ddp_stream_close_if_failed(struct ddp_stream *s) {}

int ddp_stream_set_tx_rate(struct ddp_stream *s, u64 rate)
{
	if (!s->llp)
		return -ENOTCONN;
	stubs.rate = rate;
	return 0;
}

void ddp_sock_owner_init(struct ddp_sock_owner *o, const struct net *net)
{
	stubs.owners++;
}

void ddp_sock_owner_exit(struct ddp_sock_owner *o)
{
	stubs.owners--;
}

bool ddp_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return !memcmp(a, b, sizeof(struct sockaddr_in));
}

/* Other functions of rnic_sw --------------------------------------------------------------- */

/* Each GID ends with the number of its host. Without a GRH the LID is the number of the peer. */
int rdv_resolve_addrs(struct rnic_dev *dev, const struct rdma_ah_attr *ah,
		      struct sockaddr_storage *local, struct sockaddr_storage *remote)
{
	if (!(ah->ah_flags & IB_AH_GRH)) {
		set_ipv4_addr(local, 1);
		set_ipv4_addr(remote, rdma_ah_get_dlid(ah));
		return rdma_ah_get_dlid(ah) ? 0 : -EINVAL;
	}
	if (!ah->grh.sgid_attr)
		return -EINVAL;
	set_ipv4_addr(local, ah->grh.sgid_attr->gid.raw[15]);
	set_ipv4_addr(remote, ah->grh.dgid.raw[15]);
	return 0;
}

bool rdv_addr_is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

struct rnic_qp *rnic_qp_find_get(struct rnic_dev *dev, u32 qpn)
{
	int i;

	for (i = 0; i < QPS; i++) {
		if (stubs.qp[i].ib.qp_num != qpn)
			continue;
		kref_get(&stubs.qp[i].ref);
		return &stubs.qp[i];
	}
	return NULL;
}

static void ignore_release(struct kref *ref) {}

void rnic_qp_put(struct rnic_qp *qp)
{
	kref_put(&qp->ref, ignore_release);
}

enum iw_reason rnic_qp_start(struct rnic_qp *qp, u16 ird, u16 ord)
{
	stubs.start.ird = ird;
	stubs.start.ord = ord;
	if (qp->state != QP_IDLE)
		return IW_LOCAL_ABORT;
	qp->state = QP_RTS;
	return IW_OK;
}

void rnic_qp_fail(struct rnic_qp *qp, enum iw_reason why)
{
	fail_qp(qp, why);
}

void rnic_qp_close(struct rnic_qp *qp)
{
	qp->state = QP_CLOSING;
}

bool rnic_sq_mark_ended(struct rnic_qp *qp)
{
	qp->sq.ended = true;
	return qp->sq.ring.hdr->prod != qp->sq.tail;
}

void rnic_sq_close(struct rnic_qp *qp)
{
	stubs.sq_closed++;
}

int rnic_rnr_enable(struct rnic_qp *qp, u32 ms)
{
	stubs.rnr_limit = ms;
	return 0;
}

void rnic_rnr_set_limit(struct rnic_qp *qp, u32 ms)
{
	stubs.rnr_limit = ms;
}

void rnic_qp_schedule_flush(struct rnic_qp *qp)
{
	stubs.flushes++;
}

void rdmap_fail(struct rdmap *r, enum iw_reason why)
{
	stubs.terminated = why;
}

void rdmap_get_depths(struct rdmap *r, u16 *ird, u16 *ord)
{
	*ird = 77;
	*ord = 77;
}

void rnic_qp_set_rights(struct rnic_qp *qp, int access, bool with_state)
{
	qp->access = access;
}

void rnic_qp_grant_or_revoke_authorization(struct rnic_qp *qp, enum ib_qp_state to) {}

int rnic_qp_reset(struct rnic_qp *qp)
{
	stubs.resets++;
	return stubs.reset_err;
}

void rnic_fill_llp_policy(const struct rnic_dev *dev,
			  struct ddp_policy *p) { memset(p, 0, sizeof(*p)); }
struct net *rnic_get_net(struct rnic_dev *dev) { return maybe_get_net(&stubs.net); }
int rnic_get_ifindex(struct rnic_dev *dev) { return 7; }

const struct ddp_session_type *rnic_get_llp(const struct rnic_dev *dev, u8 llp)
{
	return llp == RNIC_SW_LLP_SCTP ? &sctp_type : &type;
}

/* The core ---------------------------------------------------------------------------------- */

struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	return NULL;
}

#define RTR_NEEDS	(IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |	\
			 IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RTS_NEEDS	(IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |	\
			 IB_QP_MAX_QP_RD_ATOMIC)

bool ib_modify_qp_is_ok(enum ib_qp_state from, enum ib_qp_state to, enum ib_qp_type rc, int mask)
{
	const int need = from == IB_QPS_RTS ? 0 : to == IB_QPS_RTR ? RTR_NEEDS : RTS_NEEDS;
	int may = IB_QP_ACCESS_FLAGS | (to == IB_QPS_RTR ? IB_QP_PKEY_INDEX :
					IB_QP_CUR_STATE | IB_QP_MIN_RNR_TIMER);

	return (mask & need) == need && !(mask & ~(need | may | IB_QP_STATE));
}

/* Helpers that act as a program --------------------------------------------------------------- */

static const struct ib_gid_attr own_gid = { .gid.raw[15] = 1 };

static struct ib_qp_attr make_rtr_attr(u32 peer, u8 host)
{
	return (struct ib_qp_attr){
		.qp_state = IB_QPS_RTR, .path_mtu = IB_MTU_1024, .dest_qp_num = peer,
		.rq_psn = 0x111, .max_dest_rd_atomic = 3, .min_rnr_timer = 12,
		.ah_attr = {
			.ah_flags = IB_AH_GRH,
			.grh = { .dgid.raw[15] = host, .sgid_attr = &own_gid },
		},
	};
}

static int move_to_rtr_with_attr(int i, struct ib_qp_attr a)
{
	return rnic_modify_qp(&stubs.qp[i].ib, &a, IB_QP_STATE | RTR_NEEDS, NULL);
}

/* Connect to queue pair PEER of 10.0.0.2 */
static int move_to_rtr(int i)
{
	return move_to_rtr_with_attr(i, make_rtr_attr(PEER, 2));
}

static struct ib_qp_attr make_rts_attr(u32 sq_psn)
{
	/* the limit is 4 * 4.096 us * 2^14 * 8, about 2.1 s */
	return (struct ib_qp_attr){
		.qp_state = IB_QPS_RTS, .sq_psn = sq_psn, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 6, .max_rd_atomic = 2,
	};
}

static int move_to_rts_with_mask_and_rate(int i, u32 sq_psn, int mask, u32 rate)
{
	struct ib_qp_attr a = make_rts_attr(sq_psn);

	a.rate_limit = rate;
	a.cur_qp_state = IB_QPS_RTR;
	a.min_rnr_timer = 5;
	return rnic_modify_qp(&stubs.qp[i].ib, &a, IB_QP_STATE | RTS_NEEDS | mask, NULL);
}

static int move_to_rts(int i, u32 sq_psn)
{
	return move_to_rts_with_mask_and_rate(i, sq_psn, 0, 0);
}

static struct ib_qp_attr query_qp(int i)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr a;

	rnic_query_qp(&stubs.qp[i].ib, &a, 0, &init);
	return a;
}

static int test_init(struct kunit *test)
{
	int i;

	memset(&stubs, 0, sizeof(stubs));
	jiffies = 1000;
	stubs.dev.default_set.value = stubs.counters;
	stubs.dev.policy.rendezvous = PORT;
	stubs.dev.policy.mpa_rtr = DDP_RTR_WRITE | DDP_RTR_READ;
	INIT_LIST_HEAD(&stubs.dev.rdv_ports);
	for (i = 0; i < QPS; i++) {
		stubs.qp[i].dev = &stubs.dev;
		stubs.qp[i].ib.qp_num = i ? PASSIVE : ACTIVE;
		stubs.qp[i].sq.ring.hdr = &stubs.ring[i];
		stubs.qp[i].ird_max = RDMAP_DEPTH_MAX;
		stubs.qp[i].ord_max = RDMAP_DEPTH_MAX;
		stubs.qp[i].access = IB_ACCESS_REMOTE_READ;
		spin_lock_init(&stubs.qp[i].lock);
		kref_init(&stubs.qp[i].ref);
	}
	return 0;
}

/* Do what the QP's err_work does.  Return: true if the flush is deferred. */
static inline bool stop_and_try_defer_flush(int i)
{
	rnic_rdv_stop(&stubs.qp[i]);
	return rnic_rdv_try_defer_flush(&stubs.qp[i]);
}

/* Destroy all queue pairs, end all sessions, and expect that nothing is left */
static void end_all_and_expect_released(struct kunit *test)
{
	int i;

	for (i = 0; i < QPS; i++) {
		stubs.qp[i].discarding = true;
		fail_qp(&stubs.qp[i], IW_LOCAL_ABORT);
		rnic_rdv_stop(&stubs.qp[i]);
	}
	KUNIT_EXPECT_EQ(test, 0, stubs.listening);
	advance_ms(10000);
	for (i = 0; i < stubs.sessions; i++)
		if (!stubs.ss[i].freed && !stubs.ss[i].ended) {
			/*
			 * a session that has not ended must have a bound stream, or must have been
			 * stopped
			 */
			KUNIT_EXPECT_TRUE(test, stubs.ss[i].bound || stubs.ss[i].stopped);
			end_session(&stubs.ss[i], IW_LOCAL_ABORT);
		}
	for (i = 0; i < QPS; i++) {
		KUNIT_EXPECT_FALSE(test, stubs.work[i].pending);
		KUNIT_EXPECT_EQ(test, 1, stubs.qp[i].ref.refs);
		rnic_rdv_free(&stubs.qp[i]);
	}
	for (i = 0; i < stubs.sessions; i++)
		KUNIT_EXPECT_TRUE(test, stubs.ss[i].freed);
	KUNIT_EXPECT_EQ(test, 0, stubs.owners);
	KUNIT_EXPECT_EQ(test, 0, stubs.net.held);
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
}

#endif
