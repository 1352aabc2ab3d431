/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* madvise() values that older headers of the C library lack */
#ifndef MADVISE_H
#define MADVISE_H

#include <sys/mman.h>

#ifndef MADV_COLD
#define MADV_COLD	20
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#endif
