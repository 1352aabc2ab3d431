// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <kunit/test.h>

#include "../sqe.h"

/*
 * For each opcode, the bytes of the WQE that a program may set after the first
 * 16 bytes: from byte @from up to byte @to - 1
 */
static const struct may {
	const char	*name;
	u8		opcode;
	bool		data;
	u8		from, to;	/* byte offsets in the WQE */
} mays[] = {
	{ "write",	RNIC_SW_OP_WRITE,	true,	20, 32 },
	{ "write_imm",	RNIC_SW_OP_WRITE_IMM,	true,	16, 32 },
	{ "send",	RNIC_SW_OP_SEND,	true,	16, 16 },
	{ "send_inv",	RNIC_SW_OP_SEND_INV,	true,	16, 20 },
	{ "read",	RNIC_SW_OP_READ,	true,	20, 32 },
	{ "cmp_swap",	RNIC_SW_OP_CMP_SWAP,	true,	20, 48 },
	{ "fetch_add",	RNIC_SW_OP_FETCH_ADD,	true,	20, 40 },
	{ "local_inv",	RNIC_SW_OP_LOCAL_INV,	false,	16, 20 },
	{ "bind_mw",	RNIC_SW_OP_BIND_MW,	false,	16, 44 },
};

static void describe_opcode(const struct may *m, char *desc)
{
	strscpy(desc, m->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(may, mays, describe_opcode);

static const size_t middle = offsetof(struct rnic_sw_sqe, imm_data);

/*
 * If one byte after the first 16 is not zero, a WQE is accepted only if its
 * opcode uses that byte.
 */
static void unused_bytes_must_be_zero(struct kunit *test)
{
	const struct may *m = test->param_value;
	struct rnic_sw_sqe e;
	size_t i;

	KUNIT_ASSERT_EQ(test, middle, (size_t)16);
	for (i = middle; i < sizeof(e); i++) {
		memset(&e, 0, sizeof(e));
		e.opcode = m->opcode;
		KUNIT_ASSERT_TRUE(test, rnic_sqe_is_well_formed(&e));
		((u8 *)&e)[i] = 0x80;
		KUNIT_EXPECT_EQ_MSG(test, rnic_sqe_is_well_formed(&e),
				    i >= m->from && i < m->to, "byte %zu", i);
	}
}

static bool is_sqe_accepted(u8 opcode, u8 flags, u16 num_sge, u32 inline_len)
{
	const struct rnic_sw_sqe e = {
		.wr_id = ~0ull,
		.opcode = opcode,
		.flags = flags,
		.num_sge = num_sge,
		.inline_len = inline_len,
	};

	return rnic_sqe_is_well_formed(&e);
}

/*
 * A request with SGEs or with inline data is accepted if its opcode uses data.
 * A request with both is refused.
 */
static void sges_exclude_inline_data(struct kunit *test)
{
	const struct may *m = test->param_value;

	KUNIT_EXPECT_EQ(test, is_sqe_accepted(m->opcode, 0, 1, 0), m->data);
	KUNIT_EXPECT_FALSE(test, is_sqe_accepted(m->opcode, 0, 0, 1));
	KUNIT_EXPECT_EQ(test, is_sqe_accepted(m->opcode, RNIC_SW_SEND_INLINE, 0, 1),
			m->data);
	KUNIT_EXPECT_EQ(test, is_sqe_accepted(m->opcode, RNIC_SW_SEND_INLINE, 0, 0),
			m->data);
	KUNIT_EXPECT_FALSE(test, is_sqe_accepted(m->opcode, RNIC_SW_SEND_INLINE, 1, 1));
}

/* A request with an unknown flag is refused. */
static void unknown_flag_is_refused(struct kunit *test)
{
	int i;

	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, is_sqe_accepted(RNIC_SW_OP_SEND, 1 << i, 0, 0),
				i < 4);
}

/*
 * An unknown opcode is refused, and so is an opcode that only the kernel may
 * use.
 */
static void unknown_opcode_is_refused(struct kunit *test)
{
	int i;

	for (i = 0; i < 256; i++)
		KUNIT_EXPECT_EQ_MSG(test, is_sqe_accepted(i, 0, 0, 0), i < 10 && i != 3,
				    "%d", i);
}

/* A receive WQE is refused if its reserved field is not zero. */
static void recv_reserved_must_be_zero(struct kunit *test)
{
	struct rnic_sw_rqe e = { .wr_id = ~0ull, .num_sge = ~0u };

	KUNIT_EXPECT_TRUE(test, rnic_rqe_is_well_formed(&e));
	e.reserved = 1u << 31;
	KUNIT_EXPECT_FALSE(test, rnic_rqe_is_well_formed(&e));
}

static struct kunit_case sqe_cases[] = {
	KUNIT_CASE_PARAM(unused_bytes_must_be_zero, may_gen_params),
	KUNIT_CASE_PARAM(sges_exclude_inline_data, may_gen_params),
	KUNIT_CASE(unknown_flag_is_refused),
	KUNIT_CASE(unknown_opcode_is_refused),
	KUNIT_CASE(recv_reserved_must_be_zero),
	{}
};

static struct kunit_suite sqe_suite = {
	.name = "rnic_sqe",
	.test_cases = sqe_cases,
};

kunit_test_suite(sqe_suite);

MODULE_DESCRIPTION("Tests of send WQE validation");
MODULE_LICENSE("Dual BSD/GPL");
