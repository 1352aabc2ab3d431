/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Replacement for kernels that declare the block iterator in <rdma/ib_umem.h>
 * and ib_verbs.h
 */
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
