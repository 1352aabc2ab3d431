// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reference implementation of RFC 5044 and RFC 5041 framing: byte by byte, with
 * markers, and a bitwise CRC.
 */
#include "frame.h"

struct frame_want want;

/* Append a byte, and add it to the CRC bit by bit */
static void put_octet(u8 octet)
{
	int i;

	want.octets[want.len++] = octet;
	want.pos++;
	want.crc ^= octet;
	for (i = 0; i < 8; i++)
		want.crc = want.crc >> 1 ^ (want.crc & 1 ? 0x82f63b78 : 0);
}

/* Append @value in big-endian order */
static void put_plain(u64 value, u32 octets)
{
	while (octets--)
		put_octet(value >> 8 * octets);
}

static bool marker_due(void)
{
	return stubs.c.tx_markers && !(want.pos % 512);
}

static void put_marker(void)
{
	if (marker_due())
		put_plain(want.pos < want.field ? 0 : want.pos - want.field, 4);
}

static void put(u64 value, u32 octets)
{
	while (octets--) {
		put_marker();
		put_octet(value >> 8 * octets);
	}
}

static void put_header(const struct message *m, bool last)
{
	put((m->hdr.tagged ? 0x80 : 0) | (last ? 0x40 : 0) | 1, 1);
	put(m->hdr.ulp8, 1);
	if (m->hdr.tagged) {
		put(m->hdr.stag, 4);
		put(m->hdr.to + m->done, 8);
		return;
	}
	put(m->hdr.ulp32, 4);
	put(m->hdr.qn, 4);
	put(want.msn, 4);
	put(m->done, 4);
}

static u8 octet_of(const struct message *m, u32 at)
{
	const struct ddp_sge *p = m->sge;

	if (m->buf.flat)
		return ((u8 *)m->buf.flat)[at];
	for (; at >= p->len; p++)
		at -= p->len;
	if (p->stag == DDP_STAG_DMA)
		return ((u8 *)(uintptr_t)p->addr)[at];
	at += p->addr - BASE + SKIP;
	if (p->stag == PAGED)
		return stubs.memory[at];
	return stubs.memory[block_index(at / BLOCK) * BLOCK + at % BLOCK];
}

/* RFC 5044 figures 2 and 3, RFC 5041 figures 3 and 4 */
void put_fpdu(struct message *m, u32 mulpdu)
{
	u32 head = m->hdr.tagged ? 14 : 18, i;
	u32 len = min(m->buf.len - m->done, mulpdu - head);
	bool last = m->done + len == m->buf.len;

	want.field = want.pos + (marker_due() ? 4 : 0);
	want.crc = ~0;
	put(head + len, 2);
	put_header(m, last);
	for (i = 0; i < len; i++)
		put(octet_of(m, m->done++), 1);
	for (i = 2 + head + len; i % 4; i++)
		put(0, 1);
	put_marker();
	put_plain(stubs.c.crc ? __builtin_bswap32(~want.crc) : 0, 4);
	want.msn += last && !m->hdr.tagged;
	stubs.sent_msgs += last;
}
