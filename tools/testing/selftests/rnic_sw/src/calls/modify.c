// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * modify DEVICE ROUNDS: connect pairs of QPs by ibv_modify_qp(), and destroy them at any moment,
 * while they connect or transfer data.  In the end a pair must connect.  The script that calls this
 * program checks that nothing is left, also after the program has been killed.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define PATIENCE	60	/* in seconds, for each round */
#define QPS		8	/* QP n and QP n ^ 1 are a pair */
#define OCTETS		20000
#define NAP_MOST	20000	/* in microseconds: about as long as a pair takes to connect */
#define PSN		7
#define TIMEOUT		18	/* with 7 retries: posted requests wait for 30 s */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static union ibv_gid gid;
static char mem[OCTETS];
static unsigned long good, bad;	/* completions */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "modify: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void die_of_timeout(int sig)
{
	static const char words[] = "modify: timeout: a call does not return\n";

	(void)sig;
	if (write(2, words, sizeof(words) - 1) < 0)
		_exit(3);
	_exit(2);
}

static void open_device(const char *name)
{
	struct ibv_device **all = ibv_get_device_list(NULL);

	for (; all && *all && !ctx; all++)
		if (!strcmp(ibv_get_device_name(*all), name))
			ctx = ibv_open_device(*all);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	cq = pd ? ibv_create_cq(ctx, 1024, NULL, NULL, 0) : NULL;
	mr = cq ? ibv_reg_mr(pd, mem, OCTETS, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr || ibv_query_gid(ctx, 1, 0, &gid))
		die(name);
}

static struct ibv_qp *create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				 IBV_QP_ACCESS_FLAGS))
		die("new QP");
	return qp;
}

static void connect_to_peer(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .rq_psn = PSN,
		.dest_qp_num = peer, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { gid, 0, 0, 64, 0 } },
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = PSN, .timeout = TIMEOUT, .retry_cnt = 7,
		.rnr_retry = 7,
	};

	if (ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	if (ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void post_recv_and_send(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)mem, OCTETS, mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad_send;

	if (ibv_post_recv(qp, &recv, &bad_recv) || ibv_post_send(qp, &send, &bad_send))
		die("post");
}

static void poll_and_count_completions(void)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		good += wc.status == IBV_WC_SUCCESS;
		bad += wc.status != IBV_WC_SUCCESS;
	}
}

/* Sleep for a time whose order of magnitude is random, too */
static void sleep_random_time(void)
{
	usleep((NAP_MOST >> random() % 15) + 1);
}

static void destroy_qp(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (random() % 4 == 0)
		ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	if (ibv_destroy_qp(qp))
		die("destroy");
}

static void run_round(void)
{
	struct ibv_qp *qps[QPS];
	unsigned int first = random() % QPS, i;

	alarm(PATIENCE);
	for (i = 0; i < QPS; i++)
		qps[i] = create_qp();
	/* either side may be modified first; some pairs are not connected yet when destroyed */
	for (i = 0; i < QPS; i++) {
		unsigned int n = i ^ first;

		connect_to_peer(qps[n], qps[n ^ 1]->qp_num);
		if (random() % 4)
			post_recv_and_send(qps[n]);
		if (random() % 4 == 0)
			sleep_random_time();
	}
	sleep_random_time();
	for (i = 0; i < QPS; i++) {
		destroy_qp(qps[(i * 3 + first) % QPS]);
		if (random() % 4 == 0)
			sleep_random_time();
		poll_and_count_completions();
	}
}

/* Connect a pair, and check that messages arrive in both directions */
static void connect_and_check_last_pair(void)
{
	struct ibv_qp *one = create_qp(), *other = create_qp();
	unsigned long want;

	alarm(PATIENCE);
	connect_to_peer(one, other->qp_num);
	connect_to_peer(other, one->qp_num);
	poll_and_count_completions();
	want = good + 4;	/* two sends, two receives */
	bad = 0;
	post_recv_and_send(one);
	post_recv_and_send(other);
	while (good < want && !bad) {
		usleep(1000);
		poll_and_count_completions();
	}
	if (bad) {
		errno = EIO;
		die("the last pair");
	}
	destroy_qp(one);
	destroy_qp(other);
}

int main(int argc, char **argv)
{
	int round, rounds;

	if (argc != 3)
		return 2;
	signal(SIGALRM, die_of_timeout);
	rounds = atoi(argv[2]);
	srandom(getpid());
	open_device(argv[1]);
	for (round = 0; round < rounds; round++)
		run_round();
	poll_and_count_completions();
	printf("%d rounds: %lu requests and receives completed, %lu failed\n", rounds, good, bad);
	fflush(stdout);
	if (rounds >= 50 && !good) {
		errno = EIO;
		die("no pair has connected");
	}
	connect_and_check_last_pair();
	return 0;
}
