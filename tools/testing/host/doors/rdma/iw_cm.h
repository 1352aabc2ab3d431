/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_IW_CM_H
#define _HOST_DOORS_IW_CM_H

#include <linux/socket.h>
#include <linux/types.h>

struct ib_device;
struct net;

struct iw_cm_id {
	struct ib_device	*device;
	struct net		*net;
	void			*provider_data;
	struct sockaddr_storage	local_addr, m_local_addr;
	u8			tos;
	bool			tos_set, afonly;
};

enum iw_cm_event_type { IW_CM_EVENT_CONNECT_REQUEST = 1 };

#endif
