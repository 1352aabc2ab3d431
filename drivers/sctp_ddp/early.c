// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Storage for the chunks of a stream that cannot be delivered yet: out-of-order chunks,
 * and chunks that are deferred because of a page fault.
 *
 * The chunks of a stream are in a red-black tree, sorted by DDP-SSN, so the order in
 * which the peer sends chunks cannot raise the cost of an operation. The limits of
 * admission.h are checked before memory is allocated.
 */
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "admission.h"
#include "internal.h"

/* memory of the kept chunks of all associations, bytes */
static atomic_long_t all_bytes = ATOMIC_LONG_INIT(0);

/*
 * Compute the memory, in bytes, that a kept chunk with @len bytes of data uses. Include
 * the structure itself, because a peer can cause many kept chunks without data.
 */
static u32 compute_kept_size(u32 len)
{
	return kmalloc_size_roundup(sizeof(struct sddp_kept) + len);
}

static bool may_keep_early_chunk(const struct sddp_stream *st, u32 len)
{
	u32 bytes = compute_kept_size(len);

	/*
	 * Limit the memory until the peer's Accept has arrived. Normally few segments
	 * arrive before the Accept. If the Accept gets lost, the peer may send many
	 * segments before it retransmits the Accept, and without this limit all of them
	 * would be kept.
	 */
	if (st->s.state == SDDP_INITIATED &&
	    st->early_cost >= SDDP_EARLY_UNANSWERED)
		return false;
	return sddp_may_keep_early_chunk(st->a->kept, atomic_long_read(&all_bytes), bytes);
}

/**
 * sddp_stream_may_keep_deferred_chunk - check whether a deferred chunk may be kept
 * @st: the stream
 *
 * A deferred chunk is a segment that waits for a page fault, or a later chunk of the
 * same session.
 *
 * Context: worker, with the association's mutex held.
 * Return: true if the chunk may be kept, false if it must stay in SCTP's queue.
 */
bool sddp_stream_may_keep_deferred_chunk(const struct sddp_stream *st)
{
	return sddp_may_keep_deferred_chunk(st->early_count, st->a->kept,
					    atomic_long_read(&all_bytes));
}

static void sddp_kept_chunk_charge(struct sddp_stream *st, u32 len)
{
	st->early_cost += compute_kept_size(len);
	st->a->kept += compute_kept_size(len);
	atomic_long_add(compute_kept_size(len), &all_bytes);
	st->early_count++;
}

static void sddp_kept_chunk_uncharge(struct sddp_stream *st, u32 len)
{
	st->early_cost -= compute_kept_size(len);
	st->a->kept -= compute_kept_size(len);
	atomic_long_sub(compute_kept_size(len), &all_bytes);
	st->early_count--;
}

/**
 * sddp_kept_chunk_new - allocate memory to keep a chunk
 * @st: the stream
 * @ssn: DDP-SSN of the chunk
 * @len: number of bytes of the chunk to keep
 *
 * Context: worker, with the association's mutex held.
 * Return: the kept chunk, which the caller must fill in and add to the tree; NULL if a
 * limit is reached or memory is short.
 */
struct sddp_kept *sddp_kept_chunk_new(struct sddp_stream *st, u16 ssn, u32 len)
{
	struct sddp_kept *k;

	if (!may_keep_early_chunk(st, len))
		return NULL;
	k = kvmalloc(struct_size(k, data, len), GFP_KERNEL);
	if (!k)
		return NULL;
	sddp_kept_chunk_charge(st, len);
	k->ssn = ssn;
	k->len = len;
	return k;
}

static u16 get_ssn_distance(const struct sddp_stream *st, u16 ssn)
{
	return ssn - st->rx_next;
}

/**
 * sddp_kept_chunk_add - insert a kept chunk into the tree
 * @st: the stream
 * @k: the chunk, from sddp_kept_chunk_new(); the tree must have no chunk with the same
 *	DDP-SSN
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_kept_chunk_add(struct sddp_stream *st, struct sddp_kept *k)
{
	struct rb_node **at = &st->early.rb_node, *parent = NULL;
	const struct sddp_kept *other;

	while (*at) {
		parent = *at;
		other = rb_entry(parent, struct sddp_kept, node);
		if (get_ssn_distance(st, k->ssn) < get_ssn_distance(st, other->ssn))
			at = &parent->rb_left;
		else
			at = &parent->rb_right;
	}
	rb_link_node(&k->node, parent, at);
	rb_insert_color(&k->node, &st->early);
}

/**
 * sddp_kept_chunks_have_ssn - check whether a chunk with a given DDP-SSN is kept
 * @st: the stream
 * @ssn: the DDP-SSN
 *
 * Context: worker, with the association's mutex held.
 * Return: true if such a chunk is kept, false otherwise.
 */
bool sddp_kept_chunks_have_ssn(const struct sddp_stream *st, u16 ssn)
{
	const struct rb_node *at = st->early.rb_node;
	const struct sddp_kept *k;

	while (at) {
		k = rb_entry(at, struct sddp_kept, node);
		if (k->ssn == ssn)
			return true;
		at = get_ssn_distance(st, ssn) < get_ssn_distance(st, k->ssn) ? at->rb_left
							: at->rb_right;
	}
	return false;
}

/**
 * sddp_count_received_chunks - count the chunks that have been received for a session
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 * Return: the count of the processed and the kept chunks, with its member last set if a
 * Terminate is among the kept chunks.
 */
struct sddp_tally sddp_count_received_chunks(const struct sddp_stream *st)
{
	struct sddp_tally t = { .n = st->rx_next + st->early_count };
	const struct sddp_kept *k;
	struct rb_node *at;

	for (at = rb_first(&st->early); at; at = rb_next(at)) {
		k = rb_entry(at, struct sddp_kept, node);
		if (k->control && sddp_control_read_function_code(k->data, k->len) ==
				  SDDP_TERMINATE)
			sddp_tally_set_last(&t, k->ssn);
	}
	return t;
}

/**
 * sddp_kept_chunk_pop_next - remove the next chunk in order from the tree
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 * Return: the chunk, which the caller must free with sddp_kept_chunk_free() or add again with
 * sddp_kept_chunk_add(); NULL if the next chunk in order is not kept.
 */
struct sddp_kept *sddp_kept_chunk_pop_next(struct sddp_stream *st)
{
	struct rb_node *first = rb_first(&st->early);
	struct sddp_kept *k;

	if (!first)
		return NULL;
	k = rb_entry(first, struct sddp_kept, node);
	if (k->ssn != st->rx_next)
		return NULL;
	rb_erase(first, &st->early);
	return k;
}

/**
 * sddp_kept_chunk_free - free a kept chunk
 * @st: the stream
 * @k: the chunk; the caller must have removed it from the tree
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_kept_chunk_free(struct sddp_stream *st, struct sddp_kept *k)
{
	sddp_kept_chunk_uncharge(st, k->len);
	kvfree(k);
}

/**
 * sddp_stream_set_deferred - set whether the next chunk in order is deferred
 * @st: the stream
 * @deferred: true if the chunk waits for a page fault, in the tree or in SCTP's queue
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_stream_set_deferred(struct sddp_stream *st, bool deferred)
{
	if (st->deferred == deferred)
		return;
	st->deferred = deferred;
	st->a->deferred += deferred ? 1 : -1;
	/* schedule the worker for chunks that were left in SCTP's queue */
	if (!deferred)
		sddp_assoc_kick(st->a);
}

/**
 * sddp_kept_chunks_free - free all kept chunks of a stream
 * @st: the stream
 *
 * Context: worker, with the association's mutex held.
 */
void sddp_kept_chunks_free(struct sddp_stream *st)
{
	struct sddp_kept *k, *next;

	sddp_stream_set_deferred(st, false);
	rbtree_postorder_for_each_entry_safe(k, next, &st->early, node)
		sddp_kept_chunk_free(st, k);
	st->early = RB_ROOT;
}
