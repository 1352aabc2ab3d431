// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The doorbell file: which doorbell numbers are valid, and calls that ring doorbells while QPs are
 * destroyed.
 *
 * All other cases also use this file: the provider rings the doorbells of send queues with it.
 */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "verbs.h"
#include "verbs_ioctl.h"

/* See include/uapi/rdma/rnic_sw-abi.h */
enum { OWN_DOORBELL = 1 << UVERBS_ID_NS_SHIFT };
#define RING_SQ		_IO(RDMA_IOCTL_MAGIC, 0x80)
#define BUSY_POLL	_IO(RDMA_IOCTL_MAGIC, 0x81)

#define NUMBERS		64	/* each context of these cases has only lower numbers */
#define MANY_QPS	20

/* Allocate a doorbell file.  Return: 0, with @fd set; or an errno */
static int open_doorbell_file(const struct ibv_context *ctx, int *fd)
{
	struct call c;
	int err;

	call_begin(&c, OWN_DOORBELL, OWN_DOORBELL);
	call_add_value(&c, OWN_DOORBELL, 0, 0);
	err = call_issue(&c, ctx);
	*fd = err ? -1 : (int)c.attrs[0].data;
	return err;
}

/* Ring the doorbell @number.  Return: 0 or an errno */
static int ring_doorbell_number(int fd, unsigned long number)
{
	return ioctl(fd, RING_SQ, number) ? errno : 0;
}

/* Find the doorbell file of this process, which must not have two.  Return: its fd, or -1 */
static int find_doorbell_file(void)
{
	char path[PATH_MAX], to[PATH_MAX];
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	int found = -1;
	ssize_t n;

	CHECK(dir, "%m");
	while ((e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n < 0 ? 0 : n] = 0;
		if (!strstr(to, "[rnic_sw_doorbell]"))
			continue;
		CHECK(found < 0, "this process must have one doorbell file");
		found = atoi(e->d_name);
	}
	closedir(dir);
	return found;
}

/* Count the valid doorbell numbers; set @last to the highest of them */
static unsigned int count_valid_doorbell_numbers(int fd, unsigned long *last)
{
	unsigned int found = 0;
	unsigned long i;
	int err;

	for (i = 0; i < NUMBERS; i++) {
		err = ring_doorbell_number(fd, i);
		CHECK(!err || err == ENOENT, "number %lu: %s", i, strerror(err));
		if (err)
			continue;
		found++;
		*last = i;
	}
	return found;
}

static void test_doorbell_file(void)
{
	struct pair p = {};
	struct ibv_context *ctx;
	unsigned long last = 0;
	int fd, again;

	pair_prepare(&p, &(struct opts){});
	ctx = ibv_open_device(p.c.id->verbs->device);
	CHECK(ctx, "%m");
	CHECK(!open_doorbell_file(ctx, &fd), "alloc: %m");
	CHECK(open_doorbell_file(ctx, &again) == EBUSY, "a second file of a context");
	CHECK(ring_doorbell_number(fd, 0) == ENOENT && ring_doorbell_number(fd, 1) == ENOENT &&
	      ring_doorbell_number(fd, ULONG_MAX) == ENOENT,
	      "this context has no QP");
	CHECK(ioctl(fd, BUSY_POLL, 1) && errno == ENOENT, "this context has no QP: %m");
	CHECK(ioctl(fd, BUSY_POLL + 1, 1) && errno == ENOTTY, "%m");
	CHECK(!count_valid_doorbell_numbers(fd, &last), "this context has no QP");
	close(fd);
	CHECK(!open_doorbell_file(ctx, &fd), "alloc after close: %m");
	/* the file stays open until the context is closed */
	CHECK(!ibv_close_device(ctx), "%m");
	CHECK(ring_doorbell_number(fd, 1) == EIO, "the context is closed");
	close(fd);
	pair_free(&p);
}

static struct ibv_qp *make_unconnected_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	CHECK(qp, "%m");
	return qp;
}

/* The doorbell number of a destroyed QP is invalid until another QP gets it */
static void test_doorbell_numbers(void)
{
	unsigned long last = 0, third = 0;
	struct ibv_qp *qp, *qps[MANY_QPS];
	struct pair p = {};
	int fd, i;

	pair_open(&p, &(struct opts){});
	fd = find_doorbell_file();
	CHECK(fd >= 0, "the provider must have a doorbell file");
	CHECK(count_valid_doorbell_numbers(fd, &last) == 2, "numbers of 2 QPs");
	/* the device's setting is off, or the network device has no NAPI instance */
	CHECK(ioctl(fd, BUSY_POLL, last) && errno == EOPNOTSUPP, "%m");
	for (i = 0; i < 3; i++) {
		qp = make_unconnected_qp(p.c.id->pd, p.c.scq);
		CHECK(count_valid_doorbell_numbers(fd, &third) == 3 && third == last + 1, "%lu", third);
		CHECK(!ibv_destroy_qp(qp), "%m");
		CHECK(ring_doorbell_number(fd, third) == ENOENT, "number of a destroyed QP");
	}
	/* the driver keeps doorbells with numbers below 16 in an array, and all in an xarray */
	for (i = 0; i < MANY_QPS; i++)
		qps[i] = make_unconnected_qp(p.c.id->pd, p.c.scq);
	CHECK(count_valid_doorbell_numbers(fd, &third) == 2 + MANY_QPS, "%lu", third);
	for (i = 0; i < MANY_QPS; i++)
		CHECK(!ibv_destroy_qp(qps[i]), "%m");
	CHECK(count_valid_doorbell_numbers(fd, &third) == 2 && third == last, "%lu", third);
	pair_close(&p);
	CHECK(!count_valid_doorbell_numbers(fd, &last), "numbers after all QPs are destroyed");
}

/* Create a QP and a doorbell file in a new context, write the number of the file to @out, and wait */
static void keep_qp_in_new_context(struct ibv_device *dev, int out)
{
	struct ibv_context *ctx = ibv_open_device(dev);
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	int fd;

	CHECK(ctx && !open_doorbell_file(ctx, &fd), "%m");
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	CHECK(pd && cq, "%m");
	make_unconnected_qp(pd, cq);
	CHECK(write(out, &fd, sizeof(fd)) == sizeof(fd), "%m");
	pause();
}

/*
 * A process gets the doorbell file of another process, which is then killed. From then on the file
 * has no doorbell, although it is still open.
 */
static void test_doorbell_killed(void)
{
	struct pair p = {};
	int fd, pipes[2], i;
	pid_t child;

	pair_prepare(&p, &(struct opts){});
	CHECK(!pipe(pipes), "%m");
	child = fork();
	if (!child)
		keep_qp_in_new_context(p.c.id->verbs->device, pipes[1]);
	close(pipes[1]);
	CHECK(child > 0 && read(pipes[0], &fd, sizeof(fd)) == sizeof(fd), "the child must start: %m");
	fd = syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, child, 0), fd, 0);
	CHECK(fd >= 0, "%m");
	CHECK(!ring_doorbell_number(fd, 1), "another process must be able to ring the doorbell");
	CHECK(!kill(child, SIGKILL) && waitpid(child, NULL, 0) == child, "%m");
	/*
	 * The kernel frees the doorbell after an RCU grace period. Go on ringing for 400 ms, so
	 * that KASAN reports a call that still uses the doorbell then
	 */
	for (i = 0; i < 20; i++) {
		CHECK(ring_doorbell_number(fd, 1) == EIO, "the context of the file is gone");
		usleep(20000);
	}
	close(fd);
	close(pipes[0]);
	pair_free(&p);
}

/* Posts must work after the program has closed the doorbell file */
static void test_doorbell_closed(void)
{
	struct fixture d;
	uint32_t i;

	fixture_open(&d, &(struct opts){}, 64);
	close(find_doorbell_file());
	for (i = 0; i < 3; i++) {
		post_recv(&d.p.s, i, &d.s, 0, 64);
		post_send(&d.p.c, i, &d.c, 0, 64);
		expect_success(d.p.c.scq, i, IBV_WC_SEND);
		expect_recv(d.p.s.rcq, i, 64);
	}
	fixture_close(&d);
}

#define RINGERS		32

struct ringer {
	pthread_t	thread;
	int		fd;
	volatile bool	stop;
	unsigned int	rung;
};

static void *keep_ringing_doorbells(void *arg)
{
	struct ringer *r = arg;
	unsigned long i;

	while (!r->stop)
		for (i = 0; i < 8; i++)
			r->rung += !ring_doorbell_number(r->fd, i);
	return NULL;
}

/*
 * Threads ring all doorbells while QPs are created, enter the error state and are destroyed. There
 * are so many threads that a call is in progress at any time. The calls must not delay the
 * destruction.
 */
static void test_doorbell_race(void)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ringer r[RINGERS] = {};
	struct pair p = {};
	struct ibv_qp *qp;
	uint32_t i;

	pair_open(&p, &(struct opts){});
	for (i = 0; i < RINGERS; i++) {
		r[i].fd = find_doorbell_file();
		CHECK(!pthread_create(&r[i].thread, NULL, keep_ringing_doorbells, &r[i]), "thread");
	}
	for (i = 0; i < scale_rounds(200); i++) {
		qp = make_unconnected_qp(p.c.id->pd, p.c.scq);
		if (i % 2)
			CHECK(!ibv_modify_qp(qp, &err, IBV_QP_STATE), "error");
		CHECK(!ibv_destroy_qp(qp), "%m");
	}
	for (i = 0; i < RINGERS; i++) {
		r[i].stop = true;
		pthread_join(r[i].thread, NULL);
		CHECK(r[i].rung, "each thread must have rung a doorbell");
	}
	pair_close(&p);
}

const struct test doorbell_tests[] = {
	CASE("doorbell_file", test_doorbell_file, 0, NULL),
	CASE("doorbell_numbers", test_doorbell_numbers, 0, NULL),
	CASE("doorbell_killed", test_doorbell_killed, 0, NULL),
	CASE("doorbell_closed", test_doorbell_closed, 0, NULL),
	CASE("doorbell_race", test_doorbell_race, 60, NULL),
	{}
};
