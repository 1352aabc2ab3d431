// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrappers of the RDMA core's methods for completion counters, see verbs_comp.h. */
#include "verbs_comp.h"
#include "verbs_ioctl.h"

/* Methods, attributes and values of the RDMA core */
enum { QUERY_CAPS = 8, CAPS_MAX_COUNTERS = 0, CAPS_MAX_VALUE, CAPS_OPS };
enum { CREATE = 0, DESTROY, MODIFY, READ };
enum { AT_HANDLE = 0, AT_ENTRY = 1, MODIFY_OP = 2, MODIFY_VALUE = 3, READ_VALUE = 2 };
enum { QP_ATTACH = 2, ATTACH_QP = 0, ATTACH_CNTR, ATTACH_MASK };

int comp_query_caps(const struct ibv_context *ctx, struct comp_caps *caps)
{
	struct call c;

	call_begin(&c, NEW_DEVICE, QUERY_CAPS);
	call_add_pointer(&c, CAPS_MAX_COUNTERS, 4, &caps->max);
	call_add_pointer(&c, CAPS_MAX_VALUE, 8, &caps->max_value);
	call_add_pointer(&c, CAPS_OPS, 4, &caps->ops);
	return call_issue(&c, ctx);
}

void skip_without_comp_counters(const struct ibv_context *ctx)
{
	struct comp_caps caps = {};
	int err = comp_query_caps(ctx, &caps);

	if (err == EPROTONOSUPPORT)
		skip("the RDMA core of this kernel has no completion counters");
	CHECK(!err, "%s", strerror(err));
	CHECK(caps.max == 16384 && caps.ops == OF_ALL && caps.max_value == UINT64_MAX,
	      "%u, %#x, %#llx", caps.max, caps.ops, (unsigned long long)caps.max_value);
}

int comp_try_create(const struct ibv_context *ctx, uint32_t *cntr)
{
	struct call c;
	int err;

	call_begin(&c, NEW_COMP_CNTR, CREATE);
	call_add_value(&c, AT_HANDLE, 0, 0);
	err = call_issue(&c, ctx);
	*cntr = c.attrs[0].data;
	return err;
}

uint32_t comp_create(const struct ibv_context *ctx)
{
	uint32_t cntr;
	int err = comp_try_create(ctx, &cntr);

	CHECK(!err, "%s", strerror(err));
	return cntr;
}

int comp_destroy(const struct ibv_context *ctx, uint32_t cntr)
{
	struct call c;

	call_begin(&c, NEW_COMP_CNTR, DESTROY);
	call_add_value(&c, AT_HANDLE, 0, cntr);
	return call_issue(&c, ctx);
}

int comp_modify_value(const struct ibv_context *ctx, uint32_t cntr, uint64_t entry, uint64_t op,
		      uint64_t value)
{
	struct call c;

	call_begin(&c, NEW_COMP_CNTR, MODIFY);
	call_add_value(&c, AT_HANDLE, 0, cntr);
	call_add_value(&c, AT_ENTRY, 8, entry);
	call_add_value(&c, MODIFY_OP, 8, op);
	call_add_value(&c, MODIFY_VALUE, 8, value);
	return call_issue(&c, ctx);
}

int comp_try_read(const struct ibv_context *ctx, uint32_t cntr, uint64_t entry, uint64_t *value)
{
	struct call c;

	call_begin(&c, NEW_COMP_CNTR, READ);
	call_add_value(&c, AT_HANDLE, 0, cntr);
	call_add_value(&c, AT_ENTRY, 8, entry);
	call_add_pointer(&c, READ_VALUE, 8, value);
	return call_issue(&c, ctx);
}

uint64_t comp_read(const struct ibv_context *ctx, uint32_t cntr, int entry)
{
	uint64_t value = 0;
	int err = comp_try_read(ctx, cntr, entry, &value);

	CHECK(!err, "%s", strerror(err));
	return value;
}

int comp_attach(const struct end *e, uint32_t cntr, uint64_t mask)
{
	struct call c;

	call_begin(&c, NEW_QP, QP_ATTACH);
	call_add_value(&c, ATTACH_QP, 0, e->qp->handle);
	call_add_value(&c, ATTACH_CNTR, 0, cntr);
	call_add_value(&c, ATTACH_MASK, 8, mask);
	return call_issue(&c, e->qp->context);
}

void expect_comp_value(const struct ibv_context *ctx, uint32_t cntr, int entry, uint64_t want)
{
	uint64_t end = now_ms() + scale_timeout(WC_MS), value;

	do {
		value = comp_read(ctx, cntr, entry);
		if (value >= want)
			break;
		sleep_ms(1);
	} while (now_ms() < end);
	CHECK(value == want, "entry %d of counter %u is %llu, not %llu", entry, cntr,
	      (unsigned long long)value, (unsigned long long)want);
}
