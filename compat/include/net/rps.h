/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Replacement for kernels that declare flow steering in <net/sock.h> */
#include <net/sock.h>
