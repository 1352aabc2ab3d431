/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Only so that the include is found: see <net/tcp.h> */
