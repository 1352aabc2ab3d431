// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reference implementation of RFC 5044 and RFC 5041 framing: byte by byte, with
 * markers, and a bitwise CRC.
 */
#include "frame.h"

struct frame_want want;

/*
 * Append a byte to the expected bytes, and add the byte to the CRC bit by bit
 */
static void append_expected_byte(u8 octet)
{
	int i;

	want.octets[want.len++] = octet;
	want.pos++;
	want.crc ^= octet;
	for (i = 0; i < 8; i++)
		want.crc = want.crc >> 1 ^ (want.crc & 1 ? 0x82f63b78 : 0);
}

/* Append @value in big-endian order */
static void append_expected_bytes(u64 value, u32 octets)
{
	while (octets--)
		append_expected_byte(value >> 8 * octets);
}

static bool is_marker_due(void)
{
	return stubs.c.tx_markers && !(want.pos % 512);
}

static void append_expected_marker_if_due(void)
{
	if (is_marker_due())
		append_expected_bytes(want.pos < want.field ? 0 : want.pos - want.field, 4);
}

static void append_expected_bytes_with_markers(u64 value, u32 octets)
{
	while (octets--) {
		append_expected_marker_if_due();
		append_expected_byte(value >> 8 * octets);
	}
}

static void append_expected_header(const struct message *m, bool last)
{
	append_expected_bytes_with_markers((m->hdr.tagged ? 0x80 : 0) | (last ? 0x40 : 0) | 1, 1);
	append_expected_bytes_with_markers(m->hdr.ulp8, 1);
	if (m->hdr.tagged) {
		append_expected_bytes_with_markers(m->hdr.stag, 4);
		append_expected_bytes_with_markers(m->hdr.to + m->done, 8);
		return;
	}
	append_expected_bytes_with_markers(m->hdr.ulp32, 4);
	append_expected_bytes_with_markers(m->hdr.qn, 4);
	append_expected_bytes_with_markers(want.msn, 4);
	append_expected_bytes_with_markers(m->done, 4);
}

static u8 get_message_byte(const struct message *m, u32 at)
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
	return stubs.memory[get_block_index(at / BLOCK) * BLOCK + at % BLOCK];
}

/*
 * Append the next FPDU of @m, as in RFC 5044 figures 2 and 3 and RFC 5041
 * figures 3 and 4
 */
void append_expected_fpdu(struct message *m, u32 mulpdu)
{
	u32 head = m->hdr.tagged ? 14 : 18, i;
	u32 len = min(m->buf.len - m->done, mulpdu - head);
	bool last = m->done + len == m->buf.len;

	want.field = want.pos + (is_marker_due() ? 4 : 0);
	want.crc = ~0;
	append_expected_bytes_with_markers(head + len, 2);
	append_expected_header(m, last);
	for (i = 0; i < len; i++)
		append_expected_bytes_with_markers(get_message_byte(m, m->done++), 1);
	for (i = 2 + head + len; i % 4; i++)
		append_expected_bytes_with_markers(0, 1);
	append_expected_marker_if_due();
	append_expected_bytes(stubs.c.crc ? __builtin_bswap32(~want.crc) : 0, 4);
	want.msn += last && !m->hdr.tagged;
	stubs.sent_msgs += last;
}
