/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* State of a stream in its lower layer, for rdma(8) and debugging. */
#ifndef _DDP_QUERY_H
#define _DDP_QUERY_H

#include <linux/types.h>

#define DDP_QUERY_NO_STREAM	(-1)

/**
 * struct ddp_query - state of a stream in its lower layer
 * @llp: "tcp" or "sctp", or NULL if the stream is not bound
 * @phase: name of the state that the connection is in
 * @revision: MPA revision, or 0 if not negotiated yet
 * @crc: true if segments carry an MPA CRC
 * @tx_markers: true if MPA markers are sent
 * @rx_markers: true if MPA markers are received
 * @stream: SCTP stream number, or DDP_QUERY_NO_STREAM
 * @mulpdu: current maximum length of a segment to send, in bytes; 0 if unknown
 * @unacked: number of bytes that were sent, but are not acknowledged by the
 *	peer's TCP or SCTP
 * @unsent: number of bytes that the LLP has accepted from DDP, but has not sent
 * @unread: number of bytes that TCP or SCTP has received, but the LLP has not
 *	read
 * @retransmits: number of retransmitted packets
 *
 * The byte counts include DDP headers. Over TCP they also include the framing of MPA;
 * over SCTP, @unread also includes SCTP's memory overhead. If several streams share an
 * SCTP association, @unacked, @unsent, @unread and @retransmits describe the whole
 * association. The values are read one after the other, so they are not a consistent
 * snapshot.
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
