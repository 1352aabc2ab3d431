/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* GIDs of a device, see gid_table.c. */
#ifndef _RNIC_SW_GID_TABLE_H
#define _RNIC_SW_GID_TABLE_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "gids.h"

struct net_device;
struct rnic_dev;
union ib_gid;

/* GIDs of a device: GID 0, which netdev.c sets, then the addresses of the interface */
struct rnic_gid_table {
	spinlock_t		lock;	/* protects @gid from @first on, and @check_requested */
	struct gid		gid[GIDS_MAX];
	u32			first;	/* index of the first entry for addresses */
	u32			delay;	/* before the last run of @work, in ms; owned by @work */
	bool			check_requested;	/* a notification has queued @work */
	u16			lid;	/* LID of the port, see rdv_lid.c; written by @work */
	struct delayed_work	work;	/* updates the table of the device and that of the core */
	COMPAT_DECLARE_READER(reader);
};

void rnic_gids_init(struct rnic_dev *dev, u32 first);
void rnic_gids_exit(struct rnic_dev *dev);
void rnic_gids_fill(struct rnic_dev *dev, const struct net_device *netdev);
void rnic_gids_get_first_ipv4(const struct net_device *netdev, u32 *addr, u32 *mask);
u16 rnic_gids_get_lid(const struct rnic_dev *dev);
void rnic_gids_get_entry(struct rnic_dev *dev, u32 index, union ib_gid *gid);
void rnic_gids_request_check(struct rnic_dev *dev);
void rnic_gids_request_netdev_check(struct net_device *netdev);
int rnic_gid_events_init(void);
void rnic_gid_events_exit(void);

#endif
