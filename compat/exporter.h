/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replacements that let the dma-buf exporter of the tests use the interfaces of
 * the newest kernel on older kernels. Included before the exporter's source.
 */
#ifndef _COMPAT_EXPORTER_H
#define _COMPAT_EXPORTER_H

#include <linux/dma-buf.h>
#include <linux/mm.h>

#ifndef HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#ifndef HAVE_DMABUF_INVALIDATE
#define dma_buf_invalidate_mappings	dma_buf_move_notify
#endif

#endif
