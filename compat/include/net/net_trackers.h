/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Replacement for kernels that do not track the references to a network namespace */
#ifndef _COMPAT_NET_NET_TRACKERS_H
#define _COMPAT_NET_NET_TRACKERS_H

#include <net/net_namespace.h>

struct compat_netns_tracker {};

#define netns_tracker	struct compat_netns_tracker

static inline struct net *get_net_track(struct net *net, netns_tracker *tracker,
					gfp_t gfp)
{
	return get_net(net);
}

static inline void put_net_track(struct net *net, netns_tracker *tracker)
{
	put_net(net);
}

#endif
