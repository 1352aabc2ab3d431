// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * many: rate of simultaneous connection setups between two processes of this machine, and the
 * memory that the connections use.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define DEPTH		16	/* of each queue */
#define TIMEOUT_MS	10000

/**
 * struct end - one of the two processes
 * @events: event channel of the connection manager
 * @cq: shared by all connections
 * @sin: address at which the passive process listens
 * @want: number of connections to set up
 * @have: number of established connections
 * @ready: eventfd, signalled when the active process may continue
 */
struct end {
	struct rdma_event_channel *events;
	struct ibv_cq *cq;
	struct sockaddr_in sin;
	unsigned int want;
	unsigned int have;
	int ready;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "many: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Return: the number after @key at the start of a line of @file, in KiB; -1 if there is none */
static long read_kib(const char *file, const char *key)
{
	char line[256];
	long n = -1;
	FILE *f = fopen(file, "r");

	if (!f)
		die(file);
	while (n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			n = atol(line + strlen(key));
	fclose(f);
	return n;
}

/* Return: KiB in use on this machine, without the anonymous memory of both processes */
static long read_used_kib(pid_t peer)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)peer);
	return read_kib("/proc/meminfo", "MemTotal:") -
	       read_kib("/proc/meminfo", "MemAvailable:") -
	       read_kib("/proc/self/status", "RssAnon:") - read_kib(path, "RssAnon:");
}

static void make_qp(struct end *e, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (!e->cq)
		e->cq = ibv_create_cq(id->verbs, DEPTH, NULL, NULL, 0);
	if (!e->cq)
		die("ibv_create_cq");
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp");
}

static void advance_connection(struct end *e, const struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(ev->id, TIMEOUT_MS))
			die("rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		make_qp(e, ev->id);
		if (rdma_connect(ev->id, &param))
			die("rdma_connect");
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		make_qp(e, ev->id);
		if (rdma_accept(ev->id, &param))
			die("rdma_accept");
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		e->have++;
		break;
	default:
		errno = -ev->status;
		die(rdma_event_str(ev->event));
	}
}

static void wait_established(struct end *e)
{
	struct rdma_cm_event *ev, copy;

	while (e->have < e->want) {
		if (rdma_get_cm_event(e->events, &ev))
			die("rdma_get_cm_event");
		copy = *ev;
		rdma_ack_cm_event(ev);
		advance_connection(e, &copy);
	}
}

static struct rdma_cm_id *create_id(struct end *e)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(e->events, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id");
	return id;
}

/* Accept all connections, notify the other process, and wait to be killed */
static _Noreturn void run_passive_process(struct end *e)
{
	struct rdma_cm_id *id;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	e->events = rdma_create_event_channel();
	id = create_id(e);
	if (rdma_bind_addr(id, (struct sockaddr *)&e->sin) ||
	    rdma_listen(id, e->want))
		die("rdma_listen");
	eventfd_write(e->ready, 1);
	wait_established(e);
	eventfd_write(e->ready, 1);
	for (;;)
		pause();
}

static void establish_all_connections(struct end *e)
{
	unsigned int i;

	for (i = 0; i < e->want; i++)
		if (rdma_resolve_addr(create_id(e), NULL,
				      (struct sockaddr *)&e->sin, TIMEOUT_MS))
			die("rdma_resolve_addr");
	wait_established(e);
}

int main(int argc, char **argv)
{
	struct end e = { .sin = { .sin_family = AF_INET,
				  .sin_port = htons(7471) } };
	long before, after;
	double start, secs;
	bool keep = argc > 1 && !strcmp(argv[1], "-k");
	eventfd_t one;
	pid_t peer;

	argc -= keep;
	argv += keep;
	if (argc != 3 || inet_pton(AF_INET, argv[1], &e.sin.sin_addr) != 1 ||
	    !(e.want = atoi(argv[2]))) {
		fputs("usage: many [-k] ADDRESS N\n"
		      "Sets up N connections with itself over the RDMA device at ADDRESS, all at\n"
		      "once; prints their rate and memory usage as a line of JSON.\n"
		      "  -k   keep the connections until the end of the input\n",
		      stderr);
		return 2;
	}
	e.ready = eventfd(0, 0);
	peer = fork();
	if (!peer)
		run_passive_process(&e);
	e.events = rdma_create_event_channel();
	eventfd_read(e.ready, &one);
	before = read_used_kib(peer);
	start = now();
	establish_all_connections(&e);
	eventfd_read(e.ready, &one);
	secs = now() - start;
	after = read_used_kib(peer);
	printf("{\"connections\": %u, \"seconds\": %.4f, ", e.want, secs);
	printf("\"per_s\": %.1f, \"kib_each\": %.2f}\n", e.want / secs,
	       (double)(after - before) / e.want);
	fflush(stdout);
	while (keep && getchar() != EOF)
		;
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	return 0;
}
