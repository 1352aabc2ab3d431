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

/* Wait until the active end, which may run on another machine, has ended the measurement */
static void wait_end(struct side *s)
{
	struct pollfd fds[] = {
		{ .fd = s->sh->stop, .events = POLLIN },
		{ .fd = s->sh->work, .events = POLLIN },
	};

	if (s->opt->ends == PASSIVE_END) {
		side_wait_event(s, RDMA_CM_EVENT_DISCONNECTED);
		return;
	}
	while (!fds[0].revents) {
		if (fds[1].revents)
			receive_wanted_sends(s);
		if (poll(fds, 2, -1) < 0)
			die("poll");
	}
}

static eventfd_t read_message_count(const struct side *s)
{
	eventfd_t messages = 0;

	if (s->opt->ends != PASSIVE_END)
		eventfd_read(s->sh->stop, &messages);
	return messages;
}

void run_rdma_passive_side(const struct options *opt, struct shared *sh)
{
	struct side s = { .opt = opt, .sh = sh };
	eventfd_t messages;

	side_accept(&s);
	if (opt->op == OP_PING)
		answer_pings(&s);
	wait_end(&s);
	messages = read_message_count(&s);
	if (opt->op != OP_READ && opt->op != OP_PING && has_filled_all_slots(&s, messages))
		sh->bad = !has_pattern(s.buf, s.window);
	side_destroy(&s);
}
