/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_DELAY_H
#define _HOST_DOORS_DELAY_H

/* What everybody else does while one sleeps: the test's */
void host_sleep(void);
#define usleep_range(min, max)	host_sleep()
#define might_sleep()		do { } while (0)

#endif
