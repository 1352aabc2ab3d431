/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_MODULE_H
#define _HOST_LINUX_MODULE_H

#include <linux/export.h>
#include <linux/stringify.h>

#define THIS_MODULE		NULL
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)
#define MODULE_LICENSE(x)

struct module;

#endif
