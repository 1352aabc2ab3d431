// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Unit tests of drivers/rnic_sw/comp_cntr.c: counters of completions. */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../../../../drivers/rnic_sw/comp_cntr.h"

#define LIMIT	2

static struct {
	struct rnic_dev		dev;
	struct rnic_qp		qp;
	struct rnic_comp_cntr	cntr[RNIC_COMP_OPS];
	u32			objects;
} stubs;

/* Stubs ------------------------------------------------------------------------- */

int rnic_get_limit(enum rnic_kind kind)
{
	return kind == RNIC_COMP_CNTRS ? LIMIT : 0;
}

int rnic_charge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	if (stubs.objects == rnic_get_limit(kind))
		return -ENOMEM;
	stubs.objects++;
	return 0;
}

void rnic_uncharge_object(struct rnic_dev *dev, enum rnic_kind kind)
{
	stubs.objects--;
}

/* Cases ------------------------------------------------------------------------- */

static int attach_counter(u32 mask, u32 n)
{
	struct ib_qp_attach_comp_cntr_attr attr = { .op_mask = mask };

	return rnic_qp_attach_comp_cntr(&stubs.qp.ib, &stubs.cntr[n].ib, &attr);
}

static int test_init(struct kunit *test)
{
	int i;

	memset(&stubs, 0, sizeof(stubs));
	for (i = 0; i < RNIC_COMP_OPS; i++)
		stubs.cntr[i].ib.device = &stubs.dev.ib;
	return 0;
}

static void test_exit(struct kunit *test)
{
	kfree(stubs.qp.comp_cntrs);
	KUNIT_EXPECT_EQ(test, 0, host_allocations);
}

static u64 read_counter_value(u32 n, enum ib_comp_cntr_entry entry)
{
	u64 value = 99;

	WARN_ON(rnic_read_comp_cntr(&stubs.cntr[n].ib, entry, &value));
	return value;
}

static void expect_counter_values(struct kunit *test, u32 n, u64 comp, u64 err)
{
	KUNIT_EXPECT_EQ(test, comp, read_counter_value(n, IB_COMP_CNTR_ENTRY_COMP));
	KUNIT_EXPECT_EQ(test, err, read_counter_value(n, IB_COMP_CNTR_ENTRY_ERR));
}

static void count_send(u8 opcode, u8 status)
{
	const struct rnic_swqe n = { .opcode = opcode, .status = status };

	rnic_count_send(&stubs.qp, &n);
}

/* Complete each operation once with success, and once with an error if it can fail */
static void complete_all_operations(void)
{
	static const u8 opcodes[] = { RNIC_SW_OP_SEND, RNIC_SW_OP_WRITE, RNIC_SW_OP_READ };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		count_send(opcodes[i], IB_WC_SUCCESS);
		count_send(opcodes[i], IB_WC_REM_ACCESS_ERR);
	}
	rnic_count_recv(&stubs.qp, IB_WC_SUCCESS);
	rnic_count_recv(&stubs.qp, IB_WC_WR_FLUSH_ERR);
	rdmap_count_peer_ops(&stubs.qp.rdmap, RDMAP_OP_WRITE, 1);
	rdmap_count_peer_ops(&stubs.qp.rdmap, RDMAP_OP_READ_REQ, 1);
}

/* A counter that is attached to one operation counts this operation only */
static void counter_counts_only_its_operation(struct kunit *test)
{
	u32 op;

	for (op = 0; op < RNIC_COMP_OPS; op++)
		KUNIT_ASSERT_EQ(test, 0, attach_counter(BIT(op), op));
	complete_all_operations();
	for (op = 0; op < RNIC_COMP_OPS; op++)
		expect_counter_values(test, op, 1, op == RNIC_COMP_PEER_READ ||
				      op == RNIC_COMP_PEER_WRITE ? 0 : 1);
}

/* A counter that is attached to several operations counts all of them, and no other */
static void one_counter_counts_many_operations(struct kunit *test)
{
	u32 mask;

	for (mask = 1; mask < BIT(RNIC_COMP_OPS); mask++) {
		u32 err = mask & ~(BIT(RNIC_COMP_PEER_READ) | BIT(RNIC_COMP_PEER_WRITE));

		kfree(stubs.qp.comp_cntrs);
		test_init(test);
		KUNIT_ASSERT_EQ(test, 0, attach_counter(mask, 0));
		complete_all_operations();
		expect_counter_values(test, 0, __builtin_popcount(mask), __builtin_popcount(err));
	}
}

/* RDMAP is requested to count the peer's operations only if a counter needs them */
static void peer_operations_are_counted_if_needed(struct kunit *test)
{
	const u32 local = BIT(RNIC_COMP_SEND) | BIT(RNIC_COMP_RECV) | BIT(RNIC_COMP_READ) |
			  BIT(RNIC_COMP_WRITE);

	KUNIT_ASSERT_EQ(test, 0, attach_counter(local, 0));
	KUNIT_EXPECT_FALSE(test, stubs.qp.rdmap.peer_ops_counted);
	KUNIT_ASSERT_EQ(test, 0, attach_counter(BIT(RNIC_COMP_PEER_READ), 1));
	KUNIT_EXPECT_TRUE(test, stubs.qp.rdmap.peer_ops_counted);
	/* Writes of the peer are not counted, because no counter is attached to them */
	rdmap_count_peer_ops(&stubs.qp.rdmap, RDMAP_OP_WRITE, 7);
	rdmap_count_peer_ops(&stubs.qp.rdmap, RDMAP_OP_READ_REQ, 3);
	expect_counter_values(test, 0, 0, 0);
	expect_counter_values(test, 1, 3, 0);
}

/* Variants of an operation are counted like the operation; all other opcodes are not counted */
static void only_send_write_read_opcodes_are_counted(struct kunit *test)
{
	u32 opcode;

	KUNIT_ASSERT_EQ(test, 0, attach_counter(BIT(RNIC_COMP_OPS) - 1, 0));
	for (opcode = 0; opcode < 256; opcode++) {
		u64 was = read_counter_value(0, IB_COMP_CNTR_ENTRY_COMP);
		bool counted = opcode == RNIC_SW_OP_SEND || opcode == RNIC_SW_OP_SEND_INV ||
			       opcode == RNIC_SW_OP_WRITE || opcode == RNIC_SW_OP_WRITE_IMM ||
			       opcode == RNIC_SW_OP_READ;

		count_send(opcode, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ_MSG(test, was + counted,
				    read_counter_value(0, IB_COMP_CNTR_ENTRY_COMP),
				    "opcode %u", opcode);
	}
}

/* Nothing is counted without a counter, or while the queue pair is being destroyed */
static void nothing_is_counted_without_counter_or_in_destroy(struct kunit *test)
{
	complete_all_operations();
	KUNIT_EXPECT_NULL(test, stubs.qp.comp_cntrs);
	KUNIT_ASSERT_EQ(test, 0, attach_counter(BIT(RNIC_COMP_OPS) - 1, 0));
	stubs.qp.discarding = true;
	complete_all_operations();
	expect_counter_values(test, 0, 0, 0);
}

static void counter_values_can_be_changed(struct kunit *test)
{
	struct ib_comp_cntr *ib = &stubs.cntr[0].ib;
	const enum ib_comp_cntr_entry comp = IB_COMP_CNTR_ENTRY_COMP;

	KUNIT_ASSERT_EQ(test, 0, attach_counter(BIT(RNIC_COMP_RECV), 0));
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_comp_cntr(ib, comp, IB_COMP_CNTR_MODIFY_OP_SET, 40));
	rnic_count_recv(&stubs.qp, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_comp_cntr(ib, comp, IB_COMP_CNTR_MODIFY_OP_INC, 2));
	expect_counter_values(test, 0, 43, 0);
	KUNIT_EXPECT_EQ(test, 0, rnic_modify_comp_cntr(ib, IB_COMP_CNTR_ENTRY_ERR,
						       IB_COMP_CNTR_MODIFY_OP_SET, U64_MAX));
	expect_counter_values(test, 0, 43, U64_MAX);
	rnic_count_recv(&stubs.qp, IB_WC_WR_FLUSH_ERR);
	expect_counter_values(test, 0, 43, 0);
}

static void unknown_entries_and_operations_are_refused(struct kunit *test)
{
	static const int bad[] = { 2, 3, 255, INT_MAX, -1, INT_MIN };
	struct ib_comp_cntr *ib = &stubs.cntr[0].ib;
	u64 value;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, -EINVAL, rnic_read_comp_cntr(ib, bad[i], &value));
		KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_comp_cntr(ib, bad[i],
								     IB_COMP_CNTR_MODIFY_OP_SET, 1));
		KUNIT_EXPECT_EQ(test, -EINVAL, rnic_modify_comp_cntr(ib, IB_COMP_CNTR_ENTRY_COMP,
								     bad[i], 1));
	}
	expect_counter_values(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, attach_counter(BIT(RNIC_COMP_OPS), 0));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, attach_counter(U32_MAX, 0));
	KUNIT_EXPECT_NULL(test, stubs.qp.comp_cntrs);
}

static void attach_without_memory_fails(struct kunit *test)
{
	host_alloc_fails = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM, attach_counter(BIT(RNIC_COMP_PEER_READ), 0));
	host_alloc_fails = false;
	KUNIT_EXPECT_FALSE(test, stubs.qp.rdmap.peer_ops_counted);
	KUNIT_EXPECT_EQ(test, 0, attach_counter(BIT(RNIC_COMP_PEER_READ), 0));
}

static void number_of_counters_is_limited(struct kunit *test)
{
	struct ib_comp_cntr_caps caps;
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, rnic_query_comp_cntr_caps(&stubs.dev.ib, &caps, NULL));
	KUNIT_EXPECT_EQ(test, (u32)LIMIT, caps.max_counters);
	KUNIT_EXPECT_EQ(test, U64_MAX, caps.max_value);
	KUNIT_EXPECT_EQ(test, 0x3fu, caps.supported_qp_attach_ops);
	for (i = 0; i < LIMIT; i++)
		KUNIT_EXPECT_EQ(test, 0, rnic_create_comp_cntr(&stubs.cntr[i].ib, NULL));
	KUNIT_EXPECT_EQ(test, -ENOMEM, rnic_create_comp_cntr(&stubs.cntr[i].ib, NULL));
	KUNIT_EXPECT_EQ(test, 0, rnic_destroy_comp_cntr(&stubs.cntr[0].ib));
	KUNIT_EXPECT_EQ(test, 0, rnic_create_comp_cntr(&stubs.cntr[0].ib, NULL));
}

static struct kunit_case rnic_comp_cntr_cases[] = {
	KUNIT_CASE(counter_counts_only_its_operation),
	KUNIT_CASE(one_counter_counts_many_operations),
	KUNIT_CASE(peer_operations_are_counted_if_needed),
	KUNIT_CASE(only_send_write_read_opcodes_are_counted),
	KUNIT_CASE(nothing_is_counted_without_counter_or_in_destroy),
	KUNIT_CASE(counter_values_can_be_changed),
	KUNIT_CASE(unknown_entries_and_operations_are_refused),
	KUNIT_CASE(attach_without_memory_fails),
	KUNIT_CASE(number_of_counters_is_limited),
	{}
};

static struct kunit_suite rnic_comp_cntr_suite = {
	.name = "rnic_comp_cntr",
	.init = test_init,
	.exit = test_exit,
	.test_cases = rnic_comp_cntr_cases,
};

kunit_test_suite(rnic_comp_cntr_suite);
