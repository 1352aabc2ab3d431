/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_LIST_H
#define _HOST_LINUX_LIST_H

/* Type for members of structs only: no pure file uses a list */
struct list_head { struct list_head *next, *prev; };

#endif
