// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ping-pong of Sends, with sleeping or busy waiting. The time of each round is recorded, because
 * with other traffic on the machine the mean alone would hide slow rounds.
 */
#include <stdlib.h>

#include "rate.h"

#define BATCH	8

/* Send a message. At this time the other end must have posted a receive. */
void ping_send(struct side *s, uint64_t n, uint32_t octets)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)s->buf,
		.length = octets,
		.lkey = s->mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.wr_id = n + 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = (n + 1) % s->opt->signal ? 0 : IBV_SEND_SIGNALED,
	};

	if (ibv_post_send(s->id->qp, &wr, &bad))
		die("ibv_post_send");
}

/* Poll once. Return: the length in bytes of the message that has arrived, or 0 if there is none */
static uint32_t poll_message(struct side *s)
{
	struct ibv_wc wc[BATCH];
	uint32_t octets = 0;
	int i, n;

	n = side_poll_cq(s, wc, BATCH);
	for (i = 0; i < n; i++)
		if (wc[i].opcode == IBV_WC_RECV)
			octets = wc[i].byte_len;
	return octets;
}

uint32_t ping_wait(struct side *s)
{
	uint32_t octets;

	while (!(octets = poll_message(s))) {
		if (s->opt->spin)
			continue;
		side_arm_cq(s);
		octets = poll_message(s);
		if (octets)
			break;
		side_get_and_ack_cq_event(s);
	}
	return octets;
}

static uint32_t wait_message_and_repost(struct side *s)
{
	uint32_t octets = ping_wait(s);

	post_recvs(s, 0, 1);
	return octets;
}

uint64_t ping_until(struct side *s, uint64_t done, double end, struct rounds *r)
{
	double start = now(), then;

	r->n = 0;
	do {
		ping_send(s, done++, s->opt->size);
		wait_message_and_repost(s);
		then = now();
		if (r->n < ROUNDS)
			r->seconds[r->n++] = then - start;
		start = then;
	} while (then < end);
	return done;
}

static int compare_seconds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double rounds_sort_and_get_percentile(struct rounds *r, double share)
{
	qsort(r->seconds, r->n, sizeof(r->seconds[0]), compare_seconds);
	return r->seconds[(uint32_t)(share * (r->n - 1))];
}

void ping_end(struct side *s, uint64_t done)
{
	ping_send(s, done, FAREWELL);
	wait_message_and_repost(s);
}

void answer_pings(struct side *s)
{
	uint64_t done = 0;
	uint32_t octets;

	do {
		octets = wait_message_and_repost(s);
		ping_send(s, done++, s->opt->size);
	} while (octets != FAREWELL);
}
