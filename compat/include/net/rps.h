/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Stand-in for <net/rps.h> on kernels that declare flow steering in <net/sock.h> */
#include <net/sock.h>
