// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * select_by_poll.so, to be preloaded before librspreload: implement select() with poll().
 *
 * librspreload's own select() maps the number of a ready rsocket back to the first descriptor that
 * could have this number.  An accepted rsocket has a lower number than the program's descriptor, so
 * select() reports a descriptor that the program does not know.  librspreload's poll() is correct.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/select.h>

static int get_requested_events(int fd, const fd_set *in, const fd_set *out, const fd_set *odd)
{
	return (in && FD_ISSET(fd, in) ? POLLIN : 0) |
		(out && FD_ISSET(fd, out) ? POLLOUT : 0) |
		(odd && FD_ISSET(fd, odd) ? POLLPRI : 0);
}

static int fill_pollfds(struct pollfd *p, int n, fd_set *in, fd_set *out, fd_set *odd)
{
	int fd, k = 0;

	for (fd = 0; fd < n; fd++) {
		p[k].fd = fd;
		p[k].events = get_requested_events(fd, in, out, odd);
		p[k].revents = 0;
		k += !!p[k].events;
	}
	return k;
}

/* Remove a descriptor from the set, unless one of the events has happened for it */
static int keep_if_ready(struct pollfd *p, fd_set *set, int asked, int happened)
{
	if (!set || !(p->events & asked))
		return 0;
	if (p->revents & happened)
		return 1;
	FD_CLR(p->fd, set);
	return 0;
}

static int keep_ready_descriptors(struct pollfd *p, int k, fd_set *in, fd_set *out, fd_set *odd)
{
	int ready = 0;

	for (; k--; p++) {
		ready += keep_if_ready(p, in, POLLIN, POLLIN | POLLHUP | POLLERR);
		ready += keep_if_ready(p, out, POLLOUT, POLLOUT | POLLERR);
		ready += keep_if_ready(p, odd, POLLPRI, POLLPRI);
	}
	return ready;
}

int select(int n, fd_set *in, fd_set *out, fd_set *odd, struct timeval *t)
{
	struct pollfd *p = calloc(n + 1, sizeof(*p));
	int k, ret;

	if (!p) {
		errno = ENOMEM;
		return -1;
	}
	k = fill_pollfds(p, n, in, out, odd);
	ret = poll(p, k, t ? t->tv_sec * 1000 + (t->tv_usec + 999) / 1000 : -1);
	if (ret >= 0)
		ret = keep_ready_descriptors(p, k, in, out, odd);
	free(p);
	return ret;
}
