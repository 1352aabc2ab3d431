/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_NET_NAMESPACE_H
#define _HOST_UNIT_NET_NAMESPACE_H

#include <linux/bug.h>
#include <linux/types.h>
#include <net/net_trackers.h>

/*
 * A network namespace: the number of references, and how many of them are
 * tracked; tests check both
 */
struct net { int held, tracked; u64 net_cookie; };

/*
 * Take a short-lived reference. The driver must take long-lived references with
 * get_net_track(), so get_net() is missing.
 */
static inline struct net *maybe_get_net(struct net *net)
{
	net->held++;
	return net;
}

static inline void put_net(struct net *net)
{
	net->held--;
	WARN_ON(net->held < net->tracked);
}

static inline struct net *get_net_track(struct net *net, netns_tracker *tracker, gfp_t gfp)
{
	WARN_ON(tracker->net);
	tracker->net = net;
	net->tracked++;
	return maybe_get_net(net);
}

static inline void put_net_track(struct net *net, netns_tracker *tracker)
{
	WARN_ON(tracker->net != net);
	tracker->net = NULL;
	net->tracked--;
	put_net(net);
}

#define net_eq(a, b)	((a) == (b))

#endif
