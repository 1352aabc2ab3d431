/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_LLIST_H
#define _HOST_UNIT_LLIST_H

#include <linux/container_of.h>
#include <linux/types.h>

/* Not atomic, because the tests have one thread */
struct llist_node { struct llist_node *next; };
struct llist_head { struct llist_node *first; };

static inline void init_llist_head(struct llist_head *l)
{
	l->first = NULL;
}

static inline bool llist_add(struct llist_node *n, struct llist_head *l)
{
	n->next = l->first;
	l->first = n;
	return !n->next;
}

static inline struct llist_node *llist_del_all(struct llist_head *l)
{
	struct llist_node *first = l->first;

	l->first = NULL;
	return first;
}

static inline struct llist_node *llist_reverse_order(struct llist_node *n)
{
	struct llist_node *next, *before = NULL;

	for (; n; n = next) {
		next = n->next;
		n->next = before;
		before = n;
	}
	return before;
}

#define host_llist_entry(n, type, member) \
	((n) ? container_of(n, type, member) : NULL)

#define llist_for_each_entry_safe(at, after, node, member)		\
	for (at = host_llist_entry(node, typeof(*at), member);		\
	     at && (after = host_llist_entry(at->member.next,		\
					     typeof(*at), member), true); \
	     at = after)

#endif
