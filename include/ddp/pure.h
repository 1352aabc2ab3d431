/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The only kernel facilities that a pure file may use: types, numbers, strings
 * and byte order, but no skb, socket, page, lock, clock or allocation. The host
 * tests supply their own headers with the same names.
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
