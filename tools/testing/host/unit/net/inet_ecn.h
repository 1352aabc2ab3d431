/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#define INET_ECN_MASK	3
