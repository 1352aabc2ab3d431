// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/{sock,sock_end}.c: the state of an association's socket, the
 * reason why the association ended, and the release of the socket. SCTP is a stub.
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/sctp.h>
#include <net/sctp/structs.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"

static struct {
	struct sddp_assoc	a;
	struct sctp_association	asoc;
	struct sctp_transport	t;
	struct sock		sk;
	struct socket		sock;
	int			result;		/* result of sending */
	bool			recverr;	/* SCTP reports ICMP errors (IP_RECVERR) */
	int			options;	/* number of SCTP options set */
	int			fails;		/* number of the option that fails; 0: none */
	int			why;
	int			how;		/* argument of the last shutdown */
	u32			aborted;	/* releases that abort SCTP's association */
} stubs;

/* SCTP -------------------------------------------------------------------------- */

static int set_option(struct socket *sock, int level, int name, sockptr_t value,
		      unsigned int len)
{
	if (level == SOL_SCTP && ++stubs.options == stubs.fails)
		return stubs.why;
	if (level != SOL_IP || name != IP_RECVERR)
		return 0;
	/* an ICMP error may arrive just before SCTP stops reporting them */
	if (stubs.recverr)
		stubs.sk.sk_err = EHOSTUNREACH;
	stubs.recverr = *(int *)value.at;
	return 0;
}

static const struct proto_ops ops = { .setsockopt = set_option };

/* Send. As in SCTP, the error that ended the association is returned once. */
int kernel_sendmsg(struct socket *s, struct msghdr *m, struct kvec *v, size_t n,
		   size_t len)
{
	if (stubs.result == -EPIPE)
		return sock_error(s->sk) ?: -EPIPE;
	return stubs.result;
}

static struct socket *made;	/* socket that was created and is not released */

struct socket *host_create_socket(void)
{
	made = stubs.result ? NULL : &stubs.sock;
	return made;
}

void sock_release(struct socket *s)
{
	ddp_sock_release(s);
}

int kernel_sock_shutdown(struct socket *s, int how)
{
	stubs.how = how;
	return 0;
}

void ddp_sock_release(struct socket *s)
{
	stubs.aborted += s == &stubs.sock && stubs.sk.aborts;
	if (s == made)
		made = NULL;
}

/* Other functions of DDP and iw_sctp_ddp ---------------------------------------- */

/* The same mapping as in ddp/sock.c */
enum iw_reason ddp_sock_err_to_reason(int err, enum iw_reason otherwise)
{
	switch (err) {
	case -ECONNREFUSED:
		return IW_PEER_REFUSED;
	case -ECONNRESET:
	case -EPIPE:
		return IW_PEER_RESET;
	case -ETIMEDOUT:
		return IW_TIMEOUT;
	case -EHOSTUNREACH:
		return IW_UNREACHABLE;
	default:
		return otherwise;
	}
}

static int made_in;
static const struct ddp_sock_owner *made_for;

int ddp_sock_create(struct net *net, int vrf, int family, int protocol,
		    const struct ddp_sock_owner *owner, struct socket **sock)
{
	made_in = vrf;
	made_for = owner;
	return -ENOMEM;
}

int ddp_sock_connect(struct socket *sock, const struct sockaddr_storage *to)
{
	return 0;
}

int sddp_bind_as_owner(const struct ddp_sock_owner *owner, struct socket *sock,
		       const struct sockaddr_storage *at, const int *paths)
{
	return 0;
}

void ddp_sock_set_tos(struct sock *sk, u8 tos) {}
static const struct ddp_sock_callbacks *called;

void ddp_sock_set_callbacks(struct sock *sk, void *owner, const struct ddp_sock_callbacks *calls,
			    struct ddp_sock_callbacks *orig_callbacks)
{
	called = calls;
	sk->sk_user_data = owner;
}

void ddp_sock_restore_callbacks(struct sock *sk, const struct ddp_sock_callbacks *orig_callbacks) {}
void ddp_sock_get_addrs(struct socket *sock, struct sockaddr_storage *local,
			struct sockaddr_storage *remote) {}
void sddp_assoc_kick(struct sddp_assoc *a) {}
void sddp_sock_init_buffers(struct socket *sock, bool stranger) {}
void __sddp_sock_grow_sndbuf(struct sddp_assoc *a, struct sock *sk) {}
void __sddp_path_limit_timeouts(struct sctp_association *asoc) {}
void sddp_path_schedule_check(struct sddp_assoc *a) {}

/* Cases ------------------------------------------------------------------------- */

static int test_init(struct kunit *test)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.sock.sk = &stubs.sk;
	stubs.sock.ops = &ops;
	stubs.sk.sk_family = AF_INET;
	stubs.sk.asoc = &stubs.asoc;
	stubs.recverr = true;
	stubs.asoc.state = SCTP_STATE_ESTABLISHED;
	stubs.asoc.c.peer_vtag = 7;
	stubs.asoc.peer.adaptation_ind = SDDP_ADAPTATION;
	stubs.a.sock = &stubs.sock;
	KUNIT_EXPECT_EQ(test, (int)IW_OK, (int)sddp_sock_check_and_read_assoc(&stubs.a));
	stubs.a.phase = SDDP_UP;
	return 0;
}

static void expect_sock_state(struct kunit *test, enum sddp_sock_state want, int want_err)
{
	int err;

	KUNIT_EXPECT_EQ(test, (int)want, (int)sddp_sock_get_state_and_adjust_limits(&stubs.a,
										    &err));
	if (want == SDDP_SOCK_LOST)
		KUNIT_EXPECT_EQ(test, want_err, err);
}

/* Let SCTP end the association with this error */
static void end_assoc(int err)
{
	stubs.sk.asoc = NULL;
	stubs.sk.sk_err = err;
	stubs.result = -EPIPE;
}

static void socket_errors_are_reported_as_loss(struct kunit *test)
{
	static const int errors[] = {
		ECONNRESET, ECONNABORTED, ETIMEDOUT, ECONNREFUSED, EHOSTUNREACH,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		test_init(test);
		expect_sock_state(test, SDDP_SOCK_OPEN, 0);
		end_assoc(errors[i]);
		expect_sock_state(test, SDDP_SOCK_LOST, -errors[i]);
	}
}

/* A SHUTDOWN that was completed before the worker runs must be reported as PEER_DONE */
static void shutdown_is_reported_as_peer_done(struct kunit *test)
{
	stubs.asoc.state = SCTP_STATE_SHUTDOWN_RECEIVED;
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
	end_assoc(0);
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
}

/*
 * An ENOMEM that a timer of SCTP has recorded in the socket does not count as the
 * association's end
 */
static void enomem_of_timer_is_ignored(struct kunit *test)
{
	stubs.sk.sk_err = ENOMEM;
	expect_sock_state(test, SDDP_SOCK_OPEN, 0);
	stubs.asoc.state = SCTP_STATE_CLOSED;
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
	stubs.sk.asoc = NULL;
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
	/* an error that ends the association replaces ENOMEM */
	end_assoc(ECONNRESET);
	expect_sock_state(test, SDDP_SOCK_LOST, -ECONNRESET);
}

static int send_one_chunk(void)
{
	return sddp_sock_send_chunk(&stubs.a, 1, SDDP_PPID_SEGMENT, "", 1);
}

/*
 * If the sender reads the error of the association first, the worker gets the same
 * error nevertheless
 */
static void send_error_does_not_hide_loss(struct kunit *test)
{
	expect_sock_state(test, SDDP_SOCK_OPEN, 0);
	end_assoc(ECONNRESET);
	KUNIT_EXPECT_EQ(test, -ECONNRESET, send_one_chunk());
	KUNIT_EXPECT_EQ(test, -EPIPE, send_one_chunk());
	expect_sock_state(test, SDDP_SOCK_LOST, -ECONNRESET);
}

/*
 * A SHUTDOWN from the peer must not be mistaken for a loss, even if the sender gets an error first
 */
static void send_error_does_not_hide_peer_done(struct kunit *test)
{
	stubs.asoc.state = SCTP_STATE_SHUTDOWN_RECEIVED;
	stubs.result = -ESHUTDOWN;
	KUNIT_EXPECT_EQ(test, -ESHUTDOWN, send_one_chunk());
	end_assoc(0);
	KUNIT_EXPECT_EQ(test, -EPIPE, send_one_chunk());
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
}

/* A lack of send buffer space does not end the association */
static void full_sndbuf_keeps_assoc(struct kunit *test)
{
	stubs.a.retry_delay = 40;
	stubs.result = -EAGAIN;
	KUNIT_EXPECT_EQ(test, -EAGAIN, send_one_chunk());
	KUNIT_EXPECT_TRUE(test, stubs.a.sndbuf_full);
	KUNIT_EXPECT_EQ(test, 40u, stubs.a.retry_delay);
	stubs.result = 1;
	KUNIT_EXPECT_EQ(test, 0, send_one_chunk());
	KUNIT_EXPECT_FALSE(test, stubs.a.sndbuf_full);
	KUNIT_EXPECT_EQ(test, 0u, stubs.a.retry_delay);
	end_assoc(0);
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
}

/* States of an association that is being established, and of one that cannot be established */
static void connecting_socket_has_own_states(struct kunit *test)
{
	stubs.a.phase = SDDP_CONNECTING;
	stubs.asoc.state = SCTP_STATE_COOKIE_WAIT;
	expect_sock_state(test, SDDP_SOCK_CONNECTING, 0);
	stubs.sk.sk_err = ENOMEM;
	expect_sock_state(test, SDDP_SOCK_CONNECTING, 0);
	stubs.sk.sk_err = EHOSTUNREACH;
	expect_sock_state(test, SDDP_SOCK_LOST, -EHOSTUNREACH);
	end_assoc(0);
	expect_sock_state(test, SDDP_SOCK_LOST, 0);
}

/* ICMP errors do not end an established association: SCTP does not report them then */
static void icmp_errors_are_ignored(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, stubs.recverr);
	stubs.sk.asoc = NULL;
	expect_sock_state(test, SDDP_SOCK_PEER_DONE, 0);
}

/* If the peer has restarted, the association counts as lost */
static void peer_restart_is_reported_as_loss(struct kunit *test)
{
	stubs.asoc.c.peer_vtag = 8;
	expect_sock_state(test, SDDP_SOCK_LOST, 0);
	/* acknowledgments of the restarted peer do not count: they belong to another association */
	stubs.a.acked = 5;
	stubs.asoc.ctsn_ack_point = 7;
	KUNIT_EXPECT_EQ(test, 5u, sddp_sock_get_acked_tsn(&stubs.a));
}

/*
 * The state change callback of a restart sets the send buffer to 0, so that no
 * context can send after it
 */
static void restart_clears_sndbuf(struct kunit *test)
{
	sddp_sock_install_callbacks(&stubs.a);
	stubs.sk.sk_sndbuf = 1000;
	called->state_change(&stubs.sk);
	KUNIT_EXPECT_EQ(test, 1000, stubs.sk.sk_sndbuf);
	stubs.asoc.c.peer_vtag = 8;
	called->state_change(&stubs.sk);
	KUNIT_EXPECT_EQ(test, 0, stubs.sk.sk_sndbuf);
	/*
	 * before the association is accepted, a restart cannot be detected: no peer
	 * tag is recorded
	 */
	stubs.sk.sk_sndbuf = 1000;
	stubs.a.peer_tag = 0;
	called->state_change(&stubs.sk);
	KUNIT_EXPECT_EQ(test, 1000, stubs.sk.sk_sndbuf);
}

/* If setting an SCTP option fails because memory is short, preparing the socket must fail */
static void enomem_of_option_is_returned(struct kunit *test)
{
	int n;

	KUNIT_EXPECT_EQ(test, 0, sddp_sock_set_options(&stubs.sock, 10, true));
	n = stubs.options;
	KUNIT_EXPECT_EQ(test, 8, n);
	for (stubs.why = -ENOMEM; n; n--) {
		stubs.options = 0;
		stubs.fails = n;
		KUNIT_EXPECT_EQ(test, -ENOMEM, sddp_sock_set_options(&stubs.sock, 10, n % 2));
	}
	/* an option that SCTP does not know is skipped */
	stubs.options = 0;
	stubs.fails = 3;
	stubs.why = -ENOPROTOOPT;
	KUNIT_EXPECT_EQ(test, 0, sddp_sock_set_options(&stubs.sock, 10, true));
	KUNIT_EXPECT_EQ(test, 8, stubs.options);
}

/*
 * If the peer restarts before the association is accepted, data that the earlier
 * incarnation has sent makes the association unusable
 */
static void restart_with_queued_data_makes_assoc_unusable(struct kunit *test)
{
	stubs.sk.sk_receive_queue.n = 1;
	KUNIT_EXPECT_EQ(test, (int)IW_OK, (int)sddp_sock_check_and_read_assoc(&stubs.a));
	stubs.asoc.c.peer_ttag = 6;
	KUNIT_EXPECT_EQ(test, (int)IW_PEER_RESET, (int)sddp_sock_check_and_read_assoc(&stubs.a));
	/* without queued data of the earlier incarnation the association is usable */
	stubs.sk.sk_receive_queue.n = 0;
	KUNIT_EXPECT_EQ(test, (int)IW_OK, (int)sddp_sock_check_and_read_assoc(&stubs.a));
}

/* The socket is created in the VRF of the association's interface */
static void socket_is_created_in_vrf(struct kunit *test)
{
	struct sddp_assoc a = { .vrf = 30 };

	KUNIT_EXPECT_EQ(test, -ENOMEM, sddp_sock_create(&a));
	KUNIT_EXPECT_EQ(test, 30, made_in);
	KUNIT_EXPECT_PTR_EQ(test, &a.owner, made_for);
}

/* Checking for SCTP leaks no socket */
static void support_check_leaks_no_socket(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0, sddp_sock_check_support());
	KUNIT_EXPECT_NULL(test, made);
	stubs.result = -EPROTONOSUPPORT;
	KUNIT_EXPECT_NE(test, 0, sddp_sock_check_support());
}

/*
 * After the end of the association, data that was not acknowledged before does not
 * count as acknowledged
 */
static void unacked_data_stays_unacked_after_end(struct kunit *test)
{
	stubs.asoc.ctsn_ack_point = 5;
	stubs.a.acked = sddp_sock_get_acked_tsn(&stubs.a);
	stubs.asoc.next_tsn = 9;
	KUNIT_EXPECT_EQ(test, 8u, sddp_sock_get_last_tsn(&stubs.a));
	end_assoc(ECONNRESET);
	KUNIT_EXPECT_EQ(test, 5u, sddp_sock_get_acked_tsn(&stubs.a));
	KUNIT_EXPECT_GT(test, (s32)(sddp_sock_get_last_tsn(&stubs.a) - 5), 0);
}

/*
 * After a SHUTDOWN the socket must be kept until SCTP's association has ended: in the state
 * SHUTDOWN-PENDING SCTP may have had no memory for the SHUTDOWN
 */
static void assoc_ends_only_in_sctp_state_closed(struct kunit *test)
{
	static const int states[] = {
		SCTP_STATE_ESTABLISHED, SCTP_STATE_SHUTDOWN_PENDING, SCTP_STATE_SHUTDOWN_SENT,
		SCTP_STATE_SHUTDOWN_RECEIVED, SCTP_STATE_SHUTDOWN_ACK_SENT,
	};
	int i;

	sddp_sock_shutdown(&stubs.a);
	KUNIT_EXPECT_EQ(test, SHUT_RDWR, stubs.how);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		stubs.asoc.state = states[i];
		KUNIT_EXPECT_FALSE(test, sddp_sock_has_assoc_ended(&stubs.a));
	}
	stubs.asoc.state = SCTP_STATE_CLOSED;
	KUNIT_EXPECT_TRUE(test, sddp_sock_has_assoc_ended(&stubs.a));
	end_assoc(0);
	KUNIT_EXPECT_TRUE(test, sddp_sock_has_assoc_ended(&stubs.a));
}

/* A release aborts SCTP's association, so that SCTP cannot keep the socket */
static void release_aborts_assoc(struct kunit *test)
{
	sddp_sock_release(&stubs.a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.aborted);
	KUNIT_EXPECT_NULL(test, stubs.a.sock);
	sddp_sock_release(&stubs.a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.aborted);
}

static struct kunit_case sddp_sock_cases[] = {
	KUNIT_CASE(assoc_ends_only_in_sctp_state_closed),
	KUNIT_CASE(release_aborts_assoc),
	KUNIT_CASE(support_check_leaks_no_socket),
	KUNIT_CASE(socket_is_created_in_vrf),
	KUNIT_CASE(socket_errors_are_reported_as_loss),
	KUNIT_CASE(shutdown_is_reported_as_peer_done),
	KUNIT_CASE(enomem_of_timer_is_ignored),
	KUNIT_CASE(send_error_does_not_hide_loss),
	KUNIT_CASE(send_error_does_not_hide_peer_done),
	KUNIT_CASE(full_sndbuf_keeps_assoc),
	KUNIT_CASE(unacked_data_stays_unacked_after_end),
	KUNIT_CASE(connecting_socket_has_own_states),
	KUNIT_CASE(icmp_errors_are_ignored),
	KUNIT_CASE(peer_restart_is_reported_as_loss),
	KUNIT_CASE(restart_clears_sndbuf),
	KUNIT_CASE(restart_with_queued_data_makes_assoc_unusable),
	KUNIT_CASE(enomem_of_option_is_returned),
	{}
};

static struct kunit_suite sddp_sock_suite = {
	.name = "sddp_sock",
	.init = test_init,
	.test_cases = sddp_sock_cases,
};

kunit_test_suite(sddp_sock_suite);
