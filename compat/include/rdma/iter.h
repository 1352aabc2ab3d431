/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Where the block iterator is still part of these */
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
