/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * All that a pure file may see of the kernel: types, numbers, strings and
 * octet order.  No skb, socket, page, lock, clock or allocation.  The host
 * tests put their own headers of the same names in front of these.
 */
#ifndef _DDP_PURE_H
#define _DDP_PURE_H

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/unaligned.h>

#endif
