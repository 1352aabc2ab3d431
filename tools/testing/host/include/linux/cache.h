/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _LINUX_CACHE_H
#define _LINUX_CACHE_H

/* The tests have one thread, so alignment to cache lines has no use */
#define ____cacheline_aligned_in_smp

#endif
