/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SCTP_H
#define _HOST_UNIT_SCTP_H

/* the user-space header defines the same socket options as the kernel's */
#include_next <linux/sctp.h>

#endif
