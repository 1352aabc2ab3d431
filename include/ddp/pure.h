/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * All kernel headers that a pure file may include: types, numbers, strings and
 * byte order. A pure file uses no skb, socket, page, lock, clock or allocation,
 * so that its unit tests can run as an ordinary process, with replacements for
 * these headers.
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
