/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_XARRAY_H
#define _HOST_LINUX_XARRAY_H

/* Makes structs compile that contain an xarray: no pure file uses one */
struct xarray { int unused; };

#endif
