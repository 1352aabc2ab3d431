/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_IF_VLAN_H
#define _HOST_DOORS_IF_VLAN_H

#include <linux/netdevice.h>

#define is_vlan_dev(dev)		(!!(dev)->vlan_on)
#define vlan_dev_real_dev(dev)		((dev)->vlan_on)

#endif
