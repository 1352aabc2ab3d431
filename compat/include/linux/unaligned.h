/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Where the kernel has it under its older name */
#include <asm/unaligned.h>
