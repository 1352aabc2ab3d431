/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Empty, so that the #include works: the stand-ins are in <rdma/ib_verbs.h> */
