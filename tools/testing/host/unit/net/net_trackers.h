/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_NET_TRACKERS_H
#define _HOST_UNIT_NET_TRACKERS_H

/* Tracker of a long-lived reference: the namespace, or NULL while there is no reference */
typedef struct { const struct net *net; } netns_tracker;

#endif
