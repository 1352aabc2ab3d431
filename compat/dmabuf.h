/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared buffers as the newest kernel has them; included in front of dmabuf.c. */
#ifndef _COMPAT_DMABUF_H
#define _COMPAT_DMABUF_H

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>

/* Before, it made a string of the name by itself */
#ifndef HAVE_IMPORT_NS_STRING
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

#ifndef HAVE_DMABUF_INVALIDATE
#define invalidate_mappings	move_notify
#endif

/*
 * Before, an exporter that moves nothing had its buffer mapped for DMA, which there is
 * none of, for whoever wants to hear of moves.  And where the buffer's lock is not the
 * importer's to take before it is mapped for the CPU, he cannot do anything about a
 * mapping when he hears of a move.
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
 * Before, not every exporter kept in place by itself what is mapped for the CPU, or said
 * when it takes it away: amdgpu did neither for what it swaps out.  No header tells of
 * that; the name of invalidate_mappings is newer.  What is not memory is not pinned: that
 * would move it, or have its driver warn.  And what is may be moved when it is pinned, so
 * it is mapped anew then.
 */
#ifdef HAVE_DMABUF_INVALIDATE
#define compat_dmabuf_map(buf, attach, map)	dma_buf_vmap(buf, map)
#define compat_dmabuf_unmap(buf, attach, map)	dma_buf_vunmap(buf, map)
#else
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
