/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty: <linux/netdevice.h> of this directory defines what the tests need from this header */
