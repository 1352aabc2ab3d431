// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Make a plan from the bytes of an input: messages of all kinds, cut into segments, some
 * of which are wrong, and actions of the local side between them. Every input gives a valid plan,
 * and each byte of the input has only a small effect, so that libFuzzer can change a plan
 * gradually.
 */
#include "maker.h"

/* Choose a length of a payload */
static u32 pick_payload_len(struct maker *m)
{
	static const u16 lens[] = {
		0, 1, 3, 4, 8, 13, 50, 64, 100, 114, 200, 256, 300, 500, 1000, 1024,
		1432, 1446, 2000, 4000, 4096, 5000, 8192, 8946, 12000, 16370, 16384, 20000,
		30000, 45000,
	};
	u8 n = read_u8(m->in);

	/* long payloads are rare */
	return lens[n % ((n & 0xc0) == 0xc0 ? ARRAY_SIZE(lens) : 21)];
}

/*
 * Begin a message. First add the remaining segments of the previous message of the same queue, so
 * that MSNs are in order. Some messages are left incomplete for now, so that messages of other
 * queues come in between.
 */
static void begin_message(struct maker *m, const struct message *msg)
{
	struct message *slot = &m->open[msg->h.tagged ? TAGGED : msg->h.qn];

	if (slot->begun && !(m->wrong && read_bool_one_in(m, 32)))
		add_next_segments(m, slot, -1u);
	*slot = *msg;
	slot->each = max(slot->each, 1u);
	slot->begun = true;
	if (!msg->h.tagged)
		slot->h.msn = m->msn[msg->h.qn]++;
	add_next_segments(m, slot, read_bool_one_in(m, 8) ? read_u8(m->in) % 8 : -1u);
}

static void begin_raw_message(struct maker *m, u8 opcode, u32 qn, const u8 *raw, u32 len)
{
	struct message msg = {
		.h = { .ulp8 = rdmap_make_ulp8(opcode), .qn = qn },
		.left = len, .each = read_bool_one_in(m, 16) ? 1 + read_u8(m->in) % 16 : len,
		.raw_len = len,
	};

	memcpy(msg.raw, raw, len);
	begin_message(m, &msg);
}

/* Messages ------------------------------------------------------------------------ */

/* Choose an MR: mostly the previous one, or one that allows everything */
static u8 pick_mr(struct maker *m)
{
	u8 n = read_u8(m->in);

	if (n >= 240)
		m->last_mr = n % MRS;
	else if (n >= 128)
		m->last_mr = n % 6;
	return m->last_mr;
}

/* Choose a range of @len bytes in an MR, or rarely beyond its end */
static u64 pick_tagged_offset(struct maker *m, const struct world_mr *mr, u32 *len)
{
	u32 off;

	*len = min(*len, mr->length);
	off = read_u16(m->in) % (mr->length - *len + 1);
	/* some ranges end exactly at the end of the MR, or begin at a page boundary */
	if (read_bool_one_in(m, 8))
		off = mr->length - *len;
	else if (read_bool_one_in(m, 8))
		off &= PAGE_MASK;
	if (m->wrong && read_bool_one_in(m, 64))
		off = mr->length - *len + (s8)read_u8(m->in);
	return mr->base + off;
}

static u32 pick_message_len(struct maker *m, u32 each)
{
	u8 n = read_u8(m->in);

	if (n < 96)
		return each;
	if (n < 160)
		return each * 2 + n % 3;
	return each * (n % 40) + (n & 1 ? draw_random_u32_below(&m->dice, each + 1) : 0);
}

static void begin_write(struct maker *m)
{
	const struct world_mr *mr = get_test_mr(pick_mr(m));
	struct message msg = {
		.h = {
			.tagged = true, .ulp8 = rdmap_make_ulp8(RDMAP_OP_WRITE),
			.stag = mr->stag,
		},
		.each = pick_payload_len(m),
	};

	msg.left = pick_message_len(m, msg.each);
	msg.h.to = pick_tagged_offset(m, mr, &msg.left);
	begin_message(m, &msg);
}

/* Add Writes of one segment that differ in the TO only */
static void add_repeated_writes(struct maker *m)
{
	const struct world_mr *mr = get_test_mr(pick_mr(m));
	struct message msg = {
		.h = {
			.tagged = true, .ulp8 = rdmap_make_ulp8(RDMAP_OP_WRITE),
			.stag = mr->stag,
		},
	};
	u32 n = 1 + read_u8(m->in) % 32, len = pick_payload_len(m);
	bool forward = read_bool_one_in(m, 2);
	u64 to = pick_tagged_offset(m, mr, &len), beyond = mr->base + mr->length;

	for (; n--; to += forward ? len : 0) {
		msg.left = msg.each = len;
		if (!forward)
			to = pick_tagged_offset(m, mr, &len);
		else if (beyond - to < len && !m->wrong)
			break;
		msg.h.to = to;
		begin_message(m, &msg);
	}
}

/*
 * Claim the receive for the next message. If none is posted, the message may have to wait: the run
 * then posts the first receive of the plan once more. Return: the receive's length, or 0 if there
 * is none.
 */
static u32 claim_recv(struct maker *m)
{
	if (m->recvs_used == m->recvs && m->recvs && m->recvs_late < m->p->late_recvs) {
		m->recv[m->recvs++ % RECVS] = m->recv[0];
		m->recvs_late++;
	}
	m->recvs_used++;
	return m->recvs_used <= m->recvs ? m->recv[(m->recvs_used - 1) % RECVS] : 0;
}

/* Check whether the plan may contain a message that uses a receive */
static bool may_use_recv(const struct maker *m)
{
	return m->wrong || m->recvs_used < m->recvs ||
	       (m->recvs && m->recvs_late < m->p->late_recvs);
}

static void begin_send(struct maker *m)
{
	struct message msg = {
		.h = { .ulp8 = rdmap_make_ulp8(RDMAP_OP_SEND + read_u8(m->in) % 4) },
		.each = pick_payload_len(m),
	};
	u32 room;

	if (!may_use_recv(m))
		return;
	room = claim_recv(m);
	msg.left = pick_message_len(m, msg.each);
	if (!m->wrong || !read_bool_one_in(m, 32))
		msg.left = min(msg.left, room);
	/*
	 * a Send with Invalidate ends the stream if the MR may not be invalidated, so plans without
	 * wrong segments have plain Sends instead
	 */
	if (!(msg.h.ulp8 & 1) && !m->wrong)
		msg.h.ulp8 = rdmap_make_ulp8(RDMAP_OP_SEND);
	msg.h.ulp32 = get_test_mr(read_u8(m->in) % (m->wrong ? MRS : 12))->stag;
	if (read_bool_one_in(m, 2))
		msg.h.ulp32 = get_test_mr(9 + read_u8(m->in) % 2)->stag;
	begin_message(m, &msg);
}

static void begin_immediate(struct maker *m)
{
	u8 raw[RDMAP_IMM_LEN + 1];
	u32 len = RDMAP_IMM_LEN;

	if (!may_use_recv(m))
		return;
	if (m->wrong && read_bool_one_in(m, 8))
		len += (s8)(read_u8(m->in) % 3 - 1);
	fill_random_bytes(m, raw, sizeof(raw));
	claim_recv(m);
	begin_raw_message(m, RDMAP_OP_IMM + read_bool_one_in(m, 2), RDMAP_QN_SEND, raw, len);
}

static void begin_read_request(struct maker *m)
{
	const struct world_mr *mr = get_test_mr(pick_mr(m));
	struct rdmap_rreq q = {
		.sink_stag = draw_random_u32(&m->dice), .sink_to = draw_random_u32(&m->dice),
		.len = pick_payload_len(m),
		.src_stag = mr->stag,
	};
	u8 raw[RDMAP_RREQ_LEN];

	q.src_to = pick_tagged_offset(m, mr, &q.len);
	rdmap_rreq_encode(raw, &q);
	begin_raw_message(m, RDMAP_OP_READ_REQ, RDMAP_QN_READ_REQ, raw, sizeof(raw));
}

static void begin_atomic_request(struct maker *m)
{
	const struct world_mr *mr = get_test_mr(pick_mr(m));
	u32 len = RDMAP_ATOMIC_OPERAND;
	struct rdmap_atomic a = {
		.code = read_bool_one_in(m, 2) ? RDMAP_ATOMIC_CMP_SWAP : RDMAP_ATOMIC_FETCH_ADD,
		.id = draw_random_u32(&m->dice), .stag = mr->stag,
		.to = pick_tagged_offset(m, mr, &len),
		.data = draw_random_u32(&m->dice), .mask = draw_random_u32(&m->dice), .cmp = 0,
	};
	u8 raw[RDMAP_AREQ_LEN];

	if (!m->wrong)
		a.to -= (a.to - mr->base) % 8 + mr->base % 8;
	rdmap_atomic_encode(raw, &a);
	begin_raw_message(m, RDMAP_OP_ATOMIC_REQ, RDMAP_QN_READ_REQ, raw, sizeof(raw));
}

/* Begin the peer's response to the oldest local request */
static void begin_response(struct maker *m)
{
	const struct request *req = &m->request[m->requests_answered % REQUESTS];
	struct message msg = {
		.h = { .tagged = true, .ulp8 = rdmap_make_ulp8(RDMAP_OP_READ_RESP) },
		.each = pick_payload_len(m),
	};
	u8 raw[RDMAP_ARESP_LEN];

	if (m->requests_answered == m->requests && !(m->wrong && read_bool_one_in(m, 32)))
		return;
	m->requests_answered += m->requests_answered < m->requests;
	if (req->atomic) {
		rdmap_aresp_encode(raw, req->slot, (u64)draw_random_u32(&m->dice) << 20);
		begin_raw_message(m, RDMAP_OP_ATOMIC_RESP, RDMAP_QN_ATOMIC_RESP, raw, sizeof(raw));
		return;
	}
	msg.h.stag = req->sink.stag;
	msg.h.to = req->sink.addr;
	msg.left = req->sink.len;
	begin_message(m, &msg);
}

static void begin_terminate(struct maker *m)
{
	u8 raw[RAW_MAX] = {};
	u32 len = read_u8(m->in) % 140, i;

	for (i = 0; i < min(len, 8u); i++)
		raw[i] = read_u8(m->in);
	begin_raw_message(m, RDMAP_OP_TERMINATE, RDMAP_QN_TERMINATE, raw, len);
}

/* Actions ------------------------------------------------------------------------- */

static struct plan_action *alloc_action(struct maker *m, enum plan_what what)
{
	struct plan *p = m->p;
	struct plan_action *a;

	if (p->actions == PLAN_ACTIONS)
		return NULL;
	a = &p->action[p->actions++];
	*a = (struct plan_action) { .what = what };
	return a;
}

static struct ddp_sge pick_sge(struct maker *m)
{
	const struct world_mr *mr = get_test_mr(pick_mr(m));
	struct ddp_sge sge = { .stag = mr->stag, .len = pick_payload_len(m) };

	sge.addr = pick_tagged_offset(m, mr, &sge.len);
	return sge;
}

static void add_receive_action(struct maker *m)
{
	bool invalid = m->wrong && read_bool_one_in(m, 64);
	struct plan_action *a = alloc_action(m, invalid ? PLAN_RECV_INVALID : PLAN_RECV);
	u32 i, total = 0;

	if (!a)
		return;
	a->nsge = read_u8(m->in) % (PLAN_SGES + 1);
	for (i = 0; i < a->nsge; i++) {
		a->sge[i] = pick_sge(m);
		/* this STag stands for all kernel memory, such as the memory of MR 3 */
		if (m->p->dma_ok && read_bool_one_in(m, 4)) {
			a->sge[i].stag = DDP_STAG_DMA;
			a->sge[i].len = min(a->sge[i].len, 5000u);
			a->sge[i].addr = get_test_mr(3)->base + read_u16(m->in) % 30000;
		}
		total += a->sge[i].len;
	}
	m->recv[m->recvs++ % RECVS] = total;
}

static void add_request_action(struct maker *m, enum plan_what what)
{
	struct plan_action *a;

	/* at most as many requests as the ORD allows, and as m->request has entries */
	if (m->requests - m->requests_answered >= min_t(u32, m->p->ord, REQUESTS))
		return;
	a = alloc_action(m, what);
	if (!a)
		return;
	a->nsge = 1;
	a->sge[0] = pick_sge(m);
	if (what == PLAN_ATOMIC)
		a->sge[0].len = RDMAP_ATOMIC_OPERAND;
	else
		a->rights = read_bool_one_in(m, 8);
	m->request[m->requests++ % REQUESTS] = (struct request) {
		.sink = a->sge[0], .slot = m->slots++, .atomic = what == PLAN_ATOMIC,
	};
}

static void add_memory_action(struct maker *m)
{
	enum plan_what what = PLAN_INVALIDATE + read_u8(m->in) % 5;
	struct plan_action *a;

	/*
	 * Actions other than PLAN_ABSENT and PLAN_VALIDATE remove access to memory, which mostly
	 * ends the stream, so plans without wrong segments do not have them
	 */
	if (!m->wrong && what != PLAN_VALIDATE)
		what = PLAN_ABSENT;
	a = alloc_action(m, what);
	if (!a)
		return;
	a->mr = read_u8(m->in) % MRS;
	a->rights = read_u8(m->in) & DDP_REMOTE;
	m->slots += what == PLAN_INVALIDATE;
}

/* End a step with some actions */
static void add_actions_and_end_step(struct maker *m, u32 actions)
{
	struct plan *p = m->p;

	if (p->steps == PLAN_STEPS - 1)
		return;
	while (actions--) {
		switch (read_u8(m->in) % 8) {
		case 0 ... 3:
			add_receive_action(m);
			break;
		case 4:
		case 5:
			add_request_action(m, PLAN_READ);
			break;
		case 6:
			add_request_action(m, PLAN_ATOMIC);
			break;
		case 7:
			add_memory_action(m);
			break;
		}
	}
	p->step[p->steps++] = (struct plan_step) {
		.segs = p->segs, .actions = p->actions,
		.ahead = read_bool_one_in(m, 4) ? read_u16(m->in) : 0,
	};
}

/* Plan ---------------------------------------------------------------------------- */

static void add_random_message_or_action(struct maker *m)
{
	switch (read_u8(m->in) % 32) {
	case 0 ... 9:
		begin_write(m);
		break;
	case 10 ... 12:
		add_repeated_writes(m);
		break;
	case 13 ... 19:
		begin_send(m);
		break;
	case 20:
	case 21:
		begin_read_request(m);
		break;
	case 22:
		begin_atomic_request(m);
		break;
	case 23 ... 25:
		begin_response(m);
		break;
	case 26:
		begin_immediate(m);
		break;
	case 27:
		add_next_segments(m, &m->open[TAGGED], read_u8(m->in) % 16);
		break;
	case 28:
		add_next_segments(m, &m->open[RDMAP_QN_SEND], read_u8(m->in) % 16);
		break;
	case 29:
		if (m->wrong && read_bool_one_in(m, 4))
			begin_terminate(m);
		else if (m->wrong && read_bool_one_in(m, 4))
			add_garbage_segment(m);
		break;
	default:
		add_actions_and_end_step(m, read_u8(m->in) % 6);
	}
}

static void init_plan(struct maker *m)
{
	static const u8 wrong[] = { 0, 0, 0, 1, 2, 4, 16, 64 };
	struct plan *p = m->p;
	u8 flags = read_u8(m->in), more = read_u8(m->in);

	p->markers = flags & 1;
	p->crc = flags & 2;
	p->markers2 = flags & 4;
	p->crc2 = flags & 8;
	p->dma_ok = flags & 16;
	p->faults_at_once = flags & 32;
	p->rtr_send = (flags & 0xc0) == 0xc0;
	p->ird = more & 7;
	p->ord = 1 + (more >> 3 & 7);
	p->late_recvs = more >> 6;
	m->wrong = wrong[read_u8(m->in) % ARRAY_SIZE(wrong)];
	p->seed = read_u16(m->in);
	m->dice.state = p->seed;
	if (m->wrong && read_bool_one_in(m, 16))
		p->cq_room = 1 + read_u8(m->in) % 8;
}

/* Choose an FPDU to damage */
static void choose_damage(struct maker *m, u8 how, u16 which)
{
	struct plan *p = m->p;

	if (!m->wrong || how < 200 || !p->segs)
		return;
	p->damage = DAMAGE_CRC + how % 5;
	p->unreadable = 1 + read_u8(m->in);
	p->damaged = which % p->segs;
	if (p->damage == DAMAGE_BIT && !p->crc)
		p->damage = DAMAGE_CRC;
}

void make_plan(struct plan *p, struct input *in)
{
	struct maker m = { .p = p, .in = in, .msn = { 1, 1, 1, 1 } };
	u16 which;
	u32 i;
	u8 how;

	p->segs = p->steps = p->actions = p->used = p->cq_room = p->damaged = 0;
	p->damage = DAMAGE_NONE;
	p->number++;
	init_plan(&m);
	how = read_u8(in);
	which = read_u16(in);
	add_actions_and_end_step(&m, 4);
	while (in->left && p->segs < PLAN_SEGS && p->used < PLAN_BYTES / 2)
		add_random_message_or_action(&m);
	for (i = 0; i < ARRAY_SIZE(m.open); i++)
		add_next_segments(&m, &m.open[i], -1u);
	choose_damage(&m, how, which);
	p->step[p->steps++] = (struct plan_step) { .segs = p->segs, .actions = p->actions };
}
