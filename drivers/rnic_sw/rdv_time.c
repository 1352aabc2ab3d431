// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Times of a rendezvous.  All functions are pure. */
#include <ddp/pure.h>

#include "rdv_time.h"

/*
 * SLACK: an InfiniBand adapter may take up to four times the timeout for one try.
 *
 * LIMIT_MIN: minimum limit in milliseconds.  A stream needs a TCP handshake and two start-up
 * frames, and the processes that handle these may have to wait for a CPU.
 */
#define SLACK		4
#define LIMIT_MIN	1000
#define LIMIT_MAX	(RDV_FOREVER - 1)

#define PAUSE_MAX	250	/* milliseconds */

/**
 * rdv_compute_wait_limit_ms - compute how long a posted request waits for the stream
 * @timeout: attribute of the queue pair, 5 bits: a try takes 4.096 us * 2^timeout
 * @retry_cnt: attribute of the queue pair, 3 bits: number of further tries
 *
 * Return: milliseconds; RDV_FOREVER if @timeout is 0.
 */
u32 rdv_compute_wait_limit_ms(u8 timeout, u8 retry_cnt)
{
	/* 4.096 us are about 2^-8 ms */
	u64 ms = ((u64)SLACK * ((retry_cnt & 7) + 1) << (timeout & 31)) >> 8;

	if (!(timeout & 31))
		return RDV_FOREVER;
	return ms < LIMIT_MIN ? LIMIT_MIN : ms > LIMIT_MAX ? LIMIT_MAX : ms;
}

/**
 * rdv_compute_pause_ms - compute the pause before the next attempt to connect
 * @before: the pause before the last attempt in milliseconds; 0 before the first one
 *
 * The first pauses are short, because the peer often enters RTR at nearly the same time.
 *
 * Return: milliseconds.
 */
u32 rdv_compute_pause_ms(u32 before)
{
	if (!before)
		return 1;
	return 2 * before < PAUSE_MAX ? 2 * before : PAUSE_MAX;
}

/**
 * rdv_compute_rnr_limit_ms - compute how long a message waits for a receive
 * @min_rnr_timer: attribute of the receiving queue pair, 5 bits: time before the next try
 * @rnr_retry: attribute of the sending queue pair, 3 bits: number of further tries
 *
 * Return: milliseconds, rounded up; RDV_FOREVER if @rnr_retry is 7.
 */
u32 rdv_compute_rnr_limit_ms(u8 min_rnr_timer, u8 rnr_retry)
{
	/* times in units of 10 us, indexed by InfiniBand's encoding of the timer */
	static const u16 times[] = {
		65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
		1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};
	u32 tries = rnr_retry & 7;

	if (tries == 7)
		return RDV_FOREVER;
	return (times[min_rnr_timer & 31] * tries + 99) / 100;
}
