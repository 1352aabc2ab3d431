// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * LIDs that stand for IPv4 addresses.  All functions are pure.
 *
 * Programs for InfiniBand may specify a peer by a LID instead of a GID.  Ethernet has no LIDs, so
 * the LID of a device is the low half of its first IPv4 address.  Hosts of one subnet have the same
 * high half if the netmask has at least 16 bits, so that a LID stands for one address there.
 */
#include <ddp/pure.h>

#include "rdv_lid.h"

#define LID_UNICAST_MAX	0xbfffu		/* 0 is no LID, and larger LIDs are multicast or reserved */
#define HIGH_HALF	0xffff0000u

static bool is_unicast_lid(u32 lid)
{
	return lid && lid <= LID_UNICAST_MAX;
}

/**
 * rdv_addr_to_lid - get the LID that stands for an IPv4 address
 * @addr: first address of the device's interface, in host byte order; 0 if there is none
 * @mask: its netmask, in host byte order
 *
 * Return: the LID; 0 if the netmask is shorter than 16 bits, or if the low half of the address is
 * not a unicast LID.
 */
u16 rdv_addr_to_lid(u32 addr, u32 mask)
{
	u32 lid = addr & ~HIGH_HALF;

	return (mask & HIGH_HALF) == HIGH_HALF && is_unicast_lid(lid) ? lid : 0;
}

/**
 * rdv_lid_to_addr - get the IPv4 address for which a LID stands
 * @lid: LID of a peer
 * @addr: first address of this side's interface, in host byte order; 0 if there is none
 * @mask: its netmask, in host byte order
 *
 * Return: the address in host byte order; 0 if @lid is not a unicast LID, or if @addr and @mask
 * do not determine the high half.
 */
u32 rdv_lid_to_addr(u16 lid, u32 addr, u32 mask)
{
	if (!addr || (mask & HIGH_HALF) != HIGH_HALF || !is_unicast_lid(lid))
		return 0;
	return (addr & HIGH_HALF) | lid;
}
