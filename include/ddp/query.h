/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What a lower layer knows of a stream, for people who look. */
#ifndef _DDP_QUERY_H
#define _DDP_QUERY_H

#include <linux/types.h>

#define DDP_QUERY_NO_STREAM	(-1)

/**
 * struct ddp_query - how a stream fares below DDP
 * @llp: what carries it: "tcp" or "sctp"; NULL: nothing does, yet or any more
 * @phase: where its connection stands, in a word
 * @revision: of MPA, once agreed; else 0
 * @crc: segments carry MPA's CRC
 * @tx_markers: we insert markers
 * @rx_markers: the peer does
 * @stream: the stream of the association, or DDP_QUERY_NO_STREAM
 * @mulpdu: the longest segment that would be sent now, or 0
 * @unacked: octets sent that the peer's end has not acknowledged
 * @unsent: octets that the LLP has taken and not sent
 * @unread: octets that have arrived and not been taken
 * @retransmits: packets sent once more
 *
 * Octets are the LLP's, headers and all.  The last four are of the whole
 * association where several streams share one.  Each is right at some moment, all of
 * them together need not be.
 */
struct ddp_query {
	const char	*llp;
	const char	*phase;
	u8		revision;
	bool		crc;
	bool		tx_markers;
	bool		rx_markers;
	int		stream;
	u32		mulpdu;
	u32		unacked;
	u32		unsent;
	u32		unread;
	u32		retransmits;
};

#endif
