/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_HASHTABLE_H
#define _HOST_UNIT_HASHTABLE_H

#include <linux/list.h>

/* Hash table without buckets: all entries are in one list, because there are few */

static inline void host_hlist_add_head(struct hlist_node *n, struct hlist_node **first)
{
	n->next = *first;
	n->here = first;
	if (n->next)
		n->next->here = &n->next;
	*first = n;
}

static inline void hash_del(struct hlist_node *n)
{
	*n->here = n->next;
	if (n->next)
		n->next->here = n->here;
}

/* Remove an entry; does nothing if the entry is in no table */
static inline void hash_del_rcu(struct hlist_node *n)
{
	if (n->here)
		hash_del(n);
	INIT_HLIST_NODE(n);
}

#define DEFINE_HASHTABLE(name, bits)	struct hlist_node *name
#define DECLARE_HASHTABLE(name, bits)	struct hlist_node *name
#define hash_init(table)		((void)((table) = NULL))
#define hash_add(table, node, key)	((void)(key), host_hlist_add_head(node, &(table)))
#define host_hlist_entry(n, type, member) \
	((n) ? container_of(n, type, member) : NULL)
#define hash_for_each_possible(table, at, member, key)			\
	for (at = ((void)(key), host_hlist_entry(table, typeof(*at), member)); at; \
	     at = host_hlist_entry(at->member.next, typeof(*at), member))

#define hash_add_rcu(table, node, key)	hash_add(table, node, key)
#define hash_for_each_possible_rcu(table, at, member, key) \
	hash_for_each_possible(table, at, member, key)
#define hash_for_each_safe(table, i, after, at, member)			\
	for ((void)((i) = 0), at = host_hlist_entry(table, typeof(*at), member); \
	     at && ((after) = at->member.next, (void)(i), true);		\
	     at = host_hlist_entry(after, typeof(*at), member))

#endif
