// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/ddp/sock.c with a fake socket. */
#include <kunit/test.h>
#include <net/ip.h>

#include <ddp/addr.h>
#include <ddp/sock.h>

void ddp_addr_unmap_v4(struct sockaddr_storage *a) {}

/*
 * Get an address of the socket, like inet_getname(): on a closed socket this
 * fails with @peer 1, but not with @peer 2
 */
static int return_fake_name(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	in->sin_family = AF_INET;
	if (peer == 1 && sock->sk->sk_state == TCP_CLOSE)
		return -ENOTCONN;
	in->sin_port = peer ? 7 : 9;
	in->sin_addr.s_addr = peer ? 0x0100007f : 0x0200007f;
	return sizeof(*in);
}

static void expect_both_addrs_in_state(struct kunit *test, int state)
{
	static const struct proto_ops ops = { .getname = return_fake_name };
	struct sock sk = { .sk_family = AF_INET, .sk_state = state };
	struct socket sock = { .sk = &sk, .ops = &ops };
	struct sockaddr_storage local = {}, remote = {};
	const struct sockaddr_in *l = (void *)&local, *r = (void *)&remote;

	ddp_sock_get_addrs(&sock, &local, &remote);
	KUNIT_EXPECT_EQ(test, 9, l->sin_port);
	KUNIT_EXPECT_EQ(test, 0x0200007fu, l->sin_addr.s_addr);
	KUNIT_EXPECT_EQ(test, 7, r->sin_port);
	KUNIT_EXPECT_EQ(test, 0x0100007fu, r->sin_addr.s_addr);
}

/*
 * ddp_sock_get_addrs() returns both addresses even after the peer has closed,
 * because its callers report these addresses, and count connections per address
 */
static void addrs_are_known_after_peer_close(struct kunit *test)
{
	expect_both_addrs_in_state(test, TCP_ESTABLISHED);
	expect_both_addrs_in_state(test, TCP_CLOSE);
}

static struct kunit_case ddp_sock_cases[] = {
	KUNIT_CASE(addrs_are_known_after_peer_close),
	{}
};

static struct kunit_suite ddp_sock_suite = {
	.name = "ddp_sock",
	.test_cases = ddp_sock_cases,
};

kunit_test_suite(ddp_sock_suite);
