// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/mpa/listen.c: accepting TCP connections, and failing to. */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/in.h>
#include <linux/mutex.h>
#include <net/tcp.h>

#define sock_net(sk)			(&world.net)
#define ip6_sock_set_v6only(sk)		((void)(sk), world.v6only = true)
/* As the kernel's function */
#define inet_sk_bound_dev_eq(net, bound, dif, sdif) \
	((void)(net), (bound) ? (bound) == (dif) || (bound) == (sdif) : !(sdif) || world.hears_all)

struct net { int unused; };

static struct {
	struct net			net;
	struct sock			sk;
	struct socket			sock;
	struct ddp_port_listener	*called;	/* listener called by the peer, if any */
	int				held;		/* references to listeners */
	struct mpa_conn			*c;
	bool				no_policy, no_memory, no_room, no_place;
	bool				ends_at_once, quiet;
	bool				v6only, hears_all;
	int				named, attached, begun, looked, let_go, freed;
	int				given_up, stopped;
	int				err;		/* result of creating a socket */
} world;

#include "../../../../drivers/mpa/listen.c"

/* DDP ----------------------------------------------------------------------------- */

bool ddp_addr_wildcard(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

int ddp_sock_domain(struct net *net, int ifindex)
{
	return 10 * ifindex;
}

void ddp_sock_names(struct socket *sock, struct sockaddr_storage *local,
		    struct sockaddr_storage *remote)
{
	world.named += !!local;
}

int ddp_sock_make(struct net *net, int domain, int family, int protocol,
		  struct socket **sock)
{
	WARN_ON(protocol != IPPROTO_TCP || (family != AF_INET && family != AF_INET6));
	*sock = &world.sock;
	return world.err;
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
	return ERR_PTR(-a->domain);
}

struct ddp_port_listener *ddp_port_called(struct ddp_port *p,
					  const struct sockaddr_storage *called,
					  int domain)
{
	WARN_ON(domain != 30 || world.named != 1);
	world.held += !!world.called;
	return world.called;
}

void ddp_port_put(struct ddp_port_listener *l)
{
	WARN_ON(l != world.called);
	world.held--;
}

bool ddp_port_policy(struct ddp_port_listener *l, struct ddp_policy *policy)
{
	return !world.no_policy;
}

bool ddp_port_wait(struct ddp_port_listener *l, struct ddp_caller *c,
		   const struct sockaddr_storage *from)
{
	return !world.no_place;
}

bool host_queue_delayed(struct delayed_work *d, unsigned long ms)
{
	return true;
}

/* The rest of iw_mpa --------------------------------------------------------------- */

struct workqueue_struct *mpa_wq;

static void released(struct kref *ref)
{
	WARN_ON(world.c->mutex.held);
	world.freed++;
}

struct ddp_session_type mpa_session_type = { .release = released };

struct mpa_conn *mpa_conn_new(const struct ddp_session_user *user, void *ctx,
			      const struct ddp_policy *policy,
			      const void *l)
{
	if (world.no_memory)
		return NULL;
	world.c->ss.type = &mpa_session_type;
	kref_init(&world.c->ss.ref);
	return world.c;
}

int mpa_conn_startup(struct mpa_conn *c, bool initiator)
{
	WARN_ON(initiator);
	return world.no_room ? -ENOMEM : 0;
}

void mpa_conn_give_up(struct mpa_conn *c)
{
	world.given_up++;
}

void mpa_sock_prepare(struct socket *sock) {}

/* The socket's callbacks hold a reference to the connection, and may run at once */
void mpa_sock_attach(struct mpa_conn *c)
{
	lockdep_assert_held(&c->mutex);
	WARN_ON(c->sock != &world.sock || world.begun != 1);
	world.attached++;
}

bool mpa_sock_quiet(struct mpa_conn *c)
{
	lockdep_assert_held(&c->mutex);
	WARN_ON(world.attached != 1);
	return world.quiet;
}

void mpa_conn_begin(struct mpa_conn *c)
{
	lockdep_assert_held(&c->mutex);
	world.begun++;
}

void mpa_conn_event(struct mpa_conn *c, enum mpa_event ev)
{
	lockdep_assert_held(&c->mutex);
	WARN_ON(ev != MPA_EV_RX);
	world.looked++;
}

void mpa_conn_lock(struct mpa_conn *c)
{
	mutex_lock(&c->mutex);
}

/* The connection may be freed from here on */
void mpa_conn_unlock(struct mpa_conn *c)
{
	mutex_unlock(&c->mutex);
	world.let_go++;
	if (world.ends_at_once)
		ddp_session_put(&c->ss);
}

void mpa_conn_stop(struct mpa_conn *c, enum iw_reason why)
{
	WARN_ON(c != world.c || why != IW_LOCAL_ABORT);
	world.stopped++;
}

/* Cases ---------------------------------------------------------------------------- */

static int begin(struct kunit *test)
{
	static struct ddp_port_listener l;
	static struct mpa_conn c;

	memset(&world, 0, sizeof(world));
	memset(&c, 0, sizeof(c));
	world.sock.sk = &world.sk;
	world.sk.sk_bound_dev_if = 3;
	world.called = &l;
	world.c = &c;
	return 0;
}

static int accepted(void)
{
	world.named = 0;
	return mpa_listen_accepted(NULL, &world.sock);
}

/*
 * A new connection begins and is polled under its mutex; then the callbacks
 * have the only reference
 */
static void let_in(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, accepted());
	KUNIT_EXPECT_EQ(test, 1, world.begun);
	KUNIT_EXPECT_EQ(test, 1, world.attached);
	KUNIT_EXPECT_EQ(test, 1, world.looked);
	KUNIT_EXPECT_EQ(test, 1, world.let_go);
	KUNIT_EXPECT_EQ(test, 0, world.held);
	KUNIT_EXPECT_EQ(test, 1, world.c->ss.ref.refs);
}

/*
 * If no data has arrived yet, no event is needed: the socket's callbacks report
 * what comes later
 */
static void let_in_quietly(struct kunit *test)
{
	world.quiet = true;
	KUNIT_EXPECT_EQ(test, 0, accepted());
	KUNIT_EXPECT_EQ(test, 0, world.looked);
	KUNIT_EXPECT_EQ(test, 1, world.let_go);
}

static void ends_at_once(struct kunit *test)
{
	world.ends_at_once = true;
	KUNIT_EXPECT_EQ(test, 0, accepted());
	KUNIT_EXPECT_EQ(test, 1, world.looked);
	KUNIT_EXPECT_EQ(test, 1, world.freed);
}

/* If a peer cannot be accepted, the error says why and nothing leaks */
static void not_let_in(struct kunit *test)
{
	struct ddp_port_listener *called = world.called;
	bool *const lacks[] = {
		&world.no_policy, &world.no_memory, &world.no_room, &world.no_place,
	};
	int i;

	world.called = NULL;
	KUNIT_EXPECT_EQ(test, -ECONNREFUSED, accepted());
	world.called = called;
	for (i = 0; i < ARRAY_SIZE(lacks); i++) {
		*lacks[i] = true;
		KUNIT_EXPECT_EQ(test, -EBUSY, accepted());
		*lacks[i] = false;
		KUNIT_EXPECT_EQ(test, 0, world.held);
	}
	/* only in two of the cases there was a connection to free */
	KUNIT_EXPECT_EQ(test, 2, world.given_up);
	KUNIT_EXPECT_EQ(test, 2, world.freed);
	KUNIT_EXPECT_EQ(test, 0, world.begun);
}

/* A request is aborted if its listener ends first */
static void orphaned(struct kunit *test)
{
	mpa_listen_orphaned(&world.c->caller);
	KUNIT_EXPECT_EQ(test, 1, world.stopped);
}

static int opened(u16 family, bool v6only)
{
	struct sockaddr_storage local = { .ss_family = family };
	struct ddp_listen a = { .local = &local, .v6only = v6only };
	struct socket *sock;

	world.v6only = false;
	return mpa_listen_open(&a, &sock);
}

/* IPV6_V6ONLY is set on the socket if the program requests it */
static void opens(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, opened(AF_INET6, true));
	KUNIT_EXPECT_TRUE(test, world.v6only);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, opened(AF_INET6, false));
	KUNIT_EXPECT_FALSE(test, world.v6only);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, opened(AF_INET, true));
	KUNIT_EXPECT_FALSE(test, world.v6only);
	world.err = -ENOBUFS;
	KUNIT_EXPECT_EQ(test, -ENOBUFS, opened(AF_INET6, true));
	KUNIT_EXPECT_FALSE(test, world.v6only);
}

static long domain_at(u32 addr, bool hears_all)
{
	struct sockaddr_storage local = { .ss_family = AF_INET };
	struct ddp_listen a = { .net = &world.net, .local = &local, .ifindex = 4 };

	((struct sockaddr_in *)&local)->sin_addr.s_addr = addr;
	world.hears_all = hears_all;
	return -PTR_ERR(mpa_listen(&a, NULL, NULL));
}

/*
 * If one TCP socket serves all VRFs, a listener on the wildcard address belongs
 * to no VRF
 */
static void domains(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 40l, domain_at(0, false));
	KUNIT_EXPECT_EQ(test, 40l, domain_at(1, true));
	KUNIT_EXPECT_EQ(test, 0l, domain_at(0, true));
}

static struct kunit_case mpa_listen_cases[] = {
	KUNIT_CASE(let_in),
	KUNIT_CASE(let_in_quietly),
	KUNIT_CASE(ends_at_once),
	KUNIT_CASE(not_let_in),
	KUNIT_CASE(orphaned),
	KUNIT_CASE(opens),
	KUNIT_CASE(domains),
	{}
};

static struct kunit_suite mpa_listen_suite = {
	.name = "mpa_listen",
	.init = begin,
	.test_cases = mpa_listen_cases,
};

kunit_test_suite(mpa_listen_suite);
