/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Interface of dmabuf.c: MRs on a buffer that another driver exports (dma-buf). */
#ifndef _RNIC_SW_DMABUF_H
#define _RNIC_SW_DMABUF_H

#include "mem_fault.h"

struct rnic_unpinned *rnic_dmabuf_new(struct rnic_dev *dev, int fd, u64 offset,
				      u64 length, int access);

#endif
