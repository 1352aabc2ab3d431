/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_PROCESSOR_H
#define _HOST_DOORS_PROCESSOR_H

/* What everybody else does while one spins: the test's */
void host_relax(void);
#define cpu_relax()		host_relax()

#endif
