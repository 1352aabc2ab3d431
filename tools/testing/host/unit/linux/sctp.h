/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_SCTP_H
#define _HOST_UNIT_SCTP_H

/* The header for user space has the same socket options */
#include_next <linux/sctp.h>

#endif
