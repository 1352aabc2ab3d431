/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What port.c and caller.c know of each other. */
#ifndef _DDP_CALLER_H
#define _DDP_CALLER_H

#include <ddp/port.h>

void ddp_callers_init(struct ddp_port_listener *l);
/* The listener goes: nobody waits, and no upcall runs, once it returns */
void ddp_callers_end(struct ddp_port_listener *l);

#endif
