/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_DELAY_H
#define _HOST_UNIT_DELAY_H

/* Called instead of sleeping; defined by the test, which runs other contexts here */
void host_on_sleep(void);
#define usleep_range(min, max)	host_on_sleep()
#define might_sleep()		do { } while (0)

#endif
