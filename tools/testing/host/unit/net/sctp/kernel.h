/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty: <net/sctp/structs.h> of this directory has the replacements */
