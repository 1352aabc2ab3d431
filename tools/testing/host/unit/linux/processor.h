/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_PROCESSOR_H
#define _HOST_DOORS_PROCESSOR_H

/* Called while spinning; the test lets other contexts run */
void host_relax(void);
#define cpu_relax()		host_relax()

#endif
