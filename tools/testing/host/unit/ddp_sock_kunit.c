// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/ddp/sock.c with a fake socket. */
#include <kunit/test.h>
#include <net/ip.h>

#include <ddp/addr.h>
#include <ddp/sock.h>

void ddp_addr_unmap(struct sockaddr_storage *a) {}

/*
 * As inet_getname(): with @peer 1 it fails on a closed socket, with 2 it does
 * not
 */
static int getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	in->sin_family = AF_INET;
	if (peer == 1 && sock->sk->sk_state == TCP_CLOSE)
		return -ENOTCONN;
	in->sin_port = peer ? 7 : 9;
	in->sin_addr.s_addr = peer ? 0x0100007f : 0x0200007f;
	return sizeof(*in);
}

static void names(struct kunit *test, int state)
{
	static const struct proto_ops ops = { .getname = getname };
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
 * The peer's address is known even after the peer has closed: it is reported
 * and used to count connections
 */
static void both_names(struct kunit *test)
{
	names(test, TCP_ESTABLISHED);
	names(test, TCP_CLOSE);
}

static struct kunit_case ddp_sock_cases[] = {
	KUNIT_CASE(both_names),
	{}
};

static struct kunit_suite ddp_sock_suite = {
	.name = "ddp_sock",
	.test_cases = ddp_sock_cases,
};

kunit_test_suite(ddp_sock_suite);
