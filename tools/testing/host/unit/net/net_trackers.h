/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_NET_TRACKERS_H
#define _HOST_DOORS_NET_TRACKERS_H

/* The namespace that a long-lived reference is to */
typedef struct { const struct net *net; } netns_tracker;

#endif
