// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The transmit buffer of an association: freeing it and dropping what it holds.
 *
 * The buffer is allocated and filled in tx.c. It is kept as long as it holds a
 * segment that was pulled from DDP and that SCTP has not accepted.
 */
#include <linux/mm.h>

#include "internal.h"

/**
 * sddp_tx_free_buf - free the transmit buffer
 * @a: the association, with nothing to send; worker context
 *
 * Does nothing while a segment is pending that SCTP has not accepted.
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
 * sddp_tx_drop_pending - drop the pending segment if it is a stream's
 * @st: the stream; worker context, with the association's mutex held
 */
void sddp_tx_drop_pending(struct sddp_stream *st)
{
	if (st->a->out_stream != st)
		return;
	st->a->out_len = 0;
	st->a->out_stream = NULL;
}
