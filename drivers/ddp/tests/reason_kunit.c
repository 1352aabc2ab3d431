// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test the table of reasons against the RFCs. */
#include <kunit/test.h>
#include <ddp/reason.h>

#define MD	(IW_QUOTE_M | IW_QUOTE_D)

struct wire {
	enum iw_reason	why;
	u8		layer;
	u8		type;
	u8		code;
};

/*
 * Expected Terminate fields of all reasons that have any: RFC 5040 figure 9,
 * RFC 5041 7.2, RFC 5044 8 with RFC 6580 and RFC 6581
 */
static const struct wire wires[] = {
	{ IW_RDMAP_CATASTROPHIC,	0, 0, 0x00 },
	{ IW_RDMAP_P_STAG,		0, 1, 0x00 },
	{ IW_RDMAP_P_BOUNDS,		0, 1, 0x01 },
	{ IW_RDMAP_P_ACCESS,		0, 1, 0x02 },
	{ IW_RDMAP_P_ASSOC,		0, 1, 0x03 },
	{ IW_RDMAP_P_WRAP,		0, 1, 0x04 },
	{ IW_RDMAP_P_INVALIDATE,	0, 1, 0x09 },
	{ IW_RDMAP_P_UNSPEC,		0, 1, 0xff },
	{ IW_RDMAP_VERSION,		0, 2, 0x05 },
	{ IW_RDMAP_OPCODE,		0, 2, 0x06 },
	{ IW_RDMAP_STREAM,		0, 2, 0x07 },
	{ IW_RDMAP_GLOBAL,		0, 2, 0x08 },
	{ IW_RDMAP_INVALIDATE,		0, 2, 0x09 },
	{ IW_RDMAP_UNSPEC,		0, 2, 0xff },
	{ IW_DDP_CATASTROPHIC,		1, 0, 0x00 },
	{ IW_DDP_SHORT,			1, 0, 0x00 },
	{ IW_DDP_T_STAG,		1, 1, 0x00 },
	{ IW_DDP_T_BOUNDS,		1, 1, 0x01 },
	{ IW_DDP_T_ASSOC,		1, 1, 0x02 },
	{ IW_DDP_T_WRAP,		1, 1, 0x03 },
	{ IW_DDP_T_VERSION,		1, 1, 0x04 },
	{ IW_DDP_U_QN,			1, 2, 0x01 },
	{ IW_DDP_U_NO_BUFFER,		1, 2, 0x02 },
	{ IW_DDP_U_MSN_RANGE,		1, 2, 0x03 },
	{ IW_DDP_U_MO,			1, 2, 0x04 },
	{ IW_DDP_U_TOO_LONG,		1, 2, 0x05 },
	{ IW_DDP_U_VERSION,		1, 2, 0x06 },
	{ IW_MPA_LOST,			2, 0, 0x01 },
	{ IW_MPA_CRC,			2, 0, 0x02 },
	{ IW_MPA_MARKER,		2, 0, 0x03 },
	{ IW_MPA_STARTUP,		2, 0, 0x04 },
	{ IW_MPA_LOCAL,			2, 0, 0x05 },
	{ IW_MPA_IRD,			2, 0, 0x06 },
	{ IW_MPA_RTR,			2, 0, 0x07 },
};

static void describe_wire(const struct wire *w, char *desc)
{
	strscpy(desc, iw_reason_get_name(w->why), KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(wire, wires, describe_wire);

/*
 * RFC 5041 7.2, RFC 5040 4.8, RFC 6581 8 (DDP-106, DDP-107, DDP-108, RDMAP-38, MPA2-23, MPA2-24):
 * each reason has the layer, type and code that the RFCs define.
 */
static void reason_has_wire_code(struct kunit *test)
{
	const struct wire *w = test->param_value;
	const struct iw_reason_row *row = iw_reason_get_row(w->why);

	KUNIT_EXPECT_EQ(test, row->layer, w->layer);
	KUNIT_EXPECT_EQ(test, row->type, w->type);
	KUNIT_EXPECT_EQ(test, row->code, w->code);
}

/*
 * Get the headers that a Terminate must quote according to RFC 5040 figure 10.
 * For the error type "local catastrophic" it quotes no header.
 */
static u8 get_expected_quote(const struct wire *w)
{
	if (w->layer == 2 || w->type == 0)
		return 0;
	if (w->layer == 1 || w->type == 2)
		return MD;
	/* a Send has requested the invalidation, so there is no Read Request to quote */
	return w->why == IW_RDMAP_P_INVALIDATE ? MD : MD | IW_QUOTE_R;
}

/*
 * RFC 5041 7.1, RFC 5040 4.8 and figure 10 (DDP-103, RDMAP-39, RDMAP-45,
 * RDMAP-50, RDMAP-51, RDMAP-53 to 55): for each reason, a Terminate quotes the
 * headers that the RFCs require.
 */
static void reason_quotes_required_headers(struct kunit *test)
{
	const struct wire *w = test->param_value;

	KUNIT_EXPECT_EQ(test, iw_reason_get_row(w->why)->quote, get_expected_quote(w));
}

/*
 * RFC 5041 7.2, RFC 5040 4.8 (DDP-110, RDMAP-38): only the reasons in wires[]
 * have Terminate fields, and no reason of DDP has error type 3.
 */
static void only_listed_reasons_have_terminate(struct kunit *test)
{
	u32 why, on_wire = 0;

	for (why = 0; why < IW_REASON_NR; why++) {
		/* error type 3 of DDP belongs to the lower layer */
		if (iw_reason_get_row(why)->layer == IW_LAYER_DDP)
			KUNIT_EXPECT_LT(test, (u32)iw_reason_get_row(why)->type, 3u);
		if (iw_reason_get_row(why)->layer != IW_NOT_ON_WIRE)
			on_wire++;
		else
			KUNIT_EXPECT_EQ(test, iw_reason_get_row(why)->quote, 0);
	}
	KUNIT_EXPECT_EQ(test, on_wire, (u32)ARRAY_SIZE(wires));
	KUNIT_EXPECT_EQ(test, iw_reason_get_row(IW_OK)->layer, IW_NOT_ON_WIRE);
}

/*
 * Expected event of each reason. A reason without an entry must have
 * IW_EVENT_NONE if ends[] lists it, and IW_EVENT_FATAL otherwise.
 */
static const u8 events[IW_REASON_NR] = {
	[IW_DDP_T_STAG]		= IW_EVENT_ACCESS,
	[IW_DDP_T_BOUNDS]	= IW_EVENT_ACCESS,
	[IW_DDP_T_ASSOC]	= IW_EVENT_ACCESS,
	[IW_DDP_T_WRAP]		= IW_EVENT_ACCESS,
	[IW_RDMAP_P_STAG]	= IW_EVENT_ACCESS,
	[IW_RDMAP_P_BOUNDS]	= IW_EVENT_ACCESS,
	[IW_RDMAP_P_ACCESS]	= IW_EVENT_ACCESS,
	[IW_RDMAP_P_ASSOC]	= IW_EVENT_ACCESS,
	[IW_RDMAP_P_WRAP]	= IW_EVENT_ACCESS,
	[IW_RDMAP_P_INVALIDATE]	= IW_EVENT_ACCESS,
	[IW_RDMAP_P_UNSPEC]	= IW_EVENT_ACCESS,
	[IW_PEER_TERMINATE]	= IW_EVENT_REQUEST,
};

static const u8 ends[] = {
	IW_OK, IW_PEER_CLOSED, IW_PEER_RESET, IW_PEER_REJECT, IW_PEER_REFUSED,
	IW_UNREACHABLE, IW_TIMEOUT, IW_LOCAL_CLOSE, IW_LOCAL_ABORT,
	IW_NO_MEMORY, IW_RETRY_EXCEEDED,
};

/* Each reason has the expected event for the consumer. */
static void reason_has_expected_event(struct kunit *test)
{
	u32 why, i;
	u8 want;

	for (why = 0; why < IW_REASON_NR; why++) {
		want = events[why] ?: IW_EVENT_FATAL;
		for (i = 0; i < ARRAY_SIZE(ends); i++)
			if (why == ends[i])
				want = IW_EVENT_NONE;
		KUNIT_EXPECT_EQ_MSG(test, iw_reason_get_row(why)->event, want, "%s",
				    iw_reason_get_name(why));
	}
}

/* Each reason has a rule, and a name of 2 to 31 characters. */
static void reason_has_rule_and_name(struct kunit *test)
{
	const struct iw_reason_row *row;
	u32 why;

	for (why = 0; why < IW_REASON_NR; why++) {
		row = iw_reason_get_row(why);
		KUNIT_ASSERT_NOT_NULL_MSG(test, row->name, "reason %u", why);
		KUNIT_EXPECT_NOT_NULL_MSG(test, row->rule, "reason %u", why);
		KUNIT_EXPECT_STREQ(test, row->name, iw_reason_get_name(why));
		/* the name is also that of a counter, which may have at most 31 characters */
		KUNIT_EXPECT_GT(test, strlen(row->name), (size_t)1);
		KUNIT_EXPECT_LT(test, strlen(row->name), (size_t)32);
	}
}

static bool is_same_on_wire(const struct iw_reason_row *a,
			    const struct iw_reason_row *b)
{
	return a->layer != IW_NOT_ON_WIRE && a->layer == b->layer &&
	       a->type == b->type && a->code == b->code;
}

/*
 * No two reasons have the same name. No two reasons have the same Terminate
 * fields, except for IW_DDP_CATASTROPHIC and IW_DDP_SHORT.
 */
static void reason_names_and_wire_codes_are_unique(struct kunit *test)
{
	const struct iw_reason_row *a, *b;
	u32 x, y, twins = 0;

	for (x = 0; x < IW_REASON_NR; x++) {
		for (y = 0; y < x; y++) {
			a = iw_reason_get_row(x);
			b = iw_reason_get_row(y);
			KUNIT_EXPECT_STRNEQ(test, a->name, b->name);
			twins += is_same_on_wire(a, b);
		}
	}
	KUNIT_EXPECT_EQ(test, twins, 1u);
	KUNIT_EXPECT_TRUE(test,
			  is_same_on_wire(iw_reason_get_row(IW_DDP_SHORT),
					  iw_reason_get_row(IW_DDP_CATASTROPHIC)));
}

/*
 * Expected name of each number. Programs receive the number as vendor error, so
 * a number must never change.
 */
static const char * const numbers[] = {
	[0]	= "ok",
	[1]	= "ddp-catastrophic",
	[2]	= "ddp-short",
	[3]	= "ddp-tagged-stag",
	[4]	= "ddp-tagged-bounds",
	[5]	= "ddp-tagged-assoc",
	[6]	= "ddp-tagged-wrap",
	[7]	= "ddp-tagged-version",
	[8]	= "ddp-untagged-qn",
	[9]	= "ddp-untagged-no-buffer",
	[10]	= "ddp-untagged-msn-range",
	[11]	= "ddp-untagged-mo",
	[12]	= "ddp-untagged-too-long",
	[13]	= "ddp-untagged-version",
	[14]	= "mpa-lost",
	[15]	= "mpa-crc",
	[16]	= "mpa-marker",
	[17]	= "mpa-startup",
	[18]	= "mpa-local",
	[19]	= "mpa-ird",
	[20]	= "mpa-rtr",
	[21]	= "rdmap-catastrophic",
	[22]	= "rdmap-stag",
	[23]	= "rdmap-bounds",
	[24]	= "rdmap-access",
	[25]	= "rdmap-assoc",
	[26]	= "rdmap-wrap",
	[27]	= "rdmap-invalidate-assoc",
	[28]	= "rdmap-protection",
	[29]	= "rdmap-version",
	[30]	= "rdmap-opcode",
	[31]	= "rdmap-stream",
	[32]	= "rdmap-global",
	[33]	= "rdmap-invalidate",
	[34]	= "rdmap-operation",
	[35]	= "peer-terminate",
	[36]	= "sctp-adaptation",
	[37]	= "sctp-control",
	[38]	= "sctp-sequence",
	[39]	= "sctp-ssn",
	[40]	= "peer-closed",
	[41]	= "peer-reset",
	[42]	= "peer-reject",
	[43]	= "peer-refused",
	[44]	= "unreachable",
	[45]	= "timeout",
	[46]	= "local-close",
	[47]	= "local-abort",
	[48]	= "local-protection",
	[49]	= "local-cq-overrun",
	[50]	= "no-memory",
	[51]	= "unreadable",
	[52]	= "sctp-addresses",
	[53]	= "retry-exceeded",
};

/* Each reason has the number that numbers[] gives it. */
static void reason_numbers_are_fixed(struct kunit *test)
{
	u32 why;

	KUNIT_ASSERT_EQ(test, (u32)ARRAY_SIZE(numbers), (u32)IW_REASON_NR);
	for (why = 0; why < IW_REASON_NR; why++)
		KUNIT_EXPECT_STREQ(test, numbers[why], iw_reason_get_name(why));
}

/* For an invalid reason, iw_reason_get_row() returns the row of IW_RDMAP_UNSPEC. */
static void invalid_reason_is_unspecified(struct kunit *test)
{
	const struct iw_reason_row *unspec = iw_reason_get_row(IW_RDMAP_UNSPEC);

	KUNIT_EXPECT_PTR_EQ(test, iw_reason_get_row(IW_REASON_NR), unspec);
	KUNIT_EXPECT_PTR_EQ(test, iw_reason_get_row(-1), unspec);
}

static struct kunit_case reason_cases[] = {
	KUNIT_CASE_PARAM(reason_has_wire_code, wire_gen_params),
	KUNIT_CASE_PARAM(reason_quotes_required_headers, wire_gen_params),
	KUNIT_CASE(only_listed_reasons_have_terminate),
	KUNIT_CASE(reason_has_expected_event),
	KUNIT_CASE(reason_has_rule_and_name),
	KUNIT_CASE(reason_names_and_wire_codes_are_unique),
	KUNIT_CASE(reason_numbers_are_fixed),
	KUNIT_CASE(invalid_reason_is_unspecified),
	{}
};

static struct kunit_suite reason_suite = {
	.name = "ddp_reason",
	.test_cases = reason_cases,
};

kunit_test_suite(reason_suite);

MODULE_DESCRIPTION("The table of reasons: tests");
MODULE_LICENSE("Dual BSD/GPL");
