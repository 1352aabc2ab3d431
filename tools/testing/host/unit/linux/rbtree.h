/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_RBTREE_H
#define _HOST_UNIT_RBTREE_H

#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/types.h>

/* A binary tree that is never rebalanced, so nodes have no colour */
struct rb_node { struct rb_node *up, *rb_left, *rb_right; };
struct rb_root { struct rb_node *rb_node; };

#define RB_ROOT			((struct rb_root) {})
#define rb_entry(n, type, member) container_of(n, type, member)

static inline void rb_link_node(struct rb_node *n, struct rb_node *up,
				struct rb_node **at)
{
	*n = (struct rb_node) { .up = up };
	*at = n;
}

static inline void rb_insert_color(struct rb_node *n, struct rb_root *root)
{
}

static inline struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *n = root->rb_node;

	while (n && n->rb_left)
		n = n->rb_left;
	return n;
}

static inline struct rb_node *rb_next(const struct rb_node *n)
{
	const struct rb_root behind = { n->rb_right };

	if (n->rb_right)
		return rb_first(&behind);
	while (n->up && n == n->up->rb_right)
		n = n->up;
	return n->up;
}

/* Remove a node, which must be the first one: other nodes are not supported */
static inline void rb_erase(struct rb_node *n, struct rb_root *root)
{
	WARN_ON(n != rb_first(root));
	*(n->up ? &n->up->rb_left : &root->rb_node) = n->rb_right;
	if (n->rb_right)
		n->rb_right->up = n->up;
}

/* Descend to a node without children */
static inline struct rb_node *host_rb_find_leaf(struct rb_node *n)
{
	while (n && (n->rb_left || n->rb_right))
		n = n->rb_left ? n->rb_left : n->rb_right;
	return n;
}

static inline struct rb_node *host_rb_next_postorder(const struct rb_node *n)
{
	struct rb_node *up = n->up;

	if (up && n == up->rb_left && up->rb_right)
		return host_rb_find_leaf(up->rb_right);
	return up;
}

#define host_rb_entry(n, type, member) ({				\
	struct rb_node *_n = (n);					\
	_n ? rb_entry(_n, type, member) : NULL; })
#define rbtree_postorder_for_each_entry_safe(at, after, root, member)	\
	for (at = host_rb_entry(host_rb_find_leaf((root)->rb_node),	\
				typeof(*at), member);			\
	     at && (after = host_rb_entry(host_rb_next_postorder(&at->member),	\
					  typeof(*at), member), true);	\
	     at = after)

#endif
