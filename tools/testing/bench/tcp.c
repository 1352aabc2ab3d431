// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bare TCP, for comparison.  The receiver sleeps until a good deal is there,
 * for otherwise its wake-ups would be what is measured.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rate.h"

#define CHUNK		(1 << 20)
#define LOW_WATER	(1 << 17)

static struct sockaddr_in address(const struct options *opt, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = port };

	if (inet_pton(AF_INET, opt->addr, &sin.sin_addr) != 1)
		die("the address");
	return sin;
}

static int listening(const struct options *opt, struct shared *sh)
{
	struct sockaddr_in sin = address(opt, 0);
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 1))
		die("listen");
	getsockname(fd, (struct sockaddr *)&sin, &len);
	sh->port = sin.sin_port;
	eventfd_write(sh->ready, 1);
	return fd;
}

/* How much came, once there is a good deal of it or the other end closed */
static ssize_t receive_some(int fd, uint8_t *buf)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, -1) < 0)
		die("poll");
	return recv(fd, buf, CHUNK, 0);
}

void passive_tcp(const struct options *opt, struct shared *sh)
{
	int listener = listening(opt, sh);
	int fd = accept(listener, NULL, NULL);
	uint8_t *buf = malloc(CHUNK);
	int low = LOW_WATER;
	ssize_t n;

	if (fd < 0 || !buf)
		die("accept");
	while ((n = receive_some(fd, buf)) > 0) {
		/* later than the first, for it makes the buffer larger */
		if (low)
			setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low,
				   sizeof(low));
		low = 0;
		shared_add(sh, &sh->received, n);
	}
	if (n < 0)
		die("recv");
	free(buf);
	close(fd);
	close(listener);
}

static int connected(const struct options *opt, struct shared *sh)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in sin;
	eventfd_t one;

	eventfd_read(sh->ready, &one);
	sin = address(opt, sh->port);
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
 * Until the time is over and all has arrived.  The last chunk is only there
 * to lift what is before it above the receiver's low-water mark.
 */
static uint64_t send_until(int fd, const struct options *opt,
			   struct shared *sh, uint64_t sent, double end)
{
	static uint8_t buf[CHUNK];

	do {
		sent += send_chunk(fd, opt, buf);
	} while (now() < end);
	send_chunk(fd, opt, buf);
	shared_wait(sh, &sh->received, sent);
	return sent + CHUNK;
}

void active_tcp(const struct options *opt, struct shared *sh, pid_t peer,
		struct mark *m)
{
	int fd = connected(opt, sh);
	uint64_t sent;

	if (CHUNK % opt->size)
		die("the size: it must divide 1 MiB");
	sent = send_until(fd, opt, sh, 0, now() + opt->warm);
	take_mark(&m[0], peer);
	m[0].messages = sent / opt->size;
	sent = send_until(fd, opt, sh, sent, m[0].time + opt->secs);
	take_mark(&m[1], peer);
	m[1].messages = sent / opt->size;
	close(fd);
}
