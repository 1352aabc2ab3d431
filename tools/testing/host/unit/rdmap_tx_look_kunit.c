// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/rnic_sw/rdmap_tx.c: the lower layer learns whether another message
 * follows, and may look for more when it reports what it has sent. In each case of these tests a
 * wrong answer would leave a message unsent until the next post.
 */
#include <kunit/test.h>

#include "rdmap_tx.h"

/* Report the pulled segments as sent, and look. Return: true if there may be more to send. */
static bool report_sent_and_look_for_more(struct rdmap *r)
{
	return ddp_tx_report_sent(&r->stream, true);
}

static void last_known_request_leaves_nothing_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 2);

	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, pulled.more);
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_FALSE(test, pulled.more);
	KUNIT_EXPECT_FALSE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 1u, posted.looks);
	posted.left = 1;
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
}

/* The segments of one message follow each other */
static void unfinished_message_counts_as_more_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	posted.sge[0].len = 1500;
	posted.sge[0].stag = DDP_STAG_DMA;
	posted.sge[0].addr = (uintptr_t)&host_memory;
	r->stream.dma_ok = true;
	KUNIT_ASSERT_TRUE(test, ddp_tx_pull(&r->stream, 1000, &pulled));
	KUNIT_EXPECT_TRUE(test, pulled.more);
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 0u, posted.looks);
}

static void immediate_data_counts_as_more_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_WRITE, 1);

	posted.wr.flags = RDMAP_WR_IMMEDIATE;
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, pulled.more);
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 0u, posted.looks);
}

/* A request of the peer that arrives before the pull, or after it, must be answered */
static void due_response_counts_as_more_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	r->wr_preferred = true;
	receive_peer_request(r);
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, pulled.more);

	r = open_rdmap(RDMAP_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_FALSE(test, pulled.more);
	receive_peer_request(r);
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 0u, posted.looks);
	/* the response is a message after which others may follow */
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, pulled.more);
}

/* A request that waits for a response of the peer is pulled, but not sent */
static void blocked_request_counts_as_more_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_READ, DEPTH + 1);
	u32 i;

	for (i = 0; i < DEPTH; i++)
		KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, pulled.more);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 0u, posted.looks);
}

/* The Terminate of a stream that fails during the send must follow */
static void terminate_counts_as_more_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	set_bit(0, &r->stream.failed);
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 0u, posted.looks);
}

/*
 * RDMAP-125: if another context fails the stream before the payload of the last known request is
 * copied, the lower layer drops the segment and may send the batch at once. The request is not
 * complete then.
 */
static void dropped_request_is_not_complete(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 2);
	u8 octet;

	ddp_tx_begin(&r->stream);
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_ASSERT_TRUE(test, ddp_tx_pull(&r->stream, 1000, &pulled));
	KUNIT_EXPECT_FALSE(test, pulled.more);
	set_bit(0, &r->stream.failed);
	KUNIT_EXPECT_FALSE(test, ddp_tx_copy_payload(&r->stream, &octet, 0));
	ddp_tx_end(&r->stream);
	KUNIT_EXPECT_TRUE(test, report_sent_and_look_for_more(r));
	KUNIT_EXPECT_EQ(test, 1u, posted.cut);
	KUNIT_EXPECT_FALSE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_FALSE(test, r->stream.in_msg);
	ddp_tx_report_sent(&r->stream, false);
	KUNIT_EXPECT_EQ(test, 1u, posted.cut);
}

/* The message that makes the connection ready to receive goes before all others */
static void rtr_leaves_more_to_send(struct kunit *test)
{
	struct rdmap *r = open_rdmap(RDMAP_WR_SEND, 1);

	r->rtr = DDP_RTR_WRITE;
	KUNIT_ASSERT_TRUE(test, pull_segment(&r->stream));
	KUNIT_EXPECT_TRUE(test, pulled.more);
}

static struct kunit_case rdmap_tx_look_cases[] = {
	KUNIT_CASE(last_known_request_leaves_nothing_to_send),
	KUNIT_CASE(unfinished_message_counts_as_more_to_send),
	KUNIT_CASE(immediate_data_counts_as_more_to_send),
	KUNIT_CASE(due_response_counts_as_more_to_send),
	KUNIT_CASE(blocked_request_counts_as_more_to_send),
	KUNIT_CASE(terminate_counts_as_more_to_send),
	KUNIT_CASE(dropped_request_is_not_complete),
	KUNIT_CASE(rtr_leaves_more_to_send),
	{}
};

static struct kunit_suite rdmap_tx_look_suite = {
	.name = "rdmap_tx_look",
	.test_cases = rdmap_tx_look_cases,
};

kunit_test_suite(rdmap_tx_look_suite);
