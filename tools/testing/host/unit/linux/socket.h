/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SOCKET_H
#define _HOST_UNIT_SOCKET_H

#include <sys/socket.h>

#endif
