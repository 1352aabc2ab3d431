/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_IW_CM_H
#define _HOST_UNIT_IW_CM_H

#include <linux/socket.h>
#include <linux/types.h>

struct ib_device;
struct net;

enum iw_cm_event_type {
	IW_CM_EVENT_CONNECT_REQUEST = 1,
	IW_CM_EVENT_CONNECT_REPLY,
	IW_CM_EVENT_ESTABLISHED,
	IW_CM_EVENT_DISCONNECT,
	IW_CM_EVENT_CLOSE,
};

struct iw_cm_event {
	enum iw_cm_event_type	event;
	int			status;
	struct sockaddr_storage	local_addr, remote_addr;
	void			*private_data, *provider_data;
	u8			private_data_len, ord, ird;
};

struct iw_cm_conn_param {
	const void	*private_data;
	u16		private_data_len;
	u32		ord, ird, qpn;
};

struct iw_cm_id {
	int (*event_handler)(struct iw_cm_id *id, struct iw_cm_event *event);
	void (*add_ref)(struct iw_cm_id *id);
	void (*rem_ref)(struct iw_cm_id *id);
	struct ib_device	*device;
	struct net		*net;
	void			*provider_data;
	struct sockaddr_storage	local_addr, m_local_addr, m_remote_addr;
	u8			tos;
	bool			tos_set, afonly;
};

const char *iwcm_reject_msg(int reason);

#endif
