// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdmap_{rx,tx}.c: which Writes and Reads of the peer RDMAP counts
 * for completion counters.
 */
#include <kunit/test.h>

#include "rdmap_tx.h"

/* Open a stream. If @counted is set, the verbs have requested to count the peer's operations. */
static struct rdmap *open_receiver(bool counted)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 0);

	r->peer_ops_counted = counted;
	r->ird = DEPTH;
	return r;
}

static void receive_message(struct kunit *test, struct rdmap *r, struct ddp_hdr h, u32 len)
{
	struct ddp_grant g = {};

	h.last = true;
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_admit(&r->stream, &h, len, &g));
	KUNIT_EXPECT_EQ(test, IW_OK, rdmap_deliver(&r->stream, &h, len));
}

static void receive_write(struct kunit *test, struct rdmap *r, u32 len)
{
	receive_message(test, r, (struct ddp_hdr){ .tagged = true, .ulp8 = 0x40, .stag = 7 }, len);
}

static void receive_read_request(struct kunit *test, struct rdmap *r, u32 len)
{
	const struct rdmap_rreq q = { .len = len };

	rdmap_rreq_encode(r->req, &q);
	receive_message(test, r, (struct ddp_hdr){ .ulp8 = 0x41, .qn = 1 }, RDMAP_RREQ_LEN);
}

/* Each Write, even an empty one, is counted once if the verbs have requested that */
static void writes_are_counted_on_request(struct kunit *test)
{
	struct rdmap *r = open_receiver(false);

	receive_write(test, r, 50);
	rdmap_deliver_writes(&r->stream, 50, 3);
	KUNIT_EXPECT_EQ(test, 0u, posted.peer_writes);
	r = open_receiver(true);
	receive_write(test, r, 50);
	receive_write(test, r, 0);
	KUNIT_EXPECT_EQ(test, 2u, posted.peer_writes);
	rdmap_deliver_writes(&r->stream, 50, 3);
	receive_read_request(test, r, 3);
	KUNIT_EXPECT_EQ(test, 5u, posted.peer_writes);
	KUNIT_EXPECT_EQ(test, 0u, posted.peer_reads);
}

/* The peer's RTR message, an empty first message, is not counted. Any other message is. */
static void rtr_message_is_not_counted(struct kunit *test)
{
	struct rdmap *r;
	u32 len;

	for (len = 0; len < 2; len++) {
		r = open_receiver(true);
		r->rtr_expected = DDP_RTR_P2P | DDP_RTR_WRITE;
		receive_write(test, r, len);
		KUNIT_EXPECT_EQ(test, len, posted.peer_writes);
		receive_write(test, r, 0);
		KUNIT_EXPECT_EQ(test, len + 1, posted.peer_writes);

		r = open_receiver(true);
		r->rtr_expected = DDP_RTR_P2P | DDP_RTR_READ;
		receive_read_request(test, r, len);
		receive_read_request(test, r, 0);
		KUNIT_EXPECT_EQ(test, 1 + len, (u32)rdmap_reqq_count_reads(&r->irq, 2));
	}
	/* an empty first Write is counted if Write is not one of the expected RTR types */
	r = open_receiver(true);
	r->rtr_expected = DDP_RTR_P2P | DDP_RTR_READ | DDP_RTR_SEND;
	receive_write(test, r, 0);
	KUNIT_EXPECT_EQ(test, 1u, posted.peer_writes);
}

/*
 * If the verbs have requested it, a Read of the peer is counted when the LLP has accepted its
 * response. Atomics, and a Read that is the RTR message, are not counted.
 */
static void answered_reads_are_counted(struct kunit *test)
{
	u32 kind, requested;

	for (requested = 0; requested < 2; requested++) {
		for (kind = 0; kind < 4; kind++) {
			struct rdmap *r = open_receiver(requested);

			receive_peer_request(r)->is_rtr = kind & 1;
			receive_peer_request(r)->is_atomic = kind & 2;
			ddp_stream_set_rights(&r->stream, DDP_REMOTE_ATOMIC);
			KUNIT_EXPECT_EQ(test, 2u, pull_all_segments(&r->stream));
			KUNIT_EXPECT_EQ(test, 0u, posted.peer_reads);
			ddp_tx_report_sent(&r->stream, false);
			KUNIT_EXPECT_EQ(test, requested * (2 - __builtin_popcount(kind)), posted.peer_reads);
			ddp_tx_report_sent(&r->stream, false);
			KUNIT_EXPECT_EQ(test, requested * (2 - __builtin_popcount(kind)), posted.peer_reads);
		}
	}
}

static struct kunit_case rdmap_peer_ops_cases[] = {
	KUNIT_CASE(writes_are_counted_on_request),
	KUNIT_CASE(rtr_message_is_not_counted),
	KUNIT_CASE(answered_reads_are_counted),
	{}
};

static struct kunit_suite rdmap_peer_ops_suite = {
	.name = "rdmap_peer_ops",
	.test_cases = rdmap_peer_ops_cases,
};

kunit_test_suite(rdmap_peer_ops_suite);
