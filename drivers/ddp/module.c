// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Module description of iw_ddp, and the exports of functions in files that use no skb, socket, page
 * or lock (pure files, see <ddp/pure.h>).
 */
#include <linux/export.h>
#include <linux/module.h>

#include <ddp/reason.h>

/* DDP copies through kernel addresses, so all memory must be mapped permanently */
#ifndef CONFIG_64BIT
#error "The software RNIC needs a 64-bit kernel: it does not map high memory."
#endif

EXPORT_SYMBOL_GPL(iw_reason_get_row);
EXPORT_SYMBOL_GPL(iw_reason_get_name);

MODULE_DESCRIPTION("Direct Data Placement over reliable transports (RFC 5041)");
MODULE_LICENSE("Dual BSD/GPL");
