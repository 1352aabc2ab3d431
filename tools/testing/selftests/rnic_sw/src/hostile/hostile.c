// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A hostile program.  Each session opens the device, connects some QPs, and then misuses all
 * interfaces from several threads concurrently: rings, commands, the order of calls, and the way
 * the process ends.
 *
 * hostile -a ADDRESS [-s SECONDS] [-n SESSIONS] [-r SEED] [-f FIRST]
 *
 * A session may crash.  This program checks that no session hangs; the script that runs the program
 * checks that the system is not harmed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#include "hostile.h"

#define CONNS		3
#define MEM		(256 * 1024)
#define SESSION_S	20	/* a session is killed after this time */
#define DEATH_S		60	/* a killed session must have exited within this time */
#define DRIVER_ID	0x726e7377
#define RIGHTS		(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC | \
			 IBV_ACCESS_MW_BIND)

/*
 * Sums of all sessions, for the log. soft: changes to memory of ODP MRs; hard: sessions that could
 * not set up such memory although the device supports ODP; modified: completions without rdma_cm
 */
struct tally {
	atomic_ulong	writes, ioctls, posts, scribbles, connected, forks, soft, hard, modified;
};

struct conn {
	struct rdma_cm_id	*listen, *c, *s;
};

static struct tally *tally;
static const char *address;
static __thread uint64_t state;

static struct conn conns[CONNS];
static struct ibv_mr *mr;
static uint8_t *mem;
static struct cmd_target world;
static struct soft soft;
static bool is_soft;

/* Random numbers ----------------------------------------------------------- */

void seed_random(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15ull + 1;
}

uint32_t get_random_below(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (state >> 16) % below : 0;
}

uint32_t get_random_value(void)
{
	switch (get_random_below(6)) {
	case 0:
		return get_random_below(20);
	case 1:
		return -get_random_below(20);
	case 2:
		return 1u << get_random_below(32);
	case 3:
		return (1u << get_random_below(32)) - 1;
	default:
		return get_random_below(0xffffffff);
	}
}

/* Connections -------------------------------------------------------------- */

static struct rdma_addrinfo *resolve_port(const char *port, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags, .ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *ai = NULL;

	if (rdma_getaddrinfo(address, port, &hints, &ai))
		return NULL;
	return ai;
}

static struct rdma_cm_id *create_endpoint(const char *port, int flags)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1 << get_random_below(8),
			.max_recv_wr = 1 << get_random_below(8),
			.max_send_sge = 1 + get_random_below(8), .max_recv_sge = 1 +
			get_random_below(8),
			.max_inline_data = get_random_below(257),
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = get_random_below(2),
	};
	struct rdma_addrinfo *ai = resolve_port(port, flags);
	struct rdma_cm_id *id = NULL;

	if (!ai)
		return NULL;
	if (rdma_create_ep(&id, ai, NULL, &attr))
		id = NULL;
	rdma_freeaddrinfo(ai);
	return id;
}

static void *accept_one_request(void *arg)
{
	struct conn *c = arg;

	if (rdma_get_request(c->listen, &c->s))
		return NULL;
	if (rdma_accept(c->s, NULL))
		c->s = NULL;
	return NULL;
}

static void connect_endpoints(struct conn *c)
{
	struct rdma_conn_param param = {
		.initiator_depth = 1 + get_random_below(16), .responder_resources = 1 + get_random_below(16),
	};
	pthread_t th;
	char port[8];

	c->listen = create_endpoint("0", RAI_PASSIVE);
	if (!c->listen || rdma_listen(c->listen, 4))
		return;
	snprintf(port, sizeof(port), "%d", ntohs(rdma_get_src_port(c->listen)));
	c->c = create_endpoint(port, 0);
	if (!c->c || pthread_create(&th, NULL, accept_one_request, c))
		return;
	if (!rdma_connect(c->c, &param))
		atomic_fetch_add(&tally->connected, 1);
	pthread_join(th, NULL);
}

static bool has_odp(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr = {};

	return !ibv_query_device_ex(ctx, NULL, &attr) &&
	       attr.odp_caps.general_caps & IBV_ODP_SUPPORT;
}

static bool connect_and_register_memory(void)
{
	size_t i;

	for (i = 0; i < CONNS; i++)
		connect_endpoints(&conns[i]);
	mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || !conns[0].c || !conns[0].c->verbs)
		return false;
	mr = ibv_reg_mr(conns[0].c->pd, mem, MEM, RIGHTS);
	world = (struct cmd_target){
		.fd = conns[0].c->verbs->cmd_fd, .driver_id = DRIVER_ID,
		.mem = mem, .len = MEM, .answer = malloc(CMD_ANSWER),
	};
	is_soft = soft_create(&soft, conns[0].c->pd, RIGHTS & ~IBV_ACCESS_MW_BIND);
	if (!is_soft && has_odp(conns[0].c->verbs))
		atomic_fetch_add(&tally->hard, 1);
	return mr && world.answer && init_qp_modification(conns[0].c->pd, mr);
}

/* Jobs of the threads ------------------------------------------------------ */

static struct ibv_qp *choose_qp(void)
{
	const struct conn *c = &conns[get_random_below(CONNS)];
	const struct rdma_cm_id *id = get_random_below(2) ? c->c : c->s;

	return id ? id->qp : NULL;
}

static struct ibv_sge make_random_sge(uint32_t most)
{
	if (is_soft && get_random_below(2))
		return make_soft_sge(&soft);
	return (struct ibv_sge){
		.addr = (uintptr_t)mem + get_random_below(MEM / 2),
		.length = get_random_below(most),
		.lkey = get_random_below(50) ? mr->lkey : get_random_value(),
	};
}

static void post_send(struct ibv_qp *qp)
{
	struct ibv_sge there = make_random_sge(1);
	struct ibv_sge sge[4];
	struct ibv_send_wr wr = {
		.opcode = get_random_below(IBV_WR_BIND_MW + 1), .sg_list = sge,
		.num_sge = get_random_below(5), .send_flags = get_random_below(16), .wr_id = get_random_below(1000),
		.wr.rdma = { there.addr, there.lkey },
	}, *bad;
	int i;

	for (i = 0; i < wr.num_sge; i++)
		sge[i] = make_random_sge(get_random_below(3) ? 200 : MEM / 2);
	ibv_post_send(qp, &wr, &bad);
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = make_random_sge(MEM / 2);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = get_random_below(2) }, *bad;

	ibv_post_recv(qp, &wr, &bad);
}

static void post_random_work(void)
{
	struct ibv_qp *qp = choose_qp();
	struct ibv_wc wc[8];

	if (!qp)
		return;
	atomic_fetch_add(&tally->posts, 1);
	post_recv(qp);
	post_send(qp);
	ibv_poll_cq(qp->send_cq, get_random_below(9), wc);
	ibv_poll_cq(qp->recv_cq, get_random_below(9), wc);
	if (!get_random_below(4))
		ibv_req_notify_cq(qp->recv_cq, get_random_below(2));
}

/* Connect with a guessed QP number: that of another program, or one that is not in use */
static void connect_with_random_qpn(void)
{
	struct rdma_conn_param param = { .qp_num = get_random_value() & 0xffffff };
	struct rdma_addrinfo *ai = resolve_port("7", 0);
	struct rdma_cm_id *id = NULL;

	if (!ai)
		return;
	if (!rdma_create_ep(&id, ai, NULL, NULL))
		rdma_connect(id, &param);
	rdma_freeaddrinfo(ai);
}

static void make_random_call_or_sleep(void)
{
	struct ibv_qp_attr attr = { .qp_state = get_random_below(8),
				    .qp_access_flags = get_random_value() };
	struct ibv_qp *qp = choose_qp();
	struct ibv_mw *mw;

	if (!qp)
		return;
	switch (get_random_below(12)) {
	case 0:
		ibv_resize_cq(get_random_below(2) ? qp->send_cq : qp->recv_cq,
			      1 << get_random_below(16));
		break;
	case 1:
		ibv_modify_qp(qp, &attr, get_random_below(3) ? IBV_QP_ACCESS_FLAGS
						 : IBV_QP_STATE);
		break;
	case 2:
		ibv_dereg_mr(ibv_reg_mr(qp->pd, mem, MEM, RIGHTS) ?: mr);
		break;
	case 3:
		mw = ibv_alloc_mw(qp->pd, 1 + get_random_below(2));
		if (mw && get_random_below(2))
			ibv_dealloc_mw(mw);
		break;
	case 4:
		if (!get_random_below(40))
			connect_with_random_qpn();
		break;
	case 5:
		if (!get_random_below(40))
			rdma_disconnect(conns[get_random_below(CONNS)].c);
		break;
	case 6:
		if (!get_random_below(20))
			madvise(mem + get_random_below(MEM / PAGE) * PAGE, PAGE, MADV_DONTNEED);
		break;
	default:
		usleep(get_random_below(2000));
	}
}

static void issue_random_command(void)
{
	if (get_random_below(4)) {
		atomic_fetch_add(&tally->writes, 1);
		write_random_command(&world);
	} else {
		atomic_fetch_add(&tally->ioctls, 1);
		issue_random_ioctl(&world);
	}
}

static void corrupt_rings_and_count(void)
{
	if (corrupt_mapped_rings())
		atomic_fetch_add(&tally->scribbles, 1);
}

static void modify_random_qp_and_count(void)
{
	atomic_fetch_add(&tally->modified, advance_random_qp_and_poll());
}

static void change_pages(void)
{
	if (!is_soft) {
		usleep(10000);
		return;
	}
	atomic_fetch_add(&tally->soft, 1);
	soft_change_pages(&soft);
	usleep(get_random_below(500));
}

static void (*const jobs[])(void) = {
	post_random_work, post_random_work, make_random_call_or_sleep, issue_random_command,
	corrupt_rings_and_count, change_pages, modify_random_qp_and_count,
};

struct thread {
	void		(*job)(void);
	uint64_t	seed;
};

static __thread sigjmp_buf again;
static __thread bool has_again;

/* Continue after a crash of the library, or an access to a ring that is unmapped */
static void on_fault(int signal)
{
	(void)signal;
	if (!has_again)
		_exit(0);
	siglongjmp(again, 1);
}

static void *repeat_job(void *arg)
{
	const struct thread *t = arg;

	seed_random(t->seed);
	sigsetjmp(again, 1);
	has_again = true;
	for (;;)
		t->job();
	return NULL;
}

static void install_fault_handler(void)
{
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGABRT, &sa, NULL);
}

/* Sessions ----------------------------------------------------------------- */

/* Start a child, which inherits the rings and keeps them mapped after the death of its parent */
static void fork_ring_corrupting_child(void)
{
	pid_t pid = fork();

	if (pid)
		return;
	atomic_fetch_add(&tally->forks, 1);
	alarm(2);
	for (;;)
		corrupt_mapped_rings();
}

static void end_process_in_random_way(void)
{
	size_t i;

	if (!get_random_below(4))
		fork_ring_corrupting_child();
	switch (get_random_below(3)) {
	case 0:
		kill(getpid(), SIGKILL);
		break;
	case 1:
		for (i = 0; i < CONNS; i++)
			if (conns[i].c)
				rdma_destroy_ep(conns[i].c);
	}
	_exit(0);
}

static void run_session(uint64_t seed)
{
	struct thread th[sizeof(jobs) / sizeof(jobs[0])];
	pthread_t id;
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(SESSION_S);
	seed_random(seed);
	if (!connect_and_register_memory())
		_exit(0);
	install_fault_handler();
	for (i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		th[i] = (struct thread){ jobs[i], seed * 16 + i };
		if (pthread_create(&id, NULL, repeat_job, &th[i]))
			_exit(0);
	}
	usleep(1000 * (50 + get_random_below(700)));
	end_process_in_random_way();
}

/* Return: true if the session has ended, false if it is still alive */
static bool wait_or_kill_session(pid_t pid)
{
	int ms, status;

	for (ms = 0; ms < (SESSION_S + DEATH_S) * 1000; ms += 5) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return true;
		if (ms == SESSION_S * 1000)
			kill(-pid, SIGKILL);
		usleep(5000);
	}
	return false;
}

static bool fork_session_and_wait(uint64_t seed)
{
	pid_t pid;
	bool ok;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("hostile: fork");
		return false;
	}
	if (!pid) {
		setpgid(0, 0);
		run_session(seed);
	}
	ok = wait_or_kill_session(pid);
	if (!ok)
		printf("hostile: session %llu does not end\n",
		       (unsigned long long)seed);
	return ok;
}

static void usage(void)
{
	fputs("usage: hostile -a ADDRESS [-s SECONDS] [-n SESSIONS] [-r SEED] [-f FIRST]\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	unsigned long seconds = 10, most = -1ul, seed = 1, first = 0, n;
	time_t end;
	int opt;

	while ((opt = getopt(argc, argv, "a:s:n:r:f:")) != -1) {
		switch (opt) {
		case 'a': address = optarg; break;
		case 's': seconds = atol(optarg); break;
		case 'n': most = atol(optarg); break;
		case 'r': seed = atol(optarg); break;
		case 'f': first = atol(optarg); break;
		default: usage();
		}
	}
	if (!address)
		usage();
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return 1;
	end = time(NULL) + seconds;
	for (n = 0; n < most && time(NULL) < end; n++)
		if (!fork_session_and_wait(seed * 1000003 + first + n))
			return 1;
	printf("seed %lu: %lu sessions, %lu connections, %lu writes, %lu ioctls, %lu posts, %lu ring bursts, %lu forks, %lu memory changes, %lu completions without rdma_cm\n",
	       seed, n, tally->connected, tally->writes, tally->ioctls,
	       tally->posts, tally->scribbles, tally->forks, tally->soft,
	       tally->modified);
	/* unless the program has done all of this at least once, the test proves nothing */
	return tally->connected && tally->writes && tally->ioctls && tally->posts &&
	       tally->scribbles && tally->modified && tally->hard < n ? 0 : 1;
}
