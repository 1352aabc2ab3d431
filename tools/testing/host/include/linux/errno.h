/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_ERRNO_H
#define _HOST_LINUX_ERRNO_H

#include_next <linux/errno.h>

#endif
