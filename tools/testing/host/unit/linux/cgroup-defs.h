/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_CGROUP_DEFS_H
#define _HOST_UNIT_CGROUP_DEFS_H

/* empty, as in a kernel without CONFIG_SOCK_CGROUP_DATA */
struct sock_cgroup_data {
};

#endif
