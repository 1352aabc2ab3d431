// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Plain TCP and plain SCTP messages, for comparison. The receiver of TCP sleeps until much data has
 * arrived, because otherwise its wake-ups would be measured. The receiver of SCTP reads all data
 * that has arrived when it wakes up. SCTP is used in the same way as by iw_sctp_ddp: unordered
 * messages, no delay, and the same buffer sizes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sctp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rate.h"

#define CHUNK		(1 << 20)
#define LOW_WATER	(1 << 17)

/* Buffer sizes of iw_sctp_ddp for an accepted peer, see sock_buf.c there */
#define SCTP_RCVBUF	(8 << 20)
#define SCTP_SNDBUF	(2 << 20)

static struct sockaddr_in make_address(const struct options *opt, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = port };

	if (inet_pton(AF_INET, opt->addr, &sin.sin_addr) != 1)
		die("parse the address");
	return sin;
}

static void set_sockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (setsockopt(fd, level, name, value, len))
		die("setsockopt");
}

static void set_sctp_options(int fd)
{
	struct sctp_sndinfo info = { .snd_flags = SCTP_UNORDERED };
	int in = SCTP_RCVBUF / 2, out = SCTP_SNDBUF / 2, on = 1;

	set_sockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &in, sizeof(in));
	set_sockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &out, sizeof(out));
	set_sockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof(on));
	set_sockopt(fd, IPPROTO_SCTP, SCTP_DEFAULT_SNDINFO, &info, sizeof(info));
}

static int create_socket(const struct options *opt)
{
	bool sctp = opt->op == OP_SCTP;
	int fd = socket(AF_INET, SOCK_STREAM, sctp ? IPPROTO_SCTP : 0);

	if (fd < 0)
		die("socket");
	if (sctp)
		set_sctp_options(fd);
	return fd;
}

static int open_listener(const struct options *opt, struct shared *sh)
{
	struct sockaddr_in sin = make_address(opt, sh->port);
	socklen_t len = sizeof(sin);
	int fd = create_socket(opt);

	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 1))
		die("listen");
	getsockname(fd, (struct sockaddr *)&sin, &len);
	sh->port = sin.sin_port;
	eventfd_write(sh->ready, 1);
	return fd;
}

/*
 * Receive queued data. If no data is queued, first wait until the low-water mark is reached or the
 * sender has finished. Return: the number of bytes, 0 at the end
 */
static ssize_t receive_available_data(int fd, uint8_t *buf)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	ssize_t n = recv(fd, buf, CHUNK, MSG_DONTWAIT);

	if (n >= 0 || errno != EAGAIN)
		return n;
	if (poll(&pfd, 1, -1) < 0)
		die("poll");
	return recv(fd, buf, CHUNK, 0);
}

void run_plain_socket_passive_side(const struct options *opt, struct shared *sh)
{
	int listener = open_listener(opt, sh);
	int fd = accept(listener, NULL, NULL);
	uint8_t *buf = malloc(CHUNK);
	int low = opt->op == OP_TCP ? LOW_WATER : 0;
	ssize_t n;

	if (fd < 0 || !buf)
		die("accept");
	while ((n = receive_available_data(fd, buf)) > 0) {
		/*
		 * set the low-water mark only now, because setting it enlarges the receive buffer
		 */
		if (low)
			set_sockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
		low = 0;
		shared_add_to_count(sh, &sh->received, n);
	}
	if (n < 0)
		die("recv");
	free(buf);
	close(fd);
	close(listener);
}

static int open_connection(const struct options *opt, struct shared *sh)
{
	int fd = create_socket(opt);
	struct sockaddr_in sin;
	eventfd_t one;

	eventfd_read(sh->ready, &one);
	sin = make_address(opt, sh->port);
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("connect");
	return fd;
}

static uint64_t send_chunk(int fd, const struct options *opt, uint8_t *buf)
{
	uint64_t at;

	for (at = 0; at < CHUNK; at += opt->size)
		if (send(fd, buf + at, opt->size, 0) != opt->size)
			die("send");
	return CHUNK;
}

/*
 * Send until @end, then send one more chunk, and wait until all data before that chunk has arrived.
 * The last chunk makes TCP exceed the low-water mark, so that the receiver reads the data before
 * the chunk. Return: the number of bytes sent, including the last chunk.
 */
static uint64_t send_chunks_until(int fd, const struct options *opt,
				  struct shared *sh, uint64_t sent, double end)
{
	static uint8_t buf[CHUNK];

	do {
		sent += send_chunk(fd, opt, buf);
	} while (now() < end);
	send_chunk(fd, opt, buf);
	shared_wait_for_count(sh, &sh->received, sent);
	return sent + CHUNK;
}

void run_plain_socket_active_side(const struct options *opt, struct shared *sh, pid_t peer,
				  struct mark *m)
{
	int fd = open_connection(opt, sh);
	uint64_t sent;

	if (CHUNK % opt->size)
		die("the size must divide 1 MiB");
	sent = send_chunks_until(fd, opt, sh, 0, now() + opt->warm);
	record_mark(&m[0], peer);
	m[0].messages = sent / opt->size;
	sent = send_chunks_until(fd, opt, sh, sent, m[0].time + opt->secs);
	record_mark(&m[1], peer);
	m[1].messages = sent / opt->size;
	close(fd);
}
