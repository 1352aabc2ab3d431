/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_PREEMPT_H
#define _HOST_DOORS_PREEMPT_H

/* Who wants to know is told: 1, then -1 */
void host_preempt_off(int by);
#define preempt_disable()	host_preempt_off(1)
#define preempt_enable()	host_preempt_off(-1)

#endif
