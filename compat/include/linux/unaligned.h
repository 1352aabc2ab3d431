/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Replacement for kernels that have this header only as <asm/unaligned.h> */
#include <asm/unaligned.h>
