/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_WAIT_H
#define _HOST_UNIT_WAIT_H

/*
 * No thread waits. To simulate a wake-up, the test calls the function of the
 * entry.
 */
struct wait_queue_entry {
	int (*func)(struct wait_queue_entry *w, unsigned int mode, int flags, void *key);
};

#endif
