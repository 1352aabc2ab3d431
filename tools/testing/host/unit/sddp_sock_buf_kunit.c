// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/sock_buf.c: buffer limits of an SCTP socket. The
 * association is a stub.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <net/sctp/structs.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

#define KIB	1024
#define MIB	(1024 * KIB)

static struct {
	struct sddp_assoc	a;
	struct sctp_association	asoc;
	struct sock		sk;
	struct socket		sock;
} stubs;

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.sock.sk = &stubs.sk;
	stubs.sk.asoc = &stubs.asoc;
	stubs.a.sock = &stubs.sock;
	return 0;
}

static void buffers_of_unaccepted_assoc_are_small(struct kunit *test)
{
	sddp_sock_init_buffers(&stubs.sock, true);
	KUNIT_EXPECT_EQ(test, SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK, stubs.sk.sk_userlocks);
	KUNIT_EXPECT_EQ(test, 128 * KIB, stubs.sk.sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, 32 * KIB, stubs.sk.sk_sndbuf);
	sddp_sock_init_buffers(&stubs.sock, false);
	KUNIT_EXPECT_EQ(test, 8 * MIB, stubs.sk.sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, 128 * KIB, stubs.sk.sk_sndbuf);
}

/*
 * Let the peer announce a window of @announced bytes, of which a quarter is in
 * flight. Return: the size of the send buffer.
 */
static int grow_and_get_sndbuf_for_window(u32 announced)
{
	stubs.asoc.peer.rwnd = announced - announced / 4;
	stubs.asoc.outqueue.outstanding_bytes = announced / 4;
	__sddp_sock_grow_sndbuf(&stubs.a, &stubs.sk);
	return stubs.sk.sk_sndbuf;
}

/* The send buffer is half of the window, within limits, and never shrinks */
static void sndbuf_is_half_of_window(struct kunit *test)
{
	stubs.a.active = true;
	KUNIT_EXPECT_EQ(test, 128 * KIB, grow_and_get_sndbuf_for_window(0));
	KUNIT_EXPECT_EQ(test, 128 * KIB, grow_and_get_sndbuf_for_window(200 * KIB));
	KUNIT_EXPECT_EQ(test, 512 * KIB, grow_and_get_sndbuf_for_window(MIB));
	KUNIT_EXPECT_EQ(test, 512 * KIB, grow_and_get_sndbuf_for_window(500 * KIB));
	KUNIT_EXPECT_EQ(test, 2 * MIB, grow_and_get_sndbuf_for_window(4 * MIB));
	KUNIT_EXPECT_EQ(test, 2 * MIB, grow_and_get_sndbuf_for_window(64 * MIB));
}

/* After the peer has restarted, its window is ignored, and the send buffer is set to 0 */
static void restart_clears_sndbuf(struct kunit *test)
{
	stubs.a.active = true;
	stubs.asoc.c.peer_vtag = 1;
	KUNIT_EXPECT_EQ(test, 0, grow_and_get_sndbuf_for_window(4 * MIB));
	stubs.a.peer_tag = 1;
	KUNIT_EXPECT_EQ(test, 2 * MIB, grow_and_get_sndbuf_for_window(4 * MIB));
}

/* The window of an unaccepted peer is ignored until the program has accepted it */
static void window_of_unaccepted_peer_is_ignored(struct kunit *test)
{
	sddp_sock_init_buffers(&stubs.sock, true);
	KUNIT_EXPECT_EQ(test, 32 * KIB, grow_and_get_sndbuf_for_window(64 * MIB));
	stubs.a.peer_accepted = true;
	sddp_sock_grow_buffers(&stubs.a);
	KUNIT_EXPECT_EQ(test, 2 * MIB, stubs.sk.sk_sndbuf);
	KUNIT_EXPECT_EQ(test, 8 * MIB, stubs.sk.sk_rcvbuf);
	/* the receive window grows once, by half of the bytes added to the receive buffer */
	KUNIT_EXPECT_EQ(test, 4u * MIB - 64 * KIB, stubs.asoc.announced);
	sddp_sock_grow_buffers(&stubs.a);
	KUNIT_EXPECT_EQ(test, 4u * MIB - 64 * KIB, stubs.asoc.announced);
	stubs.sk.asoc = NULL;
	sddp_sock_grow_buffers(&stubs.a);
}

/*
 * After its last session the buffers of an association shrink to those of an
 * unaccepted association, unless SCTP has queued more data than fit
 */
static void last_session_end_shrinks_buffers(struct kunit *test)
{
	sddp_sock_init_buffers(&stubs.sock, true);
	stubs.a.peer_accepted = true;
	grow_and_get_sndbuf_for_window(4 * MIB);
	sddp_sock_grow_buffers(&stubs.a);
	atomic_set(&stubs.asoc.rmem_alloc, 128 * KIB + 1);
	KUNIT_EXPECT_FALSE(test, sddp_sock_try_shrink_buffers(&stubs.a));
	KUNIT_EXPECT_EQ(test, 8 * MIB, stubs.sk.sk_rcvbuf);
	atomic_set(&stubs.asoc.rmem_alloc, 128 * KIB);
	KUNIT_EXPECT_TRUE(test, sddp_sock_try_shrink_buffers(&stubs.a));
	KUNIT_EXPECT_EQ(test, 128 * KIB, stubs.sk.sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, 32 * KIB, stubs.sk.sk_sndbuf);
	KUNIT_EXPECT_EQ(test, 0u, stubs.asoc.announced);
	sddp_sock_grow_buffers(&stubs.a);
	KUNIT_EXPECT_EQ(test, 8 * MIB, stubs.sk.sk_rcvbuf);
	KUNIT_EXPECT_EQ(test, 4u * MIB - 64 * KIB, stubs.asoc.announced);
	stubs.sk.asoc = NULL;
	KUNIT_EXPECT_TRUE(test, sddp_sock_try_shrink_buffers(&stubs.a));
}

static struct sddp_tx_budget prepare_budget_with_unsent(u32 unsent)
{
	struct sddp_tx_budget budget;

	stubs.asoc.frag_point = 1400;
	stubs.asoc.outqueue.out_qlen = unsent;
	sddp_sock_prepare_tx_budget(&stubs.a, &budget);
	return budget;
}

bool sddp_sock_has_peer_restarted(const struct sddp_assoc *a, const struct sctp_association *asoc)
{
	return asoc->c.peer_vtag != a->peer_tag;
}

/* If there is no space to send, the sender is scheduled when there is space again */
static void full_sndbuf_schedules_sender(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 128u * KIB, prepare_budget_with_unsent(0).bytes);
	KUNIT_EXPECT_FALSE(test, stubs.a.unsent_full);
	KUNIT_EXPECT_EQ(test, 1400u - 32, prepare_budget_with_unsent(0).fragment);
	KUNIT_EXPECT_EQ(test, 1u, prepare_budget_with_unsent(128 * KIB - 1).bytes);
	KUNIT_EXPECT_FALSE(test, stubs.a.unsent_full);
	KUNIT_EXPECT_EQ(test, 0u, prepare_budget_with_unsent(128 * KIB).bytes);
	KUNIT_EXPECT_TRUE(test, stubs.a.unsent_full);
	KUNIT_EXPECT_EQ(test, 0u, prepare_budget_with_unsent(MIB).bytes);
}

/* Chunks are corked only if the send buffer has space for them */
static void cork_needs_sndbuf_space(struct kunit *test)
{
	stubs.sk.sk_sndbuf = 128 * KIB;
	KUNIT_EXPECT_TRUE(test, sddp_sock_try_cork(&stubs.a, 1400));
	KUNIT_EXPECT_TRUE(test, stubs.asoc.corked);
	sddp_sock_uncork(&stubs.a);
	KUNIT_EXPECT_FALSE(test, stubs.asoc.corked);
	stubs.sk.sk_wmem_queued = 127 * KIB;
	KUNIT_EXPECT_FALSE(test, sddp_sock_try_cork(&stubs.a, 1400));
	KUNIT_EXPECT_FALSE(test, stubs.asoc.corked);
}

static struct kunit_case sddp_room_cases[] = {
	KUNIT_CASE(buffers_of_unaccepted_assoc_are_small),
	KUNIT_CASE(sndbuf_is_half_of_window),
	KUNIT_CASE(restart_clears_sndbuf),
	KUNIT_CASE(window_of_unaccepted_peer_is_ignored),
	KUNIT_CASE(last_session_end_shrinks_buffers),
	KUNIT_CASE(full_sndbuf_schedules_sender),
	KUNIT_CASE(cork_needs_sndbuf_space),
	{}
};

static struct kunit_suite sddp_sock_buf_suite = {
	.name = "sddp_sock_buf",
	.init = test_init,
	.test_cases = sddp_room_cases,
};

kunit_test_suite(sddp_sock_buf_suite);
