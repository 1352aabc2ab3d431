/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection between a socket and a listener of the test's */
#ifndef _HOST_DOORS_MPA_CONN_H
#define _HOST_DOORS_MPA_CONN_H

#include <kunit/test.h>

#include "../../../../drivers/mpa/internal.h"

extern struct mpa_conn_world {
	struct mpa_conn		c;
	struct mpa_startup	su;
	u8			octets[MPA_HDR_LEN + 1];	/* the peer sends */
	size_t			len, read;
	int			err;		/* TCP's, told once */
	bool			closed;		/* so is the socket */
	bool			fin;		/* the peer's has come */
	bool			coming;		/* its handshake is not over */
	u32			asked;		/* the program */
	u32			refused, over;	/* ends it has not heard of, and has */
	u32			halves;		/* peers that will send no more */
	enum iw_reason		why;		/* the last one */
	bool			reset;		/* so was the peer */
	bool			no_memory;	/* for a FIN */
	bool			cut;		/* the FIN is inside an FPDU */
	u32			fins;
	u32			written, acked;	/* TCP's sequence numbers */
	int			connects;	/* once more: 0, or an error */
	int			takes;		/* of a frame of ours, or an error */
	u32			queued, lined;	/* turns asked for: of its own, and in its line */
	struct work_struct	*work;		/* the one that is queued, if these are kept */
	bool			keeps;
	void			(*unlocked)(struct mpa_conn *c);	/* somebody comes then */
	u32			worked;		/* looks in which much was sent */
	bool			others;		/* wait in the line */
	u32			received;	/* looks at what has arrived */
	u32			events;		/* that these bring about, one each */
	bool			more;		/* than one of them takes */
	u32			armed, disarmed;	/* timers */
	unsigned long		delay;		/* of the last one */
	u8			frame[MPA_FRAME_MAX];
} world;

struct mpa_conn *called(void);
struct mpa_conn *sent(u32 octets);
void look(struct mpa_conn *c);
void turn(struct mpa_conn *c);
void is_reset(void);
void expect(struct kunit *test, u32 asked, u32 refused, u32 over, enum iw_reason why);

#endif
