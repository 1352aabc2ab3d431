/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_LIST_H
#define _HOST_UNIT_LIST_H

#include_next <linux/list.h>
#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_HEAD(name)	struct list_head name = { &(name), &(name) }

struct hlist_node { struct hlist_node *next, **here; };

static inline void INIT_LIST_HEAD(struct list_head *l)
{
	l->next = l;
	l->prev = l;
}

static inline void INIT_HLIST_NODE(struct hlist_node *n)
{
	n->next = NULL;
	n->here = NULL;
}

static inline bool list_empty(const struct list_head *l)
{
	return l->next == l;
}

static inline void host_list_insert_between(struct list_head *n, struct list_head *prev,
					    struct list_head *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}

#define list_empty_careful(l)	list_empty(l)

static inline bool list_is_singular(const struct list_head *l)
{
	return !list_empty(l) && l->next == l->prev;
}

static inline void list_add(struct list_head *n, struct list_head *l)
{
	host_list_insert_between(n, l, l->next);
}

static inline void list_add_tail(struct list_head *n, struct list_head *l)
{
	host_list_insert_between(n, l->prev, l);
}

static inline void list_del_init(struct list_head *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	INIT_LIST_HEAD(n);
}

/* Clear the pointers, so that a test that still uses the entry crashes */
static inline void list_del(struct list_head *n)
{
	list_del_init(n);
	n->next = NULL;
	n->prev = NULL;
}

static inline void list_move(struct list_head *n, struct list_head *l)
{
	list_del_init(n);
	list_add(n, l);
}

static inline void list_move_tail(struct list_head *n, struct list_head *l)
{
	list_del_init(n);
	list_add_tail(n, l);
}

/* Move all entries of @from to the front of @l */
static inline void list_splice_init(struct list_head *from, struct list_head *l)
{
	while (!list_empty(from)) {
		struct list_head *last = from->prev;

		list_del_init(last);
		list_add(last, l);
	}
}

#define list_first_entry(l, type, member) \
	container_of((l)->next, type, member)
#define list_first_entry_or_null(l, type, member) \
	(list_empty(l) ? NULL : list_first_entry(l, type, member))
#define list_for_each(at, head)	for (at = (head)->next; at != (head); at = at->next)
#define list_entry(at, type, member)	container_of(at, type, member)
#define list_for_each_entry(at, l, member)				\
	for (at = list_first_entry(l, typeof(*at), member);		\
	     &at->member != (l);					\
	     at = list_first_entry(&at->member, typeof(*at), member))
#define list_for_each_entry_safe(at, after, l, member)			\
	for (at = list_first_entry(l, typeof(*at), member);		\
	     after = list_first_entry(&at->member, typeof(*at), member),	\
	     &at->member != (l);					\
	     at = after)

#endif
