// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rate.h"

static const char * const op_names[] = {
	[OP_WRITE] = "write",
	[OP_SEND] = "send",
	[OP_READ] = "read",
	[OP_PING] = "ping",
	[OP_CALL] = "call",
	[OP_TCP] = "tcp",
	[OP_SCTP] = "sctp",
};

static const char usage_text[] =
	"usage: rate -a ADDRESS [options] write|send|read|ping|call|tcp|sctp\n"
	"Transfers messages between two processes over the RDMA device (or plain\n"
	"TCP or SCTP) at ADDRESS, and prints a line of JSON.  ping: a Send in each\n"
	"direction; call: set up a connection, ping once, and close it.\n"
	"  -s BYTES    size of a message (65536)\n"
	"  -l N        messages per post (1)\n"
	"  -d N        maximum number of messages posted and not completed (64)\n"
	"  -g N        signal every N-th message (a quarter of the depth)\n"
	"  -p          wait for pings by polling, without sleeping\n"
	"  -r N        outstanding RDMA Reads: IRD and ORD (16)\n"
	"  -o          register memory for on-demand paging\n"
	"  -k BYTES    page offset of the passive end's buffer (0)\n"
	"  -m          connect by ibv_modify_qp() instead of rdma_cm\n"
	"  -b PORT     the passive end listens at this port (any); not with -m\n"
	"  -e END      with ping and -b: run only the active or the passive end; the\n"
	"              other one runs on another machine\n"
	"  -f          with read: drop the pages of the sink before each Read\n"
	"  -w SECONDS  time before the measurement (0.5)\n"
	"  -t SECONDS  time of the measurement (2)\n";

void die(const char *what)
{
	fprintf(stderr, "rate: %s: %s\n", what, strerror(errno));
	exit(1);
}

static _Noreturn void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static enum op find_op(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(op_names) / sizeof(op_names[0]); i++)
		if (!strcmp(name, op_names[i]))
			return i;
	usage();
}

static enum ends find_end(const char *name)
{
	if (!strcmp(name, "active"))
		return ACTIVE_END;
	if (!strcmp(name, "passive"))
		return PASSIVE_END;
	usage();
}

static void set_option(struct options *o, int c)
{
	switch (c) {
	case 'a': o->addr = optarg; break;
	case 's': o->size = strtoul(optarg, NULL, 0); break;
	case 'l': o->list = strtoul(optarg, NULL, 0); break;
	case 'd': o->depth = strtoul(optarg, NULL, 0); break;
	case 'g': o->signal = strtoul(optarg, NULL, 0); break;
	case 'p': o->spin = true; break;
	case 'r': o->reads = strtoul(optarg, NULL, 0); break;
	case 'o': o->on_demand = true; break;
	case 'm': o->by_hand = true; break;
	case 'b': o->port = strtoul(optarg, NULL, 0); break;
	case 'e': o->ends = find_end(optarg); break;
	case 'k': o->skew = strtoul(optarg, NULL, 0); break;
	case 'f': o->faults = o->on_demand = true; break;
	case 'w': o->warm = strtod(optarg, NULL); break;
	case 't': o->secs = strtod(optarg, NULL); break;
	default: usage();
	}
}

static void parse_options(struct options *o, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "a:s:l:d:g:pr:omb:e:k:fw:t:")) != -1)
		set_option(o, c);
	if (optind + 1 != argc || !o->addr)
		usage();
	o->op = find_op(argv[optind]);
	if (!o->signal)
		o->signal = o->depth / 4 ? o->depth / 4 : 1;
	o->recvs = o->op == OP_SEND ? 4 * o->depth : 1;
	if (!o->size || !o->list || o->list > o->depth ||
	    o->signal + o->list > o->depth + 1 || (o->by_hand && o->port) ||
	    (o->ends != BOTH_ENDS && (o->op != OP_PING || !o->port)) ||
	    (o->faults && (o->op != OP_READ || o->size % sysconf(_SC_PAGESIZE))))
		usage();
}

static struct shared *create_shared_memory(const struct options *opt)
{
	struct shared *sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (sh == MAP_FAILED)
		die("mmap");
	sh->port = htons(opt->port);
	sh->credit = eventfd(0, 0);
	sh->work = eventfd(0, 0);
	sh->ready = eventfd(0, 0);
	sh->stop = eventfd(0, 0);
	return sh;
}

static bool uses_plain_socket(const struct options *opt)
{
	return opt->op == OP_TCP || opt->op == OP_SCTP;
}

static pid_t start_passive_process(const struct options *opt, struct shared *sh)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (uses_plain_socket(opt))
		run_plain_socket_passive_side(opt, sh);
	else if (opt->op == OP_CALL)
		run_connects_passive_side(opt, sh);
	else
		run_rdma_passive_side(opt, sh);
	exit(0);
}

/*
 * Start the passive end, unless it runs on another machine. Return: its process, or 0 if the
 * process is not on this machine
 */
static pid_t start_passive_end(const struct options *opt, struct shared *sh)
{
	pid_t pid;

	if (opt->ends == ACTIVE_END) {
		eventfd_write(sh->ready, 1);
		return 0;
	}
	pid = start_passive_process(opt, sh);
	if (pid < 0)
		die("fork");
	return pid;
}

/* SIGCHLD: exit if the passive end has failed, because the active end would wait for it forever */
static void on_passive_exit(int sig)
{
	static const char text[] = "rate: the passive end failed\n";
	int status;

	(void)sig;
	if (waitpid(-1, &status, WNOHANG) <= 0 || status == 0)
		return;
	if (write(2, text, sizeof(text) - 1))
		_exit(1);
	_exit(1);
}

/* Print median, 95th percentile and maximum of the times of the rounds */
static void print_rounds(struct rounds *r)
{
	printf("\"round_us\": [%.2f, %.2f, %.2f], ", 1e6 * rounds_sort_and_get_percentile(r, 0.5),
	       1e6 * rounds_sort_and_get_percentile(r, 0.95),
	       1e6 * rounds_sort_and_get_percentile(r, 1));
}

static void print_result(const struct options *o, const struct mark *m,
			 struct rounds *rounds)
{
	double secs = m[1].time - m[0].time;
	double n = m[1].messages - m[0].messages;

	printf("{\"op\": \"%s\", \"size\": %u, \"list\": %u, \"depth\": %u, ",
	       op_names[o->op], o->size, o->list, o->depth);
	printf("\"seconds\": %.6f, \"messages\": %.0f, ", secs, n);
	printf("\"messages_per_s\": %.1f, \"octets_per_s\": %.0f, ", n / secs,
	       n * o->size / secs);
	if (rounds->n)
		print_rounds(rounds);
	printf("\"busy\": %.4f, \"busy_us_per_message\": %.4f, ",
	       (m[1].busy - m[0].busy) / secs,
	       (m[1].busy - m[0].busy) * 1e6 / n);
	printf("\"switches_per_message\": %.5f, ",
	       (m[1].switches - m[0].switches) / n);
	printf("\"frames_per_message\": %.5f, \"segments_per_message\": %.5f}\n",
	       (m[1].frames - m[0].frames) / n,
	       (m[1].segments - m[0].segments) / n);
}

int main(int argc, char **argv)
{
	struct options opt = {
		.size = 65536, .list = 1, .depth = 64, .reads = 16,
		.warm = 0.5, .secs = 2,
	};
	static struct rounds rounds;
	struct mark m[2];
	struct shared *sh;
	pid_t peer;

	parse_options(&opt, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (opt.ends == PASSIVE_END) {
		run_rdma_passive_side(&opt, create_shared_memory(&opt));
		return 0;
	}
	signal(SIGCHLD, on_passive_exit);
	sh = create_shared_memory(&opt);
	peer = start_passive_end(&opt, sh);
	if (uses_plain_socket(&opt))
		run_plain_socket_active_side(&opt, sh, peer, m);
	else if (opt.op == OP_CALL)
		run_connects_active_side(&opt, sh, peer, m);
	else
		run_rdma_active_side(&opt, sh, peer, m, &rounds);
	while (peer && waitpid(peer, NULL, 0) == peer)
		;
	if (sh->bad) {
		fputs("rate: the data that arrived differ from those sent\n", stderr);
		return 1;
	}
	print_result(&opt, m, &rounds);
	return 0;
}
