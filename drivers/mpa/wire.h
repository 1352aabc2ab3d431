/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Layout of MPA start-up frames, FPDUs and markers: RFC 5044, RFC 6581 section 6. */
#ifndef _MPA_WIRE_H
#define _MPA_WIRE_H

/* FPDU, RFC 5044 figure 2: length field, ULPDU, PAD, CRC field; lengths in bytes */
#define MPA_LEN_SIZE		2
#define MPA_ULPDU_MAX		65535
#define MPA_CRC_SIZE		4
#define MPA_ALIGN		4
/* Length of the longest FPDU without markers, in bytes */
#define MPA_CONTENT_MAX		(MPA_LEN_SIZE + MPA_ULPDU_MAX + MPA_ALIGN - 1 + MPA_CRC_SIZE)

/* Limits of MULPDU in bytes, RFC 5044 sections 3 and 4.5 */
#define MPA_MULPDU_MIN		128
#define MPA_MULPDU_MAX		64768

/* Marker, RFC 5044 figure 3 */
#define MPA_MARKER_SIZE		4
#define MPA_MARKER_INTERVAL	512
#define MPA_MARKER_PTR		2	/* offset of FPDUPTR, which has 16 bits */
#define MPA_MARKER_PTR_MASK	0xfffc	/* valid bits of FPDUPTR */

/* Request and Reply frame, RFC 5044 figure 8 */
#define MPA_KEY_SIZE		16
#define MPA_KEY_REQUEST		"MPA ID Req Frame"
#define MPA_KEY_REPLY		"MPA ID Rep Frame"

#define MPA_HDR_FLAGS		16
#define MPA_HDR_REV		17
#define MPA_HDR_PD_LENGTH	18	/* offset of PD_Length, which has 16 bits */
#define MPA_HDR_LEN		20

#define MPA_FLAG_M		0x80	/* the receiver of the frame must insert markers */
#define MPA_FLAG_C		0x40	/* the sender of the frame requests CRC */
#define MPA_FLAG_R		0x20	/* the Request is rejected; in a Reply only */
#define MPA_FLAG_S		0x10	/* an IRD/ORD word precedes the Private Data */

#define MPA_REV_PLAIN		1	/* MPA revision of RFC 5044 */
#define MPA_REV_ENHANCED	2	/* MPA revision of RFC 6581 */

#define MPA_PD_MAX		512
#define MPA_FRAME_MAX		(MPA_HDR_LEN + MPA_PD_MAX)

#endif
