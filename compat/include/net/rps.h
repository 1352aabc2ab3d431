/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Where flow steering is still part of this one */
#include <net/sock.h>
