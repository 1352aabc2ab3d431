/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Replacement for kernels whose struct iosys_map has another name */
#include <linux/dma-buf-map.h>

#define iosys_map			dma_buf_map
#define iosys_map_set_vaddr		dma_buf_map_set_vaddr
#define iosys_map_set_vaddr_iomem	dma_buf_map_set_vaddr_iomem
