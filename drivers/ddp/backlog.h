/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions of backlog.c that port.c uses. */
#ifndef _DDP_BACKLOG_H
#define _DDP_BACKLOG_H

#include <ddp/port.h>

void ddp_backlog_init(struct ddp_port_listener *l);
/* Evict all pending requests, if the LLP can, and wait until no upcall is in progress; sleeps */
void ddp_backlog_drain(struct ddp_port_listener *l);

#endif
