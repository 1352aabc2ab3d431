/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty, because <net/ip.h> of the tests has the stand-ins for this header */
