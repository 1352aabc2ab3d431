// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Freeing the transmit buffer of an association, and dropping its pending segment.
 *
 * tx.c allocates and fills the buffer. The pending segment is the segment that tx.c has
 * pulled from DDP and that SCTP has not accepted yet.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * sddp_tx_free_buf - free the transmit buffer
 * @a: the association
 *
 * Do nothing if a segment is pending.
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_tx_free_buf(struct sddp_assoc *a)
{
	if (a->out_len)
		return;
	kvfree(a->out);
	a->out = NULL;
	a->out_size = 0;
}

/**
 * sddp_tx_drop_pending_segment - drop the association's pending segment if it belongs to a stream
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_tx_drop_pending_segment(struct sddp_stream *st)
{
	if (st->a->out_stream != st)
		return;
	st->a->out_len = 0;
	st->a->out_stream = NULL;
}
