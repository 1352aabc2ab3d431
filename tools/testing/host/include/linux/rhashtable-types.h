/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_RHASHTABLE_TYPES_H
#define _HOST_LINUX_RHASHTABLE_TYPES_H

/* Types for members of structs only: no pure file uses a hash table */
struct rhash_head { int unused; };
struct rhashtable { struct { int v; } nelems; };

#endif
