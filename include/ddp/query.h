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
 * @revision: MPA revision, or 0 if not negotiated yet
 * @crc: true if segments carry an MPA CRC
 * @tx_markers: true if MPA markers are sent
 * @rx_markers: true if MPA markers are received
 * @stream: SCTP stream number, or DDP_QUERY_NO_STREAM
 * @mulpdu: current maximum length of a segment to send, in bytes; 0 if unknown
 * @unacked: number of bytes that were sent and that the peer's transport has
 *	not acknowledged
 * @unsent: number of bytes that the LLP has accepted and not sent
 * @unread: number of bytes that TCP or SCTP has received and the LLP has not
 *	read
 * @retransmits: number of retransmitted packets
 *
 * Byte counts include all headers of the LLP. If several streams share an
 * association, @unacked, @unsent, @unread and @retransmits are those of the
 * association. The values are read one after the other, so they are not a
 * consistent snapshot.
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
