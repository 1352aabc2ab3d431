/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_NET_NAMESPACE_H
#define _HOST_DOORS_NET_NAMESPACE_H

struct net;
#define net_eq(a, b)	((a) == (b))

#endif
