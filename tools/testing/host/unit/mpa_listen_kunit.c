// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/mpa/listen.c: accepting TCP connections, and failing to accept. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mutex.h>
#include <net/tcp.h>

#undef sock_net
#define sock_net(sk)			(&stubs.net)
#define ip6_sock_set_v6only(sk)		((void)(sk), stubs.v6only = true)
/* Check whether a socket bound to @bound receives from @dif or @sdif, like the kernel's function */
#define inet_sk_bound_dev_eq(net, bound, dif, sdif) \
	((void)(net), (bound) ? (bound) == (dif) || (bound) == (sdif) : !(sdif) || stubs.wildcard)

struct net { int unused; };

static struct {
	struct net			net;
	struct sock			sk;
	struct socket			sock;
	struct ddp_port_listener	*called;	/* listener found for the peer, or NULL */
	int				held;		/* number of references to listeners */
	struct mpa_conn			*c;
	bool				no_policy, no_memory, no_room, no_place;
	bool				ends_at_once, quiet;
	bool				v6only, wildcard;
	int				named, attached, begun, looked, let_go, freed;
	int				given_up, stopped;
	int				err;		/* result of creating a socket */
} stubs;

#include "../../../../drivers/mpa/listen.c"

/* DDP ----------------------------------------------------------------------------- */

bool ddp_addr_is_wildcard(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

int ddp_ifindex_to_vrf(struct net *net, int ifindex)
{
	return 10 * ifindex;
}

int ddp_addr_get_vrf(struct net *net, int mine, const struct sockaddr_storage *local)
{
	return 10 * mine + ((const struct sockaddr_in *)local)->sin_addr.s_addr;
}

void mpa_sock_limit_rcvbuf(struct mpa_conn *c) {}

void ddp_sock_get_addrs(struct socket *sock, struct sockaddr_storage *local,
			struct sockaddr_storage *remote)
{
	stubs.named += !!local;
}

int ddp_sock_create(struct net *net, int vrf, int family, int protocol,
		    const struct ddp_sock_owner *owner, struct socket **sock)
{
	WARN_ON(protocol != IPPROTO_TCP || (family != AF_INET && family != AF_INET6));
	*sock = &stubs.sock;
	return stubs.err;
}

int ddp_sock_bind(struct socket *sock, const struct sockaddr_storage *a)
{
	return -EADDRINUSE;
}

struct ddp_listener *ddp_port_listen(const struct ddp_port_ops *ops,
				     const struct ddp_listen *a,
				     const struct ddp_session_user *user,
				     void *ctx)
{
	return ERR_PTR(-a->vrf);
}

struct ddp_port_listener *ddp_port_get_listener(struct ddp_port *p,
						const struct sockaddr_storage *called,
						int vrf)
{
	WARN_ON(vrf != 30 || stubs.named != 1);
	stubs.held += !!stubs.called;
	return stubs.called;
}

void ddp_port_put_listener(struct ddp_port_listener *l)
{
	WARN_ON(l != stubs.called);
	stubs.held--;
}

bool ddp_port_get_policy(struct ddp_port_listener *l, struct ddp_policy *policy)
{
	return !stubs.no_policy;
}

bool ddp_port_try_attach_request(struct ddp_port_listener *l, struct ddp_conn_req *c,
				 const struct sockaddr_storage *from)
{
	return !stubs.no_place;
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	return true;
}

/* Other functions of iw_mpa -------------------------------------------------------- */

struct workqueue_struct *mpa_wq;

static void count_release(struct kref *ref)
{
	WARN_ON(stubs.c->mutex.held);
	stubs.freed++;
}

struct ddp_session_type mpa_session_type = { .release = count_release };

struct mpa_conn *mpa_conn_new(const struct ddp_session_user *user, void *ctx,
			      const struct ddp_policy *policy,
			      const void *l)
{
	if (stubs.no_memory)
		return NULL;
	stubs.c->ss.type = &mpa_session_type;
	kref_init(&stubs.c->ss.ref);
	return stubs.c;
}

int mpa_conn_alloc_startup(struct mpa_conn *c, bool initiator)
{
	WARN_ON(initiator);
	return stubs.no_room ? -ENOMEM : 0;
}

void mpa_conn_abandon(struct mpa_conn *c)
{
	stubs.given_up++;
}

void mpa_sock_set_options(struct socket *sock) {}

/*
 * Stub of the function that installs the socket's callbacks, which may run from then on
 * and use a reference to the connection
 */
void mpa_sock_install_callbacks(struct mpa_conn *c)
{
	lockdep_assert_held(&c->mutex);
	WARN_ON(c->sock != &stubs.sock || stubs.begun != 1);
	stubs.attached++;
}

bool mpa_sock_is_established_and_empty(struct mpa_conn *c)
{
	lockdep_assert_held(&c->mutex);
	WARN_ON(stubs.attached != 1);
	return stubs.quiet;
}

void mpa_conn_enter_first_phase(struct mpa_conn *c)
{
	lockdep_assert_held(&c->mutex);
	stubs.begun++;
}

void mpa_conn_set_event(struct mpa_conn *c, enum mpa_event ev)
{
	lockdep_assert_held(&c->mutex);
	WARN_ON(ev != MPA_EV_RX);
	stubs.looked++;
}

void mpa_conn_lock(struct mpa_conn *c)
{
	mutex_lock(&c->mutex);
}

/* After the unlock the connection may end, and be freed, at any time */
void mpa_conn_unlock(struct mpa_conn *c)
{
	mutex_unlock(&c->mutex);
	stubs.let_go++;
	if (stubs.ends_at_once)
		ddp_session_put(&c->ss);
}

void mpa_conn_request_close(struct mpa_conn *c, enum iw_reason why)
{
	WARN_ON(c != stubs.c || why != IW_LOCAL_ABORT);
	stubs.stopped++;
}

/* Cases ---------------------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	static struct ddp_port_listener l;
	static struct mpa_conn c;

	memset(&stubs, 0, sizeof(stubs));
	memset(&c, 0, sizeof(c));
	stubs.sock.sk = &stubs.sk;
	stubs.sk.sk_bound_dev_if = 3;
	stubs.called = &l;
	stubs.c = &c;
	return 0;
}

static int accept_one_peer(void)
{
	stubs.named = 0;
	return mpa_listen_set_up_accepted_conn(NULL, &stubs.sock);
}

/*
 * mpa_listen_set_up_accepted_conn() starts the first phase of a new connection and sets an event
 * while it holds the connection's mutex. Afterwards the only reference is that of the
 * socket's callbacks.
 */
static void new_conn_gets_one_event(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, accept_one_peer());
	KUNIT_EXPECT_EQ(test, 1, stubs.begun);
	KUNIT_EXPECT_EQ(test, 1, stubs.attached);
	KUNIT_EXPECT_EQ(test, 1, stubs.looked);
	KUNIT_EXPECT_EQ(test, 1, stubs.let_go);
	KUNIT_EXPECT_EQ(test, 0, stubs.held);
	KUNIT_EXPECT_EQ(test, 1, stubs.c->ss.ref.refs);
}

/*
 * If no data has arrived yet, no event is raised: the socket's callbacks raise
 * one when data arrives
 */
static void no_event_is_raised_without_data(struct kunit *test)
{
	stubs.quiet = true;
	KUNIT_EXPECT_EQ(test, 0, accept_one_peer());
	KUNIT_EXPECT_EQ(test, 0, stubs.looked);
	KUNIT_EXPECT_EQ(test, 1, stubs.let_go);
}

static void conn_may_end_while_accepted(struct kunit *test)
{
	stubs.ends_at_once = true;
	KUNIT_EXPECT_EQ(test, 0, accept_one_peer());
	KUNIT_EXPECT_EQ(test, 1, stubs.looked);
	KUNIT_EXPECT_EQ(test, 1, stubs.freed);
}

/* If a peer cannot be accepted, mpa_listen_set_up_accepted_conn() fails and leaks nothing */
static void accept_failure_leaks_nothing(struct kunit *test)
{
	struct ddp_port_listener *called = stubs.called;
	bool *const lacks[] = {
		&stubs.no_policy, &stubs.no_memory, &stubs.no_room, &stubs.no_place,
	};
	int i;

	stubs.called = NULL;
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, accept_one_peer());
	stubs.called = called;
	for (i = 0; i < ARRAY_SIZE(lacks); i++) {
		*lacks[i] = true;
		KUNIT_EXPECT_EQ(test, -EBUSY, accept_one_peer());
		*lacks[i] = false;
		KUNIT_EXPECT_EQ(test, 0, stubs.held);
	}
	/* in two of the cases the failure occurs after a connection was allocated: it is freed */
	KUNIT_EXPECT_EQ(test, 2, stubs.given_up);
	KUNIT_EXPECT_EQ(test, 2, stubs.freed);
	KUNIT_EXPECT_EQ(test, 0, stubs.begun);
}

/* Evicting a request, which also happens when its listener ends, aborts the connection */
static void evicted_request_is_aborted(struct kunit *test)
{
	mpa_listen_evict(&stubs.c->conn_req);
	KUNIT_EXPECT_EQ(test, 1, stubs.stopped);
}

static int open_listener(u16 family, bool v6only)
{
	struct sockaddr_storage local = { .ss_family = family };
	struct ddp_listen a = { .local = &local, .v6only = v6only };
	struct socket *sock;

	stubs.v6only = false;
	return mpa_listen_open(&a, &sock);
}

/* IPV6_V6ONLY is set on the socket if the program requests it */
static void listen_sets_v6only(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, open_listener(AF_INET6, true));
	KUNIT_EXPECT_TRUE(test, stubs.v6only);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, open_listener(AF_INET6, false));
	KUNIT_EXPECT_FALSE(test, stubs.v6only);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, open_listener(AF_INET, true));
	KUNIT_EXPECT_FALSE(test, stubs.v6only);
	stubs.err = -ENOBUFS;
	KUNIT_EXPECT_EQ(test, -ENOBUFS, open_listener(AF_INET6, true));
	KUNIT_EXPECT_FALSE(test, stubs.v6only);
}

static long listen_and_get_vrf(u32 addr, bool wildcard)
{
	struct sockaddr_storage local = { .ss_family = AF_INET };
	struct ddp_listen a = { .net = &stubs.net, .local = &local, .ifindex = 4 };

	((struct sockaddr_in *)&local)->sin_addr.s_addr = addr;
	stubs.wildcard = wildcard;
	return -PTR_ERR(mpa_listen(&a, NULL, NULL));
}

/*
 * If one TCP socket serves all VRFs, a listener on the wildcard address belongs
 * to no VRF
 */
static void wildcard_listener_has_no_vrf(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 40l, listen_and_get_vrf(0, false));
	KUNIT_EXPECT_EQ(test, 41l, listen_and_get_vrf(1, true));
	KUNIT_EXPECT_EQ(test, 0l, listen_and_get_vrf(0, true));
}

static struct kunit_case mpa_listen_cases[] = {
	KUNIT_CASE(new_conn_gets_one_event),
	KUNIT_CASE(no_event_is_raised_without_data),
	KUNIT_CASE(conn_may_end_while_accepted),
	KUNIT_CASE(accept_failure_leaks_nothing),
	KUNIT_CASE(evicted_request_is_aborted),
	KUNIT_CASE(listen_sets_v6only),
	KUNIT_CASE(wildcard_listener_has_no_vrf),
	{}
};

static struct kunit_suite mpa_listen_suite = {
	.name = "mpa_listen",
	.init = test_init,
	.test_cases = mpa_listen_cases,
};

kunit_test_suite(mpa_listen_suite);
