/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* For kernels that declare the block iterator in these headers */
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
