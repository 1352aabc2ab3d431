/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_NETNS_HASH_H
#define _HOST_UNIT_NETNS_HASH_H

/* All namespaces have the same hash, so that tests fail if code compares only hashes */
#define net_hash_mix(net)	((void)(net), 0)

#endif
