// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Counters in shared memory: one process increases them, the other waits for a value. */
#include <sys/eventfd.h>

#include "rate.h"

static uint64_t read_count(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

void shared_add_to_count(struct shared *sh, uint64_t *count, uint64_t n)
{
	__atomic_add_fetch(count, n, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&sh->waiting, 0, __ATOMIC_SEQ_CST))
		eventfd_write(sh->credit, 1);
}

/* Sleep until *@count is at least @least */
void shared_wait_for_count(struct shared *sh, const uint64_t *count, uint64_t least)
{
	eventfd_t one;

	while (read_count(count) < least) {
		__atomic_store_n(&sh->waiting, 1, __ATOMIC_SEQ_CST);
		if (read_count(count) >= least)
			break;
		eventfd_read(sh->credit, &one);
	}
}
