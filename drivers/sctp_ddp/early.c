// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunks that came before their turn, by DDP-SSN.
 *
 * What one costs to be put in its place, found again or thrown away does not
 * depend on the order in which they come.  All that they take is counted, for
 * the association and for all of them together, before it is taken.
 */
#include <linux/mm.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "internal.h"
#include "share.h"

static atomic_long_t all = ATOMIC_LONG_INIT(0);	/* octets, of everybody */

/* Of those that are there for their DDP-SSN alone there can be many, too */
static u32 cost(u32 len)
{
	return kmalloc_size_roundup(sizeof(struct sddp_kept) + len);
}

static bool may(const struct sddp_stream *st, u32 len)
{
	u32 octets = cost(len);

	/*
	 * What overtakes the answer to our Initiate is little, but a peer may
	 * send as soon as it has said yes, and that is what gets lost
	 */
	if (st->s.state == SDDP_INITIATED &&
	    st->early_cost >= SDDP_EARLY_UNANSWERED)
		return false;
	return sddp_share_early(st->a->kept, atomic_long_read(&all), octets);
}

/**
 * sddp_early_may_wait - may one more be kept that waits for memory of ours?
 * @st: the stream; worker
 *
 * Or behind one that does.
 *
 * Return: whether.
 */
bool sddp_early_may_wait(const struct sddp_stream *st)
{
	return sddp_share_waiting(st->early_count, st->a->kept,
				  atomic_long_read(&all));
}

static void sddp_early_charge(struct sddp_stream *st, u32 len)
{
	st->early_cost += cost(len);
	st->a->kept += cost(len);
	atomic_long_add(cost(len), &all);
	st->early_count++;
}

static void uncharge(struct sddp_stream *st, u32 len)
{
	st->early_cost -= cost(len);
	st->a->kept -= cost(len);
	atomic_long_sub(cost(len), &all);
	st->early_count--;
}

/**
 * sddp_early_new - room for a chunk
 * @st: the stream; worker
 * @ssn: the chunk's DDP-SSN
 * @len: octets of it that are to be kept
 *
 * Return: it, not yet in its place; NULL: it may not be kept, or memory is
 * short.
 */
struct sddp_kept *sddp_early_new(struct sddp_stream *st, u16 ssn, u32 len)
{
	struct sddp_kept *k;

	if (!may(st, len))
		return NULL;
	k = kvmalloc(struct_size(k, data, len), GFP_KERNEL);
	if (!k)
		return NULL;
	sddp_early_charge(st, len);
	k->ssn = ssn;
	k->len = len;
	return k;
}

static u16 ahead(const struct sddp_stream *st, u16 ssn)
{
	return ssn - st->rx_next;
}

/**
 * sddp_early_add - put it in its place
 * @st: the stream; worker
 * @k: from sddp_early_new(); there is none of its DDP-SSN
 */
void sddp_early_add(struct sddp_stream *st, struct sddp_kept *k)
{
	struct rb_node **at = &st->early.rb_node, *parent = NULL;
	const struct sddp_kept *other;

	while (*at) {
		parent = *at;
		other = rb_entry(parent, struct sddp_kept, node);
		if (ahead(st, k->ssn) < ahead(st, other->ssn))
			at = &parent->rb_left;
		else
			at = &parent->rb_right;
	}
	rb_link_node(&k->node, parent, at);
	rb_insert_color(&k->node, &st->early);
}

/**
 * sddp_early_here - did this one come before?
 * @st: the stream; worker
 * @ssn: a DDP-SSN ahead of the one whose turn it is
 *
 * Return: whether it is kept.
 */
bool sddp_early_here(const struct sddp_stream *st, u16 ssn)
{
	const struct rb_node *at = st->early.rb_node;
	const struct sddp_kept *k;

	while (at) {
		k = rb_entry(at, struct sddp_kept, node);
		if (k->ssn == ssn)
			return true;
		at = ahead(st, ssn) < ahead(st, k->ssn) ? at->rb_left
							: at->rb_right;
	}
	return false;
}

/**
 * sddp_early_tally - what has come of a session by now
 * @st: the stream; worker
 *
 * Return: that, those that are kept among them.
 */
struct sddp_tally sddp_early_tally(const struct sddp_stream *st)
{
	struct sddp_tally t = { .n = st->rx_next + st->early_count };
	const struct sddp_kept *k;
	struct rb_node *at;

	for (at = rb_first(&st->early); at; at = rb_next(at)) {
		k = rb_entry(at, struct sddp_kept, node);
		if (k->control && sddp_control_function(k->data, k->len) ==
				  SDDP_TERMINATE)
			sddp_tally_last(&t, k->ssn);
	}
	return t;
}

/**
 * sddp_early_take - the one whose turn has come
 * @st: the stream; worker
 *
 * Return: it, no longer in its place; NULL if it is still to come.
 */
struct sddp_kept *sddp_early_take(struct sddp_stream *st)
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
 * sddp_early_free - it is dealt with
 * @st: the stream; worker
 * @k: the chunk, not in its place
 */
void sddp_early_free(struct sddp_stream *st, struct sddp_kept *k)
{
	uncharge(st, k->len);
	kvfree(k);
}

/**
 * sddp_early_forget - what was kept is of no use any more
 * @st: the stream; worker
 */
void sddp_early_forget(struct sddp_stream *st)
{
	struct sddp_kept *k, *next;

	rbtree_postorder_for_each_entry_safe(k, next, &st->early, node)
		sddp_early_free(st, k);
	st->early = RB_ROOT;
}
