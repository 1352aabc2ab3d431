/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty: <rdma/ib_verbs.h> of this directory has the replacements */
