/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_STRINGIFY_H
#define _HOST_LINUX_STRINGIFY_H

#define host_stringify(x...)	#x
#define __stringify(x...)	host_stringify(x)

#endif
