// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The passive end of a measurement: target of Writes, Sends and Reads. It sleeps while it waits,
 * except for pings with option -p.
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "rate.h"

#define BATCH	64

/* Count completed receives and post them again */
static bool repost_receives(struct side *s)
{
	struct shared *sh = s->sh;
	struct ibv_wc wc[BATCH];
	int n = side_poll_cq(s, wc, BATCH);

	if (!n)
		return false;
	post_recvs(s, sh->allowed, n);
	shared_add_to_count(sh, &sh->received, n);
	shared_add_to_count(sh, &sh->allowed, n);
	return true;
}

static void receive_wanted_sends(struct side *s)
{
	struct shared *sh = s->sh;
	eventfd_t one;

	eventfd_read(sh->work, &one);
	while (sh->received < __atomic_load_n(&sh->wanted, __ATOMIC_SEQ_CST)) {
		if (repost_receives(s))
			continue;
		side_arm_cq(s);
		if (!repost_receives(s))
			side_get_and_ack_cq_event(s);
	}
}

void run_rdma_passive_side(const struct options *opt, struct shared *sh)
{
	struct side s = { .opt = opt, .sh = sh };
	struct pollfd fds[] = {
		{ .fd = sh->stop, .events = POLLIN },
		{ .fd = sh->work, .events = POLLIN },
	};
	eventfd_t messages;

	side_accept(&s);
	if (opt->op == OP_PING)
		answer_pings(&s);
	while (!fds[0].revents) {
		if (fds[1].revents)
			receive_wanted_sends(&s);
		if (poll(fds, 2, -1) < 0)
			die("poll");
	}
	eventfd_read(sh->stop, &messages);
	if (opt->op != OP_READ && opt->op != OP_PING && has_filled_all_slots(&s, messages))
		sh->bad = !has_pattern(s.buf, s.window);
	side_destroy(&s);
}
