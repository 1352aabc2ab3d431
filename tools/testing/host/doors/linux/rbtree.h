/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_RBTREE_H
#define _HOST_DOORS_RBTREE_H

/* Only so that structs compile */
struct rb_node { int unused; };
struct rb_root { struct rb_node *rb_node; };

#endif
