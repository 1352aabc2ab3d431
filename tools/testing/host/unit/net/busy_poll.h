/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Replacement of <net/busy_poll.h>; the test implements napi_busy_loop() */
#ifndef _HOST_NET_BUSY_POLL_H
#define _HOST_NET_BUSY_POLL_H

#include <linux/types.h>

#define CONFIG_NET_RX_BUSY_POLL	1
#define MIN_NAPI_ID		257
#define BUSY_POLL_BUDGET	8

void napi_busy_loop(unsigned int napi_id, bool (*loop_end)(void *, unsigned long),
		    void *loop_end_arg, bool prefer_busy_poll, u16 budget);

#endif
