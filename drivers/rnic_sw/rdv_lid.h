/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* LIDs that stand for IPv4 addresses, see rdv_lid.c. */
#ifndef _RNIC_SW_RDV_LID_H
#define _RNIC_SW_RDV_LID_H

#include <ddp/pure.h>

u16 rdv_addr_to_lid(u32 addr, u32 mask);
u32 rdv_lid_to_addr(u16 lid, u32 addr, u32 mask);

#endif
