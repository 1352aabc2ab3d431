/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _LINUX_CACHE_H
#define _LINUX_CACHE_H

/* A single thread needs no alignment to cache lines */
#define ____cacheline_aligned_in_smp

#endif
