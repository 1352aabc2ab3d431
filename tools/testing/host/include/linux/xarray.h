/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _HOST_LINUX_XARRAY_H
#define _HOST_LINUX_XARRAY_H

/* Type for members of structs only: no pure file uses an xarray */
struct xarray { int unused; };

#endif
