/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Times of a rendezvous: how long a posted request waits, and the pause between two attempts to
 * connect.
 */
#ifndef _RNIC_SW_RDV_TIME_H
#define _RNIC_SW_RDV_TIME_H

#include <ddp/pure.h>

#define RDV_FOREVER	U32_MAX

u32 rdv_compute_wait_limit_ms(u8 timeout, u8 retry_cnt);
u32 rdv_compute_pause_ms(u32 before);
u32 rdv_compute_rnr_limit_ms(u8 min_rnr_timer, u8 rnr_retry);

#endif
