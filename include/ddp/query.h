/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* State of a stream in its lower layer, for diagnostics. */
#ifndef _DDP_QUERY_H
#define _DDP_QUERY_H

#include <linux/types.h>

#define DDP_QUERY_NO_STREAM	(-1)

/**
 * struct ddp_query - state of a stream in its lower layer
 * @llp: "tcp" or "sctp", or NULL if the stream is not bound
 * @phase: name of the connection's state
 * @revision: MPA revision, or 0 if not agreed yet
 * @crc: segments carry an MPA CRC
 * @tx_markers: MPA markers are sent
 * @rx_markers: MPA markers are received
 * @stream: SCTP stream number, or DDP_QUERY_NO_STREAM
 * @mulpdu: longest segment that would be sent now, in bytes, or 0 if unknown
 * @unacked: bytes sent and not acknowledged by the peer's transport
 * @unsent: bytes accepted by the LLP and not sent
 * @unread: bytes received and not consumed
 * @retransmits: number of retransmitted packets
 *
 * Byte counts include all headers of the LLP. The last four values are those of
 * the whole association if several streams share it. Each value is correct at
 * some moment during the query, but they are not a consistent snapshot.
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
