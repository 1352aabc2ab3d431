// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Stubs to invalidate and validate MRs that have no access in flight */
#include <ddp/mem.h>

/*
 * A test may define this function, which is called instead of a wait for
 * accesses in flight
 */
void host_on_region_wait(struct ddp_region *r) __attribute__((weak));

bool ddp_region_revoke(struct ddp_region *r)
{
	bool was = r->valid;

	r->valid = false;
	if (host_on_region_wait)
		host_on_region_wait(r);
	return was;
}

void ddp_region_validate(struct ddp_region *r, u8 key)
{
	r->stag = (r->stag & ~DDP_STAG_KEY_MASK) | key;
	r->valid = true;
}
