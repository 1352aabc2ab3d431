/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_DOORS_BVEC_H
#define _HOST_DOORS_BVEC_H

/* Only so that structs compile */
struct bio_vec { int unused; };

#endif
