/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_LIST_H
#define _HOST_LINUX_LIST_H

/* Makes structs compile that contain a list: no pure file uses one */
struct list_head { struct list_head *next, *prev; };

#endif
