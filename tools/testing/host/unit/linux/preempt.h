/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_PREEMPT_H
#define _HOST_UNIT_PREEMPT_H

/*
 * Called with 1 when preemption is disabled, and with -1 when it is enabled;
 * defined by the test
 */
void host_change_preempt_count(int by);
#define preempt_disable()	host_change_preempt_count(1)
#define preempt_enable()	host_change_preempt_count(-1)

#endif
