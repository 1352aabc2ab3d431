// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* QP numbers, and which process may use a QP to connect or accept. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "verbs.h"

#define NOBODY	65534

/* Numbers ----------------------------------------------------------------- */

/* QPs of one PD must get adjacent numbers, so that tables indexed by number stay dense */
static void create_and_check_qp_numbers(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->scq, .recv_cq = e->rcq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	uint32_t blocks = 0, last = e->qp->qp_num, i;
	struct ibv_qp *qp[100];

	for (i = 0; i < ARRAY_SIZE(qp); i++) {
		qp[i] = ibv_create_qp(e->pd, &attr);
		CHECK(qp[i], "%m");
		blocks += qp[i]->qp_num / 64 != last / 64;
		last = qp[i]->qp_num;
	}
	/*
	 * the QPs use two blocks of 64 numbers, and perhaps the rest of blocks that other users
	 * have begun
	 */
	CHECK(blocks && blocks <= 4, "%u blocks", blocks);
	for (i = 0; i < ARRAY_SIZE(qp); i++)
		CHECK(!ibv_destroy_qp(qp[i]), "%m");
}

static void test_qp_numbers_adjacent_within_pd(void)
{
	uint32_t numbers[8], i, near = 0;
	struct pair p[8] = {};

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		pair_prepare(&p[i], &(struct opts){});
		numbers[i] = p[i].c.qp->qp_num;
		CHECK(numbers[i] > 1 && numbers[i] < 1u << 24, "%u", numbers[i]);
		if (i && numbers[i] - numbers[i - 1] + 1024 < 2048)
			near++;
	}
	/* two random numbers are this close to each other in one of 8000 cases */
	CHECK(near < 3, "%u, %u, %u, %u ...", numbers[0], numbers[1],
	      numbers[2], numbers[3]);
	create_and_check_qp_numbers(&p[0].c);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		pair_free(&p[i]);
}

/* Connecting -------------------------------------------------------------- */

static int wait_next_event(struct rdma_event_channel *ch)
{
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int type;

	if (poll(&pfd, 1, scale_timeout(WC_MS)) != 1 || rdma_get_cm_event(ch, &ev))
		return -1;
	type = ev->event;
	rdma_ack_cm_event(ev);
	return type;
}

/* Create an identifier in this process, and resolve it to the pair's listener */
static struct rdma_cm_id *create_resolved_id(const struct pair *p)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr *to = rdma_get_peer_addr(p->c.id);
	struct rdma_cm_id *id;

	CHECK(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "%m");
	CHECK(!rdma_resolve_addr(id, NULL, to, 2000), "%m");
	CHECK(wait_next_event(ch) == RDMA_CM_EVENT_ADDR_RESOLVED, "address");
	CHECK(!rdma_resolve_route(id, 2000), "%m");
	CHECK(wait_next_event(ch) == RDMA_CM_EVENT_ROUTE_RESOLVED, "route");
	return id;
}

/* Connect with the QP number @qpn.  Return: 0 or an errno */
static int connect_with_qpn(struct rdma_cm_id *id, uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn };

	return rdma_connect(id, &param) ? errno : 0;
}

static int wait_exit_status(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid, "%m");
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 255, "%x", status);
	return WEXITSTATUS(status);
}

enum actor {
	SAME_USER,
	USER_NOBODY,		/* user 65534 without rights */
	OTHER_PID_NS,		/* the same user in another PID namespace */
};

/*
 * Enter another PID namespace. unshare() changes only that of future children, so continue in a
 * child.
 */
static void enter_pid_ns(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		_exit(255);
	pid = fork();
	if (pid < 0)
		_exit(255);
	if (pid)
		_exit(wait_exit_status(pid));
}

/* Change the user or the PID namespace of this child process to that of the actor */
static void become_actor(enum actor who)
{
	if (who == OTHER_PID_NS)
		enter_pid_ns();
	alarm(scale_timeout(15));
	if (who == USER_NOBODY && (setresgid(NOBODY, NOBODY, NOBODY) ||
				   setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(255);
}

/* Run @act in a child process */
static pid_t start_child(int (*act)(const struct pair *p, uint32_t qpn),
			 const struct pair *p, uint32_t qpn, enum actor who)
{
	pid_t pid = fork();

	CHECK(pid >= 0, "%m");
	if (!pid) {
		become_actor(who);
		_exit(act(p, qpn));
	}
	return pid;
}

/* Run @act in a child process and return its result */
static int run_in_child(int (*act)(const struct pair *p, uint32_t qpn),
			const struct pair *p, uint32_t qpn, enum actor who)
{
	return wait_exit_status(start_child(act, p, qpn, who));
}

static int connect_new_id_with_qpn(const struct pair *p, uint32_t qpn)
{
	return connect_with_qpn(create_resolved_id(p), qpn);
}

/* The QP of another user or container cannot be used, nor can a number that is not in use */
static void test_owner_connect(void)
{
	struct pair p = {};
	uint32_t qpn;

	if (getuid())
		skip("needs root, to change the user");
	pair_prepare(&p, &(struct opts){});
	qpn = p.c.qp->qp_num;
	CHECK(run_in_child(connect_new_id_with_qpn, &p, 1, SAME_USER) == EINVAL,
	      "connect with QP number 1 must fail");
	CHECK(run_in_child(connect_new_id_with_qpn, &p, qpn, USER_NOBODY) == EINVAL,
	      "connect of another user must fail");
	CHECK(run_in_child(connect_new_id_with_qpn, &p, qpn, OTHER_PID_NS) == EINVAL,
	      "connect from another PID namespace must fail");
	CHECK(query_qp_state(&p.c) == IBV_QPS_INIT, "%d", query_qp_state(&p.c));
	/* the owner must still be able to connect with the QP */
	pair_request(&p);
	pair_create_qp(&p, &p.s);
	pair_accept(&p);
	pair_close(&p);
}

/* Reject connection requests until the child has exited, because the child waits for a reply */
static void reject_until_child_exits(struct pair *p, pid_t pid)
{
	struct pollfd pfd = { .fd = p->lch->fd, .events = POLLIN };
	siginfo_t gone = {};

	while (!gone.si_pid) {
		CHECK(!waitid(P_PID, pid, &gone, WEXITED | WNOHANG | WNOWAIT), "%m");
		if (poll(&pfd, 1, 20) <= 0)
			continue;
		pair_expect_event(p, p->lch, RDMA_CM_EVENT_CONNECT_REQUEST);
		CHECK(!rdma_reject(p->ev.id, NULL, 0), "%m");
		CHECK(!rdma_destroy_id(p->ev.id), "%m");
	}
}

/* A child process of the owner is allowed to use the QP */
static void test_owner_child(void)
{
	struct pair p = {};
	pid_t pid;

	pair_prepare(&p, &(struct opts){});
	pid = start_child(connect_new_id_with_qpn, &p, p.c.qp->qp_num, SAME_USER);
	reject_until_child_exits(&p, pid);
	CHECK(!wait_exit_status(pid), "a child process may connect");
	pair_free(&p);
}

/* Accepting --------------------------------------------------------------- */

/*
 * Wait until the client is rejected, possibly after a retry with MPA revision 1. Otherwise the exit
 * of this process would be delayed until the client's connection request has timed out.
 */
static void reject_until_client_is_rejected(struct pair *p)
{
	struct pollfd pfd[] = {
		{ .fd = p->lch->fd, .events = POLLIN },
		{ .fd = p->c.ch->fd, .events = POLLIN },
	};

	for (;;) {
		CHECK(poll(pfd, 2, scale_timeout(WC_MS)) > 0, "an event must arrive");
		if (pfd[1].revents)
			break;
		pair_expect_event(p, p->lch, RDMA_CM_EVENT_CONNECT_REQUEST);
		CHECK(!rdma_reject(p->ev.id, NULL, 0), "%m");
	}
	pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_REJECTED);
}

/* Accept a connection request with the QP of that number.  Return: 0 or an errno */
static int connect_and_accept_with_qpn(struct pair *p, uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn };
	int err;

	pair_request(p);
	err = rdma_accept(p->s.id, &param) ? errno : 0;
	if (err)
		reject_until_client_is_rejected(p);
	else
		pair_expect_event(p, p->c.ch, RDMA_CM_EVENT_ESTABLISHED);
	return err;
}

/* A process that connects to itself, and accepts with the QP whose number is written to @to */
struct acceptor {
	pid_t	pid;
	int	to;
};

/*
 * Start an acceptor. Call this function before the parent opens the device: otherwise the child
 * would inherit the parent's files, and the kernel would regard the parent as their owner.
 */
static struct acceptor start_acceptor(enum actor who)
{
	struct pair p = {};
	uint32_t qpn;
	int fds[2];
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "%m");
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (pid) {
		close(fds[0]);
		return (struct acceptor){ pid, fds[1] };
	}
	close(fds[1]);
	become_actor(who);
	pair_prepare(&p, &(struct opts){});
	if (read(fds[0], &qpn, sizeof(qpn)) != sizeof(qpn))
		_exit(255);
	_exit(connect_and_accept_with_qpn(&p, qpn));
}

static int try_accept_by_acceptor(const struct acceptor *a, uint32_t qpn)
{
	/* if the process has already exited, its status gives the reason */
	send(a->to, &qpn, sizeof(qpn), MSG_NOSIGNAL);
	close(a->to);
	return wait_exit_status(a->pid);
}

static void test_owner_accept(void)
{
	struct acceptor none, stranger, container, like;
	struct pair p = {};
	uint32_t qpn;

	if (getuid())
		skip("needs root, to change the user");
	/* load the provider now, because user 65534 may be unable to read its directory */
	ibv_free_device_list(ibv_get_device_list(NULL));
	none = start_acceptor(SAME_USER);
	stranger = start_acceptor(USER_NOBODY);
	container = start_acceptor(OTHER_PID_NS);
	like = start_acceptor(SAME_USER);
	pair_prepare(&p, &(struct opts){});
	qpn = p.c.qp->qp_num;
	CHECK(try_accept_by_acceptor(&none, 1) == EINVAL, "accept with QP number 1 must fail");
	CHECK(try_accept_by_acceptor(&stranger, qpn) == EINVAL, "accept of another user must fail");
	CHECK(try_accept_by_acceptor(&container, qpn) == EINVAL,
	      "accept from another PID namespace must fail");
	CHECK(query_qp_state(&p.c) == IBV_QPS_INIT, "%d", query_qp_state(&p.c));
	CHECK(!try_accept_by_acceptor(&like, qpn), "another process of root may accept");
	pair_free(&p);
}

/* The QP of a kernel consumer, whose number is in T_QPN, belongs to no process */
static void kernel_qp_cannot_be_connected(void)
{
	const char *qpn = getenv("T_QPN");
	struct pair p = {};
	int err;

	if (!qpn)
		skip("set T_QPN to the QP number of a kernel consumer");
	pair_prepare(&p, &(struct opts){});
	err = connect_with_qpn(create_resolved_id(&p), atoi(qpn));
	CHECK(err == EINVAL, "connect %s: %s", qpn, strerror(err));
	err = connect_and_accept_with_qpn(&p, atoi(qpn));
	CHECK(err == EINVAL, "accept %s: %s", qpn, strerror(err));
	pair_free(&p);
}

/* Exit while connecting ----------------------------------------------------- */

#define SOON_MS			4000	/* maximum time of an exit */
#define SCTP_ADAPTATION_LAYER	7
#define ADAPTATION_DDP		1	/* RFC 5043 11.1 */

/* Open a socket that accepts connections at the pair's address but never sends; @at: its address */
static int open_silent_listener(const struct pair *p, struct sockaddr_storage *at)
{
	int protocol = is_over_sctp() ? IPPROTO_SCTP : IPPROTO_TCP;
	const uint32_t adaptation = ADAPTATION_DDP;
	socklen_t len = sizeof(*at);
	int fd;

	memcpy(at, rdma_get_peer_addr(p->c.id), sizeof(struct sockaddr_in6));
	fd = socket(at->ss_family, SOCK_STREAM, protocol);
	CHECK(fd >= 0, "%m");
	CHECK(!is_over_sctp() || !setsockopt(fd, IPPROTO_SCTP, SCTP_ADAPTATION_LAYER,
					     &adaptation, sizeof(adaptation)), "%m");
	((struct sockaddr_in *)at)->sin_port = 0;
	CHECK(!bind(fd, (struct sockaddr *)at, sizeof(*at)) && !listen(fd, 1), "%m");
	CHECK(!getsockname(fd, (struct sockaddr *)at, &len), "%m");
	return fd;
}

/*
 * Connect to a peer that does not reply, with an ID that is closed before the device at exit:
 * the kernel closes the files of a process in the reverse order of their numbers, and this
 * channel is opened after the device.  Then wait in rdma_disconnect() if @disconnects is set.
 */
static void connect_to_silent_peer_and_pause(int ready, bool disconnects)
{
	struct rdma_conn_param param = {};
	struct rdma_event_channel *ch;
	struct sockaddr_storage to;
	struct rdma_cm_id *id;
	struct pair p = {};
	int silent;

	pair_prepare(&p, &(struct opts){});
	silent = open_silent_listener(&p, &to);
	ch = rdma_create_event_channel();
	CHECK(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "%m");
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 2000), "%m");
	CHECK(wait_next_event(ch) == RDMA_CM_EVENT_ADDR_RESOLVED, "address");
	CHECK(!rdma_resolve_route(id, 2000), "%m");
	CHECK(wait_next_event(ch) == RDMA_CM_EVENT_ROUTE_RESOLVED, "route");
	param.qp_num = p.c.qp->qp_num;
	CHECK(!rdma_connect(id, &param), "%m");
	CHECK(accept(silent, NULL, NULL) >= 0, "%m");
	CHECK(write(ready, "", 1) == 1, "%m");
	if (disconnects)
		rdma_disconnect(id);
	pause();
}

/* Return: milliseconds that a killed process takes to exit */
static uint64_t measure_exit_ms(bool disconnects)
{
	uint64_t start;
	int fds[2];
	pid_t pid;
	char c;

	CHECK(!pipe(fds), "%m");
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid) {
		connect_to_silent_peer_and_pause(fds[1], disconnects);
		_exit(255);
	}
	close(fds[1]);
	CHECK(read(fds[0], &c, 1) == 1, "the child must be connecting");
	/* time for rdma_disconnect() to begin */
	usleep(300000);
	start = now_ms();
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid, "%m");
	close(fds[0]);
	return now_ms() - start;
}

/* A program that is killed while the peer does not reply must exit soon */
static void test_owner_killed(void)
{
	uint64_t closes = measure_exit_ms(false), disconnects = measure_exit_ms(true);

	printf("# exits after %llu and %llu ms\n", (unsigned long long)closes,
	       (unsigned long long)disconnects);
	CHECK(closes < scale_timeout(SOON_MS) && disconnects < scale_timeout(SOON_MS),
	      "a killed program must exit soon");
}

const struct test owner_tests[] = {
	CASE("owner_numbers", test_qp_numbers_adjacent_within_pd, 0, ""),
	CASE("owner_connect", test_owner_connect, 60, "SEC-4"),
	CASE("owner_child", test_owner_child, 60, ""),
	CASE("owner_accept", test_owner_accept, 60, "SEC-4"),
	CASE("owner_killed", test_owner_killed, 200, ""),
	{ .name = "owner_kernel", .run = kernel_qp_cannot_be_connected, .shows = "SEC-4",
	  .asked = true },
	{}
};
