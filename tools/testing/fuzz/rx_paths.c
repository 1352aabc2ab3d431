// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The whole receive path: MPA, DDP and RDMAP. The same stream is received in several
 * ways: segment by segment without any fast path, which is the reference; and with fast
 * paths, in skbs of any size and structure, cut anywhere. Memory, completions, counters,
 * the reason why the stream ends, the Terminate and all messages sent must be the
 * same. In one more run the sender changes bytes that are queued. There the results differ, but
 * the sanitizers and the properties of the stubs still hold.
 *
 * Input: how to make a plan, see rx_paths/plan.c. Most streams have errors.
 * rx_paths/mutations has faults with which the runs must differ.
 */
#include "rx_paths/rx_paths.h"

/* Minimum number of different reasons for which the streams of a long run must have ended */
#define REASONS_MIN	22

/*
 * Keep little freed memory in the sanitizer's quarantine, because the sanitizer spends most of its
 * time on allocations
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "malloc_context_size=2:quarantine_size_mb=2";
}

static struct plan plan;
static struct result want, got;
static unsigned long reasons[IW_REASON_NR];	/* streams that ended for each reason */

static const char *const event_names[] = {
	[EV_RECV] = "receive", [EV_RECV_DATA] = "receive's details",
	[EV_FAILED] = "failure", [EV_QUOTE] = "quoted headers", [EV_CLOSE] = "close",
	[EV_SENT] = "segment sent", [EV_RESPONSE] = "response",
	[EV_WR_FAILED] = "failed work request", [EV_INVALIDATED] = "local invalidation",
	[EV_TERMINATE] = "peer's Terminate", [EV_SEGMENTS] = "counters of segments",
	[EV_MESSAGES] = "counters of messages", [EV_STATE] = "receive state",
	[EV_QUEUE] = "untagged queue", [EV_REQUESTS] = "outstanding requests",
};

static void print_event(const char *which, const struct result *r, u32 i)
{
	const struct event *e = &r->event[i];

	if (i >= r->events)
		fprintf(stderr, "  %s: nothing\n", which);
	else
		fprintf(stderr, "  %s: %s %#x %#x %#x\n", which, event_names[e->what], e->a,
			e->b, e->c);
}

/* Print the first event and the first byte of memory that differ from the reference */
static void print_difference(const struct way *w)
{
	const u8 *a = want.memory[0], *b = got.memory[0];
	u32 i;

	plan_print(&plan);
	fprintf(stderr, "%s, %s, %s differs from the reference:\n", w->name,
		w->markers ? "markers" : "no markers", w->crc ? "CRC" : "no CRC");
	for (i = 0; i < min(max(want.events, got.events), (u32)EVENTS); i++) {
		if (i < want.events && i < got.events &&
		    !memcmp(&want.event[i], &got.event[i], sizeof(want.event[i])))
			continue;
		print_event("want", &want, i);
		print_event("got ", &got, i);
		break;
	}
	for (i = 0; i < sizeof(want.memory); i++) {
		if (a[i] == b[i])
			continue;
		fprintf(stderr, "  page %lu, byte %#lx: want %#x, got %#x\n", i / PAGE_SIZE,
			i % PAGE_SIZE, a[i], b[i]);
		break;
	}
}

static bool are_events_equal(void)
{
	return want.events == got.events &&
	       !memcmp(want.event, got.event,
		       min(want.events, (u32)EVENTS) * sizeof(want.event[0]));
}

static void run_way_and_compare_results(const struct way *w)
{
	bool events, memory;

	run_way(&plan, w, &got);
	events = are_events_equal();
	memory = !memcmp(want.memory, got.memory, sizeof(want.memory));
	if (!events || !memory)
		print_difference(w);
	MUST("paths-events", events);
	MUST("paths-memory", memory);
}

/* Choose the size of skbs so that a stream consists of at most a few hundred skbs */
static u32 pick_max_skb_len(struct dice *d)
{
	static const u32 sizes[] = { 1, 2, 7, 20, 100, 500, 1500, 5000, 40000 };
	u32 most = sizes[draw_random_u32_below(d, ARRAY_SIZE(sizes))];

	return max(most, plan.used / 300);
}

static void count_failure_reasons(void)
{
	u32 i;

	for (i = 0; i < min(want.events, (u32)EVENTS); i++)
		if (want.event[i].what == EV_FAILED)
			reasons[want.event[i].a]++;
}

/* Check that the runs used every fast path, and ended for many reasons */
bool fuzz_check_coverage(void)
{
	u32 i, n = 0;

	for (i = 0; i < IW_REASON_NR; i++)
		n += !!reasons[i];
	printf("fast paths: %lu tagged, %lu repeated Writes, %lu untagged, %lu whole untagged, "
	       "%lu in batches; "
	       "general path: %lu; %u reasons\n", paths.tagged_next, paths.repeat_write,
	       paths.untagged_next, paths.whole_untagged, paths.batch, paths.general, n);
	return paths.tagged_next && paths.repeat_write && paths.untagged_next &&
	       paths.whole_untagged && paths.batch && n >= REASONS_MIN;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct dice dice;
	struct way whole, cut, changed, other;
	static bool ready;
	bool raw;

	if (!ready && mpa_rx_init())
		abort();
	ready = true;
	make_plan(&plan, &in);
	dice.state = ~plan.seed;
	raw = plan.damage >= DAMAGE_UNREADABLE;
	whole = (struct way) {
		.name = "MPA, whole steps", .mpa = true, .fast = true,
		.markers = plan.markers, .crc = plan.crc, .pass = 1,
	};
	cut = whole;
	cut.name = "MPA, cut anywhere";
	cut.cut = (struct cut) {
		.dice.state = draw_random_u32(&dice), .most = pick_max_skb_len(&dice),
		.pieces = true,
	};

	/*
	 * The reference has no fast paths. It passes the segments to DDP without MPA, unless the
	 * stream has wrong or unreadable bytes: then only MPA can find the segments.
	 */
	other = whole;
	other.name = "reference";
	other.fast = false;
	other.mpa = raw;
	run_way(&plan, &other, &want);
	count_failure_reasons();
	run_way_and_compare_results(&whole);
	run_way_and_compare_results(&cut);
	changed = draw_random_u32_below(&dice, 2) ? whole : cut;
	changed.name = "changed while queued";
	changed.cut.dice.state = draw_random_u32(&dice);
	changed.rewrite = true;
	run_way(&plan, &changed, &got);
	if (raw)
		return 0;
	other.name = "segments in passes";
	other.fast = true;
	other.pass = 1 + draw_random_u32_below(&dice, 64);
	run_way_and_compare_results(&other);
	/*
	 * markers and CRC, which may be those of the plan's second set, must not make a difference
	 * either
	 */
	other = draw_random_u32_below(&dice, 2) ? whole : cut;
	other.name = "other framing";
	other.fast = draw_random_u32_below(&dice, 4);
	if (plan.damage == DAMAGE_NONE) {
		other.markers = plan.markers2;
		other.crc = plan.crc2;
	}
	run_way_and_compare_results(&other);
	return 0;
}
