// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * p9relay ADDRESS PORT COMMAND ARGS...: a server for 9P over RDMA.
 *
 * Accepts one connection, writes the client's messages to the standard input of COMMAND, which is a
 * 9P server, and sends the replies that COMMAND writes, one message per Send.  Exits when the
 * connection ends.  Needed because Debian has no server for 9P over RDMA.
 */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define DEPTH	32
#define SIZE	(1 << 20)

static struct rdma_cm_id *peer;
static int server;

static __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "p9relay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *register_new_buffer(size_t size, struct ibv_mr **mr)
{
	void *p = aligned_alloc(4096, size);

	*mr = p ? rdma_reg_msgs(peer, p, size) : NULL;
	if (!*mr)
		die("cannot register memory");
	return p;
}

static void start_command(char **command)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		die("socketpair");
	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		dup2(ends[1], 0);
		dup2(ends[1], 1);
		close(ends[0]);
		execvp(*command, command);
		die(*command);
	}
	close(ends[1]);
	server = ends[0];
}

static int read_exactly(void *p, size_t len)
{
	ssize_t n;

	for (; len; p = (char *)p + n, len -= n) {
		n = read(server, p, len);
		if (n <= 0)
			return -1;
	}
	return 0;
}

/* Send the replies of the server, one at a time */
static void *forward_replies(void *arg)
{
	struct ibv_mr *mr;
	uint8_t *p = register_new_buffer(SIZE, &mr);
	struct ibv_wc wc;
	uint32_t len;

	(void)arg;
	for (;;) {
		if (read_exactly(p, 4))
			die("the server has ended");
		memcpy(&len, p, 4);
		len = le32toh(len);
		if (len < 7 || len > SIZE || read_exactly(p + 4, len - 4))
			die("the server's reply is invalid");
		if (rdma_post_send(peer, NULL, p, len, mr, IBV_SEND_SIGNALED) ||
		    rdma_get_send_comp(peer, &wc) != 1 || wc.status)
			exit(0);
	}
}

static void post_recv(struct ibv_mr *mr, uint8_t *p, uint64_t i)
{
	if (rdma_post_recv(peer, (void *)(uintptr_t)i, p + i * SIZE, SIZE, mr))
		die("rdma_post_recv");
}

static void forward_requests(struct ibv_mr *mr, uint8_t *p)
{
	struct ibv_wc wc;

	while (rdma_get_recv_comp(peer, &wc) == 1 && !wc.status) {
		uint8_t *q = p + wc.wr_id * SIZE;
		size_t left = wc.byte_len;
		ssize_t n;

		for (; left; q += n, left -= n) {
			n = write(server, q, left);
			if (n <= 0)
				die("the server does not read any more");
		}
		post_recv(mr, p, wc.wr_id);
	}
}

static void listen_and_wait_for_request(const char *address, const char *port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE,
				       .ai_port_space = RDMA_PS_TCP }, *at;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *listener;

	if (rdma_getaddrinfo(address, port, &hints, &at) ||
	    rdma_create_ep(&listener, at, NULL, &attr) ||
	    rdma_listen(listener, 1) || rdma_get_request(listener, &peer))
		die("cannot accept a connection");
}

int main(int argc, char **argv)
{
	struct ibv_mr *mr;
	pthread_t thread;
	uint64_t i;
	uint8_t *p;

	if (argc < 4)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	listen_and_wait_for_request(argv[1], argv[2]);
	/* fork before memory is registered, because the child would share that memory */
	start_command(argv + 3);
	p = register_new_buffer((size_t)DEPTH * SIZE, &mr);
	for (i = 0; i < DEPTH; i++)
		post_recv(mr, p, i);
	if (rdma_accept(peer, NULL) || pthread_create(&thread, NULL, forward_replies, NULL))
		die("rdma_accept");
	forward_requests(mr, p);
	return 0;
}
