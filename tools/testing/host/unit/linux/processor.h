/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_PROCESSOR_H
#define _HOST_UNIT_PROCESSOR_H

/* Called in each iteration of a busy-wait; defined by the test, which runs other contexts here */
void host_on_cpu_relax(void);
#define cpu_relax()		host_on_cpu_relax()

#endif
