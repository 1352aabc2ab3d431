// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Processes that are killed or that hang during page faults of their MRs must not affect others. */
#define _GNU_SOURCE
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "verbs_odp.h"

/*
 * Pass the userfaultfd to another process.  As long as it is open in that process, the page is not
 * served, even after the death of this process.
 */
static void send_fd(int over, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {}, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	CHECK(sendmsg(over, &msg, 0) == 1, "%m");
}

static int receive_fd(int over)
{
	char room[CMSG_SPACE(sizeof(int))] = {}, byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c;
	int fd;

	CHECK(recvmsg(over, &msg, 0) == 1, "the child must start its message");
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c, "a file descriptor must arrive");
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

/* Check for ODP in a child: libibverbs fails in children of a process that has used it */
static void skip_without_odp(void)
{
	struct pair p;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid) {
		odp_pair_open(&p, &(struct opts){});
		_exit(PASS);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "%x", status);
	if (WEXITSTATUS(status))
		_exit(WEXITSTATUS(status));
}

static void skip_without_userfaultfd(void)
{
	skip_without_odp();
	close(open_userfaultfd());
}

/* Open both ends in one process, start a message that waits for a page, and wait to be killed */
static void start_stuck_message_and_pause(int over, enum ibv_wr_opcode op, bool at_client)
{
	struct stall s;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stall_start(&s, at_client, op);
	send_fd(over, s.fd);
	for (;;)
		pause();
}

static void kill_during_fault(enum ibv_wr_opcode op, bool at_client)
{
	uint64_t until;
	int over[2], fd;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, over), "%m");
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid)
		start_stuck_message_and_pause(over[1], op, at_client);
	close(over[1]);
	fd = receive_fd(over[0]);
	CHECK(!kill(pid, SIGKILL), "%m");
	until = now_ms() + scale_timeout(WC_MS);
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		CHECK(now_ms() < until, "a killed process must end");
		sleep_ms(10);
	}
	close(fd);
	close(over[0]);
}

static void test_process_killed_during_page_fault(void)
{
	skip_without_userfaultfd();
	kill_during_fault(IBV_WR_RDMA_WRITE, false);
	kill_during_fault(IBV_WR_RDMA_READ, false);
	kill_during_fault(IBV_WR_SEND, true);
	kill_during_fault(IBV_WR_RDMA_READ, true);
	/* the device must still work */
	wait_until_idle();
}

/* Many unserved pages of one program must not delay another program ------------- */

enum { CROWD = 100 };

/*
 * For each connection, set up a page whose fault is never served, and which both a Write
 * from the peer and a local Send access
 */
static void create_stuck_conns(int fd)
{
	static struct pair p[CROWD];
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct buf all, page, from;
	uint32_t i;

	pages_create(&all, CROWD);
	buf_create(&from, 100);
	reg.range = (struct uffdio_range){ (uintptr_t)all.at, all.len };
	CHECK(!ioctl(fd, UFFDIO_REGISTER, &reg), "%m");
	odp_pair_open(&p[0], &(struct opts){});
	buf_reg(&from, p[0].c.pd, 0);
	for (i = 1; i < CROWD; i++)
		pair_open_like(&p[i], &p[0]);
	for (i = 0; i < CROWD; i++) {
		page = (struct buf){ .at = all.at + i * get_page_size(), .len = get_page_size() };
		buf_reg(&page, p[0].s.pd, RIGHTS_ODP);
		post_job(&p[i].c, &(struct job){
			.op = IBV_WR_RDMA_WRITE, .b = &from, .len = 100,
			.raddr = (uintptr_t)page.at, .rkey = page.mr->rkey });
		post_send(&p[i].s, 1, &page, 0, 100);
	}
}

static void run_process_with_stuck_conns(int ready)
{
	int fd = open_userfaultfd();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	create_stuck_conns(fd);
	CHECK(write(ready, "", 1) == 1, "%m");
	for (;;)
		pause();
}

static void test_stuck_conns_do_not_delay_others(void)
{
	int ready[2], status;
	struct fixture d;
	char c;
	pid_t pid;

	skip_without_userfaultfd();
	CHECK(!pipe(ready), "%m");
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0, "%m");
	if (!pid)
		run_process_with_stuck_conns(ready[1]);
	close(ready[1]);
	CHECK(read(ready[0], &c, 1) == 1, "the other program must start");
	odp_fixture_open_private(&d, 6);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	odp_fixture_close(&d);
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "%m");
}

/* A child keeps the file descriptors after the process with the memory has exited */
static void exit_before_child(void)
{
	struct fixture d;
	uint32_t i;

	odp_fixture_open_private(&d, 64);
	exchange_all_message_types(&d, d.s.len, 1, NULL);
	fflush(stdout);
	if (!fork()) {
		sleep_ms(500);
		_exit(PASS);
	}
	/* the pages that these messages use disappear when this process exits */
	for (i = 0; i < 40; i++)
		post_job(&d.p.c, &(struct job){
			.op = i % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			.b = &d.c, .len = d.c.len, .raddr = (uintptr_t)d.s.at,
			.rkey = d.s.mr->rkey });
	_exit(PASS);
}

static void test_child_outlives_owner(void)
{
	int status, i;
	pid_t pid;

	for (i = 0; i < 3; i++) {
		fflush(stdout);
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		pid = fork();
		CHECK(pid >= 0, "%m");
		if (!pid)
			exit_before_child();
		CHECK(waitpid(pid, &status, 0) == pid, "%m");
		if (WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
			_exit(SKIP);
		CHECK(!status, "%x", status);
		/* wait for the grandchild, which this process has adopted */
		CHECK(wait(&status) > 0 && !status, "%x", status);
	}
	wait_until_idle();
}

#define NOBODY	65534u
#define OF_A_USER	1024	/* limit on ODP processes of one user */

/* In a child: register an ODP MR, report the result with @tell, and stay until the test ends */
static void register_odp_mr_and_wait(struct ibv_device *dev, int tell, int wait_for)
{
	struct ibv_context *ctx = ibv_open_device(dev);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	static char some[4096];
	int error = 0;
	char c;

	CHECK(pd, "%m");
	if (!ibv_reg_mr(pd, some, sizeof(some), RIGHTS_ODP))
		error = errno;
	CHECK(write(tell, &error, sizeof(error)) == sizeof(error), "%m");
	CHECK(read(wait_for, &c, 1) == 0, "the pipe must be at its end");
	_exit(0);
}

/* Start a process of user @uid with an ODP MR.  Return: 0, or the errno of its registration */
static int start_odp_owner(struct ibv_device *dev, uid_t uid, int tell[2], int wait_for[2])
{
	pid_t pid = fork();
	int error;

	CHECK(pid >= 0, "%m");
	if (!pid) {
		close(wait_for[1]);
		CHECK(!setresuid(uid, uid, uid), "%m");
		register_odp_mr_and_wait(dev, tell[1], wait_for[0]);
	}
	CHECK(read(tell[0], &error, sizeof(error)) == sizeof(error), "%m");
	return error;
}

/* The processes of one user must not use up the capacity for other users */
static void odp_owners_are_limited(void)
{
	int tell[2], wait_for[2], i, error, status;
	struct ibv_device **devs;

	if (getuid())
		skip("needs root, to change the user");
	skip_without_odp();
	devs = ibv_get_device_list(NULL);
	CHECK(devs && devs[0] && !pipe(tell) && !pipe(wait_for), "%m");
	for (i = 0; i < OF_A_USER; i++) {
		error = start_odp_owner(devs[0], NOBODY, tell, wait_for);
		CHECK(!error, "%d: %s", i, strerror(error));
	}
	error = start_odp_owner(devs[0], NOBODY, tell, wait_for);
	CHECK(error == ENOMEM, "one process above the limit must be refused: %s", strerror(error));
	CHECK(!start_odp_owner(devs[0], NOBODY - 1, tell, wait_for),
	      "another user must not be refused");
	CHECK(!start_odp_owner(devs[0], 0, tell, wait_for), "root must not be refused");
	close(wait_for[1]);
	for (i = 0; i < OF_A_USER + 3; i++)
		CHECK(wait(&status) > 0 && !status, "%x", status);
	wait_until_idle();
}

const struct test odp_ends_tests[] = {
	CASE("odp_stuck_killed", test_process_killed_during_page_fault, 120, ""),
	CASE("odp_stuck_crowd", test_stuck_conns_do_not_delay_others, 120, ""),
	CASE("odp_outlived", test_child_outlives_owner, 60, ""),
	{ .name = "limit_owners", .run = odp_owners_are_limited, .seconds = 600,
	  .shows = "SEC-24", .asked = true },
	{}
};
