/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_BITS_H
#define _HOST_UNIT_BITS_H

#define BIT(n)		(1ul << (n))
#define BIT_ULL(n)	(1ull << (n))

#endif
