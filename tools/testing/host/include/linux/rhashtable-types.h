/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_RHASHTABLE_TYPES_H
#define _HOST_LINUX_RHASHTABLE_TYPES_H

/* Makes structs compile that contain a hash table: no pure file uses one */
struct rhash_head { int unused; };
struct rhashtable { struct { int v; } nelems; };

#endif
