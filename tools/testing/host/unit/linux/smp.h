/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SMP_H
#define _HOST_UNIT_SMP_H

/*
 * The test defines host_get_cpu(), which returns the current CPU, and
 * smp_call_function_single_async()
 */
typedef struct {
	void	(*func)(void *info);
	void	*info;
} call_single_data_t;

#define INIT_CSD(csd, f, i)	(*(csd) = (call_single_data_t){ (f), (i) })
unsigned int host_get_cpu(void);
int smp_call_function_single_async(int cpu, call_single_data_t *csd);
#define raw_smp_processor_id()	host_get_cpu()
#define smp_processor_id()	host_get_cpu()

#endif
