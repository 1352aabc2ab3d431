/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_VMALLOC_H
#define _HOST_UNIT_VMALLOC_H

#include <linux/slab.h>

#define cpu_to_node(cpu)	((void)(cpu), 0)
#define vmalloc_node(size, n)	((void)(n), host_alloc_pages(size))
#define vfree(p)		host_free(p)

#endif
