// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Print a plan, for a developer who looks for the cause of a difference. */
#include "../../../../drivers/ddp/hdr.h"
#include "rx_paths.h"

static const char *const damages[] = {
	[DAMAGE_CRC] = "wrong CRC", [DAMAGE_BIT] = "wrong bit",
	[DAMAGE_MARKER] = "wrong marker", [DAMAGE_RAW] = "wrong byte",
	[DAMAGE_UNREADABLE] = "unreadable bytes",
};

static const char *const actions[] = {
	[PLAN_RECV] = "receive", [PLAN_RECV_INVALID] = "invalid receive", [PLAN_READ] = "Read",
	[PLAN_ATOMIC] = "atomic", [PLAN_INVALIDATE] = "invalidate", [PLAN_RIGHTS] = "rights",
	[PLAN_REVOKE] = "revoke", [PLAN_VALIDATE] = "validate", [PLAN_ABSENT] = "absent",
};

static void print_segment(const struct plan *p, u32 i)
{
	const u8 *bytes = p->bytes + p->seg[i].at;
	u32 len = p->seg[i].len;
	enum iw_reason why;
	struct ddp_hdr h;

	fprintf(stderr, "  %3u: %5u bytes%s%s, ", i, len,
		p->damage && i == p->damaged ? ", " : "",
		p->damage && i == p->damaged ? damages[p->damage] : "");
	why = ddp_hdr_decode(&h, bytes, len);
	if (why)
		fprintf(stderr, "%s\n", iw_reason_get_name(why));
	else if (h.tagged)
		fprintf(stderr, "opcode %#x%s, STag %#x, TO %#llx\n", h.ulp8, h.last ? " L" : "",
			h.stag, (unsigned long long)h.to);
	else
		fprintf(stderr, "opcode %#x%s, QN %u, MSN %u, MO %u, %#x\n", h.ulp8,
			h.last ? " L" : "", h.qn, h.msn, h.mo, h.ulp32);
}

static void print_action(const struct plan_action *a)
{
	u32 i;

	fprintf(stderr, "       %s", actions[a->what]);
	if (a->what >= PLAN_INVALIDATE)
		fprintf(stderr, ", STag %#x, rights %#x", get_test_mr(a->mr)->stag, a->rights);
	for (i = 0; i < a->nsge; i++)
		fprintf(stderr, ", %u bytes at %#llx of %#x", a->sge[i].len,
			(unsigned long long)a->sge[i].addr, a->sge[i].stag);
	fprintf(stderr, "\n");
}

void plan_print(const struct plan *p)
{
	u32 i, seg = 0, action = 0;

	fprintf(stderr, "IRD %u, ORD %u%s%s%s, %u late receives, CQ overruns at %u\n", p->ird, p->ord,
		p->rtr_send ? ", RTR Send" : "", p->dma_ok ? ", DMA" : "",
		p->faults_at_once ? ", faults at once" : "", p->late_recvs, p->cq_room);
	for (i = 0; i < p->steps; i++) {
		for (; seg < p->step[i].segs; seg++)
			print_segment(p, seg);
		fprintf(stderr, "  step %u, and %u bytes\n", i, p->step[i].ahead);
		for (; action < p->step[i].actions; action++)
			print_action(&p->action[action]);
	}
}
