// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unit tests of drivers/sctp_ddp/{tx,tx_buf,orphan}.c: which chunks are sent over
 * SCTP, and in which order. Streams and socket are stubs.
 */
#include <kunit/test.h>
#include <ddp/copy.h>

#include "../../../../drivers/ddp/internal.h"
#include "../../../../drivers/sctp_ddp/internal.h"
#include "../../../../drivers/sctp_ddp/admission.h"
#include "fetch.h"

#define FRAGMENT	1000
#define TURN		16384u	/* bytes that a session sends before the next session does */
#define SENT		512	/* maximum number of chunks recorded */

/* A session and the number of messages that it has to send */
struct guest {
	struct sddp_stream	st;
	struct ddp_stream	stream;
	struct ddp_buf		buf;
	u32			left;		/* messages to send */
	bool			awaits;		/* blocked until the peer responds */
};

static struct {
	struct sddp_assoc	a;
	const u8		*last;		/* last chunk passed to SCTP, accepted or not */
	u32			last_len;
	struct guest		g[3];
	struct sddp_tx_budget	budget;
	u16			to[SENT];	/* stream of each chunk sent */
	u32			sent;
	u32			takes;		/* number of chunks that SCTP accepts */
	u32			controls;	/* control chunks sent */
	u32			taken;		/* messages reported as sent to DDP */
	u32			corks, uncorks;
	u32			no_deadline;	/* number of deadlines removed */
	enum iw_reason		refused;	/* reason why a chunk was refused */
} stubs;

/* Other functions of iw_sctp_ddp ------------------------------------------- */

int sddp_sock_send_chunk(struct sddp_assoc *a, u16 id, u32 ppid, const void *buf,
			 u32 len)
{
	stubs.last = buf;
	stubs.last_len = len;
	if (stubs.sent == stubs.takes)
		return -EAGAIN;
	stubs.to[stubs.sent++] = id;
	stubs.controls += ppid == SDDP_PPID_CONTROL;
	return 0;
}

void sddp_sock_prepare_tx_budget(struct sddp_assoc *a, struct sddp_tx_budget *budget)
{
	*budget = stubs.budget;
}

bool sddp_sock_try_cork(struct sddp_assoc *a, u32 len)
{
	stubs.corks++;
	return true;
}

void sddp_sock_uncork(struct sddp_assoc *a)
{
	stubs.uncorks++;
}

u32 sddp_sock_get_last_tsn(struct sddp_assoc *a)
{
	return stubs.sent;
}

u32 sddp_sock_get_acked_tsn(struct sddp_assoc *a)
{
	return stubs.sent - 1;
}

void sddp_listen_report_refused(struct sddp_assoc *a, enum iw_reason why)
{
	stubs.refused = why;
}

void sddp_stream_set_event(struct sddp_stream *st, enum sddp_event ev)
{
}

void sddp_stream_set_deadline(struct sddp_stream *st, unsigned int seconds)
{
	stubs.no_deadline += !seconds;
}

void sddp_stream_end(struct sddp_stream *st, enum iw_reason why,
		     const struct ddp_offer *o)
{
}

void sddp_stream_advance_close(struct sddp_stream *st)
{
}

void sddp_stream_release_if_ended(struct sddp_stream *st)
{
}

/* Sessions ----------------------------------------------------------------- */

static void fail_on_release(struct kref *ref)
{
	WARN_ON(true);
}

static const struct ddp_session_type type = { .release = fail_on_release };

static bool get_next_message(struct ddp_stream *s, struct ddp_msg *m)
{
	struct guest *g = container_of(s, struct guest, stream);

	if (g->left && g->awaits)
		ddp_tx_set_blocked(s);
	if (!g->left || g->awaits)
		return false;
	g->left--;
	memset(m, 0, sizeof(*m));
	m->buf = &g->buf;
	return true;
}

static bool count_sent_message(struct ddp_stream *s, bool look)
{
	stubs.taken++;
	return true;
}

static const struct ddp_ulp_ops ulp = { .next = get_next_message, .sent = count_sent_message };

static int test_init(struct kunit *test)
{
	struct sddp_assoc *a = &stubs.a;

	memset(&stubs, 0, sizeof(stubs));
	INIT_LIST_HEAD(&a->control_queue);
	INIT_LIST_HEAD(&a->segment_queue);
	INIT_LIST_HEAD(&a->unacked);
	stubs.takes = SENT;
	stubs.budget.fragment = FRAGMENT;
	stubs.budget.bytes = 1 << 20;
	host_memory.result = IW_OK;
	return 0;
}

static void free_tx_buf(struct kunit *test)
{
	sddp_tx_free_buf(&stubs.a);
}

/* Open a session that has @messages messages of @len bytes to send */
static struct guest *open_session(u16 id, u32 messages, u32 len)
{
	struct guest *g = &stubs.g[id];
	struct sddp_stream *st = &g->st;

	ddp_stream_init(&g->stream, &ulp, NULL, NULL);
	g->left = messages;
	g->buf.len = len;
	st->a = &stubs.a;
	st->id = id;
	st->stream = &g->stream;
	st->s.state = SDDP_OPEN;
	st->ss.type = &type;
	kref_init(&st->ss.ref);
	INIT_LIST_HEAD(&st->queue_entry);
	INIT_LIST_HEAD(&st->await_ack);
	sddp_tx_enqueue_stream(st);
	return g;
}

/* Send until there is no more to do. Return: the number of calls that left something to do. */
static u32 send_all_messages(void)
{
	u32 n = 0;

	while (n < SENT && sddp_tx_send_chunks(&stubs.a) > 0)
		n++;
	return n;
}

/* Return the number of consecutive chunks of one stream, from chunk number @from on */
static u32 count_consecutive_chunks(u32 from)
{
	u32 i = from;

	while (i < stubs.sent && stubs.to[i] == stubs.to[from])
		i++;
	return i - from;
}

/* Sessions send in turn, TURN bytes each, however much one of them has to send */
static void sessions_send_in_turn(struct kunit *test)
{
	u32 i, n, rounds;

	open_session(0, 100, 900);
	open_session(1, 100, 900);
	rounds = send_all_messages();
	KUNIT_ASSERT_EQ(test, 200u, stubs.sent);
	KUNIT_EXPECT_GE(test, rounds, 1u);
	for (i = 0; i < 160; i += n) {
		n = count_consecutive_chunks(i);
		KUNIT_EXPECT_GE(test, n * FRAGMENT, TURN);
		KUNIT_EXPECT_LE(test, (n - 1) * 900, TURN);
	}
	KUNIT_EXPECT_TRUE(test, list_empty(&stubs.a.segment_queue));
}

/*
 * Expect that the last chunk has the right header and payload. A long payload must
 * have page offset @off.
 */
static void expect_payload(struct kunit *test, u16 ssn, u32 size, u32 off)
{
	const u32 head = SDDP_SEGMENT + IW_DDP_HDR_MAX;
	u8 want[SDDP_SEGMENT];
	u32 i;

	sddp_ssn_encode(want, ssn);
	KUNIT_ASSERT_EQ(test, size, stubs.last_len);
	KUNIT_EXPECT_EQ(test, 0, memcmp(want, stubs.last, sizeof(want)));
	for (i = head + 1; i < size; i++)
		KUNIT_ASSERT_EQ(test, (u8)(stubs.last[i - 1] + 1), stubs.last[i]);
	if (size - head >= DDP_COPY_LONG)
		KUNIT_EXPECT_EQ(test, off, (u32)offset_in_page(stubs.last + head));
}

/*
 * The payload of long segments has the same page offset as in memory, with any path MTU, and
 * whether or not SCTP accepts the chunk
 */
static void payload_keeps_page_offset(struct kunit *test)
{
	static const u32 sizes[] = {
		1000, 16384, 16385, 16403, 16404, 65002, 30000, 1000, 65002, 16402,
	};
	u32 i, off;

	open_session(0, 1, 4000000);
	for (i = 0; i < ARRAY_SIZE(sizes) * 8; i++) {
		off = i * 601 % 4096;
		host_memory.page_off = off;
		stubs.budget.fragment = sizes[i % ARRAY_SIZE(sizes)];
		stubs.budget.bytes = 1;
		stubs.takes = stubs.sent;
		sddp_tx_send_chunks(&stubs.a);
		expect_payload(test, i, stubs.budget.fragment, off);
		/*
		 * a chunk that SCTP did not accept is sent again unchanged, even
		 * if the path MTU has changed
		 */
		host_memory.page_off = 0;
		stubs.budget.fragment = FRAGMENT;
		stubs.budget.bytes = 0;
		stubs.takes = SENT;
		sddp_tx_send_chunks(&stubs.a);
		expect_payload(test, i, sizes[i % ARRAY_SIZE(sizes)], off);
	}
}

/*
 * Segments of a message are corked; the cork is removed for the last ones, so that
 * SCTP sends them
 */
static void last_segments_are_uncorked(struct kunit *test)
{
	struct guest *g = open_session(0, 1, 300000);

	send_all_messages();
	KUNIT_EXPECT_EQ(test, 0u, g->left);
	KUNIT_EXPECT_GE(test, stubs.corks, 300000 / 65536u);
	KUNIT_EXPECT_EQ(test, stubs.corks, stubs.uncorks);
	KUNIT_EXPECT_EQ(test, 0u, stubs.a.corked);
	KUNIT_EXPECT_EQ(test, 1, g->st.ss.ref.refs);
}

/*
 * RDMAP-125: a chunk that SCTP did not accept is the first one sent later, and no
 * chunk is sent twice
 */
static void unaccepted_chunk_is_sent_first(struct kunit *test)
{
	struct guest *g = open_session(0, 20, 900);

	stubs.takes = 10;
	KUNIT_EXPECT_EQ(test, -EAGAIN, sddp_tx_send_chunks(&stubs.a));
	KUNIT_EXPECT_EQ(test, 10u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 10u, stubs.taken);
	KUNIT_EXPECT_EQ(test, 9u, g->left);
	KUNIT_EXPECT_PTR_EQ(test, &g->st, stubs.a.out_stream);
	stubs.takes = SENT;
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 20u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 20, (int)g->st.tx_ssn);
	KUNIT_EXPECT_NULL(test, stubs.a.out_stream);
}

/* SCTPDDP-44: data posted before the reply to the Initiate is sent only after that reply */
static void data_waits_for_reply(struct kunit *test)
{
	struct guest *g = open_session(0, 3, 900);

	g->st.s.active = true;
	g->st.s.state = SDDP_INITIATED;
	g->st.s.control_unacked = true;
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 0u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 3u, g->left);
	g->st.s.state = SDDP_OPEN;
	sddp_tx_enqueue_stream(&g->st);
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 3u, stubs.sent);
}

static void full_sndbuf_keeps_message(struct kunit *test)
{
	struct guest *g = open_session(0, 1, 900);

	stubs.budget.bytes = 0;
	KUNIT_EXPECT_EQ(test, -EAGAIN, sddp_tx_send_chunks(&stubs.a));
	KUNIT_EXPECT_EQ(test, 1u, g->left);
	KUNIT_EXPECT_FALSE(test, list_empty(&stubs.a.segment_queue));
}

/* The Accept has a time limit until SCTP has accepted it */
static void accept_has_time_limit(struct kunit *test)
{
	struct sddp_control *yes = kzalloc(sizeof(*yes), GFP_KERNEL);
	struct guest *g = open_session(0, 1, 900);

	yes->kind = SDDP_KIND_ACCEPT;
	list_del_init(&g->st.queue_entry);
	g->st.s.state = SDDP_REQUESTED;
	g->st.pending_control = yes;
	g->st.accepted = true;
	stubs.takes = 0;
	sddp_tx_enqueue_stream(&g->st);
	send_all_messages();
	KUNIT_EXPECT_PTR_EQ(test, yes, g->st.pending_control);
	KUNIT_EXPECT_EQ(test, 0u, stubs.no_deadline);
	stubs.takes = SENT;
	send_all_messages();
	KUNIT_EXPECT_NULL(test, g->st.pending_control);
	KUNIT_EXPECT_EQ(test, 1u, stubs.no_deadline);
	/* no segment is sent before the Accept */
	KUNIT_EXPECT_EQ(test, 2u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 2, (int)g->st.tx_ssn);
}

/* The Terminate is sent once, after all data, and the association watches for its acknowledgment */
static void terminate_follows_all_data(struct kunit *test)
{
	struct guest *g = open_session(0, 3, 900);

	g->st.closing = true;
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 4u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 1u, stubs.controls);
	KUNIT_EXPECT_EQ(test, 4, (int)g->st.tx_ssn);
	KUNIT_EXPECT_TRUE(test, g->st.s.own_done && g->st.s.control_unacked);
	/* the peer has acknowledged only the chunks before the Terminate */
	sddp_tx_process_acks(&stubs.a);
	KUNIT_EXPECT_TRUE(test, g->st.s.control_unacked);
	KUNIT_EXPECT_TRUE(test, stubs.a.watch_acks);
	stubs.sent++;
	sddp_tx_process_acks(&stubs.a);
	KUNIT_EXPECT_FALSE(test, g->st.s.control_unacked);
	sddp_tx_process_acks(&stubs.a);
	KUNIT_EXPECT_FALSE(test, stubs.a.watch_acks);
}

/*
 * If RDMAP has a Terminate message to send while the session's Terminate waits for
 * the acknowledgment of the Accept, RDMAP's Terminate message is sent first
 */
static void terminate_follows_rdmap_terminate(struct kunit *test)
{
	struct guest *g = open_session(0, 1, 900);

	g->st.closing = true;
	g->st.s.control_unacked = true;
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 1u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 0u, stubs.controls);
	/* the peer's first segment acknowledges the Accept, but has an error */
	g->st.s.control_unacked = false;
	g->left = 1;
	sddp_tx_enqueue_stream(&g->st);
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 0u, g->left);
	KUNIT_EXPECT_EQ(test, 3u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 1u, stubs.controls);
	KUNIT_EXPECT_EQ(test, 3, (int)g->st.tx_ssn);
}

/* If SCTP does not accept the Terminate, data that is posted meanwhile is sent first */
static void new_data_precedes_terminate(struct kunit *test)
{
	struct guest *g = open_session(0, 1, 900);

	g->st.closing = true;
	stubs.takes = 1;
	send_all_messages();
	KUNIT_EXPECT_FALSE(test, g->st.s.own_done);
	g->left = 1;
	stubs.takes = SENT;
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 0u, g->left);
	KUNIT_EXPECT_EQ(test, 3u, stubs.sent);
	KUNIT_EXPECT_TRUE(test, g->st.s.own_done);
}

/*
 * The session's Terminate must follow the work requests that wait for a response
 * from the peer, unless no response can arrive any more
 */
static void terminate_waits_for_requests(struct kunit *test)
{
	struct guest *g = open_session(0, 1, 900);

	g->awaits = true;
	g->st.closing = true;
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 0u, stubs.sent);
	KUNIT_EXPECT_FALSE(test, g->st.s.own_done);
	g->awaits = false;
	sddp_tx_enqueue_stream(&g->st);
	send_all_messages();
	KUNIT_EXPECT_EQ(test, 2u, stubs.sent);
	KUNIT_EXPECT_EQ(test, 1u, stubs.controls);
	KUNIT_EXPECT_TRUE(test, g->st.s.own_done);

	g = open_session(1, 1, 900);
	g->awaits = true;
	g->st.closing = true;
	g->st.peer_closed = true;
	send_all_messages();
	KUNIT_EXPECT_TRUE(test, g->st.s.own_done);
}

/* Chunks without a session ----------------------------------------------------- */

static enum iw_reason receive_orphan_chunk(u32 ppid, const struct sddp_head *h)
{
	const struct sddp_chunk_desc in = { .id = 5, .ppid = ppid };

	stubs.refused = IW_OK;
	xa_erase(&stubs.a.streams, 5);
	sddp_orphan_process_first_chunk(&stubs.a, &in, h);
	return stubs.refused;
}

/* Each wrong chunk is counted with its reason */
static void wrong_chunks_are_counted(struct kunit *test)
{
	struct sddp_head h = { .well_formed = true, .has_ssn = true };

	KUNIT_EXPECT_EQ(test, IW_SCTP_SEQUENCE, receive_orphan_chunk(SDDP_PPID_SEGMENT, &h));
	KUNIT_EXPECT_EQ(test, IW_SCTP_CONTROL, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
	h.function = SDDP_REJECT_ENHANCED + 1;
	KUNIT_EXPECT_EQ(test, IW_SCTP_CONTROL, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
	h.function = SDDP_REJECT_ENHANCED;
	KUNIT_EXPECT_EQ(test, IW_SCTP_SEQUENCE, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
	h.ssn = SDDP_IN_FLIGHT_MAX;
	KUNIT_EXPECT_EQ(test, IW_SCTP_SSN, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
	h.ssn--;
	KUNIT_EXPECT_EQ(test, IW_SCTP_SEQUENCE, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
	h.has_ssn = false;
	KUNIT_EXPECT_EQ(test, IW_SCTP_SSN, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
	h.well_formed = false;
	KUNIT_EXPECT_EQ(test, IW_SCTP_SEQUENCE, receive_orphan_chunk(SDDP_PPID_CONTROL, &h));
}

/*
 * For an orphaned session one Terminate is sent. Its table entry is removed when
 * all chunks up to the peer's Terminate have arrived.
 */
static void one_terminate_is_sent_for_orphan(struct kunit *test)
{
	struct sddp_head h = { .well_formed = true, .has_ssn = true, .ssn = 1 };
	struct sddp_assoc *a = &stubs.a;

	receive_orphan_chunk(SDDP_PPID_SEGMENT, &h);
	sddp_tx_send_chunks(a);
	sddp_tx_send_chunks(a);
	KUNIT_EXPECT_EQ(test, 1u, stubs.controls);
	KUNIT_EXPECT_EQ(test, 5, (int)stubs.to[0]);
	h.function = SDDP_TERMINATE;
	h.ssn = 2;
	sddp_orphan_process_next_chunk(a, 5, xa_to_value(xa_load(&a->streams, 5)), &h);
	KUNIT_EXPECT_NOT_NULL(test, xa_load(&a->streams, 5));
	h.function = 0;
	h.ssn = 0;
	sddp_orphan_process_next_chunk(a, 5, xa_to_value(xa_load(&a->streams, 5)), &h);
	KUNIT_EXPECT_NULL(test, xa_load(&a->streams, 5));
	KUNIT_EXPECT_EQ(test, 1u, stubs.sent);
}

/* No Terminate is sent in reply to a Terminate without a session, and no table entry is created */
static void orphan_terminate_is_ignored(struct kunit *test)
{
	struct sddp_head h = {
		.well_formed = true, .has_ssn = true, .function = SDDP_TERMINATE,
	};

	receive_orphan_chunk(SDDP_PPID_CONTROL, &h);
	sddp_tx_send_chunks(&stubs.a);
	KUNIT_EXPECT_EQ(test, 0u, stubs.sent);
	KUNIT_EXPECT_NULL(test, xa_load(&stubs.a.streams, 5));
}

/*
 * The association of a peer without an accepted session ends after too many chunks
 * that belong to no session
 */
static void many_orphan_chunks_end_assoc(struct kunit *test)
{
	struct sddp_assoc *a = &stubs.a;
	u32 i;

	for (i = 0; i < SDDP_VIOLATIONS_MAX; i++)
		sddp_assoc_count_violation(a);
	KUNIT_EXPECT_EQ(test, IW_OK, a->end_reason);
	a->peer_accepted = true;
	sddp_assoc_count_violation(a);
	KUNIT_EXPECT_EQ(test, IW_OK, a->end_reason);
	a->peer_accepted = false;
	sddp_assoc_count_violation(a);
	KUNIT_EXPECT_EQ(test, IW_SCTP_SEQUENCE, a->end_reason);
}

static struct kunit_case sddp_tx_cases[] = {
	KUNIT_CASE(sessions_send_in_turn),
	KUNIT_CASE(payload_keeps_page_offset),
	KUNIT_CASE(last_segments_are_uncorked),
	KUNIT_CASE(unaccepted_chunk_is_sent_first),
	KUNIT_CASE(data_waits_for_reply),
	KUNIT_CASE(full_sndbuf_keeps_message),
	KUNIT_CASE(accept_has_time_limit),
	KUNIT_CASE(terminate_follows_all_data),
	KUNIT_CASE(terminate_follows_rdmap_terminate),
	KUNIT_CASE(new_data_precedes_terminate),
	KUNIT_CASE(terminate_waits_for_requests),
	KUNIT_CASE(wrong_chunks_are_counted),
	KUNIT_CASE(one_terminate_is_sent_for_orphan),
	KUNIT_CASE(orphan_terminate_is_ignored),
	KUNIT_CASE(many_orphan_chunks_end_assoc),
	{}
};

static struct kunit_suite sddp_tx_suite = {
	.name = "sddp_tx",
	.init = test_init,
	.exit = free_tx_buf,
	.test_cases = sddp_tx_cases,
};

kunit_test_suite(sddp_tx_suite);
