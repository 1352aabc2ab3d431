/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replacements that let dmabuf.c use the dma-buf interfaces of the newest
 * kernel on older kernels. Included before dmabuf.c.
 */
#ifndef _COMPAT_DMABUF_H
#define _COMPAT_DMABUF_H

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/module.h>

/*
 * Older kernels have only two kinds of fences, and take a bool: false waits for the
 * exclusive fence, which a move of the buffer has
 */
#ifndef HAVE_DMA_RESV_USAGE
#define DMA_RESV_USAGE_KERNEL	false
#endif

/*
 * Let MODULE_IMPORT_NS() take a string: in older kernels the macro takes a name
 * without quotes and converts the name to a string
 */
#ifndef HAVE_IMPORT_NS_STRING
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

/* Name of the member of struct dma_buf_attach_ops in older kernels */
#ifndef HAVE_DMABUF_INVALIDATE
#define invalidate_mappings	move_notify
#endif

/*
 * Attach to a buffer, in kernels that keep a DMA mapping in struct
 * dma_buf_attachment. If the exporter never moves the buffer, these kernels map
 * the buffer for DMA when a dynamic importer attaches. This device cannot do DMA,
 * so attach as a static importer in that case.
 *
 * In some of these kernels dma_buf_vmap() and dma_buf_vunmap() take the
 * reservation lock. The exporter calls the importer's move notification with
 * this lock held, so the importer cannot unmap the buffer in the notification. In
 * such a kernel, fail with -EOPNOTSUPP if the exporter moves buffers.
 */
#ifdef HAVE_DMABUF_MAPS
static inline struct dma_buf_attachment *
compat_dmabuf_attach(struct dma_buf *buf, struct device *dev,
		     const struct dma_buf_attach_ops *ops, void *priv)
{
	if (!dma_buf_is_dynamic(buf))
		return dma_buf_attach(buf, dev);
	if (!__is_defined(HAVE_DMABUF_VMAP_LOCKED))
		return ERR_PTR(-EOPNOTSUPP);
	return dma_buf_dynamic_attach(buf, dev, ops, priv);
}

#define dma_buf_dynamic_attach	compat_dmabuf_attach
#endif

/*
 * Drop the reservation lock, which the caller holds, around dma_buf_vmap() and
 * dma_buf_vunmap(): in these kernels both functions take the lock
 */
#ifndef HAVE_DMABUF_VMAP_LOCKED
static inline int compat_dmabuf_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	int err;

	dma_resv_unlock(buf->resv);
	err = dma_buf_vmap(buf, map);
	dma_resv_lock(buf->resv, NULL);
	return err;
}

static inline void compat_dmabuf_vunmap(struct dma_buf *buf,
					struct iosys_map *map)
{
	dma_resv_unlock(buf->resv);
	dma_buf_vunmap(buf, map);
	dma_resv_lock(buf->resv, NULL);
}

#define dma_buf_vmap		compat_dmabuf_vmap
#define dma_buf_vunmap		compat_dmabuf_vunmap
#endif

/*
 * Map a buffer for the CPU so that it stays in place until it is unmapped.
 *
 * In older kernels some exporters, such as amdgpu, evict a buffer that is mapped
 * for the CPU without notifying importers. No header shows whether a kernel has
 * this fault. The member name invalidate_mappings is newer than the fix, so
 * Kbuild.probe searches for that name.
 *
 * On kernels without that name pin the buffer while it is mapped. Reject I/O
 * memory, because pinning would move it or make its driver warn. Pinning may
 * also move a buffer that is in system memory, so map the buffer only after
 * pinning it.
 */
#ifdef HAVE_DMABUF_INVALIDATE
#define compat_dmabuf_map(buf, attach, map)	dma_buf_vmap(buf, map)
#define compat_dmabuf_unmap(buf, attach, map)	dma_buf_vunmap(buf, map)
#else
/*
 * Pin a buffer unless it is I/O memory. Return: 0; -EOPNOTSUPP for I/O memory;
 * or another error
 */
static inline int compat_dmabuf_pin(struct dma_buf *buf,
				    struct dma_buf_attachment *attach)
{
	struct iosys_map map;
	bool memory;
	int err;

	err = dma_buf_vmap(buf, &map);
	if (err)
		return err;
	memory = !map.is_iomem;
	dma_buf_vunmap(buf, &map);
	err = memory ? dma_buf_pin(attach) : -EOPNOTSUPP;
	return err == -ENOTSUPP ? -EOPNOTSUPP : err;
}

static inline int compat_dmabuf_map(struct dma_buf *buf,
				    struct dma_buf_attachment *attach,
				    struct iosys_map *map)
{
	int err = buf->ops->pin ? compat_dmabuf_pin(buf, attach) : 0;

	if (err)
		return err;
	err = dma_buf_vmap(buf, map);
	if (err && buf->ops->pin)
		dma_buf_unpin(attach);
	return err;
}

static inline void compat_dmabuf_unmap(struct dma_buf *buf,
				       struct dma_buf_attachment *attach,
				       struct iosys_map *map)
{
	dma_buf_vunmap(buf, map);
	if (buf->ops->pin)
		dma_buf_unpin(attach);
}
#endif

#endif
