/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_PRINTK_H
#define _HOST_LINUX_PRINTK_H

#include <stdio.h>

#endif
