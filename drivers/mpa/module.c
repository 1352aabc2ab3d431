// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Entry points of MPA as a separate module. */
#include <linux/module.h>

#include "internal.h"

static int __init mpa_module_init(void)
{
	return mpa_init(THIS_MODULE);
}

static void __exit mpa_module_exit(void)
{
	mpa_exit();
}

module_init(mpa_module_init);
module_exit(mpa_module_exit);

MODULE_DESCRIPTION("MPA: DDP over TCP (RFC 5044, RFC 6581)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_ALIAS("iw-llp-mpa");
