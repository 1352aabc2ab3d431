/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_UNIT_IN_H
#define _HOST_UNIT_IN_H

#include <netinet/in.h>

#endif
