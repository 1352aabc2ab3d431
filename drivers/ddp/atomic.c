// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Atomic operations on registered memory (RFC 7306). paged.c has those on MRs without blocks. */
#include <linux/atomic.h>
#include <linux/export.h>

#include "extent.h"
#include "internal.h"

struct atomic_update {
	u64		(*result)(const void *how, u64 old);
	const void	*how;
	u64		old;
};

/* Atomically replace *@word with the value that a struct atomic_update computes */
static void ddp_atomic_replace(void *arg, u64 *word)
{
	struct atomic_update *c = arg;

	c->old = READ_ONCE(*word);
	/* litmus: none, because no kernel code depends on the order of the update */
	while (!try_cmpxchg(word, &c->old, c->result(c->how, c->old)))
		;
}

/* Modify a u64 of an MR with blocks, like ddp_paged_apply_atomic() */
static enum iw_reason region_apply_atomic(const struct ddp_region *r, u64 to,
					  struct atomic_update *c)
{
	u32 len = sizeof(u64);
	/* an aligned u64 is contained in one block */
	u64 *word = ddp_region_find_extent(r, to, &len);

	if (!IS_ALIGNED((uintptr_t)word, sizeof(u64)))
		return IW_RDMAP_STREAM;
	if (c->result)
		ddp_atomic_replace(c, word);
	return IW_OK;
}

/**
 * ddp_mem_apply_atomic - atomically read and replace a u64 of registered memory
 * @s: stream whose peer has requested the operation
 * @stag: STag of the memory
 * @to: TO of eight bytes that are aligned in memory (RFC 7306 5.1)
 * @result: function that computes the new value from the old value, both in
 *	host byte order; NULL to check the access only
 * @how: argument of @result
 * @old: set to the old value, if @result is not NULL
 *
 * The operation is atomic with regard to all streams of all devices, and to
 * atomic instructions of the CPUs.
 *
 * Context: BH off; if @result is not NULL, only the transmit path.
 *
 * Return: IW_OK if the u64 is replaced (with @result), or if the access is
 * allowed (without); IW_RDMAP_STREAM if the u64 is misaligned; IW_AGAIN if a page
 * fault must be resolved first, and the memory is unchanged; or the reason why
 * the peer may not access the u64.
 */
enum iw_reason ddp_mem_apply_atomic(struct ddp_stream *s, u32 stag, u64 to,
				    u64 (*result)(const void *how, u64 old),
				    const void *how, u64 *old)
{
	const struct ddp_sge m = { .addr = to, .len = sizeof(u64), .stag = stag };
	struct atomic_update c = { .result = result, .how = how };
	struct ddp_region *r;
	enum iw_reason why;

	why = ddp_region_check_and_get(s, &m, DDP_REMOTE_ATOMIC, &r);
	if (why)
		return why;
	if (unlikely(!r->block))
		why = ddp_paged_apply_atomic(r, to, result ? ddp_atomic_replace : NULL,
					     &c, &s->tx_fault);
	else
		why = region_apply_atomic(r, to, &c);
	ddp_region_put(r);
	/*
	 * After the page fault ddp_tx_resume() kicks, and the transmit path
	 * repeats the operation. Until then the LLP must not end the stream
	 * gracefully, so report that a kick will follow.
	 */
	if (why == IW_AGAIN)
		s->tx_expects_kick = true;
	if (!why && result)
		*old = c.old;
	return why;
}
EXPORT_SYMBOL_GPL(ddp_mem_apply_atomic);
