// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/ddp/port.c: which listener a peer belongs to if several
 * VRFs have the same address, and the close of a listening socket.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/netdevice.h>
#include <linux/hashtable.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/tcp.h>

/* The part of a socket that port.c uses, without any connection */
#define TCP_LISTEN			10
#define kernel_listen(s, n)		((void)(s), 0)
#define compat_sk_child_net(sk)		((void)(sk))
#define net_hash_mix(n)			0
#define list_add_tail_rcu(n, l)		list_add_tail(n, l)
#define list_del_rcu(n)			list_del(n)
#define list_for_each_entry_rcu(at, l, m)	list_for_each_entry(at, l, m)

#define PTR_ERR_OR_ZERO(p)		(IS_ERR(p) ? PTR_ERR(p) : 0)

#include "../../../../drivers/ddp/port.c"

static struct {
	struct net	net;
	struct sock	sk;
	struct socket	sock;
	int		has;		/* interface that the core finds for the address */
	u32		lookups;	/* number of lookups of that interface */
	int		related;	/* interface whose device may also serve the address, or 0 */
	struct net_device dev;	/* the interface that the core finds */
	int		vrf[8];	/* VRF of each interface */
	u64		order;	/* args.order of the last listener of try_listen() */
	bool		aborts;	/* true if closing the socket aborts connections */
	u32		aborted;	/* number of closes that aborted connections */
} stubs;

int ddp_ifindex_to_vrf(struct net *net, int ifindex)
{
	return stubs.vrf[ifindex];
}

const struct net_device *ddp_addr_find_dev(struct net *net, const struct sockaddr_storage *a)
{
	stubs.lookups++;
	stubs.dev.ifindex = stubs.has;
	return stubs.has ? &stubs.dev : NULL;
}

bool ddp_are_ifaces_related(struct net *net, int mine, const struct net_device *has)
{
	return mine == has->ifindex || mine == stubs.related;
}

bool ddp_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return !memcmp(a, b, sizeof(struct sockaddr_in));
}

bool ddp_addr_is_wildcard_or_loopback(const struct sockaddr_storage *a)
{
	return !((const struct sockaddr_in *)a)->sin_addr.s_addr;
}

u32 ddp_addr_hash(const struct net *net, const struct sockaddr_storage *a, u32 seed)
{
	return 1;
}

void ddp_sock_set_lock_class(struct sock *sk) {}
void ddp_sock_set_tos(struct sock *sk, u8 tos) {}
void ddp_sock_set_callbacks(struct sock *sk, void *owner, const struct ddp_sock_callbacks *c,
			    struct ddp_sock_callbacks *orig_callbacks) {}
void ddp_sock_restore_callbacks(struct sock *sk, const struct ddp_sock_callbacks *orig_callbacks) {}
void ddp_backlog_init(struct ddp_port_listener *l) {}
void ddp_backlog_drain(struct ddp_port_listener *l) {}
bool host_queue_delayed(struct delayed_work *d, unsigned long ms) { return true; }
void host_cancel_delayed(struct delayed_work *d) {}

int ddp_sock_accept(struct socket *listener, const struct ddp_sock_callbacks *orig_callbacks,
		    struct socket **sock)
{
	return -EAGAIN;
}

void sock_no_linger(struct sock *sk)
{
	stubs.aborts = true;
}

void ddp_sock_release(struct socket *s)
{
	stubs.aborted += stubs.aborts;
	stubs.aborts = false;
}

static int open_fake_socket(const struct ddp_listen *a, struct socket **sock)
{
	*sock = &stubs.sock;
	return 0;
}

static void ignore_queue_work(struct delayed_work *work, unsigned long delay) {}

static const struct ddp_port_ops port_ops = {
	.open = open_fake_socket, .queue = ignore_queue_work,
};

static struct ddp_listener *try_listen_with_order(int ifindex, int vrf, u32 at, u64 order)
{
	struct sockaddr_storage local = { .ss_family = AF_INET };
	struct ddp_policy policy = {};
	struct ddp_listen a = {
		.net = &stubs.net, .ifindex = ifindex, .vrf = vrf,
		.order = order, .local = &local, .policy = &policy,
	};

	((struct sockaddr_in *)&local)->sin_addr.s_addr = at;
	return ddp_port_listen(&port_ops, &a, NULL, NULL);
}

static struct ddp_listener *try_listen(int ifindex, int vrf, u32 at)
{
	return try_listen_with_order(ifindex, vrf, at, ++stubs.order);
}

static struct ddp_listener *listen_and_expect_success(struct kunit *test, int ifindex, int vrf,
						      u32 at)
{
	struct ddp_listener *l = try_listen(ifindex, vrf, at);

	KUNIT_ASSERT_FALSE(test, IS_ERR(l));
	return l;
}

static void reset_stubs(void)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.sock.sk = &stubs.sk;
	stubs.vrf[3] = 10;
	stubs.vrf[4] = 11;
	stubs.has = 3;
}

static bool is_listener_found_for_vrf(struct ddp_listener *dl, int vrf)
{
	static const struct sockaddr_storage called = { .ss_family = AF_INET };
	struct ddp_port_listener *l =
		container_of(dl, struct ddp_port_listener, dl);
	struct ddp_port_listener *found = ddp_port_get_listener(l->port, &called, vrf);

	if (found)
		ddp_port_put_listener(found);
	return found == l;
}

/*
 * With tcp_l3mdev_accept one socket serves all VRFs. If interfaces in two VRFs have the same
 * address, the core finds only the first interface. The listener on that interface gets the
 * peers of its VRF, and peers of the other VRF get no listener.
 */
static void listener_of_vrf_gets_peer(struct kunit *test)
{
	struct ddp_listener *a, *b;

	reset_stubs();
	a = listen_and_expect_success(test, 3, 0, 0);
	b = listen_and_expect_success(test, 4, 0, 0);
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(a, 10));
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(a, 11));
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(a, 0));
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(b, 11));
	/* each connection causes one lookup, however many listeners exist */
	KUNIT_EXPECT_EQ(test, 4u, stubs.lookups);
	ddp_port_unlisten(a);
	ddp_port_unlisten(b);
}

/*
 * The first listener whose device may serve the address gets the peer, as in rdma_cm, even if the
 * device of a later listener is on the interface that has the address
 */
static void first_related_listener_gets_peer(struct kunit *test)
{
	struct ddp_listener *a, *b, *c;

	reset_stubs();
	stubs.related = 5;
	a = listen_and_expect_success(test, 4, 0, 0);
	b = listen_and_expect_success(test, 5, 0, 0);
	c = listen_and_expect_success(test, 3, 0, 0);
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(b, 0));
	/* a listener gets peers in its own VRF only; in other VRFs no listener gets the peer */
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(b, 10));
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(c, 10));
	ddp_port_unlisten(b);
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(c, 10));
	b = listen_and_expect_success(test, 5, 0, 0);
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(c, 10));
	stubs.has = 0;
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(c, 10));
	ddp_port_unlisten(c);
	ddp_port_unlisten(b);
	ddp_port_unlisten(a);
}

/*
 * If the setting "listen" stops a listener, and starts it again after listeners that were created
 * later, the listener keeps its place in the order of listeners
 */
static void restarted_listener_keeps_its_place(struct kunit *test)
{
	struct ddp_listener *first, *second;

	reset_stubs();
	stubs.related = 5;
	second = try_listen_with_order(3, 0, 0, 2);
	KUNIT_ASSERT_FALSE(test, IS_ERR(second));
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(second, 10));
	first = try_listen_with_order(5, 0, 0, 1);
	KUNIT_ASSERT_FALSE(test, IS_ERR(first));
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(first, 0));
	ddp_port_unlisten(first);
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(second, 10));
	ddp_port_unlisten(second);
}

/*
 * A listener on one address is in the VRF of its socket, which may differ from the VRF of the
 * device. The listener gets no peers of other VRFs, although with tcp_l3mdev_accept a socket
 * outside all VRFs receives their connections.
 */
static void bound_listener_is_in_vrf_of_socket(struct kunit *test)
{
	struct ddp_listener *a, *b;

	reset_stubs();
	a = listen_and_expect_success(test, 3, 12, 1);
	b = listen_and_expect_success(test, 5, 0, 2);
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(a, 12));
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(a, 10));
	KUNIT_EXPECT_TRUE(test, is_listener_found_for_vrf(b, 0));
	KUNIT_EXPECT_FALSE(test, is_listener_found_for_vrf(b, 10));
	ddp_port_unlisten(a);
	ddp_port_unlisten(b);
}

/*
 * An association from one VRF does not find a listener on the same address in
 * another VRF
 */
static void lookup_needs_vrf_of_listener(struct kunit *test)
{
	struct sockaddr_storage at = { .ss_family = AF_INET };
	struct ddp_port_listener *l;
	struct ddp_listener *b;

	reset_stubs();
	((struct sockaddr_in *)&at)->sin_addr.s_addr = 1;
	b = listen_and_expect_success(test, 4, 11, 1);
	KUNIT_EXPECT_TRUE(test, !ddp_port_get_listener_by_addr(&port_ops, &stubs.net, &at, 10));
	l = ddp_port_get_listener_by_addr(&port_ops, &stubs.net, &at, 11);
	KUNIT_ASSERT_TRUE(test, !!l);
	ddp_port_put_listener(l);
	ddp_port_unlisten(b);
}

/* The same address in two VRFs can have two listeners */
static void addr_may_have_listeners_in_two_vrfs(struct kunit *test)
{
	struct ddp_listener *a, *b;

	reset_stubs();
	a = listen_and_expect_success(test, 3, 10, 1);
	b = listen_and_expect_success(test, 4, 11, 1);
	KUNIT_EXPECT_EQ(test, -EADDRINUSE, PTR_ERR(try_listen(5, 11, 1)));
	ddp_port_unlisten(a);
	ddp_port_unlisten(b);
}

/* The close of a listening socket aborts the connections that were not accepted */
static void close_aborts_unaccepted_connections(struct kunit *test)
{
	struct ddp_listener *a, *b;

	reset_stubs();
	a = listen_and_expect_success(test, 3, 0, 0);
	b = listen_and_expect_success(test, 4, 0, 0);
	ddp_port_unlisten(a);
	KUNIT_EXPECT_EQ(test, 0u, stubs.aborted);
	ddp_port_unlisten(b);
	KUNIT_EXPECT_EQ(test, 1u, stubs.aborted);
}

static struct kunit_case ddp_port_cases[] = {
	KUNIT_CASE(close_aborts_unaccepted_connections),
	KUNIT_CASE(addr_may_have_listeners_in_two_vrfs),
	KUNIT_CASE(listener_of_vrf_gets_peer),
	KUNIT_CASE(first_related_listener_gets_peer),
	KUNIT_CASE(restarted_listener_keeps_its_place),
	KUNIT_CASE(bound_listener_is_in_vrf_of_socket),
	KUNIT_CASE(lookup_needs_vrf_of_listener),
	{}
};

static struct kunit_suite ddp_port_suite = {
	.name = "ddp_port",
	.test_cases = ddp_port_cases,
};

kunit_test_suite(ddp_port_suite);
